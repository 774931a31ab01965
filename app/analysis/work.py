"""How much work one execution of a module text is: products, and bytes sent by collectives.

Loops count as often as they run, conditionals by their heaviest branch, and each computation as
often as it is called. What the text leaves open is counted low and said: a loop of unknown trip
count runs once, a product of unreadable shape is nothing. Products are those of `flops.py`, bytes
those of `collectives.bytes_sent`. What a computation holds itself is read once for all texts that
share it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from app.analysis.collectives import bytes_sent
from app.analysis.flops import MAY_MULTIPLY, product_flops
from app.analysis.fused_collectives import is_scattered, opcode_run
from app.analysis.loops import LoopFinder
from app.analysis.opcodes import COLLECTIVES, base_opcode
from app.model.dump import ModuleHistory
from app.model.facts import LoopHistory
from app.model.work import LARGEST_COUNT, Work
from hlo_parser import Computation, Instruction, Module

_RUNNERS = frozenset({"call", "conditional", "custom-call", "fusion", "while"})

# More than any release has; a hostile text may have any number.
_MOST_OPCODES = 1_024

_Devices = tuple[str | None, str | None]
_Callees = Sequence[tuple[str, Computation]]
_Calls = Sequence[tuple[Instruction, _Callees]]

Place = tuple[str, str]
"""A while by the names of its computation and of itself."""


def measure_work(
    history: ModuleHistory,
    loops: Sequence[LoopHistory] | None = None,
    reader: "WorkReader | None" = None,
) -> tuple[Work, ...]:
    """The work of each text of a module, in order.

    `loops` are those of `follow_loops`, which know the trip counts; without them they are looked
    for. A loop whose text does not tell its trips any more runs as often as before. A `reader`
    may serve several modules of one dump.
    """
    reader = reader or WorkReader()
    if loops is None:
        finder = LoopFinder()
        trips = [
            {
                (p.loop.computation.name, p.loop.name): p.loop.trip_count
                for p in finder.find(d.module)
            }
            for d in history.dumps
        ]
    else:
        trips = _trips_by_text(loops, len(history.dumps))
    return tuple(
        reader.of_module(dump.module, known)
        for dump, known in zip(history.dumps, trips, strict=True)
    )


def _trips_by_text(loops: Sequence[LoopHistory], texts: int) -> list[dict[Place, int | None]]:
    found: list[dict[Place, int | None]] = [{} for _ in range(texts)]
    for loop in loops:
        trips: int | None = None
        for position in sorted(loop.occurrences):
            here = loop.occurrences[position]
            trips = trips if here.trip_count is None else here.trip_count
            found[position][here.computation.name, here.name] = trips
    return found


class _Done(NamedTuple):
    """What one instruction does itself; `flops` is None where its shapes cannot be read."""

    flops: int | None
    collective: str | None
    bytes: int


@dataclass(frozen=True, slots=True)
class _Own:
    """What a computation does itself and the instructions by which it runs others."""

    flops: int
    collective_bytes: Counter[str]
    uncounted: int
    calls: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class _Total:
    """The work of one call of a computation with all that it runs."""

    flops: int = 0
    collective_bytes: Counter[str] = field(default_factory=Counter[str])

    @property
    def weight(self) -> tuple[int, int]:
        """By which branches are compared."""
        return self.flops, self.collective_bytes.total()

    def plus(self, other: "_Total", times: int = 1) -> "_Total":
        """This and `times` the other, with all counts held within what JSON takes."""
        sent = Counter(self.collective_bytes)
        for opcode, size in other.collective_bytes.items():
            sent[opcode] = min(sent[opcode] + times * size, LARGEST_COUNT)
        return _Total(min(self.flops + times * other.flops, LARGEST_COUNT), sent)


_NOTHING = _Total()


class WorkReader:
    """Measures texts; computations that they share are read once."""

    def __init__(self) -> None:
        self._own: dict[tuple[Computation, _Devices], _Own] = {}
        # By the line, those of its operands, which state their shapes, and the number of devices:
        # most computations are others with a few lines changed.
        self._done: dict[tuple[object, ...], _Done] = {}
        self._works: dict[tuple[object, ...], Work] = {}

    def of_module(self, module: Module, trips: Mapping[Place, int | None]) -> Work:
        """The work of one execution of the entry; `trips` are the known trip counts."""
        # As stated: a text that prints no counts says less than one that prints 1.
        stated = module.header.attributes
        devices = stated.get("num_partitions"), stated.get("replica_count")
        key = module.computations, devices, frozenset(trips.items())
        known = self._works.get(key)
        if known is None:
            known = self._works[key] = self._measure(module, devices, trips)
        return known

    def _measure(
        self, module: Module, devices: _Devices, trips: Mapping[Place, int | None]
    ) -> Work:
        totals: dict[str, _Total] = {}
        counted_once = uncounted = 0
        for computation, own, calls in self._callees_first(module, devices):
            uncounted += own.uncounted
            total = _NOTHING
            if own.flops or own.collective_bytes:
                total = _Total(own.flops, own.collective_bytes)
            for call, callees in calls:
                inside, times = _called(call, callees, totals), 1
                if inside is _NOTHING:
                    continue
                if call.opcode == "while":
                    known = trips.get((computation.name, call.name))
                    counted_once += known is None
                    times = 1 if known is None else known
                total = total.plus(inside, times)
            totals[computation.name] = total
        entry = totals[module.entry.name]
        return Work(
            flops=entry.flops,
            collective_bytes={k: n for k, n in sorted(entry.collective_bytes.items()) if n},
            counted_once=counted_once,
            uncounted=uncounted,
        )

    def _read(self, module: Module, devices: _Devices, computation: Computation) -> _Own:
        """What the computation does itself, in modules with as many devices as this one."""
        key = computation, devices
        known = self._own.get(key)
        if known is None:
            known = self._own[key] = self._read_own(module, devices, computation)
        return known

    def _read_own(self, module: Module, devices: _Devices, computation: Computation) -> _Own:
        flops = uncounted = 0
        sent: Counter[str] = Counter()
        calls: list[Instruction] = []
        for instruction in computation.instructions:
            if not _counts(instruction.opcode):
                continue
            operands = tuple([computation.get(name) for name in instruction.operands])
            key = instruction, operands, devices, is_scattered(module, computation, instruction)
            done = self._done.get(key)
            if done is None:
                done = self._done[key] = _done_by(module, computation, instruction)
            uncounted += done.flops is None
            flops += done.flops or 0
            if done.collective is not None:
                sent[done.collective] += done.bytes
            elif instruction.callees and _runs_callees(instruction.opcode):
                calls.append(instruction)
        return _Own(flops, sent, uncounted, tuple(calls))

    def _callees_first(
        self, module: Module, devices: _Devices
    ) -> Iterator[tuple[Computation, _Own, _Calls]]:
        """What the entry reaches, each after all that it runs; calls in a circle are cut."""
        pending = [module.entry]
        entered: dict[str, tuple[_Own, _Calls]] = {}
        left: set[str] = set()
        while pending:
            here = pending[-1]
            if here.name not in entered:
                own = self._read(module, devices, here)
                calls = [(call, module.callees(call)) for call in own.calls]
                entered[here.name] = own, calls
                if calls:
                    for _, callees in calls:
                        pending += [c for _, c in callees if c.name not in entered]
                    continue
            pending.pop()
            if here.name not in left:
                left.add(here.name)
                yield here, *entered[here.name]


def _called(call: Instruction, callees: _Callees, totals: Mapping[str, _Total]) -> _Total:
    """The work of one run of what an instruction calls; of a while, of one iteration."""
    found = [totals.get(callee.name, _NOTHING) for _, callee in callees]
    if call.opcode == "conditional":
        return max(found, key=lambda total: total.weight, default=_NOTHING)
    total = _NOTHING
    for inside in found:
        if inside is not _NOTHING:
            total = inside if total is _NOTHING else total.plus(inside)
    return total


def _done_by(module: Module, computation: Computation, instruction: Instruction) -> _Done:
    collective = opcode_run(module, computation, instruction)
    return _Done(
        flops=product_flops(computation, instruction),
        collective=collective,
        bytes=0 if collective is None else bytes_sent(module, computation, instruction),
    )


@lru_cache(maxsize=_MOST_OPCODES)
def _counts(opcode: str) -> bool:
    """Whether an instruction of this opcode may multiply, send, or run computations."""
    return opcode in MAY_MULTIPLY or base_opcode(opcode) in COLLECTIVES or _runs_callees(opcode)


def _runs_callees(opcode: str) -> bool:
    """Whether callees are run as they stand, not once an element as those of a reduce.

    Later parts of an asynchronous call name its computation again and run nothing.
    """
    return opcode == "async-start" or base_opcode(opcode) in _RUNNERS
