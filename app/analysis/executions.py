"""How often the computations of one text run in one execution of the module.

Trips of loops are multiplied through all loops around, whatever calls lie between, and calls from
several places are added up. Given a module and the trip counts that are known; where a loop around
has none, the answer is that it is not known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.analysis.async_pairs import WRAPPERS
from app.model.facts import LoopHistory
from app.model.work import LARGEST_COUNT
from hlo_parser import Computation, Instruction, Module

Place = tuple[str, str]
"""A while by the names of its computation and of itself."""

# What runs the computations it names, beside asynchronous starts and fusions.
_RUNNERS = WRAPPERS | {"call", "conditional", "custom-call", "while"}


@dataclass(frozen=True, slots=True)
class Runs:
    """How often a computation runs; `count` is None where a loop of unknown trips is around it.

    `is_conditional`: a branch that need not be taken is on the way, so `count` is the most.
    """

    count: int | None
    is_conditional: bool = False


_NEVER = Runs(0)


def known_trips(loops: Sequence[LoopHistory], position: int) -> dict[Place, int | None]:
    """Trip counts of the loops in the text at `position`.

    A loop whose text does not tell its trips any more runs as often as it did in the last that did.
    """
    found: dict[Place, int | None] = {}
    for loop in loops:
        here = loop.occurrences.get(position)
        if here is not None:
            earlier = (
                loop.occurrences[index].trip_count
                for index in sorted(loop.occurrences, reverse=True)
                if index <= position
            )
            trips = next((count for count in earlier if count is not None), None)
            found[here.computation.name, here.name] = trips
    return found


class RunCounter:
    """Counts the runs of the computations of one text; what is asked twice is counted once."""

    def __init__(self, module: Module, trips: Mapping[Place, int | None]) -> None:
        self._module = module
        self._trips = trips
        self._known = {module.entry.name: Runs(1)}

    def of(self, computation: Computation) -> Runs:
        """The runs of a computation; 0 where the entry does not reach it."""
        pending = [computation.name]
        opened: set[str] = set()
        while pending:
            name = pending[-1]
            if name in self._known:
                pending.pop()
                continue
            callers = self._callers(name)
            if name not in opened:
                opened.add(name)
                # A caller that is open already calls itself, which XLA refuses.
                pending += [c.name for c, _ in callers if c.name not in opened]
                continue
            self._known[name] = self._sum(name, callers)
            pending.pop()
        return self._known[computation.name]

    def _callers(self, name: str) -> list[tuple[Computation, Instruction]]:
        return [
            (caller, instruction)
            for caller, instruction in self._module.callers(name)
            if instruction.opcode in _RUNNERS or instruction.opcode.endswith("-start")
        ]

    def _sum(self, name: str, callers: Sequence[tuple[Computation, Instruction]]) -> Runs:
        total = 0
        is_known, is_conditional = True, False
        for caller, instruction in callers:
            around = self._known.get(caller.name, _NEVER)
            times = self._times(name, caller, instruction)
            if around.count == 0:
                continue
            is_conditional |= around.is_conditional or instruction.opcode == "conditional"
            if around.count is None or times is None:
                is_known = False
            else:
                total += around.count * times
        return Runs(min(total, LARGEST_COUNT) if is_known else None, is_conditional)

    def _times(self, name: str, caller: Computation, instruction: Instruction) -> int | None:
        """How often one run of the instruction runs the computation it calls by that name."""
        roles = [callee.role for callee in instruction.callees if callee.name == name]
        if instruction.opcode == "while":
            trips = self._trips.get((caller.name, instruction.name))
            return (
                None
                if trips is None
                else trips * roles.count("body") + ((trips + 1) * roles.count("condition"))
            )
        return 1 if instruction.opcode == "conditional" else len(roles)
