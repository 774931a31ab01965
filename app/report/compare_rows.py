"""Rows of two panes as a template places them: pieces of text with marks and links.

`static/js/diff_pieces.js` does the same in the browser for the rows that come later.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from app.report.wording import legible
from app.views.diff_slices import PaneReader, PaneSide

KIND_SIGNS = {
    "H": "",
    "s": "",
    "r": "≈",
    "c": "~",
    "a": "+",
    "d": "\u2212",
    "m": "↕",
    "x": "↕",
    "y": "⊕",
}
KIND_WORDS = {
    "H": "computation",
    "s": "unchanged",
    "r": "renamed",
    "c": "changed",
    "a": "added",
    "d": "removed",
    "m": "moved",
    "x": "elsewhere in the text",
    "y": "copied",
}


@dataclass(frozen=True, slots=True)
class PieceView:
    """A stretch of a line: `mark` is "", "differs" or "renamed"; `href` leads to a definition."""

    text: str
    mark: str
    href: str


@dataclass(frozen=True, slots=True)
class SideView:
    """One side of a row."""

    kind: str
    sign: str
    word: str
    line: int
    line_href: str
    skipped: str
    pieces: tuple[PieceView, ...]
    left_out: str
    elsewhere_href: str
    times: str


@dataclass(frozen=True, slots=True)
class RowView:
    """A row, or a closed fold, which says `words`; `row` is the number in its anchor."""

    row: int
    words: str
    href: str
    before: SideView | None
    after: SideView | None
    note: str


def row_views(
    href: Callable[..., str],
    opened: Sequence[int],
    reader: PaneReader,
    visible: Sequence[int],
    texts: tuple[str, str],
) -> Iterator[RowView]:
    """The rows of `visible_rows`, of which the folds `opened` are open.

    `href` makes an address of this page, `texts` are those of lines without the line.
    """
    found = {row.row: row for row in reader.picked([row for row in visible if row >= 0])}
    for number in visible:
        if number < 0:
            fold = reader.rows.folds[-1 - number]
            more = ",".join(map(str, (*opened, -1 - number)))
            anchor = f"#row-{fold.row}"
            open_href = href(at=fold.row, open=more, **{"from": ""}) + anchor
            yield RowView(fold.row, legible(fold.words), open_href, None, None, "")
            continue
        row = found[number]
        yield RowView(
            row=number,
            words="",
            href="",
            before=_side(href, row.before, texts[0]),
            after=_side(href, row.after, texts[1]),
            note=legible(row.note),
        )


def _side(href: Callable[..., str], side: PaneSide | None, text_href: str) -> SideView | None:
    if side is None:
        return None
    return SideView(
        kind=side.kind,
        sign=KIND_SIGNS[side.kind],
        word=KIND_WORDS[side.kind],
        line=side.line,
        line_href=f"{text_href}{side.line}",
        skipped="…" if side.skipped else "",
        pieces=tuple(pieces_of(side, href)),
        left_out=f" … {side.left_out:,} characters more" if side.left_out else "",
        elsewhere_href=_row_href(href, side.elsewhere) if side.elsewhere is not None else "",
        times=f"{side.times:,} times" if side.times > 1 else "",
    )


def pieces_of(side: PaneSide, href: Callable[..., str]) -> Iterator[PieceView]:
    """The text of a side, cut where a mark or a name begins or ends."""
    cuts = {0, len(side.text)}
    for start, end, _ in (*side.marks, *side.names):
        cuts |= {start, end}
    marks, names = _by_start(side.marks), _by_start(side.names)
    mark_end = name_end = 0
    mark = target = ""
    for start, end in itertools.pairwise(sorted(cuts)):
        if start in marks:
            mark_end, is_renamed = marks[start]
            mark = "renamed" if is_renamed else "differs"
        if start in names:
            name_end, row = names[start]
            target = _row_href(href, row)
        yield PieceView(
            text=legible(side.text[start:end]),
            mark=mark if start < mark_end else "",
            href=target if start < name_end else "",
        )


def _by_start(parts: Sequence[tuple[int, int, int]]) -> dict[int, tuple[int, int]]:
    return {start: (end, value) for start, end, value in parts}


def _row_href(href: Callable[..., str], row: int) -> str:
    return href(at=row, **{"from": ""}) + f"#row-{row}"
