"""What each element of a loop's carried tuple is for.

Counters, values handed on, accumulators, arrays read or written one slice an iteration, and values
that one iteration prepares for the next. Each answer rests on an instruction that is named; what
fits none of them is `other`, with the instruction that makes it. Reads one text of one loop through
fusions, calls and asynchronous wrappers; what nested loops and branches do inside is not looked at.
"""

from dataclasses import dataclass
from functools import cached_property

from msgspec import structs

from app.analysis.async_pairs import wrapped_operations
from app.analysis.body_values import Behind, BodyReader
from app.analysis.flops import operand_shape
from app.analysis.opcodes import base_opcode, collective_opcode
from app.analysis.scalars import ScalarReader, integer_range
from app.analysis.sources import source_of
from app.model.facts import WhileLoop
from app.model.report import CarriedElement, CarryKind, Source
from hlo_parser import Instruction, Module, Shape

# Operations whose repetition over all iterations gives one total.
_ACCUMULATING = frozenset({"add", "and", "maximum", "minimum", "multiply", "or", "xor"})
# Collectives whose result is a value from elsewhere, not a total that this iteration made.
_FETCHING = frozenset(
    {"all-gather", "all-to-all", "collective-broadcast", "collective-permute", "recv"}
)
# What hands a value on to its reader.
_HANDED_ON_BY = frozenset(
    {
        "bitcast", "convert", "copy", "copy-done", "copy-start", "get-tuple-element", "opt-barrier",
        "reshape", "transpose",
    }
)  # fmt: skip
_MOST_TERMS = 64
# What JSON readers take; only edited texts have more bytes.
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class _Slicing:
    """A dynamic-slice or dynamic-update-slice at the counter: how many slices there are."""

    behind: Behind
    slices: int


@dataclass(frozen=True, slots=True)
class _Verdict:
    kind: CarryKind
    how: str
    shown_by: Behind | None
    slices: int | None = None


def describe_carry(module: Module, loop: WhileLoop) -> tuple[CarriedElement, ...]:
    """The carried elements in order; empty where condition and body do not share one parameter."""
    if len(loop.body.parameters) != 1:
        return ()
    reader = _CarryReader(module, loop)
    return tuple(reader.element(index) for index in range(reader.values.count))


