"""Buffers of the values of one text: made, read, put in one place, and given up to one another.

A value is a tree of buffers, one for each array in it. Which instruction makes, reads and joins
what is for `buffer_flow.py` to say; here is kept from when to when each buffer is needed, and which
of them lie in the same place.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.model.dump import AllocationRole
from hlo_parser import Shape

Tree = int | tuple["Tree", ...]
"""A value as the buffers of its arrays: one, or one tree for each element."""

Path = tuple[int, ...]

DEEPEST_SHAPE = 40
"""Tuples in tuples beyond this depth count as one array."""

# Arrays looked at in all; large texts of many thousand instructions need ten thousand.
_MOST_STEPS = 500_000
_MOST_PAIRS = 400


class TooMuchWork(Exception):
    """A text whose tuples hold more than an estimate is worth."""


def element_of(tree: Tree, index: int | None) -> Tree | None:
    """One element of a value; None where it has none of that number."""
    if isinstance(tree, int) or index is None or not 0 <= index < len(tree):
        return None
    return tree[index]


def part_at(tree: Tree, path: str) -> Tree | None:
    """The part of a value at a printed path, `1,0`; None where it has none there."""
    found: Tree | None = tree
    for word in re.findall(r"\d{1,9}", path):
        found = None if found is None else element_of(found, int(word))
    return found


@dataclass(slots=True)
class Buffer:
    """One array that an instruction makes: `start` to `end` are positions of the sequence."""

    name: str
    path: Path
    shape: Shape
    start: int
    end: int
    role: AllocationRole = "temp"
    parameter: int | None = None


@dataclass(slots=True)
class Sharing:
    """A result that may take the place of one of these operands at a position."""

    position: int
    result: int
    operands: list[int] = field(default_factory=list[int])


class BufferTable:
    """The buffers of one text; `position` is that of the instruction that runs now.

    `donated` are the parameters, by number and path, whose place a part of the output takes; `read`
    is told of each buffer that is read.

    Raises:
        TooMuchWork: from any method, for texts whose tuples are too large.
    """

    def __init__(
        self, donated: Mapping[tuple[int | None, Path], Path], read: Callable[[int], None]
    ) -> None:
        self.buffers: list[Buffer] = []
        self.position = 0
        self._donated = donated
        self._read = read
        self._sets: list[int] = []
        self._steps = 0

    def set_of(self, buffer: int) -> int:
        """The number of one buffer that stands for all that lie in the same place."""
        sets = self._sets
        while sets[buffer] != buffer:
            sets[buffer] = sets[sets[buffer]]
            buffer = sets[buffer]
        return buffer

    def new(self, name: str, path: Path, shape: Shape) -> int:
        """A buffer of its own for one array."""
        self.step()
        number = len(self.buffers)
        self.buffers.append(Buffer(name, path, shape, self.position, self.position))
        self._sets.append(number)
        return number

    def is_held(self, buffer: int) -> bool:
        """Whether nothing may be written there: a constant, or a parameter that is not donated."""
        held = self.buffers[self.set_of(buffer)]
        return held.role == "constant" or (
            held.role == "parameter" and (held.parameter, held.path) not in self._donated
        )

    def fresh(
        self,
        name: str,
        path: Path,
        shape: Shape,
        role: AllocationRole = "temp",
        parameter: int | None = None,
    ) -> Tree:
        """Buffers of their own for all arrays of a shape."""
        if shape.kind == "tuple" and len(path) < DEEPEST_SHAPE:
            return tuple(
                self.fresh(name, (*path, index), element, role, parameter)
                for index, element in enumerate(shape.elements)
            )
        buffer = self.new(name, path, shape)
        self.buffers[buffer].role = role
        self.buffers[buffer].parameter = parameter
        return buffer

    def step(self) -> None:
        """Count one array that is looked at."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise TooMuchWork

    def leaves(self, tree: Tree) -> Iterator[tuple[Path, int]]:
        """The buffers of a value, each with its path in it."""
        pending: list[tuple[Path, Tree]] = [((), tree)]
        while pending:
            self.step()
            path, here = pending.pop()
            if isinstance(here, int):
                yield path, here
            else:
                pending += [((*path, index), each) for index, each in enumerate(here)]

    def use(self, trees: Sequence[Tree]) -> None:
        """Note that the values are read now."""
        here = self.position
        for tree in trees:
            for _, buffer in self.leaves(tree):
                self.buffers[buffer].end = here
                self._read(buffer)

    def is_alike(self, operand: int, result: int) -> bool:
        """Whether elements of the two stand at the same bytes."""
        here, there = self.buffers[operand].shape, self.buffers[result].shape
        return (
            here.element_type == there.element_type
            and here.dimensions == there.dimensions
            and here.minor_to_major == there.minor_to_major
        )

    def join(self, one: Tree, other: Tree) -> None:
        """Put two values in the same places; what is held for the whole run stays as it is."""
        theirs = dict(self.leaves(other))
        for path, buffer in self.leaves(one):
            partner = theirs.get(path)
            if partner is not None:
                self.join_buffers(buffer, partner)

    def join_buffers(self, one: int, other: int) -> None:
        """Put two buffers in one place, unless neither may be written to."""
        into, gone = self.set_of(one), self.set_of(other)
        if into == gone:
            return
        if self.buffers[gone].role != "temp":
            into, gone = gone, into
        # A constant, or the parameter that a branch hands on, is copied into the other's place.
        if self.buffers[gone].role == "temp" and not self.is_held(into):
            self._sets[gone] = into

    def share(self, sharings: Sequence[Sharing]) -> None:
        """Let results take the places of operands that nothing needs any more."""
        places: dict[int, _Place] = {}
        for number, buffer in enumerate(self.buffers):
            place = places.setdefault(self.set_of(number), _Place(buffer.start, buffer.end))
            place.add([number], buffer.start, buffer.end)
        for sharing in sharings:
            into = self.set_of(sharing.result)
            for operand in sharing.operands:
                given = self.set_of(operand)
                if given != into and self._fit(sharing, operand, places[given], places[into]):
                    self._sets[given] = into
                    places[into].take(places.pop(given))
                    break

    def _fit(self, sharing: Sharing, operand: int, given: "_Place", into: "_Place") -> bool:
        """Whether no two of the buffers are needed at once, but where one becomes the other."""
        if self.buffers[operand].end != sharing.position:
            return False
        roles = [self.buffers[self.set_of(each.members[0])].role for each in (given, into)]
        if roles[0] != "temp" or roles[1] in ("constant", "parameter"):
            return False
        if len(given.members) * len(into.members) > _MOST_PAIRS:
            return given.last <= sharing.position <= into.first
        for one in given.members:
            for other in into.members:
                here, there = self.buffers[one], self.buffers[other]
                is_change = (one, other) == (operand, sharing.result)
                if here.start <= there.end and there.start <= here.end and not is_change:
                    return False
        return True


@dataclass(slots=True)
class _Place:
    """The buffers that lie in one place, which is needed from `first` to `last`."""

    first: int
    last: int
    members: list[int] = field(default_factory=list[int])

    def add(self, members: list[int], first: int, last: int) -> None:
        self.first, self.last = min(self.first, first), max(self.last, last)
        # The longer list is kept, so that a long chain is not copied at each of its steps.
        if len(members) > len(self.members):
            members, self.members = self.members, members
        self.members += members

    def take(self, other: "_Place") -> None:
        self.add(other.members, other.first, other.last)
