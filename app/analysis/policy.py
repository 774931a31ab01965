"""Holds one analysed dump against a policy: limits and expectations on graphs, not on text.

Figures are those of the report, of the last text of each module: names, numbers and paths never
enter. What cannot be known (no buffer assignment, no loop at that line) is `unknown` and no pass.
"""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

import msgspec

from app.analysis.comparison import Analysed
from app.analysis.comparison_amounts import pair_loops
from app.analysis.comparison_places import line_text
from app.analysis.opcodes import base_opcode
from app.analysis.policy_figures import MOST_PLACES, Subject, figure_of, is_at
from app.analysis.policy_file import UNITS, Check, Lines
from app.analysis.policy_lines import lines_in_words, lines_not_found
from app.analysis.policy_reshardings import FoundResharding, reshardings_of
from app.model.comparison import Unit
from app.model.policy import PolicyPlace, PolicyResult, PolicyRow, PolicyVerdict
from app.model.report import Loop, LoopEventKind, Module, Report, Tool

_PIPELINED: frozenset[LoopEventKind] = frozenset(
    {"pipelined_forward", "pipelined_backward", "pipelined_forward_sink"}
)
_DOUBLED: frozenset[LoopEventKind] = frozenset({"double_buffered"})
_UNIT_WORDS: dict[Unit, str] = {"": "", "bytes": " bytes", "flops": " FLOP", "us": " µs"}


def hold_against(
    checks: Sequence[Check], dump: Analysed, tool: Tool, *, baseline: Analysed | None = None
) -> PolicyResult:
    """Each check on each module and loop that it names."""
    rows = tuple(row for check in checks for row in _told_rows(check, dump, baseline))
    return PolicyResult(
        tool=tool,
        passed=not any(_is_failure(row) for row in rows),
        dump=dump.report.input.name,
        baseline=baseline.report.input.name if baseline else None,
        unfinished=_unfinished(rows, dump.report),
        rows=rows,
    )


def _unfinished(rows: Sequence[PolicyRow], report: Report) -> tuple[str, ...]:
    held = {row.module for row in rows}
    return tuple(m.id for m in report.modules if m.id in held and not m.complete)


def _is_failure(row: PolicyRow) -> bool:
    return row.verdict == "fail" or (row.verdict == "unknown" and not row.optional)


def _told_rows(check: Check, dump: Analysed, baseline: Analysed | None) -> Iterator[PolicyRow]:
    """The rows of a check; none passes because its lines are no lines of the program."""
    absent = lines_not_found(check.lines, dump)
    for row in _rows(check, dump, baseline):
        if absent and row.verdict == "pass":
            said = "no text has" if dump.histories else "the report names"
            none = "an" if dump.histories else "no"
            why = f"{said} {none} instruction of {lines_in_words(absent)}"
            yield msgspec.structs.replace(row, verdict="unknown", why=why)
        else:
            yield row


def _rows(check: Check, dump: Analysed, baseline: Analysed | None) -> Iterator[PolicyRow]:
    modules = [m for m in dump.report.modules if m.dumps and _is_named(check.module, m)]
    if not modules:
        yield _unknown(check, why=f"there is no module {check.module or 'of the user'}")
        return
    if check.expect == "same_graph" and baseline is None:
        yield _unknown(check, why="there is no baseline to hold it against")
        return
    for module in modules:
        yield from _module_rows(check, dump, module, baseline)


def _is_named(pattern: str | None, module: Module) -> bool:
    if pattern is None:
        return module.role == "user"
    return fnmatchcase(module.name, pattern) or fnmatchcase(module.id, pattern)


def _module_rows(
    check: Check, dump: Analysed, module: Module, baseline: Analysed | None
) -> Iterator[PolicyRow]:
    old = _same_module(module, baseline.report) if baseline else None
    if check.expect == "no_resharding":
        yield _resharding_row(check, dump, module)
    elif check.expect == "same_graph":
        yield _graph_row(check, dump, module, baseline, old)
    elif check.loop is not None:
        yield from _loop_rows(check, dump.report, module, baseline, old)
    else:
        before = Subject(baseline.report, old) if baseline and old else None
        yield _measured(check, Subject(dump.report, module), before)


