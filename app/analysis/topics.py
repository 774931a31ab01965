"""What a failure of XLA is about, where nothing states or points to its class.

A status that no row of the table knows still names things: shardings, cliques, layouts. And every
C++ file deals with something, as does the one that holds a condition of which no file was copied.
Both only suggest a class, and are told as guesses. Asked are failures that XLA reports by itself;
what other programs say by the same words has no topic.
"""

import re

from app.analysis.own_words import bears_more_than_a_status
from app.analysis.python_frames import is_of_compiler
from app.knowledge import (
    FailureSign,
    failure_signs,
    files_with_check,
    is_file_of_checks,
    releases_of_check,
)
from app.model.dump import CheckFailure

# The sign of a row that knows no more than what a file or a message is about.
TOPIC = "topic"

# Others (not found, unavailable, ...) are given by file systems and networks, too.
_STATUSES = frozenset(
    ("INTERNAL", "INVALID_ARGUMENT", "UNIMPLEMENTED", "FAILED_PRECONDITION", "UNKNOWN")
)
_CHARACTERS = 600
# Shorter conditions (`status.ok()`, `config != nullptr`) are checked in other programs, too.
_SHORTEST = 20
_UP_TO_CONDITION = re.compile(
    r"^.{0,200}?(?:Check failed: ?|RET_CHECK(?: failure)?:? ?(?:\.{3} ?)?)", re.S
)
# What run times and stacks add to a message, whatever it is about.
_ADDED = re.compile(
    r"[:;]? ?while running replica \d{1,9} and partition [^\n]*|; current tracing scope[^\n]*"
    r"|; current profiling annotation[^\n]*|Execution of replica \d{1,9} failed"
    r"|Failed to execute XLA Runtime executable|run time error|Bad StatusOr access"
    r"|(?<![\w.])[\w.]{0,100}(?:Xla|Jax)RuntimeError|Compilation fail(?:ed|ure): "
    r"|\*\*\* Begin stack.*",
    re.S,
)


def topic_of(failure: CheckFailure, text: str) -> FailureSign | None:
    """The row for what a status of XLA is about; `text` is its message without printed HLO."""
    if failure.kind != "status" or (failure.status or "INTERNAL") not in _STATUSES:
        return None
    if _is_raised_by_others(failure) or _is_of_anybody(failure):
        return None
    return topic_in(text)


def topic_in(text: str) -> FailureSign | None:
    """The row for what a message of XLA is about, given without printed HLO."""
    words = _ADDED.sub("", text)[:_CHARACTERS]
    return next((sign for sign in failure_signs("topic") if sign.words.search(words)), None)


def _is_raised_by_others(failure: CheckFailure) -> bool:
    """Whether a program raised the status, whose code others use, too; its frames show where.

    JAX's own exceptions pass through the program's frames, others of XLA end in the library's.
    """
    if not failure.frames or (failure.exception or "").endswith(
        ("XlaRuntimeError", "JaxRuntimeError")
    ):
        return False
    return failure.exception is not None and not is_of_compiler(failure.frames[0])


def _is_of_anybody(failure: CheckFailure) -> bool:
    """Whether a bare status stands amid a log that goes on: any service may have answered so."""
    told_by = (failure.file, failure.exception, failure.frames, failure.stack, failure.context)
    return failure.goes_on and not any(told_by) and not bears_more_than_a_status(failure.text)


def is_file_of_xla(failure: CheckFailure, stem: str) -> bool:
    """Whether the file that a failure names is XLA's.

    Other programs have a `client.cc`, too: of a name that is a single word XLA must have that very
    check.
    """
    if failure.file is None:
        return False
    if "_" in stem:
        return is_file_of_checks(failure.file)
    return bool(failure.condition and releases_of_check(failure.file, failure.condition))


def sign_of_condition(failure: CheckFailure) -> FailureSign | None:
    """The row for the file of a check, where nobody copied the part of the line that names it.

    Known is the condition, and which files of XLA check it; they must all be of one class.
    """
    if failure.file is not None or failure.kind not in ("check", "ret_check"):
        return None
    about = _UP_TO_CONDITION.sub("", failure.text, count=1)
    stems = {file.partition(".")[0] for file in files_with_check(about, _SHORTEST)}
    signs = [_of_file(stem) for stem in sorted(stems)]
    if len({sign.class_ if sign else "" for sign in signs}) != 1:
        return None
    return next((sign for sign in signs if sign and sign.sign != TOPIC), signs[0])


def _of_file(stem: str) -> FailureSign | None:
    signs = (*failure_signs("file"), *failure_signs("core"))
    return next((sign for sign in signs if sign.words.fullmatch(stem)), None)
