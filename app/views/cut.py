"""What every view says of the part of its answer that it left out, and what may stand in JSON."""

from typing import Literal

from app.model.report import Struct


class Cut(Struct, frozen=True, kw_only=True):
    """An answer was larger than the view gives: `shown` of `total` things are there.

    `at_least` says that counting stopped too: `total` is a lower bound. `next_step` says how to
    see the rest.
    """

    code: Literal["view_too_large"] = "view_too_large"
    shown: int
    total: int
    at_least: bool = False
    next_step: str


MAX_NAME_CHARACTERS = 2_000
"""Names are what the next question is asked with, so only absurd ones are cut."""


def shown_name(name: str) -> str:
    """A name of an instruction or computation, as it may stand in JSON."""
    return shown_text(name, MAX_NAME_CHARACTERS)[0]


def shown_text(text: str, limit: int) -> tuple[str, int]:
    """The first `limit` characters, and how many were left out.

    A surrogate, which stands for a byte that was no UTF-8, becomes `?`: JSON cannot hold one.
    """
    kept = text[:limit]
    if not kept.isascii():
        kept = kept.encode("utf-8", "replace").decode("utf-8")
    return kept, max(0, len(text) - limit)


def cut_text(text: str, limit: int) -> str:
    """As `shown_text`, with `…` behind what is cut."""
    kept, left_out = shown_text(text, limit)
    return f"{kept}…" if left_out else kept
