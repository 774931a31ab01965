"""What begins a message where no logger put a header: a death, an exception, a bare status.

Given is a line without what stands around it; grouping is not done here.
"""

import re
from dataclasses import dataclass

from app import knowledge
from app.ingest.log_shapes import OLD_STATUS_CODES, STATUS_CODES


@dataclass(frozen=True, slots=True)
class Beginning:
    """`origin`, `severity` and `exception` are those of the message; `text` its first line."""

    origin: str
    text: str
    severity: str = ""
    exception: str | None = None


_HEAP = (
    r"(?:double free or corruption \(|corrupted (?:size vs|double-linked)|free\(\): invalid "
    r"|malloc\(\): |malloc_consolidate\(\): |munmap_chunk\(\): |realloc\(\): invalid "
    r"|\*\*\* stack smashing detected)"
)
_SIGNAL = re.compile(
    r"Fatal Python error: (?P<python>[^\n]{1,200})$"
    r"|\*\*\* (?:Process received signal|Aborted at|SIG[A-Z]{2,6}\b)"
    r"|(?:\S{1,200}: line \d{1,9}: *\d{1,9} )?(?:Segmentation fault|Aborted|Bus error"
    r"|Illegal instruction|Killed|Floating point exception)(?: *\(core dumped\)| {2,}|$)"
    # zsh: `zsh: illegal hardware instruction  python t.py`, `[1]    4242 segmentation fault  ...`;
    # other commands than those that run Python have no part in XLA.
    r"|(?:zsh: |\[\d{1,4}\] {1,6}\+? {0,6}\d{1,9} )(?:segmentation fault|abort|bus error|killed"
    r"|illegal hardware instruction|IOT instruction|floating point exception)"
    r"(?=\s*$|\s[^\n]{0,200}(?:python|\bpytest\b|\./|\b(?:jupyter|torchrun|accelerate|julia|poetry|conda|uv)\b|\.py\b))"
    r"|Thread \d{1,9} \"[^\"\n]{0,80}\" received signal SIG[A-Z]{2,6}"
    # macOS: `python(378,0x1e9c9) malloc: *** error for object 0x4: ...`, and the shell's word.
    r"|Abort trap: \d|\S{1,200}\(\d{1,9},0x[0-9a-f]{1,16}\) malloc: \*\*\* error "
    r"|(?:Program|Process) (?:received|terminated with) signal SIG[A-Z]{2,6}"
    # No `SIGSEGV handler installed`.
    # Julia's: `[7575] signal 6 (-6): Aborted`, `signal (11.1): Segmentation fault`.
    r"|(?:\[\d{1,9}\] )?signal (?:\(\d{1,2}(?:\.-?\d)?\)|\d{1,2} \(-?\d\)): (?:Segmentation fault"
    r"|Aborted|Bus error|Illegal instruction|Floating point exception)"
    r"|SIG(?:SEGV|ABRT|BUS|ILL|FPE)(?=\s*(?:$|[:(,]|(?:in|at|received)\b))"
    # Reports of crashes on macOS.
    r"|Thread \d{1,9} Crashed:|(?:\* )?thread #\d{1,9}, [^\n]{0,200}stop reason = EXC_"
    # What the C library says before it aborts.
    rf"|{_HEAP}"
)
# Python prints this wherever its error stream stands, be it behind a progress bar.
_FATAL = "Fatal Python error: "
_FATAL_WITHIN = 400
_TERMINATE = re.compile(r"terminate called (?:after throwing|without an active)")
_BARE_EXCEPTION = re.compile(
    r"(?P<name>(?:[\w.]{1,200}\.)?(?:XlaRuntimeError|JaxRuntimeError)): (?P<text>.*)$"
    r"|(?P<wrapped>RuntimeError|ValueError): (?P<wrapped_text>(?:Bad StatusOr access: |CUDNN_|CUDA_"
    rf"|(?:{'|'.join([*STATUS_CODES, *OLD_STATUS_CODES])}): ).*)$"
    r"|(?P<plain>AssertionError|FloatingPointError): (?P<plain_text>.*)$"
)
# Beginnings of a failure that were cut out of a log or wrapped by someone else's logger.
_BARE = re.compile(
    rf"(?:{'|'.join(STATUS_CODES)}): \S"
    # torch_xla's checks.
    r"|(?:RuntimeError: )?[\w./+\-]{1,300}\.(?:cc|cpp|h):\d{1,9} : Check failed: "
    r"|(?:\w{1,40}: ){0,2}RET_CHECK failure \(|Check failed: "
    r"|Non-OK-status: |LLVM (?:ERROR|Fatal Error)|Compilation fail(?:ed|ure): "
    r"|Autotuning failed for (?:HLO\b|%|\S{1,200}(?: = |:|\s*$))|Ran out of memory in memory space"
    r"|No valid engine configs for"
    r"|custom call '[\w.]+' failed: "
    r"|(?:[^\n]{0,200} (?:RAW:|-) )?Attempting to fetch value instead of handling error "
    # XLA's coded errors, as docs/errors lists them: `E1001: CompileTimeScopedVmemOom: ...`.
    r"|E\d{4}: (?:CompileTime|Runtime)[A-Z]"
    # What the pipeline adds to a verifier's complaint, which may have been cut off.
    r"|\.{3} ?Failed after [a-z][\w.\-]{1,200}\s*$"
    r"|Failed after (?P<after_pass>[a-z][\w.\-]{1,200})\s*$"
    # Of several errors, as TensorFlow counts them.
    rf"|\s{{0,8}}\(\d{{1,4}}\) (?:{'|'.join([*STATUS_CODES, *OLD_STATUS_CODES])}): "
    # What MLIR says of an operation, after the place in its text.
    r"|(?:loc\([^\n]{0,400}\): |\S{1,400}:\d{1,9}:\d{1,9}: )?error: '[a-z_]\w*\.[\w.]+' op "
    r"|(?:(?:loc\([^\n]{0,400}\): |\S{1,400}:\d{1,9}:\d{1,9}: )?error: )?failed to legalize"
    r" operation ['`](?:stablehlo|mhlo|chlo|vhlo|sdy)\.\w"
)
# Below a failed check; the line of the check itself may have been lost.
_STACK_ALONE = "*** Check failure stack trace: ***"
# Complaints, told with the verbose lines.
_BARE_COMPLAINT = re.compile(
    r"Constant folding an instruction is taking|\[Compiling module |\[(?:spmd|SPMD)\] Involuntary"
    r"|Can't reduce memory use below|The operation took \d"
)


