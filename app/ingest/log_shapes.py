"""What one message of a log says: the shapes of failures that XLA and its surroundings print.

A message comes in with the place that its header named; out comes a `CheckFailure`, or None where
the message is no failure. Which of several failures is the cause is not decided here.
"""

import re
from dataclasses import dataclass, field
from itertools import takewhile

from app.ingest.conditions import mask, split_check
from app.ingest.log_frames import Threads
from app.model.dump import CheckFailure, PythonFrame

TEXT_CHARACTERS = 4000


@dataclass(slots=True)
class Message:
    """A message with the lines that belong to it; `origin` says what began it.

    `exception` is the class of a Python exception; `stack` the symbols of frames printed below;
    `frames` the Python frames of an exception, innermost first; `threads` those of a death.
    """

    log: str
    number: int
    stream: str
    origin: str
    lines: list[str]
    severity: str = ""
    file: str | None = None
    line: int | None = None
    exception: str | None = None
    stack: list[str] = field(default_factory=list[str])
    frames: list[PythonFrame] = field(default_factory=list[PythonFrame])
    threads: Threads = field(default_factory=Threads)

    @property
    def text(self) -> str:
        """All lines, without blank ones at the end."""
        lines = self.lines
        return (lines[0] if len(lines) == 1 else "\n".join(lines)).strip()

    @property
    def own_text(self) -> str:
        """As `text`, without what a program printed behind a message that had come to its end.

        More of a warning follows a colon or an empty first line, or is indented; errors are told
        in lines of any form.
        """
        first, rest = self.lines[0].strip(), self.lines[1:]
        if self.severity != "W" or not first or first.endswith(":"):
            return self.text
        more = takewhile(lambda line: not line.strip() or line[0].isspace(), rest)
        return "\n".join((first, *more)).strip()

    @property
    def is_told_alone(self) -> bool:
        """An exception of anybody's class, XLA's aside, without a traceback."""
        own = ("XlaRuntimeError", "JaxRuntimeError")
        return self.exception not in (None, *own) and not self.frames


STATUS_CODES = (
    "CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS "
    "PERMISSION_DENIED UNAUTHENTICATED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE "
    "UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS"
).split()
# To 2022 `Invalid argument: ...`, upper case since; of several errors `InvalidArgument: ...`.
OLD_STATUS_CODES = {
    spelt: code
    for code in STATUS_CODES
    for spelt in (code.capitalize().replace("_", " "), code.title().replace("_", ""))
}
STATUS = re.compile(rf"(?P<code>{'|'.join([*STATUS_CODES, *OLD_STATUS_CODES])}): ")

