"""Looking for the rows of the table of failure signs that fit a text, a name or a stack.

Rows and texts go in, the first row that fits comes out. What it means is not weighed here.
"""

from collections.abc import Iterable, Sequence

from app.analysis.own_words import is_denied
from app.knowledge import FailureSign, failure_signs

_ANONYMOUS = "(anonymous namespace)::"


def spoken_sign(
    texts: Sequence[str], *, is_own: bool, has_place: bool = False
) -> FailureSign | None:
    """The first sign in the words of a message, which is of XLA or JAX if `is_own`.

    Otherwise common words say nothing, nor do words that are denied. Nor do common ones where the
    message `has_place`, a file that belongs to a class.
    """
    if is_own:
        return first_sign(failure_signs(*(("says",) if has_place else ("says", "common"))), texts)
    for text in texts:
        for sign in failure_signs("says"):
            if any(not is_denied(match) for match in sign.words.finditer(text)):
                return sign
    return None


def first_sign(signs: Iterable[FailureSign], texts: Iterable[str]) -> FailureSign | None:
    """The first sign, in the order of the texts, whose words stand in one."""
    return next((s for text in texts for s in signs if s.words.search(text)), None)


def sign_of_frames(stack: Iterable[str]) -> FailureSign | None:
    """The sign of the innermost frame that has one, its arguments left out."""
    plain = (frame.replace(_ANONYMOUS, "").partition("(")[0] for frame in stack)
    return first_sign(failure_signs("frame"), plain)


def sign_of_name(signs: Iterable[FailureSign], name: str) -> FailureSign | None:
    """The first sign that is of this whole name; None for ""."""
    return next((sign for sign in signs if name and sign.words.fullmatch(name)), None)
