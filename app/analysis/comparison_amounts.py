"""The figures of two modules side by side: loops, collectives, memory at its peak, work.

Everything comes from the two reports. Loops are paired by the line and operation of the program
that they stand for, in the order in which they come; figures of a loop are those of its body in the
last text, as the reports have them.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence

from app.analysis.comparison_places import line_of
from app.model.comparison import Amount, BufferPair, CollectiveSum, LoopPair, Unit
from app.model.memory import LiveBuffer
from app.model.report import (
    REWRITES,
    Collective,
    Loop,
    LoopEventKind,
    Module,
    Report,
    Source,
)
from app.model.work import LARGEST_COUNT

_COUNTED = ("fusion", "copy", "while", "custom-call", "dot", "convolution")


# ---- loops --------------------------------------------------------------------------------------


def pair_loops(a: Sequence[Loop], b: Sequence[Loop]) -> tuple[LoopPair, ...]:
    """All loops of two modules; pairs in the order of `a`, then those that only `b` has."""
    partner: dict[str, tuple[Loop, str]] = {}
    for how, key in _KEYS.items():
        left = [loop for loop in a if loop.id not in partner]
        taken = {other.id for other, _ in partner.values()}
        groups: defaultdict[Hashable, list[Loop]] = defaultdict(list)
        for loop in b:
            if loop.id not in taken:
                groups[key(loop)].append(loop)
        for loop in left:
            if key(loop) is not None and groups[key(loop)]:
                partner[loop.id] = groups[key(loop)].pop(0), how
    taken = {other.id for other, _ in partner.values()}
    return (
        *(_loop_pair(loop, *partner.get(loop.id, (None, ""))) for loop in a),
        *(_loop_pair(None, loop, "") for loop in b if loop.id not in taken),
    )


def _line_and_operation(loop: Loop) -> Hashable:
    line = line_of(loop.source)
    return None if line is None else (line, loop.op_name, loop.trip_count)


def _line(loop: Loop) -> Hashable:
    return line_of(loop.source)


def _operation(loop: Loop) -> Hashable:
    return loop.op_name


_KEYS = {
    "same line and operation": _line_and_operation,
    "same line": _line,
    "same name": _operation,
}


def _loop_pair(a: Loop | None, b: Loop | None, how: str) -> LoopPair:
    one = a or b
    assert one is not None
    events_a, events_b = _events(a), _events(b)
    what: list[str] = []
    if a is None or b is None:
        what.append("missing")
    else:
        what += ["trip_count"] * (a.trip_count != b.trip_count)
        what += ["carry"] * (len(a.carry) != len(b.carry))
        what += ["collectives"] * (a.collectives != b.collectives)
        what += ["events"] * (events_a != events_b)
    return LoopPair(
        a=a.id if a else None,
        b=b.id if b else None,
        name=one.name,
        name_b=b.name if a and b else "",
        source=one.source,
        how=how,
        trip_count_a=a.trip_count if a else None,
        trip_count_b=b.trip_count if b else None,
        carry_a=len(a.carry) if a else 0,
        carry_b=len(b.carry) if b else 0,
        collectives_a=a.collectives if a else {},
        collectives_b=b.collectives if b else {},
        bytes_a=a.collective_bytes if a else None,
        bytes_b=b.collective_bytes if b else None,
        events_a=events_a,
        events_b=events_b,
        what=tuple(what),
    )


def _events(loop: Loop | None) -> tuple[LoopEventKind, ...]:
    return tuple(e.kind for e in loop.events if e.kind in REWRITES) if loop else ()


# ---- collectives --------------------------------------------------------------------------------


def sum_collectives(
    a: Sequence[Collective], b: Sequence[Collective], loops: Sequence[LoopPair]
) -> tuple[CollectiveSum, ...]:
    """Counts, bytes and waiting of the last texts, by loop and opcode."""
    numbers_a = {pair.a: k for k, pair in enumerate(loops) if pair.a is not None}
    numbers_b = {pair.b: k for k, pair in enumerate(loops) if pair.b is not None}
    sums_a, sums_b = _sums(a, numbers_a), _sums(b, numbers_b)
    of_windows = _is_silent_of_synchronous(a) or _is_silent_of_synchronous(b)
    order = sorted({*sums_a, *sums_b}, key=lambda key: (key[0] is None, key[0] or 0, key[1]))
    return tuple(
        CollectiveSum(
            opcode=opcode,
            loop=loop,
            count_a=len(sums_a.get((loop, opcode), ())),
            count_b=len(sums_b.get((loop, opcode), ())),
            bytes_a=_bytes(sums_a.get((loop, opcode), ())),
            bytes_b=_bytes(sums_b.get((loop, opcode), ())),
            exposed_us_a=exposed_us(sums_a.get((loop, opcode), ()), of_windows=of_windows),
            exposed_us_b=exposed_us(sums_b.get((loop, opcode), ()), of_windows=of_windows),
        )
        for loop, opcode in order
    )


def _sums(
    collectives: Sequence[Collective], numbers: Mapping[str, int]
) -> dict[tuple[int | None, str], list[Collective]]:
    found: dict[tuple[int | None, str], list[Collective]] = {}
    for collective in collectives:
        key = (numbers.get(collective.loop or ""), collective.opcode)
        found.setdefault(key, []).append(collective)
    return found


def _bytes(collectives: Sequence[Collective]) -> int:
    return min(sum(c.bytes for c in collectives), LARGEST_COUNT)


def exposed_us(collectives: Sequence[Collective], *, of_windows: bool = False) -> float | None:
    """Microseconds waited for when each runs once; None where no time is known.

    All that a synchronous one takes is waited for, unless only those `of_windows` count; a window
    that several are in counts once.
    """
    windows: dict[tuple[str, str, str], float] = {}
    waited: list[float] = []
    for c in collectives:
        if c.waited_us is not None:
            waited += [] if of_windows else [c.waited_us]
        elif c.window is not None and c.window.exposed_us is not None:
            windows.setdefault((c.module, c.computation, c.instruction), c.window.exposed_us)
    return round(sum((*windows.values(), *waited)), 3) if windows or waited else None


# ---- memory and work ----------------------------------------------------------------------------


def pair_buffers(a: Report, b: Report, ids: tuple[str, str]) -> tuple[BufferPair, ...]:
    """What lives at the two peaks, by class and line, the largest change first.

    Nothing where one side does not know its peak.
    """
    sums: tuple[Counter[_Buffer], ...] = tuple(map(_buffers, (a, b), ids))
    if not all(sums):
        return ()
    instructions: dict[_Buffer, tuple[str | None, Source | None]] = {}
    for report, module in zip((a, b), ids, strict=True):
        for key, buffer in _live(report, module):
            instructions.setdefault(key, (buffer.instruction, buffer.source))
    pairs = [
        BufferPair(
            class_=key[0],
            source=instructions[key][1],
            instruction=instructions[key][0],
            bytes_a=sums[0][key],
            bytes_b=sums[1][key],
        )
        for key in dict.fromkeys((*sums[0], *sums[1]))
    ]
    return tuple(sorted(pairs, key=lambda p: -abs(p.bytes_a - p.bytes_b)))


_Buffer = tuple[str, Hashable]


def _live(report: Report, module: str) -> Iterator[tuple[_Buffer, LiveBuffer]]:
    for memory in report.memory:
        if memory.module == module and memory.peak is not None:
            for buffer in memory.peak.largest:
                where = line_of(buffer.source) or buffer.op_name or buffer.shape
                yield (buffer.class_, where), buffer


def _buffers(report: Report, module: str) -> Counter[_Buffer]:
    found: Counter[_Buffer] = Counter()
    for key, buffer in _live(report, module):
        found[key] += buffer.bytes
    return found


def module_amounts(a: Report, b: Report, modules: tuple[Module, Module]) -> tuple[Amount, ...]:
    """The figures of the last texts, those that neither side knows left out."""
    figures = [_figures(report, module) for report, module in zip((a, b), modules, strict=True)]
    names = dict.fromkeys((*figures[0], *figures[1]))
    if any(map(_is_silent_of_synchronous, map(_collectives, (a, b), modules))):
        # A report that does not know this time has it in neither figure.
        for each in figures:
            each.pop("synchronous_us", None)
    return tuple(
        Amount(name=name, a=figures[0].get(name), b=figures[1].get(name), unit=_UNITS.get(name, ""))
        for name in names
        if figures[0].get(name) or figures[1].get(name)
    )


_UNITS: dict[str, Unit] = {
    "flops": "flops",
    "collective_bytes": "bytes",
    "peak_memory": "bytes",
    "total_memory": "bytes",
    "exposed_us": "us",
    "synchronous_us": "us",
}


def _collectives(report: Report, module: Module) -> list[Collective]:
    return [c for c in report.collectives if c.module == module.id]


def _is_silent_of_synchronous(collectives: Sequence[Collective]) -> bool:
    """Whether some collectives are synchronous, and of none of them is known what it takes."""
    own = [c for c in collectives if not c.is_async]
    return bool(own) and all(c.waited_us is None for c in own)


def _figures(report: Report, module: Module) -> dict[str, int]:
    found: dict[str, int] = {}
    if module.dumps:
        last = module.dumps[-1]
        found["instructions"] = last.instructions
        found.update({name: last.counts.get(name, 0) for name in _COUNTED})
        if last.flops is not None:
            found["flops"] = last.flops
        found["collective_bytes"] = min(sum(last.collective_bytes.values()), LARGEST_COUNT)
    for memory in report.memory:
        if memory.module == module.id:
            found["total_memory"] = memory.total_bytes
            if memory.peak is not None:
                found["peak_memory"] = memory.peak.bytes
    own = _collectives(report, module)
    exposed = exposed_us(own, of_windows=True)
    if exposed is not None:
        found["exposed_us"] = round(exposed)
    waited = [c.waited_us for c in own if c.waited_us is not None]
    if waited:
        found["synchronous_us"] = round(sum(waited))
    return found
