"""The life of a collective: where it first appears and what passes made of it until the last text.

Follows one collective of the last text backwards (`lineage.py`), and where that ends in a pass that
copied it, on along the original, known by operation, groups and JAX name. What two neighbouring
texts show of it becomes an event; the order of events is that of the passes. A collective made of
several is followed along the first of its parts, the others are named where they join.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from app.analysis.collective_stages import (
    CollectiveFinder,
    Stage,
    element_types,
    feeds_carry,
    identity_of,
    listed,
    reads_carry,
    service_of,
    shortened,
)
from app.analysis.device_groups import is_same_groups
from app.analysis.diff import Differ
from app.analysis.fingerprints import operation_of
from app.analysis.fused_collectives import opcode_run
from app.analysis.lineage import Sighting, trace_back
from app.analysis.passes import changed_by, pass_on_loops
from app.model.dump import ModuleHistory
from app.model.facts import LoopHistory
from app.model.report import CollectiveEvent, CollectiveEventKind
from hlo_parser import Computation, Instruction

# Parts of names of passes that are there to do this, named even where texts are missing.
_SPEAKS_FOR: Mapping[CollectiveEventKind, str] = {
    "combined": "combiner",
    "made_async": "async",
    "made_sync": "sync",
    "decomposed": "decompos",
    "became": "creator",
}
_PIPELINED = {
    "pipelined_forward": "the iteration before",
    "pipelined_backward": "the iteration after",
}
# Passes that copy what is itself a copy: real histories have two or three.
_MOST_COPIES = 20
_MOST_CANDIDATES = 200


class CollectiveTracer:
    """Follows collectives of one history; remembers what they share."""

    def __init__(
        self, history: ModuleHistory, loops: Sequence[LoopHistory], differ: Differ
    ) -> None:
        self._history = history
        self._differ = differ
        self._passes = changed_by(history)
        self._finder = CollectiveFinder()
        self._around: dict[tuple[int, str], LoopHistory | None] = {}
        self._by_identity: dict[int, dict[tuple[object, ...], list[Sighting]]] = {}
        self._bodies: list[dict[str, LoopHistory]] = [{} for _ in history.dumps]
        for loop in loops:
            for position, here in loop.occurrences.items():
                # Of loops that share one body the oldest stands for all.
                self._bodies[position].setdefault(here.body.name, loop)

    def sightings(self, computation: Computation, instruction: Instruction) -> tuple[Sighting, ...]:
        """The collective in all texts, the last first; `instruction` stands in the last text."""
        position = len(self._history.dumps) - 1
        found = [Sighting(position, computation, instruction)]
        for _ in range(_MOST_COPIES):
            here = found[-1]
            found += trace_back(self._history, *here, self._differ)
            first = found[-1]
            origin = self._origin(first) if first.dump else None
            if origin is None:
                break
            found.append(origin)
        return tuple(found)

    def events(self, sightings: Sequence[Sighting]) -> tuple[CollectiveEvent, ...]:
        """What happened to it, oldest first; `sightings` are those of `sightings`."""
        stages = list(self._stages(sightings))
        found = [self._beginning(stages, sightings)] if stages else []
        for after, before in pairwise(stages):
            if after.instruction is before.instruction and after.around is before.around:
                continue
            found[1:1] = [
                CollectiveEvent(
                    dump=after.dump, pass_=self._pass(after.dump, kind), kind=kind, detail=detail
                )
                for kind, detail in self._changes(before, after)
            ]
        return tuple(found)

    def _stages(self, sightings: Sequence[Sighting]) -> Iterator[Stage]:
        """The sightings as long as they are collectives, the last text first."""
        for dump, computation, instruction in sightings:
            module = self._history.dumps[dump].module
            operation = self._finder.of(module, computation, instruction)
            if operation is None:
                return
            opcode = opcode_run(module, *operation) or ""
            yield Stage(dump, module, computation, instruction, *operation, opcode)

    def _beginning(self, stages: Sequence[Stage], sightings: Sequence[Sighting]) -> CollectiveEvent:
        first = stages[-1]
        if first.dump == 0:
            how = "there in the first text"
        elif len(stages) < len(sightings):
            earlier = sightings[len(stages)].instruction
            how = f"made of {earlier.opcode} {earlier.name}"
        elif self._passes[first.dump].alone:
            how = "made by the compiler"
        else:
            how = "first seen here, after texts that are missing"
        loop = self._loop(first.dump, first.around)
        inside = f", in loop {loop.id}" if loop else ""
        return CollectiveEvent(
            dump=first.dump,
            pass_=self._pass(first.dump, "created") if first.dump else None,
            kind="created",
            detail=f"{how}{inside}{service_of(first)}",
        )

    def _pass(self, dump: int, kind: CollectiveEventKind) -> str | None:
        by = self._passes[dump]
        speaks = _SPEAKS_FOR.get(kind)
        if speaks is not None and by.name is not None and speaks in by.name:
            return by.name
        return pass_on_loops(by)

    def _loop(self, dump: int, around: Computation) -> LoopHistory | None:
        """The nearest loop around a computation, reached through calls."""
        bodies = self._bodies[dump]
        if not bodies:
            return None
        key = dump, around.name
        if key not in self._around:
            self._around[key] = self._find_loop(dump, around, bodies)
        return self._around[key]

    def _find_loop(
        self, dump: int, around: Computation, bodies: Mapping[str, LoopHistory]
    ) -> LoopHistory | None:
        here = around
        seen: set[str] = set()
        while here.name not in bodies and here.name not in seen:
            seen.add(here.name)
            callers = self._history.dumps[dump].module.callers(here.name)
            if not callers:
                return None
            here = callers[0][0]
        return bodies.get(here.name)

    def _changes(self, before: Stage, after: Stage) -> Iterator[tuple[CollectiveEventKind, str]]:
        yield from self._changes_of_place(before, after)
        if after.operation is before.operation and after.instruction is before.instruction:
            return
        if before.opcode != after.opcode:
            taken_apart = after.opcode in ("send", "recv")
            kind: CollectiveEventKind = "decomposed" if taken_apart else "became"
            yield kind, f"{before.opcode} -> {after.opcode}"
        elif len(after.operation.operands) > len(before.operation.operands):
            yield "combined", self._parts(before, after)
        elif len(after.operation.operands) < len(before.operation.operands):
            counts = len(before.operation.operands), len(after.operation.operands)
            yield "split", f"operands {counts[0]} -> {counts[1]}"
        if before.is_async != after.is_async and after.opcode not in ("send", "recv"):
            yield (
                ("made_async" if after.is_async else "made_sync"),
                (
                    f"{before.instruction.opcode} -> {after.instruction.opcode}"
                    if before.instruction.opcode != after.instruction.opcode
                    else "marked in backend_config"
                ),
            )
        types = element_types(before), element_types(after)
        if types[0] != types[1] and before.opcode == after.opcode:
            yield "retyped", f"{listed(types[0])} -> {listed(types[1])}"
        groups = before.operation.replica_groups, after.operation.replica_groups
        if groups[0] and groups[1] and not is_same_groups(*groups):
            yield "regrouped", f"{shortened(groups[0].text)} -> {shortened(groups[1].text)}"

    def _changes_of_place(
        self, before: Stage, after: Stage
    ) -> Iterator[tuple[CollectiveEventKind, str]]:
        old, new = self._loop(before.dump, before.around), self._loop(after.dump, after.around)
        places = None if old is None else old.id, None if new is None else new.id
        where = "" if places[0] == places[1] else f", {_place(new)}"
        if self._is_copy(before, after, old, new):
            yield "copied", f"copy of {before.instruction.name}{where}"
        elif old is None and new is not None:
            yield "moved_into_loop", f"into {new.id}"
        elif old is not None and new is None:
            yield "moved_out_of_loop", f"out of {old.id}"
        elif where and old is not None:
            yield "moved", f"from {old.id}{where}"
        if new is not None and not where:
            yield from _pipelined(before, after, new)

    def _is_copy(
        self,
        before: Stage,
        after: Stage,
        old: LoopHistory | None,
        new: LoopHistory | None,
    ) -> bool:
        """Whether the collective of the text before stands on beside this one, or in its loop."""
        if new is not None and old is not None and new.origin == old.id:
            return True
        if self._is_repeated(before, after):
            return True
        beside = after.beside(before)
        if beside is not None and self._loop(after.dump, beside) is old:
            return True
        if old is None or (new is not None and new.id == old.id):
            return False
        stays = old.occurrences.get(after.dump)
        identity = identity_of(after.module, after.inner, after.operation)
        return (
            stays is not None
            and identity is not None
            and any(
                identity_of(after.module, *operation) == identity
                for instruction in stays.body.instructions
                if (operation := self._finder.of(after.module, stays.body, instruction)) is not None
            )
        )

    def _is_repeated(self, before: Stage, after: Stage) -> bool:
        """Whether the computation holds it more often than before, and this one by a longer name.

        Double buffering gives copies the name of the original with an ending.
        """
        if not after.instruction.name.startswith(f"{before.instruction.name}."):
            return False
        identity = identity_of(after.module, after.inner, after.operation)
        return identity is not None and self._count(after, identity) > self._count(before, identity)

    def _count(self, stage: Stage, identity: tuple[object, ...]) -> int:
        found = self._collectives_of(stage.dump).get(identity, ())
        return sum(sighting.computation is stage.around for sighting in found)

    def _parts(self, before: Stage, after: Stage) -> str:
        """The collectives that were combined, by the names they had."""
        names: dict[str, None] = {before.instruction.name: None}
        modules = before.module, after.module
        for name in after.operation.operands:
            operand = after.inner.get(name)
            if operand is None:
                continue
            source = self._differ.instruction_before(*modules, after.inner, operand)
            for user in () if source is None else before.around.users.get(source.name, ()):
                if operation_of(user) == operation_of(before.operation):
                    names[user.name] = None
        counts = f"operands {len(before.operation.operands)} -> {len(after.operation.operands)}"
        others = list(names)
        return counts if len(others) < 2 else f"{listed(others)} ({counts})"

    def _origin(self, first: Sighting) -> Sighting | None:
        """What it was in the text before: put into a fusion since, or copied."""
        return self._unfused(first) or self._original(first)

    def _unfused(self, first: Sighting) -> Sighting | None:
        """The collective on the operand of a new fusion that a pass put into it."""
        dump, around, fusion = first
        modules = self._history.dumps[dump - 1].module, self._history.dumps[dump].module
        made = self._finder.of(modules[1], around, fusion) if fusion.opcode == "fusion" else None
        operand = around.get(fusion.operands[0]) if made and fusion.operands else None
        before = self._differ.computation_before(*modules, around) if operand else None
        if made is None or operand is None or before is None:
            return None
        source = self._differ.instruction_before(*modules, around, operand)
        alike = operation_of(made[1])
        for user in () if source is None else before.users.get(source.name, ()):
            # Of a tuple others work on other elements.
            place = source.name if source else "", fusion.operand_paths[0]
            works_on = zip(user.operands, user.operand_paths, strict=True)
            if operation_of(user) == alike and place in works_on:
                return Sighting(dump - 1, before, user)
        return None

    def _original(self, first: Sighting) -> Sighting | None:
        """What a pass copied a new collective from, in the text before.

        The same operation of the same size and groups, for the same line and operation of the
        program. Of several, one of the same loop comes first, then one of the loop that this one
        was copied from; then one that is gone now, as that was rewritten, not copied.
        """
        module = self._history.dumps[first.dump].module
        made = self._finder.of(module, first.computation, first.instruction)
        identity = None if made is None else identity_of(module, *made)
        if identity is None:
            return None
        loop = self._loop(first.dump, first.computation)
        dump = first.dump - 1

        def rank(candidate: Sighting) -> tuple[bool, bool, bool]:
            there = self._loop(dump, candidate.computation)
            own, origin = (loop.id, loop.origin) if loop else (None, None)
            place = there.id if there else None
            namesake = module.get(candidate.computation.name)
            stays = namesake is not None and namesake.get(candidate.instruction.name) is not None
            return place != own, place != origin, stays

        candidates = self._collectives_of(dump).get(identity, ())
        return min(candidates[:_MOST_CANDIDATES], key=rank, default=None)

    def _collectives_of(self, dump: int) -> Mapping[tuple[object, ...], Sequence[Sighting]]:
        """The collectives of one text by what they are known again by, in text order."""
        known = self._by_identity.get(dump)
        if known is None:
            known = self._by_identity[dump] = {}
            module = self._history.dumps[dump].module
            for computation in module.computations:
                for instruction in computation.instructions:
                    operation = self._finder.of(module, computation, instruction)
                    identity = None if operation is None else identity_of(module, *operation)
                    if identity is not None:
                        here = Sighting(dump, computation, instruction)
                        known.setdefault(identity, []).append(here)
        return known


def _place(loop: LoopHistory | None) -> str:
    return "in no loop" if loop is None else f"in {loop.id}"


def _pipelined(
    before: Stage, after: Stage, loop: LoopHistory
) -> Iterator[tuple[CollectiveEventKind, str]]:
    """A collective of a loop that a pass pipelined, where it is one of those that were."""
    for event in loop.events:
        when = _PIPELINED.get(event.kind)
        if event.dump != after.dump or when is None:
            continue
        if event.kind == "pipelined_backward":
            was, is_now = feeds_carry(before), feeds_carry(after)
        else:
            was, is_now = reads_carry(before, loop), reads_carry(after, loop)
        if is_now and not was:
            yield "pipelined", f"now done for {when} of {loop.id}"
