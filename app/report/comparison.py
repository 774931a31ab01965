"""Two dumps compared, made ready for terminal and page: one sheet, the user's modules first.

Takes a `ComparisonView`; what differs is told, what is equal is counted.
"""

from collections.abc import Iterator, Sequence

from app.model.comparison import (
    Amount,
    BufferPair,
    CollectiveSum,
    Comparison,
    FlagChange,
    InstructionPlace,
    LoopPair,
    ModulePair,
    NextPass,
    Parting,
    Side,
    Unit,
)
from app.model.report import LoopEventKind
from app.report.comparison_sheet import Grid, Section, Sheet, Tone, grid
from app.report.diff_text import difference_lines
from app.report.verdict import releases_text
from app.report.wording import (
    EVENT_WORDS,
    counted,
    counts_text,
    cut_list,
    file_name,
    legible,
    operations_text,
    place_text,
    shortened,
    size_text,
)
from app.views.comparison import ComparisonView, PartingDiff

_MOST_NAMES = 8
_MOST_SECTIONS = 20
_OF_JAX = ("small module", "small modules")
_MOST_STEPS = 4
_MOST_BUFFERS = 12
_MOST_LINES = 36
_MOST_LINES_OF_ONE = 12
_LONGEST = 72

_OUTCOMES = {
    "equal": "the same graph after every pass",
    "equal_in_the_end": "different on the way, the same graph in the end",
    "differ": "the graphs differ",
    "stopped": "the same as far as one side came",
    "unknown": "graphs not compared",
}


def comparison_sheet(view: ComparisonView) -> Sheet:
    """The sheet; differences of texts come as lines."""
    shown = legible(view)
    comparison = shown.comparison
    told = [(k, pair) for k, pair in enumerate(comparison.modules) if _is_told(pair)]
    diffs = {diff.pair: diff for diff in shown.diffs}
    sections = tuple(_section(pair, diffs.get(k)) for k, pair in told[:_MOST_SECTIONS])
    badge, tone = _badge(comparison)
    return Sheet(
        badge=badge,
        tone=tone,
        verdict=comparison.verdict,
        grids=tuple(_top(comparison)),
        sections=sections,
        notes=(*comparison.notes, *_untold(comparison)),
    )


def _badge(comparison: Comparison) -> tuple[str, Tone]:
    outcomes = {pair.outcome for pair in comparison.modules if pair.a and pair.b}
    if outcomes & {"differ", "stopped"}:
        return "DIFFERENT", "warning"
    if not outcomes or outcomes == {"unknown"}:
        return "NOT COMPARED", "note"
    lone = any(not (pair.a and pair.b) and pair.role == "user" for pair in comparison.modules)
    return ("SAME GRAPHS", "note") if lone or comparison.flags else ("EQUAL", "clear")


def _is_told(pair: ModulePair) -> bool:
    return pair.role == "user" or pair.outcome in ("differ", "stopped")


def _untold(comparison: Comparison) -> Iterator[str]:
    more = sum(map(_is_told, comparison.modules)) - _MOST_SECTIONS
    if more > 0:
        yield f"{more:,} more modules are in the JSON alone."
    rest = [pair for pair in comparison.modules if not _is_told(pair)]
    equal = sum(pair.outcome in ("equal", "equal_in_the_end") for pair in rest)
    if equal:
        yield f"{counted(equal, *_OF_JAX)} {'is' if equal == 1 else 'are'} equal."
    lone = sum(not (pair.a and pair.b) for pair in rest)
    if lone:
        verb = "stands" if lone == 1 else "stand"
        yield f"{counted(lone, *_OF_JAX)} {verb} on one side only."


def _top(comparison: Comparison) -> Iterator[Grid]:
    sides = (comparison.a, comparison.b)
    rows = [
        ("dump", *(side.name for side in sides)),
        ("jaxlib", *map(_releases, sides)),
        ("backend", *(side.backend or "unknown" for side in sides)),
        (
            "flags from",
            *(", ".join(map(file_name, side.flags_from)) or "not stated" for side in sides),
        ),
        ("modules", *(f"{side.modules:,}" for side in sides)),
    ]
    if any(side.failure for side in sides):
        rows.append(("failure", *(shortened(side.failure or "none", _LONGEST) for side in sides)))
    yield grid("", ("", "a", "b"), rows)
    if comparison.flags:
        yield grid("Flags that differ", ("flag", "a", "b", ""), map(_flag, comparison.flags))


def _releases(side: Side) -> str:
    return releases_text(side.jaxlib.releases) or "unknown"


def _flag(flag: FlagChange) -> tuple[str, ...]:
    return (flag.name, _set_to(flag.a), _set_to(flag.b), "stated" if flag.stated else flag.why)


