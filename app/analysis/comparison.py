"""Two analysed dumps compared: modules paired, where their graphs part, figures side by side.

Given two reports and, where they are at hand, ways to the texts; without texts nothing is said of
graphs. What differs between the texts where two modules part is for `diff.py`.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.analysis.canonical import elided_constants
from app.analysis.canonical_difference import FirstDifference, first_difference
from app.analysis.comparison_amounts import (
    module_amounts,
    pair_buffers,
    pair_loops,
    sum_collectives,
)
from app.analysis.comparison_flags import inferred_flags, stated_flags
from app.analysis.comparison_places import instruction_place
from app.analysis.comparison_texts import Common, Texts, aligned, common_states, pass_lists
from app.analysis.comparison_verdict import verdict_on
from app.model.comparison import (
    Comparison,
    FlagChange,
    ModulePair,
    Outcome,
    Parting,
    Side,
    Sides,
)
from app.model.dump import ModuleHistory
from app.model.report import Module, Report, Tool
from hlo_parser import Module as HloModule

MOST_PAIRS = 500
"""Modules compared; programs that run op by op compile more, the user's own stand first."""


@dataclass(frozen=True, slots=True)
class Analysed:
    """One side: its report, and its texts and histories where they are at hand."""

    report: Report
    texts: Texts | None = None
    histories: Mapping[str, ModuleHistory] = field(default_factory=dict[str, ModuleHistory])


def compare(a: Analysed, b: Analysed, tool: Tool) -> Comparison:
    """What differs between two dumps, from `a` to `b`."""
    environment_a, environment_b = a.report.environment, b.report.environment
    paired = _pair_modules(a, b)
    modules = tuple(_compare_modules(a, b, *pair) for pair in paired[:MOST_PAIRS])
    flags = (
        *stated_flags(environment_a, environment_b),
        *inferred_flags(environment_a, environment_b, modules),
    )
    side_a, side_b = _side(a.report), _side(b.report)
    return Comparison(
        tool=tool,
        verdict=verdict_on(side_a, side_b, modules, flags),
        a=side_a,
        b=side_b,
        flags=flags,
        modules=modules,
        notes=tuple(_notes(a, b, flags, modules, len(paired))),
    )


def _side(report: Report) -> Side:
    return Side(
        name=report.input.name,
        backend=report.environment.backend,
        jaxlib=report.environment.jaxlib,
        flags_from=report.environment.flags_from,
        modules=len(_own(report)),
        failure=report.failure.text if report.failure else None,
    )


def _own(report: Report) -> list[Module]:
    """Modules worth comparing: those that XLA made to try kernels come and go with the machine."""
    return [m for m in report.modules if m.role != "autotuning" and m.dumps]


# ---- pairing ------------------------------------------------------------------------------------

_Pair = tuple[Module | None, Module | None, str]


def _pair_modules(a: Analysed, b: Analysed) -> list[_Pair]:
    left, right = _own(a.report), _own(b.report)
    keys: list[tuple[str, Callable[[Module, Texts | None], Hashable]]] = [
        ("same name", lambda module, _: (module.name, module.role)),
    ]
    if a.texts is not None and b.texts is not None:
        keys.insert(0, ("same name and first graph", lambda m, texts: (m.name, _first(m, texts))))
        keys.append(("same first graph", _first))
    partner: dict[str, tuple[Module, str]] = {}
    for how, key in keys:
        _pair_by(how, key, (left, a.texts), (right, b.texts), partner)
    taken = {other.id for other, _ in partner.values()}
    users = [m for m in left if m.id not in partner and m.role == "user"]
    others = [m for m in right if m.id not in taken and m.role == "user"]
    if len(users) == 1 == len(others):
        partner[users[0].id] = others[0], "being the only program that either side has left"
        taken.add(others[0].id)
    unpaired: tuple[Module | None, str] = (None, "")
    pairs: list[_Pair] = []
    for module in left:
        other, how = partner.get(module.id, unpaired)
        pairs.append((module, other, how))
    pairs += [(None, module, "") for module in right if module.id not in taken]
    return sorted(pairs, key=lambda pair: (pair[0] or pair[1] or left[0]).role != "user")


def _first(module: Module, texts: Texts | None) -> Hashable:
    return None if texts is None else texts.digest(module.id, 0)


def _pair_by(
    how: str,
    key: Callable[[Module, Texts | None], Hashable],
    a: tuple[list[Module], Texts | None],
    b: tuple[list[Module], Texts | None],
    partner: dict[str, tuple[Module, str]],
) -> None:
    """Adds the pairs of equal key among those still free, in order."""
    taken = {other.id for other, _ in partner.values()}
    groups: defaultdict[Hashable, list[Module]] = defaultdict(list)
    for module in b[0]:
        if module.id not in taken:
            groups[key(module, b[1])].append(module)
    for module in a[0]:
        if module.id not in partner and (group := groups[key(module, a[1])]):
            partner[module.id] = group.pop(0), how


