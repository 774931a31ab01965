"""The numbers of ranks, as the names of their dumps give them."""

import re
from collections.abc import Sequence

from app.errors import UsageError

_USUAL_NAMES = r"(?:rank|process|proc|host|worker|task|node)[-_.]?(\d{1,9})"


def rank_numbers(names: Sequence[str], pattern: str | None = None) -> tuple[int, ...]:
    """The number of each rank, by its name; the order given where the names do not tell.

    Raises:
        UsageError: `pattern` is no regular expression with a group, or does not number the names.
    """
    try:
        number = re.compile(_USUAL_NAMES if pattern is None else pattern)
    except re.error as error:
        raise UsageError(f"no regular expression: {error}", place="--rank-pattern") from error
    if not number.groups:
        raise UsageError(
            "the pattern has no group",
            place="--rank-pattern",
            next_step=r"Put the number into brackets, as in rank(\d+).",
        )
    matches = [list(number.finditer(name)) for name in names]
    words = [found[-1][1] if found else "" for found in matches]
    numbers = tuple(int(word) for word in words if word and word.isdecimal() and word.isascii())
    if len(numbers) == len(set(numbers)) == len(names):
        return numbers
    if pattern is not None:
        raise UsageError(
            "the pattern does not give each dump a number of its own",
            place="--rank-pattern",
            next_step="Its first group must match digits that differ from name to name.",
        )
    return tuple(range(len(names)))
