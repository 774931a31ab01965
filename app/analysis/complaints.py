"""What a log complains of where it states no failure: warnings of a run that went on, and excerpts.

A line of a log without any failure may stand for one: then it is all that is left of it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.analysis.own_words import has_frames, is_mistake, is_own_line
from app.analysis.sign_search import first_sign, sign_of_name
from app.analysis.sign_words import diagnosis_of, said_by, stem_of, text_of
from app.analysis.topics import TOPIC, topic_in
from app.ingest.log_excerpts import MOST_LINES, compared, complains
from app.ingest.log_shapes import is_unstuck
from app.knowledge import FailureSign, failure_signs, is_file_of_checks
from app.model.dump import LogFacts, PipelinerMove
from app.model.facts import Diagnosis

# A signature of a check is its place and its condition.
_CHECKED = re.compile(
    r"Check failed|RET_CHECK|CHECK failure|^[\w./+\-]{1,200}\.(?:cc|h):\d{1,9}:? "
)
# Ends of an operation that was slow; what it was stands in an earlier line.
_ENDS_ONLY = frozenset({"slow-operation"})
_SLOW = frozenset({"constant-folding", "slow-compile"})


def complaints(log: LogFacts) -> Iterator[Diagnosis]:
    """The classes that lines speak of which state no failure, each once, in their order.

    What a logger told says more than what someone copied of a log.
    """
    copied = [line for line in log.verbose if not (line.file or line.severity)]
    logged = [line for line in log.verbose if line.file or line.severity]
    found = _found_in(logged, log) or _found_in(copied, log)
    if not found and _is_excerpt(log):
        yield from _of_excerpt(log.verbose)
    for diagnosis in found.values():
        if diagnosis.sign not in _ENDS_ONLY or not _SLOW & (found.keys() - {diagnosis.class_}):
            yield diagnosis


def _is_excerpt(log: LogFacts) -> bool:
    return not log.failures and log.lines <= MOST_LINES


def _found_in(lines: Sequence[PipelinerMove], log: LogFacts) -> dict[str, Diagnosis]:
    """What lines say, by class."""
    found: dict[str, Diagnosis] = {}
    for line in lines:
        speaks = not line.file or line.severity in ("E", "")
        speaks = speaks or (_is_excerpt(log) and complains(line.text))
        sign = _of_line(line, is_alone=speaks and not log.failures)
        if sign is None:
            continue
        known = found.get(sign.class_)
        if known is None or known.sign in _ENDS_ONLY:
            earlier = known.lines if known else ()
            found[sign.class_] = diagnosis_of(sign, lines=(*earlier, line))
        else:
            found[sign.class_] = replace(known, lines=(*known.lines, line))
    return found


def _of_line(line: PipelinerMove, *, is_alone: bool) -> FailureSign | None:
    """The sign in a line that states no failure.

    Only a line of a log without any failure may stand for one: then it is all that is left of it.
    """
    if is_unstuck(line.text) or (is_mistake(line.text) and not is_own_line(line)):
        return None
    text = text_of(line)
    sign = first_sign(failure_signs("warns"), [text])
    if sign is None and is_alone:
        sign = said_by(line) or first_sign(failure_signs("frame"), has_frames([text]))
        if sign is None and line.severity != "E":
            stem = stem_of(line.file or None, text)
            sign = sign_of_name(failure_signs("file"), stem)
            if sign is None and _CHECKED.search(text):
                shared = sign_of_name(failure_signs("core"), stem)
                sign = shared if shared and shared.sign != TOPIC else None
    return sign


def _of_excerpt(lines: Sequence[PipelinerMove]) -> Iterator[Diagnosis]:
    """What the few lines are about that are all there is, where none of them says its class."""
    complaining = [line for line in lines if not line.file or complains(line.text)]
    files = (sign_of_name(failure_signs("file"), _file_of(line)) for line in complaining)
    # What a run logs by the way is about many things; a line that was copied alone is not.
    is_copied = not any(line.file for line in lines)
    own = (topic_in(text_of(line)) for line in complaining if is_copied and _is_xlas(line))
    ways = compared([line.text for line in lines])
    signs = (*files, *own, first_sign(failure_signs("compared"), [" | ".join(ways)]))
    sign = next(filter(None, signs), None)
    if sign is not None:
        yield replace(diagnosis_of(sign, lines=lines), strength="guessed")


def _is_xlas(line: PipelinerMove) -> bool:
    """Whether a line is XLA's: the place in C++ that it names, if any, has to be one of XLA's."""
    if not is_own_line(line):
        return False
    stem = _file_of(line)
    return not stem or any(is_file_of_checks(f"{stem}.{ending}") for ending in ("cc", "h"))


def _file_of(line: PipelinerMove) -> str:
    return stem_of(line.file or None, text_of(line))