# ---- one pair -----------------------------------------------------------------------------------


def _compare_modules(
    a: Analysed, b: Analysed, module_a: Module | None, module_b: Module | None, how: str
) -> ModulePair:
    if module_a is None or module_b is None:
        only = module_a or module_b
        assert only is not None
        return ModulePair(
            name=only.name,
            role=only.role,
            a=module_a.id if module_a else None,
            b=module_b.id if module_b else None,
            texts_a=len(module_a.dumps) if module_a else 0,
            texts_b=len(module_b.dumps) if module_b else 0,
        )
    graphs = _compare_graphs(a, b, module_a, module_b)
    reports = (a.report, b.report)
    ids = (module_a.id, module_b.id)
    loops_a, loops_b = (
        [loop for loop in report.loops if loop.module == module_id]
        for report, module_id in zip(reports, ids, strict=True)
    )
    collectives_a, collectives_b = (
        [each for each in report.collectives if each.module == module_id]
        for report, module_id in zip(reports, ids, strict=True)
    )
    loops = pair_loops(loops_a, loops_b)
    return ModulePair(
        name=module_a.name if module_a.name == module_b.name else f"{ids[0]} / {ids[1]}",
        a=module_a.id,
        b=module_b.id,
        role=module_a.role,
        how=how,
        outcome=graphs.outcome,
        texts_a=len(module_a.dumps),
        texts_b=len(module_b.dumps),
        equal_texts=graphs.equal_texts,
        digest_a=graphs.digest_a,
        digest_b=graphs.digest_b,
        elided=graphs.elided,
        passes=pass_lists(module_a, module_b, stops=graphs.stops),
        parting=graphs.parting,
        amounts=module_amounts(a.report, b.report, (module_a, module_b)),
        loops=loops,
        collectives=sum_collectives(collectives_a, collectives_b, loops),
        buffers=pair_buffers(a.report, b.report, ids),
    )


def _stops(
    a: Module, b: Module, digests: tuple[Sequence[str], Sequence[str]] | None = None
) -> Sides | None:
    """The side whose compile did not come to its end, where the other one went on."""
    if a.complete != b.complete:
        return "b" if a.complete else "a"
    if a.complete or digests is None:
        return None
    is_a_inside, is_b_inside = digests[0][-1] in digests[1], digests[1][-1] in digests[0]
    if is_a_inside == is_b_inside:
        return None
    return "a" if is_a_inside else "b"


@dataclass(frozen=True, slots=True)
class _Graphs:
    outcome: Outcome = "unknown"
    stops: Sides | None = None
    equal_texts: int = 0
    digest_a: str | None = None
    digest_b: str | None = None
    elided: int = 0
    parting: Parting | None = None


def _compare_graphs(a: Analysed, b: Analysed, module_a: Module, module_b: Module) -> _Graphs:
    if a.texts is None or b.texts is None:
        return _Graphs(stops=_stops(module_a, module_b))
    digests_a, digests_b = a.texts.digests(module_a), b.texts.digests(module_b)
    common = common_states(digests_a, digests_b, tuple(aligned(module_a.dumps, module_b.dumps)))
    stops = _stops(module_a, module_b, (digests_a, digests_b))
    outcome = _outcome(common, digests_a, digests_b, stops)
    parting = None
    if outcome in ("differ", "stopped"):
        parting = _parting((a, b), (module_a, module_b), common)
    last = a.texts.canonical(module_a.id, len(digests_a) - 1).module
    return _Graphs(
        outcome=outcome,
        stops=stops,
        equal_texts=common.equal_texts,
        digest_a=digests_a[-1],
        digest_b=digests_b[-1],
        elided=elided_constants(last),
        parting=parting,
    )


def _outcome(common: Common, a: Sequence[str], b: Sequence[str], stops: Sides | None) -> Outcome:
    if common.is_whole:
        return "equal"
    if a[-1] == b[-1]:
        return "equal_in_the_end"
    ends_in_common = {"a": a[-1] in b, "b": b[-1] in a}
    return "stopped" if stops is not None and ends_in_common[stops] else "differ"


