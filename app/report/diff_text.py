"""The difference of two texts as lines of plain text: equal edits are one line, lists are cut.

Takes the view of a difference; for terminals, and for pages that show it as it stands.
"""

from collections.abc import Iterator

from app.views.pass_diff import ComputationChange, DiffRow, DiffSide, PassDiff

_MAX_LINES = 40
_MAX_NAMES = 5
_MAX_TEXT = 160
# Characters shown around what differs.
_AROUND = 40
_SIGNS = {"added": "+", "removed": "-", "changed": "~", "moved": ">", "copied": "+"}


def difference_lines(diff: PassDiff, *, most: int = _MAX_LINES, renames: bool = True) -> list[str]:
    """The difference as lines of text; equal edits are one line, long lists are cut and counted.

    At most `most` lines tell of one computation; those of mere `renames` may be left to the totals.
    """
    totals = diff.totals
    differ = totals.computations_changed + totals.computations_added + totals.computations_removed
    lines = [f"{totals.computations_unchanged:,} computations unchanged, {differ:,} differ"]
    lines += _totals(diff)
    for change in diff.computations:
        lines += ["", _title(change), *_capped(_changes(change, renames), most)]
    if diff.cut is not None:
        lines += ["", f"{diff.cut.shown} of {diff.cut.total} shown. {diff.cut.next_step}"]
    return lines


def _totals(diff: PassDiff) -> Iterator[str]:
    totals = diff.totals
    computations = (
        ("added", totals.computations_added),
        ("removed", totals.computations_removed),
        ("changed", totals.computations_changed),
        ("renamed", totals.computations_renamed),
    )
    instructions = (
        ("added", totals.instructions_added - totals.instructions_copied),
        ("copied", totals.instructions_copied),
        ("removed", totals.instructions_removed),
        ("changed", totals.instructions_changed),
        ("moved in the schedule", totals.instructions_moved),
        ("moved between computations", totals.instructions_moved_between),
        ("renamed", totals.instructions_renamed),
    )
    for kind, counts in (("computations", computations), ("instructions", instructions)):
        told = [f"{count:,} {word}" for word, count in counts if count]
        if told:
            yield f"{kind}: {', '.join(told)}"


def _title(change: ComputationChange) -> str:
    sign = _SIGNS[change.kind]
    names = [f"%{name}" for name in dict.fromkeys((change.before, change.after)) if name]
    notes = [] if change.how in {"", "same name", "no counterpart"} else [change.how]
    notes += [
        f"{count:,} {word}"
        for word, count in (
            ("added", change.added - change.copied),
            ("copied", change.copied),
            ("removed", change.removed),
            ("changed", change.changed),
            ("moved", change.moved),
            ("moved in", change.moved_in),
            ("moved out", change.moved_out),
            ("renamed", change.renamed),
            ("unchanged", change.unchanged),
        )
        if count
    ]
    return f"{sign} {' -> '.join(names)}  ({', '.join(notes)})"


def _changes(change: ComputationChange, renames: bool) -> list[str]:
    lines: list[str] = []
    if change.same_in_count:
        names = ", ".join(f"%{name}" for name in change.same_in[:_MAX_NAMES])
        more = ", ..." if change.same_in_count > _MAX_NAMES else ""
        lines.append(f"  the same in {change.same_in_count:,} more: {names}{more}")
    for row in change.rows:
        lines += _row(row)
    left_out = change.rows_left_out
    if renames:
        lines += [f"  = %{old} -> %{new}" for old, new in change.renames]
        left_out += change.renamed - len(change.renames)
    return [*lines, f"  ... and {left_out:,} more"] if left_out else lines


def _row(row: DiffRow) -> list[str]:
    times = f"{row.times:,} times, the first: " if row.times > 1 else ""
    sign = _SIGNS[row.kind]
    side = row.after or row.before
    if side is None:
        return []
    if row.before is None or row.after is None:
        if row.kind in {"moved", "copied"}:
            # What it does stands where it came from.
            where = row.where or "moved in the schedule"
            return [f"  {sign} {times}{side.line}: %{side.name} ({row.opcode})  {where}"]
        return [f"  {sign} {times}{_text(side)}"]
    why = "" if row.how == "same name" else f", paired by {row.how}"
    name = (
        row.after.name
        if row.before.name == row.after.name
        else f"{row.before.name} -> %{row.after.name}"
    )
    head = f"  {sign} {times}%{name}: {', '.join(row.what)}{why}"
    return [head, f"      - {_differing(row.before)}", f"      + {_differing(row.after)}"]


def _text(side: DiffSide) -> str:
    text = side.text
    is_whole = len(text) <= _MAX_TEXT and not side.left_out
    return f"{side.line}: {text if is_whole else text[:_MAX_TEXT] + ' ...'}"


def _differing(side: DiffSide) -> str:
    """The part that differs with a little around it."""
    if side.mark is None or len(side.text) <= _MAX_TEXT:
        return _text(side)
    start, end = side.mark
    start = 0 if start < _MAX_TEXT // 2 else start - _AROUND
    end = max(min(end + _AROUND, start + _MAX_TEXT), min(start + _MAX_TEXT // 2, len(side.text)))
    before = "... " if start or side.skipped else ""
    after = " ..." if end < len(side.text) or side.left_out else ""
    return f"{side.line}: {before}{side.text[start:end]}{after}"


def _capped(lines: list[str], most: int) -> list[str]:
    if len(lines) <= most:
        return lines
    return [*lines[:most], f"  ... and {len(lines) - most:,} lines more"]
