"""What no text of a compile may hold: instructions in a circle, and partners that do not exist.

XLA's verifier and its walks over instructions refuse a module with such a fault, so it is the end
of the compile whose text holds it. In goes a module, out come the instructions; nothing else that
the verifier checks is looked at.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from hlo_parser import Computation, Instruction, Module

Circle = tuple[Instruction, ...]

_PAIR = re.compile(r"\{(\d{1,9}),(\d{1,9})\}")


def circles(module: Module) -> Iterator[tuple[Computation, Circle]]:
    """One circle of each computation that has any: each instruction waits for the next.

    An instruction waits for its operands and its control predecessors (xla/hlo/ir/
    hlo_computation.cc, which refuses a cycle of either kind). The first one of a circle is that
    which waits by control alone, where there is one.
    """
    for computation in module.computations:
        circle = _circle_of(computation)
        if circle:
            yield computation, circle


def absent_partners(module: Module) -> Iterator[tuple[Computation, Instruction, int, int]]:
    """Permutes that name a device which the module is not compiled for: its number, and how many.

    With a channel the numbers are those of partitions, else of replicas
    (xla/service/hlo_verifier.cc, CheckInplaceCollectivePermute and its neighbours).
    """
    header = module.header
    for computation in module.computations:
        for instruction in computation.instructions:
            pairs = instruction.attributes.get("source_target_pairs")
            if pairs is None or not instruction.opcode.startswith("collective-permute"):
                continue
            partitions = "channel_id" in instruction.attributes
            devices = (header.num_partitions if partitions else header.replica_count) or 1
            if devices == 1:
                # A single device is no statement: up to 0.8 the verifier lets it pass.
                continue
            numbers = [int(n) for pair in _PAIR.findall(str(pairs)) for n in pair]
            absent = [number for number in numbers if number >= devices]
            if absent:
                yield computation, instruction, absent[0], devices


def has_circle(module: Module) -> bool:
    """Whether any instructions wait for each other in a circle."""
    return next(circles(module), None) is not None


def has_absent_partner(module: Module) -> bool:
    """Whether any permute names a device that there is not."""
    return next(absent_partners(module), None) is not None


@lru_cache(maxsize=1 << 14)
def _circle_of(computation: Computation) -> Circle:
    # A computation without control predecessors is printed operands first: no walk is needed.
    seen: set[str] = set()
    is_ordered = True
    for made in computation.instructions:
        if made.control_predecessors or not seen.issuperset(made.operands):
            is_ordered = False
            break
        seen.add(made.name)
    if is_ordered or computation.gaps:
        return ()
    names = _walk(
        {i.name: (*i.operands, *i.control_predecessors) for i in computation.instructions}
    )
    made = [found for name in names if (found := computation.get(name)) is not None]
    start = next((n for n, i in enumerate(made) if _waits_by_control(made, n, i)), 0)
    return tuple(made[start:] + made[:start])


def _waits_by_control(circle: list[Instruction], place: int, made: Instruction) -> bool:
    return circle[(place + 1) % len(circle)].name in made.control_predecessors


def _walk(waits: dict[str, tuple[str, ...]]) -> list[str]:
    """The names on the first circle that a walk in depth meets; none where it meets none."""
    done: set[str] = set()
    for start in waits:
        path = [] if start in done else [(start, iter(waits[start]))]
        on_path = {start}
        while path:
            name, rest = path[-1]
            following = next((n for n in rest if n in waits and n not in done), None)
            if following is None:
                done.add(name)
                path.pop()
                on_path.discard(name)
            elif following in on_path:
                names = [name for name, _ in path]
                return names[names.index(following) :]
            else:
                path.append((following, iter(waits[following])))
                on_path.add(following)
    return []