def _set_to(value: str | None) -> str:
    return "not set" if value is None else value or '""'


# ---- one module ---------------------------------------------------------------------------------


def _section(pair: ModulePair, diff: PartingDiff | None) -> Section:
    if pair.a is None or pair.b is None:
        side = "b" if pair.a is None else "a"
        texts = counted(pair.texts_a or pair.texts_b, "text")
        return Section(pair.name, facts=(("only in", f"{side}, {texts}"),))
    return Section(
        title=pair.name,
        facts=tuple(_facts(pair)),
        grids=tuple(_grids(pair)),
        lines=_lines(diff) if diff is not None else (),
    )


def _lines(diff: PartingDiff) -> tuple[str, ...]:
    lines = [f"What differs between text {diff.dump_a} of a and text {diff.dump_b} of b:"]
    told = difference_lines(diff.diff, most=_MOST_LINES_OF_ONE, renames=False)
    if not diff.diff.totals.computations_unchanged and "" in told:
        # Two programs, as another release traces it: side by side nothing is learnt.
        return (*lines, *told[: told.index("")], "the JSON holds the differences")
    lines += told
    left_out = len(lines) - _MOST_LINES
    if left_out <= 0:
        return tuple(lines)
    return (*lines[:_MOST_LINES], f"... and {left_out:,} lines more; the JSON holds them all")


def _facts(pair: ModulePair) -> Iterator[tuple[str, str]]:
    yield "graphs", _OUTCOMES[pair.outcome]
    yield "paired by", pair.how
    yield (
        "texts",
        f"{pair.texts_a:,} and {pair.texts_b:,}; {pair.equal_texts:,} of a have the graph of one "
        "of b",
    )
    passes = pair.passes
    as_far = f" (read as far as {passes.stops} came)" if passes.stops else ""
    told = [
        f"{cut_list(names, _MOST_NAMES)} in {side} alone"
        for side, names in (("a", passes.only_a), ("b", passes.only_b))
        if names
    ]
    yield "passes", f"{passes.common:,} in both; {'; '.join(told) or 'no others'}{as_far}"
    yield from _steps(passes.next)
    if pair.parting is not None:
        yield from _parting(pair.parting, pair.loops)
    if pair.passes.stops:
        yield "figures", "one side ends early: it has none to hold those of the other to"


def _steps(steps: Sequence[NextPass]) -> Iterator[tuple[str, str]]:
    told = list(
        dict.fromkeys(f"{each.pass_}: a goes on to {each.a}, b to {each.b}" for each in steps)
    )
    for step in told[:_MOST_STEPS]:
        yield "after", step
    if len(told) > _MOST_STEPS:
        yield "", f"and so at {len(told) - _MOST_STEPS:,} more passes"


def _parting(parting: Parting, loops: Sequence[LoopPair]) -> Iterator[tuple[str, str]]:
    if parting.last_equal_a is not None:
        yield "equal up to", f"a: {parting.equal_file_a}"
        yield "", f"b: {parting.equal_file_b}"
    for side, file, name in (
        ("a", parting.file_a, parting.pass_a),
        ("b", parting.file_b, parting.pass_b),
    ):
        if file is not None:
            yield f"then {side}", file
        elif name:
            yield f"then {side}", f"no text that differs; next in line {name}"
    for side, place in (("a", parting.a), ("b", parting.b)):
        if place is not None:
            yield f"first in {side}", instruction_text(place)
    if parting.what:
        yield "differs in", ", ".join(parting.what)
    names_a = {each.a: each.name for each in loops}
    names_b = {each.b: each.name_b or each.name for each in loops}
    for side, changed, names in (
        ("a", parting.loops_a, names_a),
        ("b", parting.loops_b, names_b),
    ):
        if changed:
            told = [names.get(loop, loop) for loop in changed]
            yield f"loops changed in {side}", cut_list(told, _MOST_NAMES)


def _loop_name(loop: LoopPair) -> str:
    """`while.87, while.97 in b`: what the reports call it."""
    if loop.name_b in ("", loop.name):
        return loop.name
    return f"{loop.name}, {loop.name_b} in b"


def instruction_text(place: InstructionPlace | None) -> str:
    """An instruction of a comparison in one line."""
    if place is None:
        return "nothing in its place"
    where = f", {place_text(place.source)}" if place.source else ""
    shape = shortened(place.shape, _LONGEST)
    return f"%{place.instruction} = {shape} {place.opcode} in {place.computation}{where}"