def _same_module(module: Module, report: Report) -> Module | None:
    named = [m for m in report.modules if m.name == module.name and m.dumps]
    return next((m for m in named if m.id == module.id), named[0] if named else None)


# ---- loops --------------------------------------------------------------------------------------


def _loop_rows(
    check: Check, report: Report, module: Module, baseline: Analysed | None, old: Module | None
) -> Iterator[PolicyRow]:
    loops = _living(report, module)
    chosen = [loop for loop in loops if _is_loop(check.loop or "", loop)]
    if not chosen:
        there = ", ".join(dict.fromkeys(line_text(x.source) or x.name for x in loops)) or "none"
        yield _unknown(
            check, module, why=f"there is no loop {check.loop} in the last text; loops: {there}"
        )
        return
    partners = _partners(loops, baseline, old)
    for loop in chosen:
        if check.expect is not None:
            yield _loop_row(check, report, module, loop)
            continue
        before = None
        if baseline is not None and old is not None:
            before = Subject(baseline.report, old, partners.get(loop.id))
        yield _measured(check, Subject(report, module, loop), before)


def _living(report: Report, module: Module) -> list[Loop]:
    """The loops that the last text of the module holds."""
    last = len(module.dumps) - 1
    return [x for x in report.loops if x.module == module.id and x.last_dump == last]


def _partners(
    loops: Sequence[Loop], baseline: Analysed | None, old: Module | None
) -> dict[str, Loop]:
    if baseline is None or old is None:
        return {}
    others = {loop.id: loop for loop in _living(baseline.report, old)}
    pairs = pair_loops(loops, tuple(others.values()))
    return {p.a: others[p.b] for p in pairs if p.a is not None and p.b is not None}


def _is_loop(pattern: str, loop: Loop) -> bool:
    names = (loop.id, loop.name, loop.op_name or "", *loop.names)
    if any(fnmatchcase(name, pattern) for name in names):
        return True
    file, _, line = pattern.rpartition(":")
    return line.isdecimal() and is_at((Lines(file, int(line), int(line)),), loop.source)


def _loop_row(check: Check, report: Report, module: Module, loop: Loop) -> PolicyRow:
    """Whether a loop, or the one that it was copied from, was pipelined or double buffered."""
    wanted = _PIPELINED if check.expect == "pipelined" else _DOUBLED
    found: list[str] = []
    here: Loop | None = loop
    seen: set[str] = set()
    while here is not None and here.id not in seen:
        seen.add(here.id)
        found += [f"{e.kind} by {e.pass_ or 'a pass'}" for e in here.events if e.kind in wanted]
        here = _origin(here, report)
    return _row(
        check,
        module,
        loop,
        verdict="pass" if found else "fail",
        limit=(check.expect or "").replace("_", " "),
        why=", ".join(dict.fromkeys(found)).replace("_", " ") or "no pass did so",
        places=(PolicyPlace(instruction=loop.name, opcode="while", source=loop.source),),
    )


def _origin(loop: Loop, report: Report) -> Loop | None:
    """The loop that this one was copied from, which its `created` event names last."""
    created = next((event.detail for event in loop.events if event.kind == "created"), "")
    name = created.rpartition(" ")[2]
    others = (o for o in report.loops if o.module == loop.module and o.id != loop.id)
    return next((other for other in others if name in (other.name, *other.names)), None)


# ---- measures -----------------------------------------------------------------------------------


def _measured(check: Check, subject: Subject, before: Subject | None) -> PolicyRow:
    assert check.measure is not None
    value, places = figure_of(check, subject)
    old = figure_of(check, before)[0] if before is not None else None
    verdict, why = _verdict(check, value, old)
    return _row(
        check,
        subject.module,
        subject.loop,
        verdict=verdict,
        value=value,
        baseline=old,
        limit=_limit(check),
        why=why,
        places=places,
    )


