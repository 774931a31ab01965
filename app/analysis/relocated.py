"""Which instructions moved between a computation and one that it calls: fused, outlined, inlined.

Given the diffs of two modules, pairs what was removed from a computation with what was added in
one that it calls now (a fusion, a call, a loop), and what was removed from one that was called with
what was added in the caller. Parameters stand for the operands of the call; from there pairs are
found along operands and users. What went somewhere else, further than one call, is not looked for.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from app.analysis.fingerprints import FingerprintTable, Indexed, Signature, metadata_key
from app.analysis.matching import Matching
from app.model.facts import ComputationDiff, Relocated
from hlo_parser import Module

Matched = Callable[[ComputationDiff], Matching | None]
"""The matching of a pair that differs, None for an added or removed computation."""

_ROUNDS = 64
_MOST_ALIKE = 32

# Operand of the call that is the first parameter, by the role of what is called.
_FIRST_OPERAND = {"calls": 0, "to_apply": 0, "called_computations": 0, "body": 0}
# What takes its parameters from a call and is no function applied element by element.
_CALLERS = frozenset({"fusion", "call", "while", "async-start", "custom-call"})


def with_relocations(
    found: list[ComputationDiff],
    matched: Matched,
    modules: tuple[Module, Module],
    table: FingerprintTable,
) -> list[ComputationDiff]:
    """The diffs, with `moved_in` and `moved_out` in place of `added` and `removed`."""
    sides = _Side.of(found, 0), _Side.of(found, 1)
    pairs = Counter[Relocated]()
    for diff in found:
        matching = matched(diff)
        if matching is None:
            continue
        for side in (0, 1):
            caller = (matching.after, matching.before)[side]
            if not sides[side].free.get((diff.before, diff.after)[side] or "") or not any(
                callee.name in sides[1 - side].free
                for instruction in caller.instructions
                if instruction.opcode in _CALLERS
                for callee in instruction.callees
            ):
                continue
            search = _Search((matching, side), modules, (sides[side], sides[1 - side]), table)
            pairs.update(search.run())
    if not pairs:
        return found
    # Claimed twice, by a caller and by what is called: nobody's.
    ends = Counter(end for pair in pairs for end in ((0, pair.before), (1, pair.after)))
    kept = [pair for pair in pairs if ends[0, pair.before] == 1 == ends[1, pair.after]]
    return _told(found, kept)


def _told(found: list[ComputationDiff], pairs: list[Relocated]) -> list[ComputationDiff]:
    out: defaultdict[str, list[Relocated]] = defaultdict(list)
    into: defaultdict[str, list[Relocated]] = defaultdict(list)
    for pair in pairs:
        out[pair.before[0]].append(pair)
        into[pair.after[0]].append(pair)
    told: list[ComputationDiff] = []
    for diff in found:
        moved_out = out.get(diff.before or "", [])
        moved_in = into.get(diff.after or "", [])
        gone = {pair.before[1] for pair in moved_out}
        come = {pair.after[1] for pair in moved_in}
        told.append(
            replace(
                diff,
                removed=tuple(name for name in diff.removed if name not in gone),
                added=tuple(name for name in diff.added if name not in come),
                moved_out=tuple(moved_out),
                moved_in=tuple(moved_in),
            )
        )
    return told


@dataclass(frozen=True, slots=True)
class _Side:
    """What has no counterpart in one of the modules, by computation."""

    free: Mapping[str, tuple[str, ...]]

    @staticmethod
    def of(found: list[ComputationDiff], side: int) -> "_Side":
        return _Side(
            {
                name: names
                for diff in found
                if (name := (diff.before, diff.after)[side]) is not None
                and (names := (diff.removed, diff.added)[side])
            }
        )


class _Search:
    """One matched pair: from what is free on one side to what its calls hold on the other."""

    def __init__(
        self,
        matching: tuple[Matching, int],
        modules: tuple[Module, Module],
        sides: tuple[_Side, _Side],
        table: FingerprintTable,
    ) -> None:
        pair, self._side = matching
        both = (pair.before, pair.after)
        self._origin, self._caller = both[self._side], both[1 - self._side]
        self._links = (pair.partner, pair.back)[1 - self._side]
        self._module = modules[1 - self._side]
        self._called = sides[1].free
        free = sides[0].free[self._origin.computation.name]
        self._free = {self._origin.index[name] for name in free}
        self._table = table
        self._like = _signature(table, self._origin)
        self._alike: defaultdict[int, list[int]] = defaultdict(list)
        for position in sorted(self._free):
            self._alike[self._like(position)].append(position)

    def run(self) -> Iterator[Relocated]:
        """Pairs, in the order of the calls; what is found is free no more."""
        values: dict[int, int] = dict(self._links)
        done: set[str] = set()
        for position, instruction in enumerate(self._caller.instructions):
            if instruction.opcode not in _CALLERS:
                continue
            if not any(callee.name in self._called for callee in instruction.callees):
                continue
            for role, callee in self._module.callees(instruction):
                names = self._called.get(callee.name)
                if role not in _FIRST_OPERAND or not names or callee.name in done:
                    continue
                done.add(callee.name)
                inside = self._table.indexed(callee)
                known = self._known(position, inside, values)
                moved = self._moved(inside, {inside.index[name] for name in names}, known)
                self._hand_on(position, inside, {**known, **moved}, values)
                for j, i in moved.items():
                    self._free.discard(i)
                    here = (self._origin.computation.name, self._origin.instructions[i].name)
                    there = (callee.name, inside.instructions[j].name)
                    yield Relocated(*((here, there) if self._side == 0 else (there, here)))

    def _known(self, call: int, inside: Indexed, values: Mapping[int, int]) -> dict[int, int]:
        """What the parameters are, and the elements of a carried tuple made by the caller."""
        known: dict[int, int] = {}
        operands = self._caller.operands(call)
        for parameter in inside.computation.parameters:
            number = parameter.parameter_number
            if number is None or number >= len(operands) or operands[number] < 0:
                continue
            operand, at = operands[number], inside.index[parameter.name]
            if (value := values.get(operand)) is not None:
                known[at] = value
            if self._caller.instructions[operand].opcode == "tuple":
                elements = self._caller.operands(operand)
                for user, _ in inside.users(at):
                    index = inside.instructions[user].tuple_index
                    if index is not None and index < len(elements):
                        value = values.get(elements[index])
                        if value is not None:
                            known[user] = value
        return known

    def _hand_on(
        self, call: int, inside: Indexed, known: Mapping[int, int], values: dict[int, int]
    ) -> None:
        """What the result of the call is, for calls that use it."""
        if (value := known.get(inside.root)) is not None and call not in values:
            values[call] = value
        if inside.instructions[inside.root].opcode == "tuple":
            elements = inside.operands(inside.root)
            for user, _ in self._caller.users(call):
                index = self._caller.instructions[user].tuple_index
                if index is not None and index < len(elements) and user not in values:
                    value = known.get(elements[index])
                    if value is not None:
                        values[user] = value

    def _moved(
        self, inside: Indexed, candidates: Collection[int], known: Mapping[int, int]
    ) -> dict[int, int]:
        like = _signature(self._table, inside)
        left = [j for j in sorted(candidates) if like(j) in self._alike]
        origin = dict(known)
        moved: dict[int, int] = {}
        taken: set[int] = set()
        for _ in range(_ROUNDS):
            best: defaultdict[int, list[int]] = defaultdict(list)
            for j in left:
                i = self._best(inside, j, like(j), origin, taken)
                if i is not None:
                    best[i].append(j)
            new = {js[0]: i for i, js in best.items() if len(js) == 1}
            if not new:
                break
            moved |= new
            origin |= new
            taken |= set(new.values())
            left = [j for j in left if j not in moved]
        return moved

    def _best(
        self,
        inside: Indexed,
        j: int,
        own: int,
        origin: Mapping[int, int],
        taken: Collection[int],
    ) -> int | None:
        votes: defaultdict[int, float] = defaultdict(float)
        for i in self._neighbours(inside, j, own, origin):
            if i in self._free and i not in taken:
                votes[i] += 2.0
        if not votes:
            free = (i for i in self._alike[own] if i in self._free and i not in taken)
            only = next(free, None)
            return only if next(free, None) is None else None
        key = metadata_key(inside.instructions[j])
        for i in votes:
            votes[i] += metadata_key(self._origin.instructions[i]) == key
        most = max(votes.values())
        best = [i for i, count in votes.items() if count == most]
        return best[0] if len(best) == 1 else None

    def _neighbours(
        self, inside: Indexed, j: int, own: int, origin: Mapping[int, int]
    ) -> Iterator[int]:
        """Free positions that an operand or a user of `j` speaks for."""
        for number, (operand, _) in enumerate(inside.sources(j)):
            known = origin.get(operand)
            users = () if known is None else self._origin.users(known)
            if len(users) <= _MOST_ALIKE:
                yield from (u for u, at in users if at == number and self._like(u) == own)
        for user, number in inside.users(j):
            known = origin.get(user)
            operands = () if known is None else self._origin.operands(known)
            if number < len(operands):
                operand = operands[number]
                if operand >= 0 and self._like(operand) == own:
                    yield operand


def _signature(table: FingerprintTable, indexed: Indexed) -> Signature:
    return table.signatures(indexed, "layout-free", lambda _: -1)