# What wraps a status on its way up; each may stand once more inside the next.
_WRAPPER = re.compile(
    r"(?:Bad StatusOr access: |BadStatusOrAccess: |Compilation failed: |Compilation failure: "
    r"|Execution of replica \d{1,9} failed: |XLA FFI call failed: |Status: |what\(\): +"
    r"|Failed to execute XLA Runtime executable: |run time error: |(?:[Ee]rror|status): "
    r"|(?:[^\n]{0,200} (?:RAW:|-) )?Attempting to fetch value instead of handling error )"
)
# absl, where a value is taken of what holds an error.
_NO_VALUE = "Attempting to fetch value instead of handling error "
_CHECK = re.compile(r"Check failed: ?")
# As torch_xla prints it: `torch_xla/csrc/runtime/runtime.cc:17 : Check failed: ...`.
_PLACED_CHECK = re.compile(
    r"(?:RuntimeError: )?(?:[\w.+\-]{1,100}/){0,20}(?P<file>[\w.\-]{1,100}\.(?:cc|cpp|h))"
    r":(?P<line>\d{1,9}) : Check failed: "
)
_TRAILING_PLACE = re.compile(r" \((?P<file>[\w.\-]+\.(?:cc|h|cpp)):(?P<line>\d{1,9})\)$")
_RET_CHECK = re.compile(r"RET_CHECK failure\s\((?P<path>[^\s():]{1,300}):(?P<line>\d{1,9})\)\s?")
_NON_OK = re.compile(r"Non-OK-status: (?P<condition>.{1,400}?)(?:\s+[Ss]tatus: |\n|$)", re.S)
_CONTEXT = re.compile(r"during context \[(?P<context>[^\]\n]{0,200})\]:\s?")
# On a line of its own, but for who joined the lines of a message.
_FAILED_AFTER = re.compile(
    r"^Failed after (?P<pass>[^\n]{1,200}?)\s*$|(?<=\s)Failed after (?P<joined>[\w.\-]{1,200})\s*$",
    re.M,
)
_PLACE = re.compile(r"(?P<path>[\w./+\-]{1,300}\.(?:cc|h|cu|cpp)):(?P<line>\d{1,9}): ")
_CUDNN_PLACE = re.compile(r"\bin (?P<path>[\w./+\-]{1,300}\.cc)\((?P<line>\d{1,9})\): ")
_MEMORY = re.compile(
    r"[Oo]ut of memory|OutOfMemory|Ran out of memory|ran out of memory|CompileTime\w{1,40}Oom"
    r"|Failed to allocate (?:request|\d)|Out of host memory|exceed\w* (?:available|scoped|the) \w*"
    r" ?(?:memory|vmem|hbm)|Attempting to (?:allocate|reserve)|Buffer\w*AllocationFailure"
)
_STUCK = re.compile(
    r"This thread has been waiting for|Termination timeout for|joined the rendezvous, however"
)
_UNSTUCK = re.compile(r"(?:This thread|Thread) is unstuck")
_NCCL = re.compile(r"NCCL operation .{1,300} failed: ")
# What is left of a failure where someone copied a line out of a log, or printed the error himself.
_MENTIONS = (
    *("Check failed", "RET_CHECK", "RESOURCE_EXHAUSTED", "INTERNAL: ", "UNKNOWN: ", "NOT_FOUND: "),
    *("INVALID_ARGUMENT: ", "UNIMPLEMENTED: ", "FAILED_PRECONDITION: ", "Autotuning failed"),
    *("CUDA_ERROR_", "HIP_ERROR_", "CUDNN_STATUS_", "CUBLAS_STATUS_", "NCCL operation", "Gloo "),
    *("UDA graph", "GPU graph", "gpu graph", "ommand buffer", "custom call ", "ptxas error"),
    *("may be stuck", "Termination timeout", "launch group", "moved to host", "device compute in"),
    *("halted unexpectedly", "Halt is unexpected", "Mosaic failed", "LLVM ERROR", "schecklt"),
    *("std::out_of_range", "No valid engine", "ut of memory", "hbm usage"),
    "device=TPU",
    *(
        "by rematerialization",
        "Involuntary full",
        "Very slow compile?",
        "All configs were filtered",
    ),
    *("displaying the full instruction", "Results do not match the reference"),
    *("Not equal to tolerance", "Mismatched elements", "Max absolute difference"),
    *("' op ", "failed to legalize", "C++ exception", "verifier errors", "ssertion failed"),
    *("oom-kill", "oom_kill", "OOM Kill", "CuDNN library", "distributed service detected"),
    *("ang watchdog", "high number of iterations", "Failed to verify", "Hardening assertion"),
    *("Assertion `", "BLAS error", "Hip error", "Megascale detects"),
)
# The end of a traceback that is not there, or what a program printed of it.
_EXCEPTION_ALONE = re.compile(r"(?:\w{1,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception): \S")
_FRAME_ALONE = re.compile(
    r"(?: *#\d{1,4} +(?:0x[0-9a-f]+ in )?| *frame #\d{1,6}: 0x[0-9a-f]+ [\w.\-]+`)?"
    r"(?:xla|mlir|llvm|slinky|stream_executor|tsl)::\w"
)
_WHAT = re.compile(r"^\s*what\(\): +(?P<what>.*)", re.M | re.S)
_SIGNAL_NAME = re.compile(r"SIG[A-Z]{2,6}")
_SIGNAL_WORDS = {
    "segmentation fault": "SIGSEGV",
    **dict.fromkeys(("abort", "iot instruction"), "SIGABRT"),
    "bus error": "SIGBUS",
    **dict.fromkeys(("illegal instruction", "illegal hardware instruction"), "SIGILL"),
    "floating point exception": "SIGFPE",
    "killed": "SIGKILL",
    # The C library, before it aborts.
    **dict.fromkeys(("corrupt", "free(): ", "alloc", "munmap_chunk", "smashing"), "SIGABRT"),
}