def _verdict(check: Check, value: float | None, old: float | None) -> tuple[PolicyVerdict, str]:
    if value is None:
        return "unknown", "the dump does not say"
    if check.most is not None and value > check.most:
        return "fail", "more than the most allowed"
    if check.least is not None and value < check.least:
        return "fail", "less than the least allowed"
    if check.increase is not None:
        if old is None:
            has_others = check.most is not None or check.least is not None
            others = "; the other limits hold" if has_others else ""
            return "unknown", f"there is no baseline figure to hold it against{others}"
        if value > old + check.increase.amount + check.increase.part * old:
            return "fail", "more than the baseline lets pass"
    return "pass", ""


def _limit(check: Check) -> str:
    unit = _UNIT_WORDS[UNITS[check.measure]] if check.measure else ""
    words: list[str] = []
    if check.least is not None:
        words.append(f"at least {check.given.get('min') or f'{check.least:,.15g}{unit}'}")
    if check.most is not None:
        words.append(f"at most {check.given.get('max') or f'{check.most:,.15g}{unit}'}")
    if check.increase is not None:
        increase = check.increase
        amount = check.given.get("max_increase") or f"{increase.amount:,.15g}{unit}"
        more = f"{increase.part * 100:.6g} %" if increase.part else amount
        words.append(f"at most {more} more than the baseline")
    return ", ".join(words)


# ---- graphs -------------------------------------------------------------------------------------


def _resharding_row(check: Check, dump: Analysed, module: Module) -> PolicyRow:
    history = dump.histories.get(module.id)
    if history is None:
        return _unknown(check, module, why="only the dump itself tells, a report does not")
    found = [
        each
        for each in reshardings_of(history)
        if (check.opcode is None or fnmatchcase(base_opcode(each.opcode) or "", check.opcode))
        and (not check.lines or any(is_at(check.lines, source) for source in each.sources))
    ]
    return _row(
        check,
        module,
        None,
        verdict="fail" if found else "pass",
        value=len(found),
        limit="none" + (" at these lines" if check.lines else ""),
        why=found[0].said if found else "",
        places=tuple(_resharded(each, check.lines) for each in found),
    )


def _resharded(each: FoundResharding, lines: Sequence[Lines]) -> PolicyPlace:
    at = [source for source in each.sources if not lines or is_at(lines, source)]
    return PolicyPlace(
        instruction=each.instruction,
        opcode=each.opcode,
        computation=each.computation,
        file=each.file,
        source=at[0] if at else None,
    )


def _graph_row(
    check: Check, dump: Analysed, module: Module, baseline: Analysed | None, old: Module | None
) -> PolicyRow:
    if old is None:
        return _unknown(check, module, why="the baseline has no such module")
    if dump.texts is None or baseline is None or baseline.texts is None:
        return _unknown(check, module, why="graphs are compared from dumps, not from reports")
    here = dump.texts.digest(module.id, len(module.dumps) - 1)
    there = baseline.texts.digest(old.id, len(old.dumps) - 1)
    return _row(
        check,
        module,
        None,
        verdict="pass" if here == there else "fail",
        limit="the last graph of the baseline",
        why="" if here == there else "another graph: hloscope compare shows what differs",
    )


# ---- rows ---------------------------------------------------------------------------------------


def _row(
    check: Check,
    module: Module | None,
    loop: Loop | None,
    *,
    verdict: PolicyVerdict,
    value: float | None = None,
    baseline: float | None = None,
    limit: str = "",
    why: str = "",
    places: tuple[PolicyPlace, ...] = (),
) -> PolicyRow:
    return PolicyRow(
        check=check.name,
        module=module.id if module else None,
        loop=loop.id if loop else None,
        loop_name=loop.name if loop else "",
        what=check.measure or check.expect or "",
        unit=UNITS[check.measure] if check.measure else "",
        value=value,
        limit=limit,
        baseline=baseline,
        verdict=verdict,
        why=why,
        places=places[:MOST_PLACES],
        places_total=len(places),
        optional=check.optional,
    )


def _unknown(check: Check, module: Module | None = None, *, why: str) -> PolicyRow:
    return _row(check, module, None, verdict="unknown", why=why, limit=_limit(check))
