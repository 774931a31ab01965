"""A policy's result made ready to be shown: a table of checks, then what made them fail."""

from collections.abc import Iterator, Sequence

from app.model.comparison import Unit
from app.model.policy import PolicyPlace, PolicyResult, PolicyRow
from app.report.collectives_drawing import micros_text
from app.report.comparison import figure
from app.report.comparison_sheet import Grid, Section, Sheet, grid
from app.report.markdown import escaped
from app.report.wording import counted, legible, place_text, size_text

_COLUMNS = ("", "check", "where", "value", "baseline", "limit", "why")
_ALWAYS = frozenset({"", "check", "value", "limit"})
_UNFINISHED = "the dump ends before the compile does; figures are those of the last text there is"
_WORDS = {"pass": "pass", "fail": "FAIL", "unknown": "UNKNOWN"}


def policy_sheet(result: PolicyResult) -> Sheet:
    """The sheet of a result; checks that fail stand first."""
    shown = legible(result)
    rows = sorted(shown.rows, key=lambda row: ("fail", "unknown", "pass").index(row.verdict))
    against = f" against {shown.baseline}" if shown.baseline else ""
    return Sheet(
        badge="PASS" if shown.passed else "FAIL",
        tone="clear" if shown.passed else "error",
        verdict=f"{shown.dump}{against}: {_verdict(shown)}",
        facts=tuple(("unfinished", f"{module}: {_UNFINISHED}") for module in shown.unfinished),
        grids=(_table(rows),),
        sections=tuple(_section(row) for row in rows if row.verdict == "fail" and row.places),
    )


def _table(rows: Sequence[PolicyRow]) -> Grid:
    """The checks; a column that says nothing would take the width of words of the others."""
    cells = [_row(row) for row in rows]
    told = [
        at
        for at, name in enumerate(_COLUMNS)
        if name in _ALWAYS or any(row[at] not in ("", "-") for row in cells)
    ]
    return grid(
        "",
        tuple(_COLUMNS[at] for at in told),
        [tuple(row[at] for at in told) for row in cells],
        numbers=("value", "baseline"),
        most=200,
    )


def _verdict(result: PolicyResult) -> str:
    failed = [row for row in result.rows if row.verdict == "fail"]
    unknown = [row for row in result.rows if row.verdict == "unknown"]
    if not failed and not unknown:
        count = len(result.rows)
        return f"all {count:,} checks pass." if count > 1 else "the one check passes."
    told: list[str] = []
    if failed:
        first = failed[0]
        places = (place for place in first.places if place.source is not None)
        at = next((f" ({place_text(p.source)})" for p in places if p.source is not None), "")
        verb = "fails" if len(failed) == 1 else "fail"
        told.append(f"{len(failed):,} of {counted(len(result.rows), 'check')} {verb}")
        told[-1] += f", first {first.check}{at}"
    if unknown:
        optional = all(row.optional for row in unknown)
        note = ", which is let pass" if optional else ""
        told.append(f"{counted(len(unknown), 'check')} cannot be told{note}")
    return "; ".join(told) + "."


def _row(row: PolicyRow) -> tuple[str, ...]:
    where = row.loop_name or row.loop or row.module or "-"
    return (
        _WORDS[row.verdict],
        row.check,
        where,
        figure(row.value, row.unit),
        figure(row.baseline, row.unit),
        row.limit or "-",
        row.why,
    )


def _section(row: PolicyRow) -> Section:
    facts = [_place(place, row.unit) for place in row.places]
    more = row.places_total - len(row.places)
    facts += [(f"and {more:,} more", "not listed")] if more > 0 else []
    return Section(f"{row.check}: what counts", facts=tuple(facts))


def _place(place: PolicyPlace, unit: Unit) -> tuple[str, str]:
    """The line, and `12 ms, %all-gather, all-gather in main`."""
    where = place_text(place.source) if place.source else "no line known"
    inside = f" in {place.computation}" if place.computation else ""
    file = f", {place.file}" if place.file else ""
    value = ""
    if place.value is not None:
        is_time = unit == "us"
        value = f"{micros_text(place.value) if is_time else size_text(int(place.value))}, "
    return where, f"{value}%{place.instruction}, {place.opcode}{inside}{file}"


def policy_markdown(result: PolicyResult) -> Iterator[str]:
    """The table as Markdown, for the summary of a CI run."""
    sheet = policy_sheet(result)
    yield f"**{sheet.badge}** {escaped(sheet.verdict)}"
    for _, words in sheet.facts:
        yield ""
        yield escaped(words)
    yield ""
    table = sheet.grids[0]
    yield f"| {' | '.join(table.columns)} |"
    yield f"|{'---|' * len(table.columns)}"
    for row in table.rows:
        yield f"| {' | '.join(map(escaped, row))} |"
    for section in sheet.sections:
        yield ""
        yield f"{escaped(section.title)}"
        yield ""
        for where, what in section.facts:
            yield f"- {escaped(where)}: {escaped(what)}"