def failure_of(message: Message) -> CheckFailure | None:
    """The failure that a message states, None when it states none."""
    text = message.text
    if message.origin == "signal":
        return _of_signal(message, text)
    if message.origin in ("exception", "bare") and (placed := _PLACED_CHECK.match(text)):
        return _of_check(
            message, text[placed.end() :], file=placed["file"], line=int(placed["line"])
        )
    if message.origin == "exception":
        return _of_exception(message, text)
    if message.severity in ("I", "W"):
        return None
    if found := _CHECK.search(text, 0, 200):
        return _of_check(message, text[found.end() :])
    if message.severity == "F" and not _STUCK.search(text, 0, 400):
        return _of_fatal(message, text)
    if text.startswith(("LLVM Fatal Error", "LLVM ERROR: ")):
        return _failure(message, "fatal", text, file=message.file, line=message.line)
    if _STUCK.search(text, 0, 400):
        return _failure(message, "rendezvous", text, file=message.file, line=message.line)
    if "RET_CHECK failure" in text[:400] or _states_failure(message, text):
        return _of_status(message, text)
    return _of_shortened(message, text)


def mentions_failure(text: str) -> bool:
    """Whether a line that begins no message still speaks of a failure or shows a frame of one."""
    start = text[:400]
    return (
        any(word in start for word in _MENTIONS)
        or _FRAME_ALONE.match(start) is not None
        or _EXCEPTION_ALONE.match(start) is not None
    )


def may_speak_of_waiting(text: str) -> bool:
    """Whether a message may be about participants that wait: cheap, and never wrong with no."""
    return "hread" in text or "Termination" in text or "rendezvous" in text


def is_stuck(text: str) -> bool:
    """Whether a message warns of participants that wait for each other."""
    return _STUCK.search(text, 0, 400) is not None


def is_stuck_warning(failure: CheckFailure) -> bool:
    """Whether a failure is such a warning, which a later line may take back."""
    return failure.kind == "rendezvous" and "Termination timeout" not in failure.text[:400]


def is_unstuck(text: str) -> bool:
    """Whether a message takes such a warning back."""
    return _UNSTUCK.search(text, 0, 400) is not None


def _states_failure(message: Message, text: str) -> bool:
    if message.origin == "bare":
        return True
    # An error line of a logger is most often a complaint; these are the ends of something.
    return bool(re.match(r"Execution of replica \d{1,9} failed: |Non-OK-status: ", text)) or (
        message.file == "status_macros.cc" and STATUS.match(text) is not None
    )


def _of_check(
    message: Message, text: str, *, file: str | None = None, line: int | None = None
) -> CheckFailure:
    file, line = file or message.file, line or message.line
    if file is None and (found := _TRAILING_PLACE.search(text.partition("\n")[0])):
        file, line = found["file"], int(found["line"])
        text = text[: found.start()] + text[found.end() :]
    checked = split_check(file, text)
    subject = checked.condition
    if checked.values and STATUS.search(checked.values):
        # CHECK_OK: the condition is the same everywhere, the status tells faults apart.
        subject += " " + mask(checked.values)
    found = STATUS.search(checked.values or "")
    return _failure(
        message,
        "check",
        f"Check failed: {text}",
        subject,
        file=file,
        line=line,
        condition=checked.condition or None,
        values=checked.values,
        status=_code(found["code"]) if found else None,
    )


def _of_shortened(message: Message, text: str) -> CheckFailure | None:
    """What someone shortened who copied it: `copy_insertion.cc:427] RET_CHECK param != root`."""
    if message.file is None or not text.startswith("RET_CHECK "):
        return None
    condition = split_check(message.file, text.removeprefix("RET_CHECK ")).condition
    return _failure(
        message,
        "ret_check",
        text,
        condition,
        file=message.file,
        line=message.line,
        condition=condition,
    )


def _of_fatal(message: Message, text: str) -> CheckFailure:
    found = _NON_OK.match(text)
    if found is None:
        what = _WHAT.search(text, 0, 2000)
        if what and STATUS.search(what["what"], 0, 300):
            return _of_status(message, what["what"])
        if "RET_CHECK failure" in text[:400] or text.startswith(_NO_VALUE):
            return _of_status(message, text)
        subject = " ".join(filter(None, (mask(text), mask(what["what"]) if what else "")))
        return _failure(message, "fatal", text, subject, file=message.file, line=message.line)
    rest = text[found.end() :]
    inner = _of_status(message, rest) if rest else None
    return _failure(
        message,
        "status" if inner is None else inner.kind,
        text,
        f"{' '.join(found['condition'].split())} {mask(rest)}",
        file=message.file,
        line=message.line,
        condition=" ".join(found["condition"].split()),
        status=inner.status if inner else None,
    )