def _parting(
    sides: tuple[Analysed, Analysed], modules: tuple[Module, Module], common: Common
) -> Parting:
    """The first texts that differ, who made them, and the first instruction that does."""
    after_a, after_b = _next_texts(modules, common)
    where_a = common.last_a if after_a is None else after_a
    where_b = common.last_b if after_b is None else after_b
    found, texts = _difference(sides, modules, (where_a or 0, where_b or 0))
    place_a = place_b = None
    what: tuple[str, ...] = ()
    if found is not None:
        what = found.what
        place_a = instruction_place(texts[0], found.before_computation, found.before)
        place_b = instruction_place(texts[1], found.after_computation, found.after)
    return Parting(
        last_equal_a=common.last_a,
        last_equal_b=common.last_b,
        dump_a=after_a,
        dump_b=after_b,
        equal_file_a=_file(modules[0], common.last_a),
        equal_file_b=_file(modules[1], common.last_b),
        file_a=_file(modules[0], after_a),
        file_b=_file(modules[1], after_b),
        pass_a=_pass_behind(modules[0], common.last_a, after_a),
        pass_b=_pass_behind(modules[1], common.last_b, after_b),
        what=what,
        a=place_a,
        b=place_b,
        loops_a=_loops_changed(sides[0].report, modules[0], after_a),
        loops_b=_loops_changed(sides[1].report, modules[1], after_b),
    )


def _next_texts(modules: tuple[Module, Module], common: Common) -> tuple[int | None, int | None]:
    """The text behind the last equal one on each side, None where the other side is ahead alone.

    A text that no pass of the other side answers was made by a pass that is there on one side
    only, or that did nothing on the other: then that side still stands where both were equal.
    """
    if common.last_a is None or common.last_b is None:
        return 0, 0
    after_a, after_b = common.last_a + 1, common.last_b + 1
    is_a, is_b = after_a < len(modules[0].dumps), after_b < len(modules[1].dumps)
    if is_a and is_b:
        rest_a, rest_b = modules[0].dumps[after_a:], modules[1].dumps[after_b:]
        pairs = dict(aligned(rest_a, rest_b))
        if not (any(d.after for d in rest_a) and any(d.after for d in rest_b)):
            # One side has no texts of passes: what both have is all that can be held together.
            first = next(iter(pairs.items()), (0, 0))
            return after_a + first[0], after_b + first[1]
        if pairs.get(0) != 0:
            is_answered_a, is_answered_b = 0 in pairs, 0 in pairs.values()
            if is_answered_a != is_answered_b:
                is_a, is_b = is_answered_b, is_answered_a
    return after_a if is_a else None, after_b if is_b else None


def _file(module: Module, index: int | None) -> str | None:
    return None if index is None else module.dumps[index].file.rpartition("/")[2]


def _pass_behind(module: Module, last_equal: int | None, after: int | None) -> str | None:
    if after is None:
        return None if last_equal is None else module.dumps[last_equal].before
    if last_equal is None:
        return None
    dump = module.dumps[after]
    if dump.after == "pipeline-start":
        return f"the start of {dump.pipeline}"
    return dump.after


def _difference(
    sides: tuple[Analysed, Analysed], modules: tuple[Module, Module], where: tuple[int, int]
) -> tuple[FirstDifference | None, tuple[HloModule, HloModule]]:
    texts = sides[0].texts, sides[1].texts
    assert texts[0] is not None
    assert texts[1] is not None
    before = texts[0].canonical(modules[0].id, where[0])
    after = texts[1].canonical(modules[1].id, where[1])
    return first_difference(before, after), (before.module, after.module)


def _loops_changed(report: Report, module: Module, dump: int | None) -> tuple[str, ...]:
    return tuple(
        loop.id
        for loop in report.loops
        if loop.module == module.id and any(event.dump == dump for event in loop.events)
    )


def _notes(
    a: Analysed,
    b: Analysed,
    flags: Sequence[FlagChange],
    modules: Sequence[ModulePair],
    paired: int,
) -> Iterator[str]:
    silent = [
        side
        for side, report in (("a", a.report), ("b", b.report))
        if not report.environment.flags_from
    ]
    if silent:
        how = "; those named are inferred from the passes" if flags else ""
        yield f"No file of {' and '.join(silent)} states the flags of the run{how}."
    if a.texts is None or b.texts is None:
        yield "The texts are not at hand on both sides: only the figures are compared."
    elided = sum(pair.elided for pair in modules)
    if elided:
        yield f"{elided:,} constants are printed without their values and count as equal."
    if paired > MOST_PAIRS:
        yield f"{paired - MOST_PAIRS:,} more modules were not compared."
    unparsed = a.report.coverage.unparsed_lines + b.report.coverage.unparsed_lines
    if unparsed:
        yield f"{unparsed:,} lines were not understood and are compared as they stand."
