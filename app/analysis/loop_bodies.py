"""What a loop's body does, in a form that survives renaming, cloning, fusion and partitioning.

A `Content` counts operations of a computation together with what it calls (fusions, calls,
branches), nested loops counted as one operation each and left closed. Two bodies are alike when
their contents are. Names never take part.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from app.analysis.dataflow import Value, root_elements, value_of
from app.analysis.opcodes import COLLECTIVES, base_opcode
from hlo_parser import Computation, Instruction, Module, Shape

# Written and removed by passes that leave the work as it is.
_PLUMBING = frozenset(
    {
        "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "copy", "copy-start",
        "copy-done", "reshape", "transpose", "broadcast", "fusion", "call", "async-start",
        "async-update", "async-done", "after-all", "opt-barrier", "partition-id", "replica-id",
    }
)  # fmt: skip
_OPENED = frozenset({"fusion", "call", "conditional", "async-start"})
# Handed through unchanged in value, when looking for what makes or reads a carried element.
_SAME_VALUE = frozenset({"bitcast", "copy", "reshape", "transpose", "convert"})

Key = TypeVar("Key", bound=Hashable)


class Operation(NamedTuple):
    """An operation without its names: what it computes, exactly and up to sizes."""

    opcode: str
    shape: str
    kind: str


Mark = tuple[str, int]
"""The end of a JAX name, and its source line."""


@dataclass(frozen=True, slots=True)
class Content:
    """How often each operation occurs, and how often each JAX name with its source line does."""

    operations: Counter[Operation] = field(default_factory=Counter[Operation])
    marks: Counter[Mark] = field(default_factory=Counter[Mark])

    @property
    def size(self) -> int:
        """How many operations there are."""
        return self.operations.total()

    def up_to_sizes(self) -> Counter[tuple[str, str]]:
        """Operations by opcode, element type and rank: partitioning changes sizes only."""
        total: Counter[tuple[str, str]] = Counter()
        for operation, count in self.operations.items():
            total[(operation.opcode, operation.kind)] += count
        return total

    def collectives(self) -> Counter[str]:
        """Collectives by opcode, whatever their asynchronous spelling."""
        total: Counter[str] = Counter()
        for operation, count in self.operations.items():
            if operation.opcode in COLLECTIVES:
                total[operation.opcode] += count
        return total


def containment(one: Counter[Key], other: Counter[Key]) -> float:
    """The share of the smaller collection that the larger one holds too, 0 to 1."""
    smaller = min(one.total(), other.total())
    return _common(one, other) / smaller if smaller else 0.0


def likeness(one: Counter[Key], other: Counter[Key]) -> float:
    """What both hold, as a share of what either holds, 0 to 1."""
    common = _common(one, other)
    either = one.total() + other.total() - common
    return common / either if either else 0.0


def _common(one: Counter[Key], other: Counter[Key]) -> int:
    """How many members the two have in common: the total of `one & other`, which is not made."""
    if len(other) < len(one):
        one, other = other, one
    return sum([min(count, other[key]) for key, count in one.items() if key in other])


class _Done(NamedTuple):
    """What one instruction adds to a content."""

    operations: tuple[Operation, ...]
    marks: tuple[Mark, ...]


_NOTHING_DONE = _Done((), ())


@dataclass(frozen=True, slots=True)
class _Own:
    content: Content
    opened: tuple[Instruction, ...]


class ContentReader:
    """Contents of computations; what texts share is read and summed once."""

    def __init__(self) -> None:
        self._own: dict[Computation, _Own] = {}
        # By the instruction: most computations are others with a few lines changed.
        self._done: dict[Instruction, _Done] = {}
        self._sums: dict[tuple[Computation, tuple[int, ...]], tuple[Content, list[Content]]] = {}

    def of_module(self, module: Module) -> "ModuleContents":
        """Contents with calls resolved as this module's text resolves them."""
        return ModuleContents(self, module)

    def own(self, computation: Computation) -> _Own:
        """What the computation holds, callees left out."""
        known = self._own.get(computation)
        if known is None:
            known = self._own[computation] = self._read_own(computation)
        return known

    def _read_own(self, computation: Computation) -> _Own:
        operations: list[Operation] = []
        marks: list[Mark] = []
        for instruction in computation.instructions:
            if instruction.opcode in _PLUMBING:
                continue
            done = self._done.get(instruction)
            if done is None:
                done = self._done[instruction] = _done_by(instruction)
            operations += done.operations
            marks += done.marks
        opened = tuple([i for i in computation.calling if i.opcode in _OPENED])
        return _Own(Content(Counter(operations), Counter(marks)), opened)

    def sum(self, computation: Computation, inner: list[Content]) -> Content:
        """What the computation holds, together with that of its callees."""
        content = self.own(computation).content
        if not inner:
            return content
        # Contents are kept beside the sum: an id is given again when its object is gone.
        key = computation, tuple(map(id, inner))
        known = self._sums.get(key)
        if known is None:
            total = Content(content.operations.copy(), content.marks.copy())
            for callee in inner:
                total.operations.update(callee.operations)
                total.marks.update(callee.marks)
            known = self._sums[key] = total, inner
        return known[0]