# Most lines begin nothing, and one question is cheaper than five.
_ANY = re.compile(
    "|".join(
        re.sub(r"\(\?P<\w+>", "(?:", pattern.pattern)
        for pattern in (_SIGNAL, _TERMINATE, _BARE_EXCEPTION, _BARE, _BARE_COMPLAINT)
    )
    + f"|{re.escape(_STACK_ALONE)}"
)


def is_signal(text: str) -> bool:
    """Whether a line tells of a signal that ended the process."""
    return _SIGNAL.match(text) is not None


def beginning_of(text: str, *, is_tail: bool) -> Beginning | None:
    """The message that begins with `text`, None where none does.

    `is_tail`: the line may belong to a failure that is being told; then a status in it is its own.
    """
    text = text[max(text.find(_FATAL, 0, _FATAL_WITHIN), 0) :]
    if _ANY.match(text) is None:
        return None
    if is_signal(text) or (not is_tail and text.startswith(_STACK_ALONE)):
        return Beginning("signal", text)
    if _TERMINATE.match(text):
        return Beginning("log", text, severity="F")
    if found := _BARE_EXCEPTION.match(text):
        name = (found["name"] or found["wrapped"] or found["plain"]).rpartition(".")[2]
        text = found["text"] or found["wrapped_text"] or found["plain_text"] or ""
        return Beginning("exception", text, exception=name)
    if not is_tail and (found := _BARE.match(text)):
        # Programs say `Failed after long-timeout`, too.
        name = found["after_pass"]
        return Beginning("bare", text) if name is None or knowledge.pass_releases(name) else None
    if not is_tail and _BARE_COMPLAINT.match(text):
        return Beginning("log", text, severity="W")
    return None