def _of_signal(message: Message, text: str) -> CheckFailure:
    named = _SIGNAL_NAME.search(text)
    words = (code for word, code in _SIGNAL_WORDS.items() if word in text.lower())
    signal = named[0] if named else next(words, "")
    # The innermost frame of XLA's own tells two faults apart, its arguments do not.
    own = next((frame for frame in message.stack if "xla::" in frame), "").partition("(")[0]
    return _failure(message, "signal", text, f"{signal} {own}".strip() or mask(text))


def _of_exception(message: Message, text: str) -> CheckFailure | None:
    if message.exception in ("KeyboardInterrupt", "SystemExit"):
        return None
    known = (message.exception or "").endswith(("XlaRuntimeError", "JaxRuntimeError"))
    if known or STATUS.search(text, 0, 300):
        return _of_status(message, text)
    told = f"{message.exception}: {text}" if text else f"{message.exception}"
    return _failure(message, "python", told, f"{message.exception}: {mask(text)}")


def _of_status(message: Message, text: str) -> CheckFailure:
    """A status text, whatever wraps it."""
    body, status = _unwrapped(text)
    context = _CONTEXT.search(body, 0, 400)
    after = _FAILED_AFTER.search(text)
    what = body[context.end() :] if context else body
    kind = "verifier" if context or after else "status"
    file, line, condition, subject = _place_of(what)
    if found := _RET_CHECK.search(what, 0, 400):
        file, line = found["path"].rpartition("/")[2], int(found["line"])
        checked = split_check(file, what[found.end() :])
        condition = subject = checked.condition
        kind = "verifier" if kind == "verifier" else "ret_check"
    elif kind == "status" and _NCCL.search(what, 0, 1000):
        kind = "nccl"
    elif kind == "status" and _MEMORY.search(text, 0, 2000):
        kind = "oom"
    return _failure(
        message,
        kind,
        text,
        subject or f"{status or ''}: {mask(what)}".removeprefix(": "),
        file=file,
        line=line,
        condition=condition,
        status=status,
        context=context["context"] if context else None,
        failed_after=after["pass"] or after["joined"] if after else None,
    )


def _unwrapped(text: str) -> tuple[str, str | None]:
    status: str | None = None
    place = 0
    while place < len(text):
        if found := STATUS.match(text, place):
            # An outer UNKNOWN or INTERNAL only says that something below failed.
            status = _code(found["code"])
        else:
            found = _WRAPPER.match(text, place)
        if found is None:
            break
        place = found.end()
    if status is None and (found := STATUS.search(text, 0, 300)):
        return text[found.end() :], _code(found["code"])
    return text[place:], status


def _place_of(text: str) -> tuple[str | None, int | None, str | None, str]:
    found = _PLACE.match(text) or _CUDNN_PLACE.search(text, 0, 2000)
    if found is None:
        return None, None, None, ""
    subject = mask(text[found.end() :] if found.start() == 0 else text)
    return found["path"].rpartition("/")[2], int(found["line"]), None, subject


def _code(word: str) -> str:
    return OLD_STATUS_CODES.get(word, word)


def _failure(
    message: Message,
    kind: str,
    text: str,
    subject: str | None = None,
    *,
    file: str | None = None,
    line: int | None = None,
    condition: str | None = None,
    values: str | None = None,
    status: str | None = None,
    context: str | None = None,
    failed_after: str | None = None,
) -> CheckFailure:
    about = mask(text) if subject is None else subject
    return CheckFailure(
        kind=kind,
        text=text.strip()[:TEXT_CHARACTERS],
        signature=f"{kind}:{file or ''}:{about}",
        log=message.log,
        line_number=message.number,
        file=file,
        line=line,
        condition=condition,
        values=values,
        status=status,
        context=context,
        failed_after=failed_after,
        stack=tuple(message.stack),
        frames=tuple(message.frames) or message.threads.died,
        meanwhile=message.threads.meanwhile,
        exception=message.exception,
    )
