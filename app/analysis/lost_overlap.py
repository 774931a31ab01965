"""Collectives of a finished program that nothing hides, though something could.

Looks at scheduled texts for GPUs and TPUs alone: elsewhere no schedule is meant to hide transfers.
For each collective that is synchronous, or whose window holds no computation, the independent
matrix products of the same computation are looked up (neither do they need its result nor does it
need theirs), and else the loop around it: an all-gather whose operands are known an iteration
ahead could be sent an iteration ahead. Times are those of `cost_model.py`, and as rough.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from app.analysis.cost_model import device_of
from app.analysis.dataflow import walk_operands
from app.analysis.flops import FlopCounter
from app.analysis.pipelining import backward_candidates
from app.model.dump import ModuleHistory
from app.model.facts import LoopHistory
from app.model.report import Collective
from hlo_parser import Computation, Instruction, Module

Manner = Literal["synchronous", "empty window"]
Chance = Literal["beside it", "iteration ahead"]

_BACKENDS = frozenset({"GPU", "TPU"})
_MOST_WORK = 8
# Of its time; a collective of which more passes behind something is hidden in part.
_HIDDEN_PART = 0.2
# The first ones tell the story where a hand-edited text has more.
_MOST_COLLECTIVES = 500


@dataclass(frozen=True, slots=True)
class LostOverlap:
    """One collective that could hide and does not.

    `work` are the products that could run meanwhile, the heaviest first; they stand in the same
    computation, or are those of the iteration before. `times` is how often it runs in one
    execution, None where a trip count is unknown (then `seconds` are of one run of the loop body).
    `seconds` is what could be hidden in one execution.
    """

    collective: Collective
    computation: Computation
    instruction: Instruction
    manner: Manner
    chance: Chance
    work: tuple[Instruction, ...]
    times: int | None
    seconds: float


def find_lost_overlap(
    history: ModuleHistory,
    collectives: Sequence[Collective],
    loops: Sequence[LoopHistory],
    backend: str | None,
) -> tuple[LostOverlap, ...]:
    """Those of the last text, the costliest first; empty where it is not scheduled."""
    module = history.last.module
    device = device_of(history, backend)
    if backend not in _BACKENDS or device is None or not module.header.is_scheduled:
        return ()
    reader = _Reader(module, history.last.index, loops)
    found: list[LostOverlap] = []
    for collective in collectives[:_MOST_COLLECTIVES]:
        manner = _manner(collective)
        computation = module.get(collective.computation)
        instruction = computation.get(collective.instruction) if computation else None
        if manner is None or computation is None or instruction is None or not collective.bytes:
            continue
        chance, work = reader.work_for(computation, instruction, collective.loop)
        if not work:
            continue
        busy = sum(device.compute_seconds(flops, 0) for _, flops in work)
        times = reader.times(collective.loop)
        each = min(device.collective_seconds(collective.bytes), busy)
        heaviest = tuple(found for found, _ in work[:_MOST_WORK])
        found.append(
            LostOverlap(
                collective,
                computation,
                instruction,
                manner,
                chance,
                heaviest,
                times,
                each * (times or 1),
            )
        )
    return tuple(sorted(found, key=lambda lost: -lost.seconds))


def _manner(collective: Collective) -> Manner | None:
    if not collective.is_async:
        return "synchronous"
    window = collective.window
    if window is None or window.flops is None or window.flops:
        return None
    hidden, exposed = window.hidden_us or 0.0, window.exposed_us or 0.0
    return "empty window" if hidden <= _HIDDEN_PART * (hidden + exposed) else None


class _Reader:
    """Looks up, in one module, what could run beside a collective."""

    def __init__(self, module: Module, position: int, loops: Sequence[LoopHistory]) -> None:
        self._flops = FlopCounter(module)
        self._loops = {
            loop.id: (loop, loop.occurrences[position])
            for loop in loops
            if position in loop.occurrences
        }
        self._products: dict[str, Mapping[str, int]] = {}

    def times(self, loop: str | None) -> int | None:
        """How often the body of a loop runs in one execution, None where that is unknown."""
        trips: list[int] = []
        while loop is not None and loop in self._loops and len(trips) < len(self._loops):
            tracked, here = self._loops[loop]
            if here.trip_count is None:
                return None
            trips.append(here.trip_count)
            loop = tracked.parent
        return prod(trips)

    def work_for(
        self, computation: Computation, instruction: Instruction, loop: str | None
    ) -> tuple[Chance, list[tuple[Instruction, int]]]:
        """The products that could hide the collective, with their operations."""
        products = self._products_of(computation)
        tied = {i.name for i in walk_operands(computation, instruction)}
        tied |= _dependents(computation, instruction)
        beside = {name: flops for name, flops in products.items() if name not in tied}
        if beside:
            return "beside it", _heaviest(computation, beside)
        if products and loop in self._loops and self._is_known_ahead(loop, instruction):
            return "iteration ahead", _heaviest(computation, products)
        return "beside it", []

    def _is_known_ahead(self, loop: str, instruction: Instruction) -> bool:
        here = self._loops[loop][1]
        if instruction.opcode not in ("all-gather", "all-gather-start"):
            return False
        ahead = backward_candidates(here, opcode=instruction.opcode)
        return any(candidate.instruction.name == instruction.name for candidate in ahead)

    def _products_of(self, computation: Computation) -> Mapping[str, int]:
        if computation.name not in self._products:
            self._products[computation.name] = {
                instruction.name: flops
                for instruction in computation.instructions
                if (flops := self._flops.of_instruction(computation, instruction))
            }
        return self._products[computation.name]


def _heaviest(
    computation: Computation, products: Mapping[str, int]
) -> list[tuple[Instruction, int]]:
    found = [(i, products[i.name]) for i in computation.instructions if i.name in products]
    return sorted(found, key=lambda pair: -pair[1])


def _dependents(computation: Computation, instruction: Instruction) -> set[str]:
    """Names of all that need the result, and of the instruction itself."""
    found = {instruction.name}
    pending = [instruction]
    for here in pending:
        for user in computation.users.get(here.name, ()):
            if user.name not in found:
                found.add(user.name)
                pending.append(user)
    return found