def _grids(pair: ModulePair) -> Iterator[Grid]:
    if pair.passes.stops:
        # What stands in the last texts is of different stages of the compile.
        yield from _loops_so_far(pair.loops)
        return
    changed = [amount for amount in pair.amounts if amount.a != amount.b]
    if changed:
        yield grid("Figures that differ", ("", "a", "b"), map(_amount, changed), numbers=("a", "b"))
    loops = [loop for loop in pair.loops if loop.what]
    if loops:
        yield grid(
            "Loops that differ",
            ("loop", "line", "trips", "collectives in a", "collectives in b", "events"),
            map(_loop, loops),
        )
    sums = [each for each in pair.collectives if _differs(each)]
    if sums:
        yield grid(
            "Collectives that differ, by loop",
            ("opcode", "loop", "a", "b", "bytes a", "bytes b", "waited for"),
            (_sum(each, pair.loops) for each in sums),
            numbers=("a", "b", "bytes a", "bytes b"),
        )
    buffers = [each for each in pair.buffers if each.bytes_a != each.bytes_b]
    if buffers:
        yield grid(
            "Memory at the peak that differs",
            ("class", "line", "instruction", "a", "b"),
            map(_buffer, buffers),
            numbers=("a", "b"),
            most=_telling(buffers),
        )


def _loops_so_far(loops: Sequence[LoopPair]) -> Iterator[Grid]:
    told = [each for each in loops if each.a and each.b and each.events_a != each.events_b]
    if told:
        yield grid(
            "What happened to loops, as far as each side came",
            ("loop", "line", "in a", "in b"),
            (
                (
                    _loop_name(each),
                    place_text(each.source) if each.source else "-",
                    *(_events(kinds) or "nothing" for kinds in (each.events_a, each.events_b)),
                )
                for each in told
            ),
        )


def _events(kinds: Sequence[LoopEventKind]) -> str:
    return ", ".join(EVENT_WORDS[kind] for kind in kinds)


def _amount(amount: Amount) -> tuple[str, ...]:
    return (
        amount.name.removesuffix("_us").replace("_", " "),
        figure(amount.a, amount.unit),
        figure(amount.b, amount.unit),
    )


def figure(value: float | None, unit: Unit) -> str:
    """A figure for reading; `-` where it is not known."""
    if value is None:
        return "-"
    if unit == "bytes":
        return size_text(int(value))
    if unit == "flops":
        return operations_text(int(value))
    return f"{value:,.0f} µs" if unit == "us" else f"{value:,.0f}"


def _loop(loop: LoopPair) -> tuple[str, ...]:
    events = [
        f"{side}: {_events(kinds)}"
        for side, kinds in (("a", loop.events_a), ("b", loop.events_b))
        if kinds and loop.events_a != loop.events_b
    ]
    only = "only in b" if loop.a is None else "only in a" if loop.b is None else ""
    return (
        _loop_name(loop),
        place_text(loop.source) if loop.source else "-",
        _trips(loop),
        counts_text(loop.collectives_a) or "-",
        counts_text(loop.collectives_b) or "-",
        "; ".join(filter(None, (only, *events))),
    )


def _trips(loop: LoopPair) -> str:
    a, b = (
        "?" if trips is None else f"{trips:,}" for trips in (loop.trip_count_a, loop.trip_count_b)
    )
    if loop.a is None:
        return b
    return a if loop.b is None or a == b else f"{a} and {b}"


def _differs(each: CollectiveSum) -> bool:
    return (each.count_a, each.bytes_a) != (each.count_b, each.bytes_b)


def _sum(each: CollectiveSum, loops: Sequence[LoopPair]) -> tuple[str, ...]:
    waits = [figure(each.exposed_us_a, "us"), figure(each.exposed_us_b, "us")]
    return (
        each.opcode,
        "-" if each.loop is None else _loop_name(loops[each.loop]),
        f"{each.count_a:,}",
        f"{each.count_b:,}",
        size_text(each.bytes_a),
        size_text(each.bytes_b),
        "-" if waits == ["-", "-"] else " and ".join(waits),
    )


def _telling(buffers: Sequence[BufferPair]) -> int:
    """How many, largest difference first, are worth a line: a thousandth of the largest, or one."""
    largest = max(max(each.bytes_a, each.bytes_b) for each in buffers)
    told = sum(abs(each.bytes_a - each.bytes_b) * 1000 >= largest for each in buffers)
    return max(1, min(told, _MOST_BUFFERS))


def _buffer(buffer: BufferPair) -> tuple[str, ...]:
    return (
        buffer.class_,
        place_text(buffer.source) if buffer.source else "-",
        buffer.instruction or "-",
        size_text(buffer.bytes_a),
        size_text(buffer.bytes_b),
    )
