"""The while loops of one module text, with nesting, carried tuple, counter and trip count.

Loops are looked for in everything the entry reaches: bodies, conditions, calls, branches of
conditionals, asynchronous wrappers. Computations that nothing reaches any more are left out, and
so is a while whose condition or body the text does not hold. Pure functions of a parsed module.
"""

from dataclasses import dataclass

from app.analysis.dataflow import invariant_elements
from app.analysis.trip_counts import TripReader
from app.model.facts import WhileLoop
from hlo_parser import Computation, Instruction, Module


@dataclass(frozen=True, slots=True)
class PlacedLoop:
    """A loop with its place among the loops of its module.

    `parent` is the position of the enclosing loop, None at the top; `through` lists the opcodes of
    the instructions (`call`, `conditional`, `async-start`) that lead from the parent's body, or
    from the entry, to the computation that holds the loop.
    """

    loop: WhileLoop
    parent: int | None
    through: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Reached:
    """A computation on the way to loops: the loop around it and the calls since then."""

    computation: Computation
    parent: int | None
    through: tuple[str, ...]


class LoopFinder:
    """Finds loops in the texts of one history, reading the computations they share once."""

    def __init__(self) -> None:
        self._found: dict[tuple[Computation, ...], tuple[PlacedLoop, ...]] = {}
        self._holding: dict[Computation, bool] = {}
        self._invariant: dict[Computation, frozenset[int]] = {}
        self._trips = TripReader()

    def find(self, module: Module) -> tuple[PlacedLoop, ...]:
        """All loops, outermost first, loops of one depth in text order."""
        known = self._found.get(module.computations)
        if known is None:
            known = self._found[module.computations] = self._find(module)
        return known

    def _find(self, module: Module) -> tuple[PlacedLoop, ...]:
        if not any(map(self._holds_while, module.computations)):
            return ()
        placed: list[PlacedLoop] = []
        visited = {module.entry.name}
        level = [_Reached(module.entry, None, ())]
        depth = 0
        while level:
            sites = self._whiles_of_level(module, level, visited)
            sites.sort(key=lambda site: module.line_of(site[0].computation, site[1]))
            level = list[_Reached]()
            for place, instruction in sites:
                called = dict(module.callees(instruction))
                condition, body = called.get("condition"), called.get("body")
                if condition is None or body is None:
                    continue
                parent = None if place.parent is None else placed[place.parent].loop.name
                loop = self._describe(
                    module, place.computation, instruction, condition, body, parent, depth
                )
                inside = len(placed)
                placed.append(PlacedLoop(loop, place.parent, place.through))
                for callee in (body, condition):
                    if callee.name not in visited:
                        visited.add(callee.name)
                        level.append(_Reached(callee, inside, ()))
            depth += 1
        return tuple(placed)

    def _whiles_of_level(
        self, module: Module, level: list[_Reached], visited: set[str]
    ) -> list[tuple[_Reached, Instruction]]:
        """The whiles in the given computations and in what these call, bodies left out."""
        found: list[tuple[_Reached, Instruction]] = []
        # Grows while it is walked: called computations belong to the same level.
        for place in level:
            for instruction in place.computation.calling:
                if instruction.opcode == "while":
                    found.append((place, instruction))
                    continue
                through = (*place.through, instruction.opcode)
                for _, callee in module.callees(instruction):
                    # Nothing is reached through what calls nothing: most fusions do.
                    if callee.calling and callee.name not in visited:
                        visited.add(callee.name)
                        level.append(_Reached(callee, place.parent, through))
        return found

    def _describe(
        self,
        module: Module,
        computation: Computation,
        instruction: Instruction,
        condition: Computation,
        body: Computation,
        parent: str | None,
        depth: int,
    ) -> WhileLoop:
        trips = self._trips.of(module, computation, instruction, condition, body)
        shape = instruction.shape
        return WhileLoop(
            name=instruction.name,
            computation=computation,
            instruction=instruction,
            condition=condition,
            body=body,
            parent=parent,
            depth=depth,
            carry=len(shape.elements) if shape.kind == "tuple" else 1,
            invariant=self._invariant_elements(body),
            induction=trips.induction,
            trip_count=trips.count,
            trip_count_how=trips.how,
        )

    def _holds_while(self, computation: Computation) -> bool:
        known = self._holding.get(computation)
        if known is None:
            known = any(instruction.opcode == "while" for instruction in computation.calling)
            self._holding[computation] = known
        return known

    def _invariant_elements(self, body: Computation) -> frozenset[int]:
        known = self._invariant.get(body)
        if known is None:
            known = self._invariant[body] = invariant_elements(body)
        return known


def find_loops(module: Module) -> tuple[WhileLoop, ...]:
    """All loops of one text, outermost first, loops of one depth in text order."""
    return tuple(placed.loop for placed in LoopFinder().find(module))
