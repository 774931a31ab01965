"""What bounds the window of a collective in its schedule: what makes its data, and what takes it.

Takes a computation with the places of its instructions, and gives the nearest instruction on either
side that the collective cannot be moved past. Elements of results and bitcasts are looked through;
where data goes through a tuple of several, or comes with or leaves the computation, nothing is
told.
"""

from collections.abc import Iterator, Mapping

from app.model.report import Struct
from hlo_parser import Computation, Instruction

_SAME_DATA = frozenset({"bitcast", "get-tuple-element"})
_FROM_OUTSIDE = frozenset({"after-all", "constant", "parameter", "partition-id", "replica-id"})
_BUNDLES = frozenset({"opt-barrier", "optimization-barrier", "tuple"})


class Bound(Struct, frozen=True, kw_only=True):
    """An instruction, and how many stand `between` it and the window in the schedule."""

    name: str
    between: int


def maker_of(computation: Computation, start: str, places: Mapping[str, int]) -> Bound | None:
    """The last to make what `start` sends.

    Nothing where it is told to await another (a control predecessor), and of a fusion that starts,
    of whose operands some may go elsewhere.
    """
    found: list[Instruction] = []
    first = computation.get(start)
    is_told = first is not None and (first.control_predecessors or first.opcode == "fusion")
    pending = [] if first is None or is_told else [*first.operands]
    seen = set(pending)
    for name in pending:
        made = computation.get(name)
        if made is None or made.opcode in _BUNDLES:
            return None
        if made.opcode in _SAME_DATA:
            fresh = [operand for operand in made.operands if operand not in seen]
            seen.update(fresh)
            pending += fresh
        elif made.opcode not in _FROM_OUTSIDE:
            found.append(made)
    last = max(found, key=lambda made: places[made.name], default=None)
    between = -1 if last is None else places[start] - places[last.name] - 1
    return None if last is None or between < 0 else Bound(name=last.name, between=between)


def taker_of(computation: Computation, done: str, places: Mapping[str, int]) -> Bound | None:
    """The first to take the result of `done`."""
    last = computation.get(done)
    takers = None if last is None else list(_takers(computation, last))
    if not takers or None in takers:
        return None
    found = [taker for taker in takers if taker is not None]
    first = min(found, key=lambda taker: places[taker.name])
    between = places[first.name] - places[done] - 1
    return None if between < 0 else Bound(name=first.name, between=between)


def _takers(computation: Computation, done: Instruction) -> Iterator[Instruction | None]:
    """Those that take it, None for what takes it with others and hands out parts again."""
    pending = [done]
    seen = {done.name}
    for here in pending:
        for user in computation.users.get(here.name, ()):
            if user.name in seen:
                continue
            seen.add(user.name)
            if user.opcode not in _SAME_DATA and user.opcode not in _BUNDLES:
                yield user
            elif here.opcode in _BUNDLES:
                yield None
            else:
                pending.append(user)
