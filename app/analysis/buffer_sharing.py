"""Who shares memory: the buffers of loops over their iterations, and asynchronous operands.

Both are read from where the buffer assignment places the values; without one nothing is said.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from app.analysis.async_pairs import find_async_pairs
from app.analysis.buffers import Place, Placement
from app.analysis.dataflow import Value
from app.model.facts import AsyncPair, WhileLoop
from app.model.memory import AsyncBuffers, LoopBuffer
from hlo_parser import Computation, Module

_SHOWN_WRITERS = 20


def find_loop_buffers(
    module: Module, placement: Placement, loops: Mapping[str, WhileLoop]
) -> tuple[LoopBuffer, ...]:
    """Where the elements of the carried tuples lie that their loops do not hand on untouched.

    `loops` are those of the text by their ids in the report.
    """
    bodies = {loop.body.name: loop.body for loop in loops.values()}
    writers: dict[tuple[str, tuple[int, int]], list[str]] = {}
    for body in bodies.values():
        for instruction in body.instructions:
            if instruction.opcode != "parameter":
                for place in placement.defined_by(instruction.name):
                    writers.setdefault((body.name, place.slot), []).append(instruction.name)
    found: list[LoopBuffer] = []
    for loop_id, loop in loops.items():
        for element in range(loop.carry):
            places = () if element in loop.invariant else placement.of_element(loop, element)
            if not places:
                continue
            home = places[0]
            found.append(
                LoopBuffer(
                    loop=loop_id,
                    element=element,
                    allocation=home.allocation.number,
                    offset=home.buffer.offset,
                    bytes=home.buffer.size,
                    writers=tuple(writers.get((loop.body.name, home.slot), ())[:_SHOWN_WRITERS]),
                )
            )
    return tuple(found)


def find_async_buffers(module: Module, placement: Placement) -> tuple[AsyncBuffers, ...]:
    """The asynchronous operations whose operand overlaps the result or is overwritten meanwhile."""
    return tuple(
        found
        for pair in find_async_pairs(module)
        if (computation := module.get(pair.computation)) is not None
        and (found := _async_buffers(placement, computation, pair)) is not None
    )


def _async_buffers(
    placement: Placement, computation: Computation, pair: AsyncPair
) -> AsyncBuffers | None:
    start = computation.get(pair.start)
    # libtpu's fusions say nothing of the buffers they send from, and what is not overlapped is
    # over when the next instruction runs.
    if start is None or pair.done is None or pair.is_sync or pair.spelling == "custom-call":
        return None
    operands = tuple(
        place
        for name, path in zip(start.operands, start.operand_paths, strict=True)
        for place in _parts(placement, computation, Value(name, path))
    )
    results = _parts(placement, computation, Value(pair.done))
    spans = _Spans(operands)
    in_place = any(map(spans.touch, results))
    overwritten_by = tuple(_writers_between(placement, pair.between or (), operands, spans))
    if not in_place and not overwritten_by:
        return None
    return AsyncBuffers(
        computation=pair.computation,
        start=pair.start,
        done=pair.done,
        opcode=pair.opcode,
        in_place=in_place,
        overwritten_by=overwritten_by,
    )


def _parts(placement: Placement, computation: Computation, value: Value) -> tuple[Place, ...]:
    """The places of an array, or of the arrays of a tuple; the table of pointers is no data."""
    instruction = computation.get(value.name)
    shape = None if instruction is None else instruction.shape
    for index in value.path:
        elements = () if shape is None else shape.elements
        shape = elements[index] if index < len(elements) else None
    if shape is None:
        return ()
    paths = (
        [(*value.path, index) for index in range(len(shape.elements))]
        if shape.kind == "tuple"
        else [value.path]
    )
    found = (placement.at(computation, value.name, path) for path in paths)
    return tuple(place for place in found if place is not None)


def _writers_between(
    placement: Placement, between: Sequence[str], operands: Sequence[Place], spans: "_Spans"
) -> Iterator[str]:
    values = {place.value for place in operands}
    for name in between:
        if any(
            spans.touch(place) and place.value not in values for place in placement.defined_by(name)
        ):
            yield name


class _Spans:
    """The bytes of some places, for asking whether another place shares any of them."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._starts: dict[int, list[int]] = {}
        self._ends: dict[int, list[int]] = {}
        for place in sorted(places, key=lambda place: place.slot):
            number, low = place.slot
            high = low + place.buffer.size
            starts = self._starts.setdefault(number, [])
            ends = self._ends.setdefault(number, [])
            if ends and low <= ends[-1]:
                ends[-1] = max(ends[-1], high)
            elif high > low:
                starts.append(low)
                ends.append(high)

    def touch(self, place: Place) -> bool:
        """Whether the place has a byte in common with one of them."""
        number, low = place.slot
        high = low + place.buffer.size
        before = bisect_left(self._starts.get(number, []), high)
        return before > 0 and high > low and self._ends[number][before - 1] > low
