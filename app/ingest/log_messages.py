"""Groups the lines of a log to messages, and takes down what they say.

Lines come in one after another, per process where a launcher marks them; `log_shapes` says what a
message states. Messages are cut. What is kept are failures, warnings, the names of passes and what
verbose passes say.
"""

import re
import sys
from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from app import knowledge
from app.ingest.log_beginnings import Beginning, beginning_of, is_signal
from app.ingest.log_findings import MOST_STACKS, LogFindings
from app.ingest.log_frames import (
    TIME_IS_UP,
    frame_of_thread,
    frame_of_traceback,
    is_by_abort,
    symbol_of,
)
from app.ingest.log_lines import LogLine
from app.ingest.log_shapes import (
    TEXT_CHARACTERS,
    Message,
    failure_of,
    is_stuck,
    is_unstuck,
    may_speak_of_waiting,
    mentions_failure,
)
from app.model.dump import LogFacts, PipelinerMove, PythonFrame

# A message ends when it is this long, or this many lines of whatever process after its first.
_MESSAGE_CHARACTERS = 1 << 16
_MESSAGE_LINES = 4096
_STACK_FRAMES = 200
_MENTIONS = 100
# No log says more than this in earnest.
_MOST_STREAMS = 1 << 12
_MOST_OPEN_CHARACTERS = 1 << 24

_EXCEPTION = re.compile(r"(?P<name>[A-Za-z_](?:[\w.]|<locals>){0,200})(?:: (?P<text>.*)|)$")
# With these JAX tells an exception once more, with another traceback.
_STANDS_FOR = re.compile(r"\bJaxStackTraceBeforeTransformation$|\bUnfilteredStackTrace$")
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
    # cudaErrorSharedObjectSymbolNotFound, of an old driver that does without.
    r"error before creating cudnn handle \(302\)|Unable to register cu\w{2,6} factory"
    r"|failed call to cuInit|Could not find cuda drivers|Could not load dynamic library"
    r"|computation placer already registered|(?<!Error: )Unable to initialize backend '"
)
_PIPELINE = "hlo_pass_pipeline.cc"
_PASS = re.compile(r"\s*HLO pass (?P<name>\S[^\n]*)$")


@dataclass(slots=True)
class _Stream:
    """Where one process of the log stands."""

    message: Message | None = None
    length: int = 0
    # `lines` between the marks of a stack trace, `frames` below the mark of a failed check.
    stack: Literal["", "lines", "frames"] = ""
    in_traceback: bool = False
    # Of the traceback that goes on, innermost last.
    frames: deque[PythonFrame] = field(default_factory=lambda: deque(maxlen=_STACK_FRAMES))
    is_logged: bool = False
    is_told: bool = False


