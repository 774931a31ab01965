"""Collectives that only some devices may reach: those under a predicate that differs by device.

Every device of a replica group must execute a collective, or those that do wait for ever. A branch
or a loop whose predicate is computed from the device's own number (`partition-id`, `replica-id`),
or from data that each device holds a different part of, may send devices different ways. Predicates
are followed backwards through calls, fusions, loops and branches to what they are made of; the
result of a collective over all devices is the same everywhere and ends the walk.

Where XLA's partitioner made the program for one device, it keeps predicates the same on all of
them, through collectives over parts of the mesh that are not followed here. Only code that the user
writes for one device (shard_map, pmap) can send devices different ways; JAX names both in op_name.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from app.analysis.dataflow import Value, operand_values, value_of
from app.analysis.opcodes import COLLECTIVES, collective_opcode
from app.model.dump import ModuleHistory
from hlo_parser import Computation, Instruction, Module

Cause = Literal["device-number", "sharded-input", "outside-data"]
Written = Literal["per-device", "whole", "unknown"]

_DEVICE_NUMBERS = frozenset({"partition-id", "replica-id"})
_OUTSIDE_DATA = frozenset({"infeed", "recv", "recv-done", "rng", "rng-get-and-update-state"})
_UNIFYING = frozenset({"all-reduce", "all-gather", "collective-broadcast"})
# As JAX writes them into op_name: `shmap_body` up to 0.6, `shard_map` since.
_PER_DEVICE = ("shard_map", "shmap_body", "pmap(", "xmap(")
_MAX_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Place:
    """An instruction and the computation it stands in."""

    computation: Computation
    instruction: Instruction


@dataclass(frozen=True, slots=True)
class Divergence:
    """A branch or loop that devices may leave differently, and the collectives inside.

    `origin` is where the difference comes from; `cause` says of what kind it is: `device-number`
    certainly differs between devices, the others may. `written` says whether the user wrote the
    branch for one device or for the whole array, by its op_name.
    """

    branch: Place
    written: Written
    cause: Cause
    origin: Place
    collectives: tuple[Place, ...]


def find_divergences(history: ModuleHistory) -> tuple[Divergence, ...]:
    """All conditionals and whiles of the newest text with collectives and a differing predicate."""
    module = history.last.module
    sharded = _sharded_parameters(history)
    found: list[Divergence] = []
    for computation in module.computations:
        for instruction in computation.instructions:
            if instruction.opcode not in ("conditional", "while"):
                continue
            inside = tuple(_collectives_inside(module, instruction))
            if not inside:
                continue
            here = Place(computation, instruction)
            origin = _origin_of_difference(module, here, sharded)
            if origin is not None:
                found.append(Divergence(here, _written(module, instruction), *origin, inside))
    return tuple(found)


def _written(module: Module, branch: Instruction) -> Written:
    if module.header.replica_count > 1:
        return "per-device"
    op_name = branch.metadata.op_name if branch.metadata else None
    if not op_name:
        return "unknown"
    return "per-device" if any(word in op_name for word in _PER_DEVICE) else "whole"


def _collectives_inside(module: Module, instruction: Instruction) -> Iterator[Place]:
    """Collectives in everything the instruction calls, however deep, each once."""
    pending = [c for _, c in module.callees(instruction)]
    seen = {c.name for c in pending}
    for computation in pending:
        for inner in computation.instructions:
            if collective_opcode(inner) in COLLECTIVES:
                yield Place(computation, inner)
            for _, callee in module.callees(inner):
                if callee.name not in seen:
                    seen.add(callee.name)
                    pending.append(callee)


def _origin_of_difference(
    module: Module, branch: Place, sharded: frozenset[int]
) -> tuple[Cause, Place] | None:
    """The first thing found that makes the predicate differ, device numbers before all else."""
    walk = _Walk(module, sharded)
    if branch.instruction.opcode == "while":
        for role, callee in module.callees(branch.instruction):
            if role == "condition":
                walk.add(callee, Value(callee.root.name))
    elif branch.instruction.operands:
        walk.add(branch.computation, operand_values(branch.computation, branch.instruction)[0])
    return walk.run()


class _Walk:
    """Walks values backwards over the whole module; each value is visited once."""

    def __init__(self, module: Module, sharded: frozenset[int]) -> None:
        self._module = module
        self._sharded = sharded
        self._pending: list[tuple[Computation, Value]] = []
        self._seen: set[tuple[str, Value]] = set()
        self._maybe: tuple[Cause, Place] | None = None

    def add(self, computation: Computation, value: Value) -> None:
        key = (computation.name, value)
        if key not in self._seen:
            self._seen.add(key)
            self._pending.append((computation, value))

    def run(self) -> tuple[Cause, Place] | None:
        for step, (computation, value) in enumerate(self._pending):
            if step >= _MAX_STEPS:
                break
            instruction = computation.get(value.name)
            if instruction is None:
                continue
            place = Place(computation, instruction)
            if instruction.opcode in _DEVICE_NUMBERS:
                return "device-number", place
            self._visit(place, value)
        return self._maybe

    def _visit(self, place: Place, value: Value) -> None:
        instruction = place.instruction
        if instruction.opcode in _OUTSIDE_DATA:
            self._maybe = self._maybe or ("outside-data", place)
        elif instruction.opcode == "parameter":
            self._visit_parameter(place, value)
        elif collective_opcode(instruction) in _UNIFYING and _joins_all(instruction):
            return
        elif instruction.opcode == "while":
            self._visit_while(place, value)
        else:
            for _, callee in self._module.callees(instruction):
                if instruction.opcode in ("call", "fusion", "conditional", "async-start"):
                    self.add(callee, value_of(callee, callee.root.name, value.path))
            if instruction.opcode not in ("call", "fusion", "async-start"):
                for operand in operand_values(place.computation, instruction):
                    self.add(place.computation, operand)

    def _visit_while(self, place: Place, value: Value) -> None:
        if not place.instruction.operands:
            return
        name, path = place.instruction.operands[0], place.instruction.operand_paths[0]
        self.add(place.computation, value_of(place.computation, name, (*path, *value.path)))
        for role, callee in self._module.callees(place.instruction):
            if role == "body":
                self.add(callee, value_of(callee, callee.root.name, value.path))

    def _visit_parameter(self, place: Place, value: Value) -> None:
        computation = place.computation
        if computation.is_entry:
            if place.instruction.parameter_number in self._sharded:
                self._maybe = self._maybe or ("sharded-input", place)
            return
        number = place.instruction.parameter_number or 0
        for caller, call in self._module.callers(computation.name):
            operand = _argument(call, computation.name, number)
            if operand is not None and operand < len(call.operands):
                path = (*call.operand_paths[operand], *value.path)
                self.add(caller, value_of(caller, call.operands[operand], path))
            if call.opcode == "while":
                for role, callee in self._module.callees(call):
                    if role == "body":
                        self.add(callee, value_of(callee, callee.root.name, value.path))


def _argument(call: Instruction, callee: str, number: int) -> int | None:
    """Position of the operand that `callee` gets as its parameter `number`; None for reducers."""
    if call.opcode == "while":
        return 0
    if call.opcode == "conditional":
        names = [c.name for c in call.callees]
        return names.index(callee) + 1
    return number if call.opcode in ("call", "fusion", "async-start") else None


def _joins_all(instruction: Instruction) -> bool:
    """Whether one group holds every device, so that all of them get the same result."""
    groups = instruction.replica_groups
    return groups is None or groups.group_count in (None, 0, 1)


def _sharded_parameters(history: ModuleHistory) -> frozenset[int]:
    """Numbers of the entry parameters of which each device holds a part of its own.

    Replicas (pmap) hold different data without any sharding. Partitioned texts may have lost the
    sharding (0.12.0 prints none in the last text); then an earlier one has it, or the parameter
    has become smaller since.
    """
    newest = history.last.module
    parameters = newest.entry.parameters
    if newest.header.replica_count > 1:
        return frozenset(range(len(parameters)))
    found: set[int] = set()
    for dump in history.dumps:
        earlier = dump.module.entry.parameters
        if len(earlier) == len(parameters):
            found.update(
                number
                for number, (old, new) in enumerate(zip(earlier, parameters, strict=True))
                if _is_split(old.sharding) or old.shape.byte_size > new.shape.byte_size
            )
    return frozenset(found)


def _is_split(sharding: str | None) -> bool:
    return sharding is not None and ("devices=" in sharding or "mesh" in sharding)
