"""Laying the table of failure signs against one message or line, and what comes of a sign found.

Instructions printed in a message are cut out first, since their attributes name libraries and
targets that have nothing to do with the fault.
"""

import re
from collections.abc import Sequence

from app.analysis.own_words import is_own_line
from app.analysis.sign_search import sign_of_name, spoken_sign
from app.analysis.topics import TOPIC
from app.knowledge import FailureSign, failure_signs
from app.model.dump import CheckFailure, PipelinerMove
from app.model.facts import Diagnosis

# What MLIR prints (`%0 = "tt.load"(...)`) names its dialect, and that does tell. So does what an
# instruction is for which nothing could be found.
PRINTED = re.compile(
    r"(?<!tried for )%[\w.\-]+ = (?!\"|[a-z_]+\.[a-z_])[^\n]*|^Extension modules: [^\n]*", re.M
)
# Tests of XLA are called like what they test.
_FILE_NAME = re.compile(r"\b(?!statusor\b)(?P<stem>[A-Za-z]\w{1,80}?)(?:_test)?\.(?:cc|h|cu|cpp)\b")
# What a library says, whoever used it.
OF_ANY_USER = frozenset({"llvm", "driver"})


def diagnosis_of(
    sign: FailureSign,
    *,
    failure: CheckFailure | None = None,
    lines: Sequence[PipelinerMove] = (),
) -> Diagnosis:
    """What a sign says, with the strength that it has by its kind."""
    strength = "pointed"
    is_verifier = failure is not None and failure.kind == "verifier"
    if sign.on in ("says", "common", "warns") or (is_verifier and sign.on in ("pass", "core")):
        strength = "stated"
    elif sign.on in ("hints", "flag") or sign.sign == TOPIC:
        strength = "guessed"
    elif sign.on == "state":
        strength = "guessed" if failure and failure.kind == "signal" else "stated"
    return Diagnosis(
        class_=sign.class_,
        sign=sign.sign,
        tells=sign.tells,
        strength=strength,
        failure=failure,
        lines=tuple(lines),
    )


def stem_of(file: str | None, text: str) -> str:
    """The base name of the file without its ending; a message may name it where no header does."""
    if file is not None:
        return file.partition(".")[0]
    found = _FILE_NAME.search(text)
    return found["stem"] if found else ""


def text_of(line: PipelinerMove) -> str:
    """The text of a line without printed instructions."""
    return unprinted(line.text)


def unprinted(text: str) -> str:
    """The text without printed instructions."""
    return PRINTED.sub("%", text)


def said_by(line: PipelinerMove) -> FailureSign | None:
    """The sign in the words of a line that states no failure, or in its file if that knows more."""
    text = text_of(line)
    sign = spoken_sign([text], is_own=is_own_line(line))
    if sign is None or sign.sign not in OF_ANY_USER:
        return sign
    return sign_of_name(failure_signs("file"), stem_of(line.file or None, text)) or sign