class _CarryReader:
    """Reads one loop; what needs a walk over the whole body is read once."""

    def __init__(self, module: Module, loop: WhileLoop) -> None:
        self._module = module
        self._loop = loop
        self.values = BodyReader(module, loop.body)
        self._kept = self._kept_elements()
        self._counters = self._counting_elements()
        changing = set(range(self.values.count)) - self._kept
        self._changing = sum(1 << element for element in changing)
        self._followers = {i for i in changing - self._counters if self._follows_counter(i)}
        self._steering = sum(1 << element for element in self._counters | self._followers)
        self._read = self._read_slices()

    def element(self, index: int) -> CarriedElement:
        """Element `index` as the report shows it."""
        shape = self._shape(index)
        verdict = self._verdict(index)
        shown_by = verdict.shown_by
        at = None if shown_by is None else shown_by.in_body
        return CarriedElement(
            index=index,
            kind=verdict.kind,
            shape=shape.without_layout,
            bytes=min(shape.byte_size, _LARGEST),
            slices=None if verdict.slices is None else min(verdict.slices, _LARGEST),
            instruction=None if at is None else at.name,
            source=None if shown_by is None else self._source(shown_by),
            how=verdict.how,
        )

    def _verdict(self, index: int) -> _Verdict:
        following = self.values.next_value(index)
        if index in self._counters:
            return _Verdict("counter", "every iteration adds a constant to it", following)
        if index in self._kept:
            return self._verdict_on_kept(index)
        if following is None or index >= len(self.values.roots):
            return _Verdict("other", "what the body makes it from is not in the text", None)
        if index in self._followers:
            return _Verdict("counter", "computed from the counter in every iteration", following)
        written = self._written(index, following)
        if written is not None:
            how = "written by dynamic-update-slice at the counter"
            return _Verdict("stacked_output", how, written.behind, written.slices)
        return (
            self._accumulator(index, following)
            or self._double_buffer(index, following)
            or self._verdict_on_other(index, following)
        )

    def _verdict_on_kept(self, index: int) -> _Verdict:
        read = self._read.get(index)
        if read is None:
            return _Verdict("invariant", "handed on unchanged", None)
        how = "handed on unchanged, read by dynamic-slice at the counter"
        return _Verdict("stacked_input", how, read.behind, read.slices)

    def _verdict_on_other(self, index: int, following: Behind) -> _Verdict:
        name = following.in_body.name
        if self.values.depends_on(following, index):
            how = f"made by {name}, which may depend on its former value"
        else:
            how = f"made anew by {name} in every iteration"
        return _Verdict("other", how, following)

    # ---- counters and what stays -----------------------------------------------------------------

    def _kept_elements(self) -> set[int]:
        """The elements that the body hands on untouched, be it through copies."""
        values = self.values
        return {
            index
            for index in range(values.count)
            if index in self._loop.invariant
            or (
                (following := values.next_value(index, retyped=False)) is not None
                and values.element_of(following) == index
            )
        }

    def _counting_elements(self) -> set[int]:
        scalars = [
            index
            for index in range(self.values.count)
            if index not in self._kept and _is_integer_scalar(self._shape(index))
        ]
        return {
            index
            for index in scalars
            if ScalarReader(self._module).next_elements(self._loop.body).is_counter(index)
        }

    def _follows_counter(self, index: int) -> bool:
        """Whether an integer is computed from counters alone, as the last iteration's number is."""
        following = self.values.next_value(index)
        if following is None or not _is_integer_scalar(self._shape(index)):
            return False
        mask = self.values.index_elements(following, self._changing)
        counters = sum(1 << element for element in self._counters)
        return mask is not None and mask != 0 and mask & ~counters == 0

    # ---- slices at the counter -------------------------------------------------------------------

    def _read_slices(self) -> dict[int, _Slicing]:
        """For each element that a dynamic-slice reads at the counter the first such slice."""
        found: dict[int, _Slicing] = {}
        if not self._steering:
            return found
        for site in self.values.sites():
            for instruction in site.computation.instructions:
                if instruction.opcode != "dynamic-slice":
                    continue
                array = self.values.operand(site, instruction, 0)
                element = None if array is None else self.values.element_of(array)
                if element is None or element in found:
                    continue
                here = Behind(site, instruction, ())
                slices = self._slices(here, instruction.shape, first_index=1)
                if slices is not None:
                    found[element] = _Slicing(here, slices)
        return found

    def _written(self, index: int, following: Behind) -> _Slicing | None:
        """The update at the counter that the next value comes from, its array being this one.

        A body that was doubled writes several slices, one update around the other.
        """
        here: Behind | None = following
        first: _Slicing | None = None
        for _ in range(_MOST_TERMS):
            if here is None:
                return None
            if self.values.element_of(here) == index:
                return first
            if here.instruction.opcode != "dynamic-update-slice":
                return None
            update = _operand_shape(here, 1)
            slices = None if update is None else self._slices(here, update, first_index=2)
            if slices is None:
                return None
            first = first or _Slicing(here, slices)
            here = self.values.operand(here.site, here.instruction, 0)
        return None

    def _slices(self, here: Behind, part: Shape, *, first_index: int) -> int | None:
        """How many parts the array has along the counter's dimension; None at any other index."""
        array = _operand_shape(here, 0)
        if array is None or len(array.dimensions) != len(part.dimensions):
            return None
        slices: int | None = None
        for dimension, (whole, size) in enumerate(
            zip(array.dimensions, part.dimensions, strict=True)
        ):
            start = self.values.operand(here.site, here.instruction, first_index + dimension)
            mask = self.values.index_elements(start, self._changing)
            if mask is None or mask & ~self._steering:
                return None
            if mask and size > 0:
                slices = (slices or 1) * (whole // size)
        return slices

    # ---- totals and values for the next iteration ------------------------------------------------

    def _accumulator(self, index: int, following: Behind) -> _Verdict | None:
        """A total: the old value and new terms, which the old value takes no part in."""
        opcode = following.instruction.opcode
        adding = "add" if opcode == "subtract" else opcode
        if adding not in _ACCUMULATING:
            return None
        own = terms = 0
        pending: list[Behind | None] = [following]
        while pending:
            here = pending.pop()
            terms += 1
            if here is None or terms > _MOST_TERMS:
                return None
            if self.values.element_of(here) == index:
                own += 1
                continue
            opcode = here.instruction.opcode
            operands = [
                self.values.operand(here.site, here.instruction, number)
                for number in range(len(here.instruction.operands))
            ]
            if opcode == "subtract" and adding == "add" and operands:
                pending.append(operands[0])
                here = operands[1] if len(operands) == 2 else None
            elif opcode == adding:
                pending.extend(operands)
                continue
            if here is None or self.values.depends_on(here, index):
                return None
        if own != 1:
            return None
        return _Verdict("accumulator", f"every iteration's part goes in by {adding}", following)

    def _double_buffer(self, index: int, following: Behind) -> _Verdict | None:
        """A value that this iteration fetches for the next, or leaves for the next to send."""
        other = self.values.element_of(following)
        if other is not None:
            return _Verdict("double_buffer", f"takes over element {other}", following)
        if _collective_behind(following) in _FETCHING:
            how = f"{following.in_body.name} brings it for the next iteration"
            return _Verdict("double_buffer", how, following)
        readers = self._readers.get(index, [])
        if not readers or not all(map(self._is_collective, readers)):
            return None
        first = readers[0]
        how = f"left for {first.name}, which works on it in the next iteration"
        return _Verdict("double_buffer", how, Behind(self.values.body, first, ()))

    @cached_property
    def _readers(self) -> dict[int, list[Instruction]]:
        """For each element what works on it, looked for behind copies and changes of layout."""
        values, body = self.values, self._loop.body
        found: dict[int, list[Instruction]] = {}
        for instruction in body.instructions:
            if instruction is body.root or instruction.opcode in _HANDED_ON_BY:
                continue
            elements = {
                element
                for number in range(len(instruction.operands))
                if (operand := values.operand(values.body, instruction, number)) is not None
                and (element := values.element_of(operand)) is not None
            }
            if elements and instruction.opcode == "fusion":
                # A fusion of nothing but conversions and copies is no reader either.
                made = values.behind(values.body, instruction.name, (), retyped=True)
                elements.discard(-1 if made is None else values.element_of(made))
            for element in elements:
                found.setdefault(element, []).append(instruction)
        return found

    def _is_collective(self, instruction: Instruction) -> bool:
        if collective_opcode(instruction) is not None:
            return True
        return instruction.opcode == "async-start" and any(
            collective_opcode(inner) is not None
            for _, inner in wrapped_operations(self._module, instruction)
        )

    def _shape(self, index: int) -> Shape:
        shape = self.values.parameter.shape
        return shape.elements[index] if self.values.is_tuple else shape

    def _source(self, shown_by: Behind) -> Source | None:
        """The place without its frames, so that long tuples stay small in the report."""
        found = source_of(self._module, shown_by.instruction) or source_of(
            self._module, shown_by.in_body
        )
        return None if found is None else structs.replace(found, frames=())


def _collective_behind(following: Behind) -> str | None:
    """The collective whose result this is; async wrappers are looked through by then."""
    return base_opcode(following.instruction.opcode.removesuffix("-done"))


def _operand_shape(here: Behind, number: int) -> Shape | None:
    if number >= len(here.instruction.operands):
        return None
    return operand_shape(here.site.computation, here.instruction, number)


def _is_integer_scalar(shape: Shape) -> bool:
    return (
        shape.kind == "array"
        and not shape.dimensions
        and integer_range(shape.element_type) is not None
    )