class ModuleContents:
    """Contents of one module's computations with all that they open, each summed once."""

    def __init__(self, reader: ContentReader, module: Module) -> None:
        self._reader = reader
        self.module = module
        self._known: dict[str, Content] = {}

    def of(self, computation: Computation) -> Content:
        """The content of the computation and of what it calls, once per call.

        Calls that lead back to a computation on the way (hostile texts) count as nothing.
        """
        pending = [computation]
        open_names: set[str] = set()
        while pending:
            current = pending[-1]
            if current.name in self._known:
                pending.pop()
                continue
            callees = self._callees(current)
            # Open but not known are exactly the computations that lead to this one.
            open_names.add(current.name)
            missing = [c for c in callees if self._is_missing(c) and c.name not in open_names]
            if missing:
                pending.extend(missing)
                continue
            inner = [self._known[c.name] for c in callees if c.name in self._known]
            self._known[current.name] = self._reader.sum(current, inner)
            pending.pop()
        return self._known[computation.name]

    def _is_missing(self, computation: Computation) -> bool:
        if computation.name in self._known:
            return False
        own = self._reader.own(computation)
        if not own.opened:
            self._known[computation.name] = own.content
        return bool(own.opened)

    def _callees(self, computation: Computation) -> list[Computation]:
        return [
            callee
            for instruction in self._reader.own(computation).opened
            for _, callee in self.module.callees(instruction)
        ]


def kind_of(shape: Shape) -> str:
    """Element type and rank of a shape, `bf16/3`; the number of elements of a tuple."""
    if shape.kind == "array":
        return f"{shape.element_type}/{len(shape.dimensions)}"
    return f"{shape.kind}/{len(shape.elements)}"


def elements_made_by_collectives(body: Computation) -> int:
    """How many carried elements a collective of the body hands to the next iteration."""
    return sum(_opcode_behind(body, value) in COLLECTIVES for value in root_elements(body))


def collectives_reading_carry(body: Computation, invariant: frozenset[int]) -> int:
    """How many collectives of the body work on what the iteration before left for them."""
    parameters = {parameter.name for parameter in body.parameters}
    count = 0
    for instruction in body.instructions:
        if base_opcode(instruction.opcode) not in COLLECTIVES or not instruction.operands:
            continue
        value = value_behind(body, instruction.operands[0], instruction.operand_paths[0])
        count += value.name in parameters and value.path[:1] not in {(i,) for i in invariant}
    return count


def elements_read(body: Computation) -> frozenset[int]:
    """The carried elements that the body does more with than hand them on in their place."""
    if len(body.parameters) != 1:
        return frozenset()
    parameter = body.parameters[0].name
    read: set[int] = set()
    for instruction in body.instructions:
        if instruction.opcode == "get-tuple-element":
            continue
        for slot, (name, path) in enumerate(
            zip(instruction.operands, instruction.operand_paths, strict=True)
        ):
            value = value_of(body, name, path)
            if value.name != parameter or not value.path:
                continue
            if not (
                instruction.is_root and instruction.opcode == "tuple" and value.path == (slot,)
            ):
                read.add(value.path[0])
    return frozenset(read)


def value_behind(computation: Computation, name: str, path: tuple[int, ...]) -> Value:
    """The value behind an operand, seen through copies and changes of layout or type too."""
    value = value_of(computation, name, path)
    seen: set[Value] = set()
    while value not in seen:
        seen.add(value)
        instruction = computation.get(value.name)
        if instruction is None or instruction.opcode not in _SAME_VALUE or not instruction.operands:
            break
        value = value_of(computation, instruction.operands[0], instruction.operand_paths[0])
    return value


def _opcode_behind(computation: Computation, value: Value) -> str | None:
    instruction = computation.get(value_behind(computation, value.name, value.path).name)
    return None if instruction is None else base_opcode(instruction.opcode)


def _done_by(instruction: Instruction) -> _Done:
    opcode = base_opcode(instruction.opcode)
    if opcode is None:
        return _NOTHING_DONE
    # A loop's carried tuple grows and shrinks; that it is a loop does not change.
    is_loop = opcode == "while"
    shape = "" if is_loop else instruction.shape.without_layout
    kind = "" if is_loop else kind_of(instruction.shape)
    metadata = instruction.metadata
    marks: tuple[Mark, ...] = ()
    if metadata is not None and metadata.op_name:
        marks = ((metadata.op_name.rpartition("/")[2], metadata.source_line or 0),)
    return _Done((Operation(opcode, shape, kind),), marks)
