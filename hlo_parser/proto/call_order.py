"""The order in which XLA prints the computations of a module.

A proto lists callees before callers, but in another order than the text. The text walks depth
first from each computation that nothing calls, through its instructions in the order of their ids
and their callees in turn (xla/hlo/ir/hlo_module.cc, MakeComputationPostOrder): so a text and a
proto of one pass print alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlo_parser.proto.schema import HloComputationProto


def printed_order(computations: Sequence[HloComputationProto]) -> list[int]:
    """Positions in `computations` as printed, each once, whatever calls what."""
    positions: dict[int, int] = {}
    for position, computation in enumerate(computations):
        positions.setdefault(computation.id, position)
    callees = [_callees(computation, positions) for computation in computations]
    called = {position for found in callees for position in found}
    order: dict[int, None] = {}
    entered: set[int] = set()
    roots = [position for position in range(len(computations)) if position not in called]
    # What only calls itself has no root and comes last.
    for start in (*roots, *range(len(computations))):
        if start in entered:
            continue
        entered.add(start)
        path: list[tuple[int, Iterator[int]]] = [(start, iter(callees[start]))]
        while path:
            position, remaining = path[-1]
            below = next((callee for callee in remaining if callee not in entered), None)
            if below is None:
                path.pop()
                order[position] = None
            else:
                entered.add(below)
                path.append((below, iter(callees[below])))
    return list(order)


def _callees(computation: HloComputationProto, positions: dict[int, int]) -> tuple[int, ...]:
    """Positions of what it calls, in the order of its instructions' ids."""
    calling = [
        (instruction.id, instruction.called_computation_ids)
        for instruction in computation.instructions
        if instruction.called_computation_ids
    ]
    calling.sort(key=_by_id)
    return tuple(
        dict.fromkeys(
            positions[number] for _, numbers in calling for number in numbers if number in positions
        )
    )


def _by_id(calling: tuple[int, Sequence[int]]) -> int:
    return calling[0]
