"""Which class of failures a log speaks of, and what in it says so.

The table of signs (app/knowledge) is laid against what the log states: first the words of the
message, then the pass that the verifier names, the C++ file, the frames of the stack, the shared
files, and last the bare kind of the death. Instructions printed in a message are cut out first,
since their attributes name libraries and targets that have nothing to do with the fault. Words that
other programs use, too, count only in messages of XLA and JAX (own_words.py). Warnings of a run
that went on are diagnoses of their own.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from app.analysis.bare_deaths import of_bare_death
from app.analysis.complaints import complaints
from app.analysis.flag_refusals import PARSER
from app.analysis.own_words import has_frames, is_mistake, is_own_failure
from app.analysis.sign_search import first_sign, sign_of_frames, sign_of_name, spoken_sign
from app.analysis.sign_words import (
    OF_ANY_USER,
    PRINTED,
    diagnosis_of,
    said_by,
    stem_of,
    text_of,
    unprinted,
)
from app.analysis.topics import TOPIC, is_file_of_xla, sign_of_condition, topic_of
from app.knowledge import FailureSign, failure_signs, passes_named
from app.model.dump import CheckFailure, LogFacts, PipelinerMove
from app.model.facts import Diagnosis
from app.model.report import Failure

_SPEAKER = re.compile(r"(?:^|: )(?P<pass>[a-z]\w{1,40}(?:-\w{1,40}){1,8}): ")
_SPEAKS_WITHIN = 200
# Where a value of the host's lies.
_SPACE = re.compile(r"\bS\(5\)")
_NOT_COMPILED = "while compiling %"
# Signs of code that many passes share, and what only a pass says that was at work.
_OF_SHARED_CODE = frozenset({"core", "pass-check"})
_OF_ANY_GENERATOR = "mlir-frame"
_SAID_BY_PASSES = frozenset({"host-compute"})
_LINES_ABOVE = 5
# A line that no logger wrote begins what the failure so near ends.
_NEXT = 2
# What these are about fails in programs without XLA, too, and is called the same there.
_OF_OTHERS_TOO = frozenset(
    (
        *("gemm-rewriter", "cudnn", "command-buffer", "nccl-error", "ptxas-backend"),
        *("triton-autotune", "oom-buffers"),
    )
)


def diagnose(
    log: LogFacts,
    located: Failure | None = None,
    backend: str | None = None,
    flags: Mapping[str, str] | None = None,
) -> tuple[Diagnosis, ...]:
    """The classes the log speaks of, each once: that of the failure first, then of its warnings.

    `located` says in which pass the run died, as far as known, and `flags` what XLA was given (by
    default what the log says of it); they speak only where the log does not. Empty where nothing in
    the log fits a class.
    """
    warnings = list(complaints(log))
    death = _of_death(log, located, backend, log.flags if flags is None else flags)
    if death is not None:
        own = [w for w in warnings if w.class_ == death.class_]
        lines = (*death.lines, *(line for w in own for line in w.lines))
        death = replace(death, lines=tuple(dict.fromkeys(lines)))
        return (death, *(w for w in warnings if w.class_ != death.class_))
    return tuple(warnings)


def class_of(failure: CheckFailure) -> str | None:
    """The class that one failure has by itself."""
    found = _of_failure(failure, None)
    return found.class_ if found else None


def class_of_pass(name: str) -> str | None:
    """The class whose files a pass is called like."""
    sign = sign_of_name(failure_signs("file"), name.replace("-", "_"))
    return sign.class_ if sign else None


def _of_death(
    log: LogFacts, located: Failure | None, backend: str | None, flags: Mapping[str, str]
) -> Diagnosis | None:
    """The class of the first failure that has one by itself, else a guess about the first."""
    topic: Diagnosis | None = None
    for failure in log.failures:
        found = _of_failure(failure, backend)
        if found is not None and found.sign != TOPIC:
            return _of_pass_at_work(log, found) or found
        topic = topic or found
    if not log.failures:
        return None
    if not _is_wordless(log.failures[0]):
        return _of_lines_above(log) or topic
    return of_bare_death(log, located, backend, flags) or topic


def _outranked(
    sign: FailureSign | None, of_file: FailureSign | None, failure: CheckFailure
) -> FailureSign | None:
    """The sign in the words of a message, or that of the file or stack, which know who speaks.

    Those know better of a library that many parts of XLA use.
    """
    if sign is None or sign.sign not in OF_ANY_USER:
        return sign
    return of_file or _of_stack(failure) or sign


def _of_stack(failure: CheckFailure) -> FailureSign | None:
    """The sign of the stack; its frames may stand in the message where someone shortened it."""
    below = failure.text.split("\n")[1:]
    sign = sign_of_frames((*failure.stack, *has_frames(below)))
    if sign is None or sign.sign != _OF_ANY_GENERATOR:
        return sign
    # Many a code generator stands on the same tools; who handled the death may tell which it was.
    return first_sign(failure_signs("hints"), [failure.text]) or sign


def _of_shared_file(failure: CheckFailure, stem: str) -> FailureSign | None:
    """The sign of a file that many classes share."""
    sign = sign_of_name(failure_signs("core"), stem)
    return sign if sign and (sign.sign != TOPIC or is_file_of_xla(failure, stem)) else None


def _of_speaking_pass(failure: CheckFailure, text: str) -> FailureSign | None:
    """The class of the pass that a status begins with: `while-loop-unroller: ...`."""
    found = _SPEAKER.search(text, 0, _SPEAKS_WITHIN) if failure.kind == "status" else None
    if found is None or not passes_named(found["pass"]):
        return None
    stem = found["pass"].replace("-", "_")
    sign = sign_of_name(failure_signs("file"), stem) or sign_of_name(failure_signs("core"), stem)
    return sign if sign and sign.sign != TOPIC else None


def _of_pass_at_work(log: LogFacts, found: Diagnosis) -> Diagnosis | None:
    """The class of the pass that complained right before a check of shared code failed."""
    failure = found.failure
    if failure is None or failure.kind != "check" or found.sign not in _OF_SHARED_CODE:
        return None
    signs = (
        first_sign(failure_signs("warns"), [text_of(x)]) for x in reversed(_right_above(log, "W"))
    )
    sign = next((s for s in signs if s is not None and s.sign in _SAID_BY_PASSES), None)
    return replace(diagnosis_of(sign, failure=failure), strength="pointed") if sign else None


def _right_above(log: LogFacts, severities: str) -> list[PipelinerMove]:
    """The lines of some severities that were logged right before the first failure."""
    failure = log.failures[0]
    # The traceback of an exception stands above its message.
    begins = min((failure.line_number, *(frame.log_line - 1 for frame in failure.frames)))
    above = range(begins - _LINES_ABOVE, begins)
    return [
        line
        for line in log.verbose
        if line.severity
        and line.severity in severities
        and line.log == failure.log
        and line.line_number in above
    ]


def _of_lines_above(log: LogFacts) -> Diagnosis | None:
    """What the errors that were logged right before the first failure point to."""
    failure = log.failures[0]
    if failure.kind == "python":
        return None
    lines = [
        line
        for line in _right_above(log, "EW")
        if line.severity == "E"
        or (not line.file and line.line_number >= failure.line_number - _NEXT)
    ]
    for line in reversed(lines):
        sign = first_sign(failure_signs("warns"), [text_of(line)]) or said_by(line)
        if sign is not None:
            found = diagnosis_of(sign, failure=failure, lines=[line])
            return replace(found, strength="pointed")
    return None


def _is_wordless(failure: CheckFailure) -> bool:
    """Whether a failure says only that the process died, or no more than a hint of why."""
    return (
        failure.kind == "signal"
        or failure.text.startswith("terminate called")
        or first_sign(failure_signs("hints"), [failure.text]) is not None
    )


def _of_failure(failure: CheckFailure, backend: str | None) -> Diagnosis | None:
    if failure.file == PARSER:
        # Nothing was compiled, and the message lists all flags with what they are for.
        return None
    is_own = is_own_failure(failure)
    if failure.kind == "python" and not is_own and is_mistake(failure.text):
        return None
    text = unprinted(failure.text)
    stem = stem_of(failure.file, text)
    state = f"{failure.kind} {failure.status or ''} {backend or ''}"
    # The name of a Python exception stands in the signature alone.
    words = [text, failure.signature] if failure.kind == "python" else [text]
    of_file = sign_of_name(failure_signs("file"), stem) or sign_of_condition(failure)
    # What a check prints beside its condition may be about anything; its file says more.
    sign = (
        _outranked(
            spoken_sign(words, is_own=is_own, has_place=of_file is not None), of_file, failure
        )
        or (failure.failed_after and sign_of_name(failure_signs("pass"), failure.failed_after))
        or of_file
        or _of_stack(failure)
        or _of_shared_file(failure, stem)
        or sign_of_name(failure_signs("state"), state)
        or _of_speaking_pass(failure, text)
        or topic_of(failure, text)
    )
    if sign is None:
        return _of_space(failure)
    found = diagnosis_of(sign, failure=failure)
    if failure.kind == "signal" and found.strength == "stated" and not _says(sign, words[0]):
        # Below a bare death stands what somebody or something remarked on it.
        return replace(found, strength="pointed")
    if failure.kind == "python" and not is_own:
        if sign.class_ in _OF_OTHERS_TOO:
            return replace(found, strength="pointed")
        if failure.frames:
            # What the user's own code or a library of his raises names things of XLA at times.
            return replace(found, strength="guessed")
    return found


def _says(sign: FailureSign, text: str) -> bool:
    """Whether the first line of a message has the words of a sign, or needs none for it."""
    return sign.on == "state" or sign.words.search(text.partition("\n")[0]) is not None


def _of_space(failure: CheckFailure) -> Diagnosis | None:
    """What an instruction that did not compile points to by the memory of its values."""
    if _NOT_COMPILED not in failure.text:
        return None
    spaces = [
        space[0]
        for printed in PRINTED.finditer(failure.text)
        if (space := _SPACE.search(printed[0]))
    ]
    sign = first_sign(failure_signs("says"), spaces)
    return replace(diagnosis_of(sign, failure=failure), strength="pointed") if sign else None
