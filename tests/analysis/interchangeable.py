"""Which instructions of one module may stand for each other, so that either answer is right.

Given a module, answers whether two of its instructions are one and the same to whoever sees no
names: twins under refinement of the whole module, the same place in computations of equal content,
equal values that a pass may merge, an element of a tuple and what it forwards, links of one chain
of the same operation. Written without the code that is measured by it.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property

from hlo_parser import Computation, Instruction, Module

Place = tuple[str, str]

_NOT_CONTENT = frozenset(
    "branch_computations called_computations calls body condition control-predecessors "
    "false_computation metadata origin original_value scatter select to_apply "
    "true_computation".split()
)


class Interchangeable:
    """Answers for one module; what is costly is worked out when it is first needed."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._numbers: dict[Hashable, int] = {}

    def twins(self, one: Place, other: Place) -> bool:
        """Whether nothing but names and metadata tells the two apart."""
        return self._colours[one] == self._colours[other]

    def equals(self, one: Place, other: Place) -> bool:
        """Whether it does not matter which of the two stands for the other."""
        if self.twins(one, other):
            return True
        if self._contents[one[0]] == self._contents[other[0]] and (
            self._local[one] == self._local[other]
        ):
            return True
        if one[0] != other[0]:
            return False
        return self._forwarded(one) == self._forwarded(other) or self._chained(one, other)

    def merges(self, one: Place, other: Place) -> bool:
        """Whether the two compute one value, so that a pass may keep either alone."""
        return one[0] == other[0] and self._values[one] == self._values[other]

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    @cached_property
    def _order(self) -> tuple[Computation, ...]:
        """Callees before their callers."""
        done: dict[str, Computation] = {}
        for first in self._module.computations:
            stack = [(first, False)]
            while stack:
                computation, entered = stack.pop()
                if computation.name in done:
                    continue
                if entered:
                    done[computation.name] = computation
                    continue
                stack.append((computation, True))
                for instruction in computation.instructions:
                    stack += [
                        (callee, False)
                        for _, callee in self._module.callees(instruction)
                        if callee.name not in done and callee is not computation
                    ]
        return tuple(done.values())

    @cached_property
    def _values(self) -> Mapping[Place, int]:
        """What an instruction computes, of which operands, with the content of what it calls."""
        values: dict[Place, int] = {}
        contents = self._contents_by_name
        for computation in self._order:
            for instruction in computation.instructions:
                values[computation.name, instruction.name] = self._number(
                    (
                        self._signature(instruction),
                        tuple(contents.get(c.name, -1) for c in instruction.callees),
                        tuple(values.get((computation.name, o), -1) for o in instruction.operands),
                        instruction.operand_paths,
                    )
                )
            contents[computation.name] = self._number(
                (
                    values[computation.name, computation.root.name],
                    tuple(
                        sorted(values[computation.name, i.name] for i in computation.instructions)
                    ),
                )
            )
        return values

    @cached_property
    def _contents_by_name(self) -> dict[str, int]:
        return {}

    @cached_property
    def _contents(self) -> Mapping[str, int]:
        assert self._values
        return self._contents_by_name

    @cached_property
    def _local(self) -> Mapping[Place, int]:
        """Colours by what computes and what uses an instruction inside its computation."""
        colours: dict[Place, int] = {}
        for computation in self._order:
            self._colour(computation, self._values, colours, 0)
            own = {i.name: colours[computation.name, i.name] for i in computation.instructions}
            for instruction in computation.instructions:
                colours[computation.name, instruction.name] = self._number(
                    (own[instruction.name], tuple(own.get(o, -1) for o in instruction.operands))
                )
        return colours

    def _colour(
        self,
        computation: Computation,
        known: Mapping[Place, int],
        colours: dict[Place, int],
        context: int,
    ) -> None:
        """Users first: the colour of an instruction says what is made of it."""
        uses: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for instruction in reversed(computation.instructions):
            here = (computation.name, instruction.name)
            colours[here] = self._number(
                (
                    known[here],
                    instruction is computation.root,
                    tuple(sorted(uses[instruction.name])),
                    context,
                )
            )
            for number, operand in enumerate(instruction.operands):
                uses[operand].append((colours[here], number))

    @cached_property
    def _colours(self) -> Mapping[Place, int]:
        """Refined up and down the whole module until nothing more is told apart."""
        colours: Mapping[Place, int] = self._values
        count = len(set(colours.values()))
        while True:
            colours = self._up(self._down(colours))
            refined = len(set(colours.values()))
            if refined == count:
                return colours
            count = refined

    def _down(self, known: Mapping[Place, int]) -> Mapping[Place, int]:
        colours: dict[Place, int] = {}
        callers: defaultdict[str, list[tuple[str, int, int]]] = defaultdict(list)
        for computation in reversed(self._order):
            context = self._number(tuple(sorted(callers[computation.name])))
            self._colour(computation, known, colours, context)
            for instruction in computation.instructions:
                colour = colours[computation.name, instruction.name]
                for number, callee in enumerate(instruction.callees):
                    callers[callee.name].append((callee.role, number, colour))
        return colours

    def _up(self, known: Mapping[Place, int]) -> Mapping[Place, int]:
        colours: dict[Place, int] = {}
        inside: dict[str, int] = {}
        for computation in self._order:
            for instruction in computation.instructions:
                here = (computation.name, instruction.name)
                colours[here] = self._number(
                    (
                        known[here],
                        tuple(colours.get((computation.name, o), -1) for o in instruction.operands),
                        tuple(inside.get(c.name, -1) for c in instruction.callees),
                    )
                )
            inside[computation.name] = self._number(
                tuple(sorted(colours[computation.name, i.name] for i in computation.instructions))
            )
        return colours

    def _signature(self, instruction: Instruction) -> Hashable:
        literal = instruction.literal
        return (
            instruction.opcode,
            instruction.shape.text,
            None if literal is None else literal.text,
            instruction.parameter_number,
            tuple((k, v) for k, v in instruction.attributes.items() if k not in _NOT_CONTENT),
        )

    def _forwarded(self, place: Place) -> tuple[str, tuple[int, ...]]:
        """The value behind an element of a tuple made in the same computation."""
        computation, name, path = self._module.get(place[0]), place[1], ()
        assert computation is not None
        for _ in computation.instructions:
            instruction = computation.get(name)
            if instruction is None or not instruction.operands:
                break
            index = instruction.tuple_index
            if instruction.opcode == "get-tuple-element" and index is not None:
                name, path = instruction.operands[0], (*instruction.operand_paths[0], index, *path)
            elif instruction.opcode == "tuple" and path and path[0] < len(instruction.operands):
                first, *rest = path
                name = instruction.operands[first]
                path = (*instruction.operand_paths[first], *rest)
            else:
                break
        return name, path

    def _chained(self, one: Place, other: Place) -> bool:
        computation = self._module.get(one[0])
        assert computation is not None
        return other[1] in _chain(computation, one[1]) or one[1] in _chain(computation, other[1])


def _chain(computation: Computation, name: str) -> Iterable[str]:
    """The instructions of the same operation that an instruction of one operand stands on."""
    start = computation.get(name)
    found: list[str] = []
    here = start
    while here is not None and start is not None and len(here.operands) == 1:
        here = computation.get(here.operands[0])
        if here is None or here.opcode != start.opcode or here.name in found:
            break
        found.append(here.name)
    return found


def unique_places(module: Module) -> dict[str, Place]:
    """Instruction names that stand once in the module, and where."""
    count = Counter(i.name for c in module.computations for i in c.instructions)
    return {
        i.name: (c.name, i.name)
        for c in module.computations
        for i in c.instructions
        if count[i.name] == 1
    }