class MessageReader:
    """Groups lines to messages and takes down what they say; `name` is that of the log."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._streams: dict[str, _Stream] = {}
        self._found = LogFindings()
        self._pass_files: dict[str, bool] = {}
        # The processes whose messages or tracebacks go on, with the line where those began.
        self._busy: dict[str, int] = {}
        # No message that goes on began before this line.
        self._oldest = 0
        # What was added to messages since none was open.
        self._open_characters = 0

    @property
    def is_busy(self) -> bool:
        """Whether a message or a traceback goes on, so that no line may be passed over."""
        return bool(self._busy)

    def is_read(self, file: str) -> bool:
        """Whether what a C++ file logs by the way is taken down."""
        return self._is_pass_file(file)

    def feed(self, line: LogLine) -> None:
        """Take the next line that is not passed over."""
        if self._busy:
            self._end_old_messages(line.number)
        self._found.surroundings.feed(line.text)
        if line.text.startswith(TIME_IS_UP):
            self.end_messages()
            self._found.time_up_at = line.number
            return
        stream = self._streams.get(line.stream) or self._new_stream(line.stream)
        if line.is_headed:
            self._begin(stream, line)
        elif stream.in_traceback:
            self._feed_traceback(stream, line)
        else:
            self._feed_free(stream, line)

    def end_messages(self) -> None:
        """Whatever message or traceback goes on ends here."""
        for name in tuple(self._busy):
            self._close(self._streams[name], name)

    def finish(self, *, lines: int, byte_size: int, repeats: int = 0) -> LogFacts:
        """What all lines say; `lines` and `byte_size` are those of the whole log.

        `repeats` are the lines that were not read, since they repeat others but for numbers.
        """
        self.end_messages()
        for message in self._found.alone.last:
            self._judge(message)
        return self._found.facts(self._name, lines=lines, byte_size=byte_size, repeats=repeats)

    def _new_stream(self, name: str) -> _Stream:
        if len(self._streams) > _MOST_STREAMS + 2 * len(self._busy):
            self._streams = {busy: self._streams[busy] for busy in self._busy}
        return self._streams.setdefault(name, _Stream())

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

    def _begin(self, stream: _Stream, line: LogLine) -> None:
        """A logger began a message; one that tells nothing only ends the one before."""
        text, file = line.text, line.file or ""
        if file == _PIPELINE and line.severity in ("I", ""):
            self._close(stream, line.stream)
            if found := _PASS.match(text):
                name = sys.intern(found["name"].strip())
                self._found.passes.add(name, name)
            return
        # A header without a severity was cut out of a log by whoever thought it mattered.
        is_told = line.severity != "I" or self._is_pass_file(file) or self._mentions(text)
        may_count = is_told or is_stuck(text) or is_unstuck(text)
        if line.severity == "I" and not may_count:
            self._close(stream, line.stream)
            return
        self._open(stream, self._message(line, "log", text))
        stream.is_told = is_told

    def _open(self, stream: _Stream, message: Message) -> None:
        self._close(stream, message.stream)
        self._busy[message.stream] = message.number
        stream.message = message
        stream.length = len(message.lines[0])
        self._open_characters += stream.length
        stream.is_told = message.origin == "log"

    def _close(self, stream: _Stream, name: str) -> None:
        message, stream.message = stream.message, None
        stream.stack, stream.in_traceback = "", False
        self._busy.pop(name, None)
        if not self._busy:
            self._open_characters = 0
        if message is None:
            return
        text = message.lines[0]
        if message.origin == "signal" and self._found.time_up_at and is_by_abort(text):
            # Asked for, and no death of its own.
            told = message.threads.stacks(self._name)
            self._found.stacks += told[: MOST_STACKS - len(self._found.stacks)]
            return
        if message.severity == "I" and message.origin == "log" and not may_speak_of_waiting(text):
            self._take_down(message, is_told=stream.is_told)
        elif message.is_told_alone and self._found.alone.puts_off(message):
            return
        elif not self._judge(message) and message.origin == "log":
            self._take_down(message, is_told=stream.is_told)

    def _judge(self, message: Message) -> bool:
        """Take down the failure that a message states; whether it states one."""
        failure = failure_of(message)
        text = message.lines[0]
        if is_unstuck(text):
            self._found.unstuck_at = max(message.number, self._found.unstuck_at)
        elif is_stuck(text):
            self._found.stuck_at = max(message.number, self._found.stuck_at)
        if failure is not None:
            self._found.failures.add(failure.signature, failure)
        return failure is not None

    def _end_old_messages(self, number: int) -> None:
        if number < self._oldest + _MESSAGE_LINES:
            return
        while self._busy:
            name, self._oldest = next(iter(self._busy.items()))
            if number - self._oldest < _MESSAGE_LINES:
                return
            self._close(self._streams[name], name)

    def _is_pass_file(self, file: str) -> bool:
        if file not in self._pass_files:
            self._pass_files[file] = bool(knowledge.passes_of_file(file))
        return self._pass_files[file]

    def _take_down(self, message: Message, *, is_told: bool) -> None:
        file = message.file or ""
        text = message.lines[0]
        if is_told and (message.severity == "I" or not _HARMLESS.search(text, 0, 400)):
            text = message.own_text[:TEXT_CHARACTERS]
            told = PipelinerMove(self._name, message.number, file, text, message.severity)
            kept = self._found.verbose if message.severity == "I" else self._found.warnings
            kept.add((file, message.line), told)

    # ---- lines without a header ------------------------------------------------------------------

    def _feed_traceback(self, stream: _Stream, line: LogLine) -> None:
        if not line.text or line.text[0].isspace():
            if frame := frame_of_traceback(line.text, line.number):
                stream.frames.append(frame)
            return
        stream.in_traceback = False
        self._busy.pop(line.stream, None)
        found = _EXCEPTION.match(line.text)
        if stream.is_logged:
            stream.is_logged = False
            return
        if found is None:
            self._feed_free(stream, line)
            return
        if _STANDS_FOR.search(found["name"]):
            found = _EXCEPTION.match(found["text"] or "") or found
        message = self._message(line, "exception", found["text"] or "")
        message.exception = found["name"].rpartition(".")[2]
        message.frames = list(reversed(stream.frames))
        self._open(stream, message)

    def _feed_free(self, stream: _Stream, line: LogLine) -> None:
        text = line.text
        if text.startswith(_TRACEBACK):
            self._close(stream, line.stream)
            stream.in_traceback = True
            stream.frames.clear()
            self._busy[line.stream] = line.number
            return
        if _LOGGED_TRACEBACK.match(text):
            self._close(stream, line.stream)
            stream.is_logged = True
            return
        if stream.message is not None and text.startswith("*** ") and "stack trace" in text:
            stream.stack = "lines" if "Begin" in text else "frames"
            if not is_signal(text):
                return
        message = self._begun_by(stream, line)
        if message is not None:
            self._open(stream, message)
        elif stream.message is not None:
            self._continue(stream, stream.message, line)

    def _begun_by(self, stream: _Stream, line: LogLine) -> Message | None:
        """The message that a line without a header begins, if it does."""
        current = stream.message
        is_tail = current is not None and (
            current.origin != "log" or current.severity in ("E", "F") or stream.stack != ""
        )
        begun = beginning_of(line.text, is_tail=is_tail)
        if begun is None and not is_tail and self._mentions(line.text):
            begun = Beginning("log", line.text, severity="W")
        if begun is None:
            return None
        message = self._message(line, begun.origin, begun.text)
        message.severity, message.exception = begun.severity, begun.exception
        return message

    def _mentions(self, text: str) -> bool:
        # A program may print such lines without end; the first ones say it all.
        if self._found.mentions >= _MENTIONS or not mentions_failure(text):
            return False
        self._found.mentions += 1
        return True

    def _continue(self, stream: _Stream, message: Message, line: LogLine) -> None:
        text = line.text
        self._take_frame(stream, message, line)
        if symbol := symbol_of(text):
            self._add_frame(message, symbol)
        elif message.origin == "signal" and (frame := frame_of_thread(text, line.number)):
            self._add_frame(message, f"{frame.function} ({frame.file}:{frame.line})")
        elif stream.stack == "lines":
            self._add_frame(message, text)
        elif stream.stack == "frames":
            return
        elif message.origin == "exception" and _AFTER_EXCEPTION.match(text):
            self._close(stream, message.stream)
        else:
            message.lines.append(text)
            stream.length += len(text) + 1
            self._open_characters += len(text) + 1
            longest = TEXT_CHARACTERS if message.severity in ("I", "W") else _MESSAGE_CHARACTERS
            if stream.length > longest:
                self._close(stream, message.stream)
            if self._open_characters > _MOST_OPEN_CHARACTERS:
                self.end_messages()

    def _take_frame(self, stream: _Stream, message: Message, line: LogLine) -> None:
        """Python's frames of the thread that died, and of a traceback within a message."""
        if message.origin == "exception":
            # A callback's traceback stands in the message, its innermost frame last.
            if frame := frame_of_traceback(line.text, line.number):
                message.frames.insert(0, frame)
                del message.frames[_STACK_FRAMES:]
        elif message.origin == "signal":
            message.threads.feed(line.text, line.number)

    def _add_frame(self, message: Message, symbol: str) -> None:
        symbol = symbol.strip()
        if symbol and symbol != "(unknown)" and len(message.stack) < _STACK_FRAMES:
            message.stack.append(symbol[:500])
