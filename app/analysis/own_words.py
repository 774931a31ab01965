"""Whether a message is XLA's or JAX's own, or that of a program which merely uses the same words.

Schedulers, comparators, watchdogs and fusions are spoken of everywhere. Such common words tell the
class of a failure only where what says them is of the compiler: by a status, a place in C++, a
name of its own, or the code of JAX that raised. What denies its words is not asked here but of a
message that bears no mark: there `no NaN found` says that all is well.
"""

import re
from collections.abc import Iterable

from app.analysis.python_frames import is_of_compiler
from app.ingest.log_frames import symbol_of
from app.ingest.log_shapes import STATUS_CODES
from app.knowledge import failure_signs
from app.model.dump import CheckFailure, PipelinerMove

_STATUS = re.compile(rf"\b(?:{'|'.join(STATUS_CODES)}): ")
_MARK = re.compile(
    r"\b(?:Xla|Jax)RuntimeError\b|Check failed: "
    r"|RET_CHECK failure|\bXLA\b|\b(?:xla|tsl|stream_executor)(?:::|/)|\bH[Ll][Oo]\b|\bHlo[A-Z]"
    r"|\bjax(?:lib)?\.(?:_src|_jax|errors|experimental|interpreters|xla_extension)\b"
    r"|\b(?:stablehlo|mhlo|sdy)\.|\bStableHLO\b|\bMLIR(?:Error)?\b|\bLLVM ERROR\b|\bloc\(\""
    r"|\b(?:pred|bf16|f(?:8\w{2,10}|16|32|64)|[su](?:4|8|16|32|64)|c(?:64|128))\[(?:\d[\d,]*)?\]"
    r"|\b[Ss]hardy\b|\bE\d{4}: (?:CompileTime|Runtime)[A-Z]"
    r"|\w\.cu[:(]\d{1,9}\b|\w\.cc(?:[:(]\d{1,9}\b|\s)"
    r"|\b(?:CUDA|HIP)_ERROR_\w|\bfailed to legalize operation\b"
)
_OF_XLA = frozenset({"check", "ret_check", "verifier", "nccl", "rendezvous"})
# Mistakes of a program of Python, or of how it was installed, whatever they name.
_MISTAKE = re.compile(
    r"\s*(?:E +)?(?:builtins\.)?(?:Attribute|Import|Index|Key|ModuleNotFound|Name|Syntax"
    r"|Indentation|UnboundLocal|FileNotFound|NotADirectory|IsADirectory|FileExists|Permission)Error\b"
)
# As someone marks a name that he took from a stack: `PriorityFusion (stack)`.
_CALLED_A_FRAME = re.compile(r"\((?:in )?(?:the )?(?:stack|frame|backtrace)\)")
_DENIES = re.compile(r"(?i:\b(?:no|without|none|(?<!=)0|zero)\b)\W{0,3}(?:\w{1,12} )?$")
_BEFORE = 24


def bears_a_mark(text: str) -> bool:
    """Whether a text has words that only XLA, JAX or what they are built on write."""
    return _STATUS.search(text) is not None or bears_more_than_a_status(text)


def bears_more_than_a_status(text: str) -> bool:
    """As `bears_a_mark`, but for the codes of a status, which gRPC and others write, too."""
    return _MARK.search(text) is not None


def is_own_failure(failure: CheckFailure) -> bool:
    """Whether a failure is told by XLA or JAX, and not by the program that uses them."""
    if failure.kind in _OF_XLA or failure.file is not None or failure.status is not None:
        return True
    if (failure.exception or "").endswith(("XlaRuntimeError", "JaxRuntimeError")):
        return True
    if failure.frames and failure.kind == "python" and is_of_compiler(failure.frames[0]):
        return True
    return bears_a_mark(failure.text) or bears_a_mark(failure.signature)


def is_own_line(line: PipelinerMove) -> bool:
    """Whether a line that states no failure is XLA's: it bears a mark or is of a file of XLA's."""
    stem = line.file.partition(".")[0]
    files = failure_signs("file", "core") if stem else ()
    return any(sign.words.fullmatch(stem) for sign in files) or bears_a_mark(line.text)


def is_mistake(text: str) -> bool:
    """Whether a text is an exception that Python raises of a mistake in a program or its set-up."""
    return _MISTAKE.match(text) is not None


def is_denied(match: re.Match[str]) -> bool:
    """Whether what was found stands behind a word that denies it: `no`, `without`, `0`."""
    start = match.start()
    return _DENIES.search(match.string[max(0, start - _BEFORE) : start]) is not None


def has_frames(texts: Iterable[str]) -> list[str]:
    """Those of some lines that name a symbol of C++; others name packages, files and products."""
    told = ((symbol_of(text), text) for text in texts)
    return [
        text if symbol is None else symbol
        for symbol, text in told
        if "::" in (symbol or text) or _CALLED_A_FRAME.search(text)
    ]
