"""Reads the log of a run: which failures it states, and what verbose passes said before them.

Lines are taken one after another and grouped to messages, per process where a launcher marks them;
`log_shapes` says what a message states. Then repeats and consequences are folded: a failure that a
hundred ranks print is one, and the abort that follows a failed check is none. Work and memory are
linear in the log, and messages are cut, so a log of gigabytes is read like a short one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app import knowledge
from app.ingest.failures import fold, names_in
from app.ingest.flags import flags_in_line
from app.ingest.log_lines import LogLine, clean_lines
from app.ingest.log_shapes import (
    STATUS_CODES,
    TEXT_CHARACTERS,
    Message,
    failure_of,
    is_stuck,
    is_unstuck,
    mentions_failure,
)
from app.ingest.text import decode
from app.model.dump import CheckFailure, LogFacts, PipelinerMove

_MESSAGE_CHARACTERS = 1 << 16
_STACK_FRAMES = 200
_MENTIONS = 100

_FRAME = re.compile(
    r"\s*(?:PC: )?@ +0x[0-9a-f]+ +(?:(?:\d{1,9}|\(unknown\)) +(?=\S))?(?P<symbol>\S.*)$"
    r"|\s*#\d{1,3} +0x[0-9a-f]+ (?:in )?(?P<gdb>.+)$"
)
_PYTHON_FRAME = re.compile(
    r'  File "(?P<file>[^"\n]{1,1000})", line (?P<line>\d{1,9}) in (?P<name>.+)$'
)
_SIGNAL = re.compile(
    r"Fatal Python error: (?P<python>[^\n]{1,200})$"
    r"|\*\*\* (?:Process received signal|Aborted at|SIG[A-Z]{2,6}\b)"
    r"|(?:\S{1,200}: line \d{1,9}: *\d{1,9} )?(?:Segmentation fault|Aborted|Bus error"
    r"|Illegal instruction|Killed|Floating point exception)(?: *\(core dumped\)| {2,}|$)"
    r"|Thread \d{1,9} \"[^\"\n]{0,80}\" received signal SIG[A-Z]{2,6}"
    r"|(?:Program|Process) (?:received|terminated with) signal SIG[A-Z]{2,6}"
    r"|SIG(?:SEGV|ABRT|BUS|ILL|FPE)\b"
)
_TERMINATE = re.compile(r"terminate called (?:after throwing|without an active)")
_EXCEPTION = re.compile(r"(?P<name>[A-Za-z_][\w.]{0,200})(?:: (?P<text>.*)|)$")
_BARE_EXCEPTION = re.compile(
    r"(?P<name>(?:[\w.]{1,200}\.)?(?:XlaRuntimeError|JaxRuntimeError)): (?P<text>.*)$"
    r"|(?P<wrapped>RuntimeError): (?P<wrapped_text>(?:Bad StatusOr access: |CUDNN_|CUDA_).*)$"
)
# Beginnings of a failure that were cut out of a log or wrapped by someone else's logger.
_BARE = re.compile(
    rf"(?:{'|'.join(STATUS_CODES)}): \S|(?:\w{{1,40}}: ){{0,2}}RET_CHECK failure \(|Check failed: "
    r"|Non-OK-status: |LLVM (?:ERROR|Fatal Error)|Compilation fail(?:ed|ure): "
    r"|Autotuning failed for|Ran out of memory in memory space|No valid engine configs for"
    r"|custom call '[\w.]+' failed: "
)
# Complaints, told with the verbose lines.
_BARE_COMPLAINT = re.compile(
    r"Constant folding an instruction is taking|\[Compiling module |\[(?:spmd|SPMD)\] Involuntary"
    r"|Can't reduce memory use below|The operation took \d"
)
_TRACEBACK = "Traceback (most recent call last):"
# JAX logs this traceback and goes on: a plugin was registered twice or has no device.
_LOGGED_TRACEBACK = re.compile(
    r"Jax plugin configuration error: |Exception ignored in|--- Logging error"
)
_AFTER_EXCEPTION = re.compile(
    r"(?:The above exception was|During handling of the above exception|The stack trace below"
    r"|-{20,}$|For simplicity, JAX has removed|Extension modules: )"
)
_HARMLESS = re.compile(
    r"There was an error before creating cudnn handle|Unable to register cu\w{2,6} factory"
    r"|failed call to cuInit|Could not find cuda drivers|Could not load dynamic library"
    r"|computation placer already registered"
)
_PASS = re.compile(r"\s*HLO pass (?P<name>\S[^\n]*)$")
_RELEASE = re.compile(
    r"\bjaxlib[\"']?(?:==|: | version |-| +|: ?[\"'])[\"']?"
    r"(?P<release>0\.\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)\b"
)


@dataclass(slots=True)
class _Stream:
    """Where one process of the log stands."""

    message: Message | None = None
    length: int = 0
    # `lines` between the marks of a stack trace, `frames` below the mark of a failed check.
    stack: Literal["", "lines", "frames"] = ""
    in_traceback: bool = False
    is_logged: bool = False


@dataclass(slots=True)
class _Findings:
    """What was read so far."""

    failures: list[CheckFailure] = field(default_factory=list[CheckFailure])
    flags: dict[str, str] = field(default_factory=dict[str, str])
    passes: list[str] = field(default_factory=list[str])
    verbose: list[PipelinerMove] = field(default_factory=list[PipelinerMove])
    releases: dict[str, None] = field(default_factory=dict[str, None])
    mentions: int = 0
    stuck_at: int = 0
    unstuck_at: int = 0
    lines: int = 0


def read_log(text_or_lines: str | bytes | Iterable[str], *, name: str) -> LogFacts:
    """What one log says.

    Args:
        text_or_lines: the whole log, or its lines one after another (a file opened as text).
        name: how the log is called in the report.
    """
    reader = _LogReader(name)
    for line in clean_lines(_lines(text_or_lines)):
        reader.feed(line)
    return reader.finish()


def merge_logs(logs: Sequence[LogFacts]) -> LogFacts:
    """The facts of several logs of one run, in the order given."""
    failures = fold([failure for log in logs for failure in log.failures])
    return LogFacts(
        failures=failures,
        flags={name: value for log in logs for name, value in log.flags.items()},
        passes=tuple(name for log in logs for name in log.passes),
        verbose=tuple(move for log in logs for move in log.verbose),
        releases=tuple(dict.fromkeys(release for log in logs for release in log.releases)),
        hung=any(log.hung for log in logs),
        lines=sum(log.lines for log in logs),
        names=names_in(failures),
    )


def _lines(source: str | bytes | Iterable[str]) -> Iterable[str]:
    if isinstance(source, bytes):
        source, _ = decode(bytearray(source))
    if isinstance(source, str):
        lines = source.removeprefix("\ufeff").split("\n")
        return lines[:-1] if lines[-1] == "" else lines
    return source


class _LogReader:
    """Groups lines to messages and takes down what they say."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._streams: dict[str, _Stream] = {}
        self._found = _Findings()
        self._pass_files: dict[str, bool] = {}

    def feed(self, line: LogLine) -> None:
        self._found.lines = line.number
        if "xla_" in line.text:
            self._found.flags.update(flags_in_line(line.text))
        if "jaxlib" in line.text and (found := _RELEASE.search(line.text)):
            self._found.releases[found["release"]] = None
        stream = self._streams.setdefault(line.stream, _Stream())
        if line.is_headed:
            self._open(stream, self._message(line, "log", line.text))
        elif stream.in_traceback:
            self._feed_traceback(stream, line)
        else:
            self._feed_free(stream, line)

    def finish(self) -> LogFacts:
        for stream in self._streams.values():
            self._close(stream)
        found = self._found
        found.failures.sort(key=lambda failure: failure.line_number)
        failures = fold(found.failures, unstuck_at=found.unstuck_at)
        return LogFacts(
            failures=failures,
            flags=found.flags,
            passes=tuple(found.passes),
            verbose=tuple(sorted(found.verbose, key=lambda move: move.line_number)),
            releases=tuple(found.releases),
            hung=found.stuck_at > found.unstuck_at,
            lines=found.lines,
            names=names_in(failures),
        )

    # ---- messages --------------------------------------------------------------------------------

    def _message(self, line: LogLine, origin: str, text: str) -> Message:
        return Message(
            log=self._name,
            number=line.number,
            stream=line.stream,
            origin=origin,
            lines=[text],
            severity=line.severity,
            file=line.file,
            line=line.line,
        )

    def _open(self, stream: _Stream, message: Message) -> None:
        self._close(stream)
        stream.message = message
        stream.length = len(message.lines[0])
        stream.stack, stream.in_traceback = "", False

    def _close(self, stream: _Stream) -> None:
        message, stream.message = stream.message, None
        if message is None:
            return
        failure = failure_of(message)
        text = message.lines[0]
        if is_unstuck(text):
            self._found.unstuck_at = message.number
        elif is_stuck(text):
            self._found.stuck_at = message.number
        if failure is not None:
            self._found.failures.append(failure)
        elif message.origin == "log":
            self._take_down(message)

    def _take_down(self, message: Message) -> None:
        file = message.file or ""
        if file == "hlo_pass_pipeline.cc" and (found := _PASS.match(message.lines[0])):
            self._found.passes.append(found["name"].strip())
            return
        text = message.lines[0]
        if file not in self._pass_files:
            self._pass_files[file] = bool(knowledge.passes_of_file(file))
        is_told = message.severity in ("W", "E") or self._pass_files[file] or self._mentions(text)
        if is_told and not _HARMLESS.search(text, 0, 400):
            text = message.text[:TEXT_CHARACTERS]
            self._found.verbose.append(
                PipelinerMove(self._name, message.number, file, text, message.severity)
            )

    # ---- lines without a header ------------------------------------------------------------------

    def _feed_traceback(self, stream: _Stream, line: LogLine) -> None:
        if not line.text or line.text[0].isspace():
            return
        stream.in_traceback = False
        found = _EXCEPTION.match(line.text)
        if stream.is_logged:
            stream.is_logged = False
            return
        if found is None:
            self._feed_free(stream, line)
            return
        message = self._message(line, "exception", found["text"] or "")
        message.exception = found["name"].rpartition(".")[2]
        self._open(stream, message)

    def _feed_free(self, stream: _Stream, line: LogLine) -> None:
        text = line.text
        if text.startswith(_TRACEBACK):
            self._close(stream)
            stream.in_traceback = True
            return
        if _LOGGED_TRACEBACK.match(text):
            self._close(stream)
            stream.is_logged = True
            return
        if text.startswith("*** ") and "stack trace" in text:
            stream.stack = "lines" if "Begin" in text else "frames"
            if not _SIGNAL.match(text):
                return
        message = self._begun_by(stream, line)
        if message is not None:
            self._open(stream, message)
        elif stream.message is not None:
            self._continue(stream, stream.message, text)

    def _begun_by(self, stream: _Stream, line: LogLine) -> Message | None:
        """The message that a line without a header begins, if it does."""
        text = line.text
        if _SIGNAL.match(text):
            return self._message(line, "signal", text)
        if _TERMINATE.match(text):
            message = self._message(line, "log", text)
            message.severity = "F"
            return message
        if found := _BARE_EXCEPTION.match(text):
            message = self._message(line, "exception", found["text"] or found["wrapped_text"])
            message.exception = (found["name"] or found["wrapped"]).rpartition(".")[2]
            return message
        current = stream.message
        is_tail = current is not None and (
            current.origin != "log" or current.severity in ("E", "F") or stream.stack != ""
        )
        if not is_tail and _BARE.match(text):
            return self._message(line, "bare", text)
        if not is_tail and (_BARE_COMPLAINT.match(text) or self._mentions(text)):
            message = self._message(line, "log", text)
            message.severity = "W"
            return message
        return None

    def _mentions(self, text: str) -> bool:
        # A program may print such lines without end; the first ones say it all.
        if self._found.mentions >= _MENTIONS or not mentions_failure(text):
            return False
        self._found.mentions += 1
        return True

    def _continue(self, stream: _Stream, message: Message, text: str) -> None:
        if found := _FRAME.match(text):
            self._add_frame(message, found["symbol"] or found["gdb"])
        elif message.origin == "signal" and (found := _PYTHON_FRAME.match(text)):
            self._add_frame(message, f"{found['name']} ({found['file']}:{found['line']})")
        elif stream.stack == "lines":
            self._add_frame(message, text)
        elif stream.stack == "frames":
            return
        elif message.origin == "exception" and _AFTER_EXCEPTION.match(text):
            self._close(stream)
        elif stream.length < _MESSAGE_CHARACTERS:
            message.lines.append(text)
            stream.length += len(text) + 1

    def _add_frame(self, message: Message, symbol: str) -> None:
        symbol = symbol.strip()
        if symbol and symbol != "(unknown)" and len(message.stack) < _STACK_FRAMES:
            message.stack.append(symbol[:500])
