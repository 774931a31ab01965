"""A list as a page shows it: some rows at once, more when asked for, and how many are not in it."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

FIRST_ROWS = 25
MAX_ROWS = 500


@dataclass(frozen=True, slots=True)
class Rows(Generic[T]):
    """Rows of a table: `first` are shown at once, `more` when asked for.

    `more_label` is what the button says; `note` says how many rows are not in the page at all.
    """

    first: tuple[T, ...]
    more: tuple[T, ...]
    total: int
    more_label: str
    note: str

    def __bool__(self) -> bool:
        return bool(self.first)


def rows_of(
    items: tuple[T, ...],
    *,
    total: int | None = None,
    first: int = FIRST_ROWS,
    most: int = MAX_ROWS,
) -> Rows[T]:
    """The rows a page shows of `items`, which may itself be a part of `total`."""
    total = max(len(items), total or 0)
    shown = items[:most]
    more = shown[first:]
    left_out = total - len(shown)
    return Rows(
        first=shown[:first],
        more=more,
        total=total,
        more_label=f"Show {len(more):,} more" if more else "",
        note=f"{left_out:,} of {total:,} are not in this page; the JSON report has those it kept."
        if left_out
        else "",
    )
