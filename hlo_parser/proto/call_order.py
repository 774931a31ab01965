"""The order in which XLA prints the computations of a module.

A proto lists callees before callers, but in another order than the text. The text walks depth
first from each computation that nothing calls, through its instructions in the order of their ids
and their callees in turn (xla/hlo/ir/hlo_module.cc, MakeComputationPostOrder): so a text and a
proto of one pass print alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def printed_order(numbers: Sequence[int], calls: Sequence[Sequence[tuple[int, ...]]]) -> list[int]:
    """Positions of computations as printed, each once, whatever calls what.

    `numbers` are the ids of the computations; `calls` has for each of them the ids that its
    instructions call, in the order of the instructions' ids.
    """
    positions: dict[int, int] = {}
    for position, number in enumerate(numbers):
        positions.setdefault(number, position)
    callees = [
        [positions[number] for called in own for number in called if number in positions]
        for own in calls
    ]
    called = {position for found in callees for position in found}
    order: dict[int, None] = {}
    entered: set[int] = set()
    roots = [position for position in range(len(callees)) if position not in called]
    # What only calls itself has no root and comes last.
    for start in (*roots, *range(len(callees))):
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
