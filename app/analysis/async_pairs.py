"""Asynchronous operations of one module: their start, updates, done and what lies between.

All spellings are found: opcodes of their own (`all-gather-start`), sugar for any opcode
(`reduce-scatter-start`, printed by jaxlib 0.4.30), the generic `async-start` around a called
computation, and the custom-calls by which libtpu drives a collective inside fusions. Pairs are
followed backwards from each done through tuple access and updates, and over the back edge of a
while where the body starts what its next iteration finishes. Starts without a done are kept; a
done whose start is in another computation is not reported.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from app.analysis.dataflow import Value, root_elements, value_of
from app.analysis.opcodes import (
    COLLECTIVES,
    NATIVE_ASYNC,
    TPU_DONE,
    TPU_START,
    async_role,
    base_opcode,
    collective_opcode,
    config_value,
    group_config,
)
from app.model.facts import AsyncPair
from hlo_parser import Computation, Instruction, Module

Spelling = Literal["native", "sugar", "generic", "custom-call"]

MAX_BETWEEN = 4_000_000

# Asynchronous starts that run what stands in the computation they call.
WRAPPERS = frozenset({"async-start", "call-start", "fusion", "fusion-start"})

# Instructions that only hand values on inside a wrapped computation.
# XLA gives each fusion a computation of its own; only edited texts have more callers of one.
_MOST_CALLERS = 64
_PLUMBING = frozenset(
    {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "call"}
)


def find_async_pairs(module: Module) -> tuple[AsyncPair, ...]:
    """Every asynchronous start of the module, by computation and start in text order.

    `between` is None in modules that are not scheduled, for a start without done, where the done
    belongs to the start of the iteration before, and once the windows of a module hold more than
    `MAX_BETWEEN` names together.
    """
    ends = _CustomCallEnds.of(module)
    windows = _Windows(module.header.is_scheduled)
    return tuple(
        pair
        for computation in module.computations
        for pair in _pairs(module, computation, ends, windows)
    )


def wrapped_operations(
    module: Module, start: Instruction
) -> tuple[tuple[Computation, Instruction], ...]:
    """What a generic start, or a TPU fusion that starts, really runs: the collectives inside.

    Nested calls are followed, for collectives fusions too; without a collective the other
    instructions of substance.
    """
    collectives = tuple(
        (computation, instruction)
        for computation in called_by_start(module, start, into=("call", "fusion"))
        for instruction in computation.instructions
        if collective_opcode(instruction) is not None
    )
    return collectives or tuple(
        (computation, instruction)
        for computation in called_by_start(module, start)
        for instruction in computation.instructions
        if instruction.opcode not in _PLUMBING
    )


def called_by_start(
    module: Module, instruction: Instruction, into: tuple[str, ...] = ("call",)
) -> tuple[Computation, ...]:
    """The computation that an asynchronous line wraps, and those it reaches by these opcodes."""
    found: dict[str, Computation] = {}
    pending = [instruction]
    for line in pending:
        for role, computation in module.callees(line):
            if role in ("calls", "to_apply") and computation.name not in found:
                found[computation.name] = computation
                pending += [i for i in computation.instructions if i.opcode in into]
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class _CustomCallEnds:
    """The fused computations that hold libtpu's start and done marks, by name.

    Such a mark stands for the fusion that calls it, which is what the schedule knows.
    """

    starts: Mapping[str, Instruction]
    dones: Mapping[str, Instruction]

    @classmethod
    def of(cls, module: Module) -> "_CustomCallEnds":
        starts: dict[str, Instruction] = {}
        dones: dict[str, Instruction] = {}
        for computation in module.computations:
            for instruction in computation.instructions:
                if instruction.opcode != "custom-call":
                    continue
                target = instruction.custom_call_target
                if target in (TPU_START, TPU_DONE) and is_fused(module, computation):
                    (starts if target == TPU_START else dones)[computation.name] = instruction
        return cls(starts, dones)

    def mark(
        self, instruction: Instruction, role: Literal["start", "done"]
    ) -> tuple[str, Instruction] | None:
        """The mark inside the fusion `instruction`, with the name of the fused computation."""
        if instruction.opcode != "fusion":
            return None
        marks = self.starts if role == "start" else self.dones
        for callee in instruction.callees:
            if callee.name in marks:
                return callee.name, marks[callee.name]
        return None


def is_fused(module: Module, computation: Computation) -> bool:
    """Whether a fusion calls this computation; looked for among the first of very many callers."""
    callers = module.callers(computation.name)[:_MOST_CALLERS]
    return any(caller.opcode == "fusion" for _, caller in callers)


def _pairs(
    module: Module, computation: Computation, ends: _CustomCallEnds, windows: "_Windows"
) -> Iterator[AsyncPair]:
    starts = [i for i in computation.instructions if _is_end(i, "start", ends)]
    if not starts or computation.name in ends.starts:
        return
    finished: dict[str, _Trail] = {}
    seen: set[Value] = set()
    for instruction in computation.instructions:
        if _is_end(instruction, "done", ends):
            trail = _trail_of(module, computation, instruction, ends, seen)
            if trail is not None:
                finished.setdefault(trail.start, trail)
    for start in starts:
        trail = finished.get(start.name)
        yield AsyncPair(
            computation=computation.name,
            opcode=_opcode(module, computation, start, ends),
            start=start.name,
            done=None if trail is None else trail.done,
            updates=() if trail is None else trail.updates,
            between=None if trail is None else windows.between(computation, trail),
            is_sync=is_sync(module, start),
            spelling=_spelling(start),
        )


def _is_end(
    instruction: Instruction,
    role: Literal["start", "done"],
    ends: _CustomCallEnds,
) -> bool:
    opcode = instruction.opcode
    if async_role(opcode) == role:
        return True
    if opcode == "fusion":
        return ends.mark(instruction, role) is not None
    target = TPU_START if role == "start" else TPU_DONE
    return opcode == "custom-call" and instruction.custom_call_target == target


@dataclass(frozen=True, slots=True)
class _Trail:
    """The way back from a done to its start; `wraps` when it crosses a while's back edge."""

    start: str
    done: str
    updates: tuple[str, ...]
    wraps: bool


def _trail_of(
    module: Module,
    computation: Computation,
    done: Instruction,
    ends: _CustomCallEnds,
    seen: set[Value],
) -> _Trail | None:
    """Walk back from `done`; `seen` holds what the walks before visited, which is another's."""
    updates: list[str] = []
    wraps = False
    value = _finished_value(module, computation, done, ends)
    while value is not None and value not in seen:
        seen.add(value)
        instruction = computation.get(value.name)
        if instruction is None:
            return None
        if _is_end(instruction, "start", ends):
            return _Trail(value.name, done.name, tuple(reversed(updates)), wraps)
        if async_role(instruction.opcode) == "update":
            updates.append(value.name)
            value = _operand(computation, instruction, 0, ())
        elif instruction.opcode == "fusion":
            updates.append(value.name)
            value = _through_fusion(module, computation, instruction, value.path)
        elif instruction.opcode == "parameter" and value.path and not wraps:
            wraps = True
            value = _from_last_iteration(module, computation, value.path)
        else:
            return None
    return None


def _finished_value(
    module: Module, computation: Computation, done: Instruction, ends: _CustomCallEnds
) -> Value | None:
    mark = ends.mark(done, "done")
    if mark is None:
        return _operand(computation, done, 0, ())
    fused = module.get(mark[0])
    if fused is None:
        return None
    return _outside(computation, done, fused, _operand(fused, mark[1], 0, ()))


def _operand(
    computation: Computation, instruction: Instruction, number: int, path: tuple[int, ...]
) -> Value | None:
    if number >= len(instruction.operands):
        return None
    inner = (*instruction.operand_paths[number], *path)
    return value_of(computation, instruction.operands[number], inner)


def _through_fusion(
    module: Module, computation: Computation, fusion: Instruction, path: tuple[int, ...]
) -> Value | None:
    """The value outside that a fusion hands on as its element `path`, None if it makes it."""
    for _, fused in module.callees(fusion):
        return _outside(computation, fusion, fused, value_of(fused, fused.root.name, path))
    return None


def _outside(
    computation: Computation, fusion: Instruction, fused: Computation, value: Value | None
) -> Value | None:
    parameter = None if value is None else fused.get(value.name)
    number = None if parameter is None else parameter.parameter_number
    if value is None or number is None:
        return None
    return _operand(computation, fusion, number, value.path)


def _from_last_iteration(
    module: Module, computation: Computation, path: tuple[int, ...]
) -> Value | None:
    """What a while body puts into the carried element `path` for its next iteration."""
    is_body = any(
        callee.role == "body" and callee.name == computation.name
        for _, caller in module.callers(computation.name)
        for callee in caller.callees
    )
    if not is_body:
        return None
    elements = root_elements(computation)
    if path[0] >= len(elements):
        return None
    element = elements[path[0]]
    return value_of(computation, element.name, (*element.path, *path[1:]))


def _opcode(
    module: Module, computation: Computation, start: Instruction, ends: _CustomCallEnds
) -> str:
    if start.opcode in ("send", "recv"):
        return start.opcode
    if start.opcode == "custom-call":
        value = _operand(computation, start, 0, ())
        marked = None if value is None else computation.get(value.name)
        return "custom-call" if marked is None else marked.opcode
    if start.opcode not in ("async-start", "fusion"):
        return start.opcode.removesuffix("-start")
    operations = wrapped_operations(module, start)
    for _, instruction in operations:
        opcode = collective_opcode(instruction)
        if opcode is not None:
            return opcode
    # Several operations of other kinds stand together, as on another execution thread.
    return operations[0][1].opcode if len(operations) == 1 else "call"


def _spelling(start: Instruction) -> Spelling:
    if start.opcode in ("fusion", "custom-call"):
        return "custom-call"
    if start.opcode == "async-start":
        return "generic"
    return "native" if start.opcode.removesuffix("-start") in NATIVE_ASYNC else "sugar"


class _Windows:
    """Cuts what lies between start and done; wide windows that all overlap could take a square."""

    def __init__(self, is_scheduled: bool) -> None:
        self._left = MAX_BETWEEN if is_scheduled else 0

    def between(self, computation: Computation, trail: _Trail) -> tuple[str, ...] | None:
        first = computation.position(trail.start) + 1
        last = computation.position(trail.done)
        if trail.wraps or not self._left:
            return None
        self._left = max(0, self._left - max(0, last - first))
        return tuple(i.name for i in computation.instructions[first:last]) if self._left else None


def is_sync(module: Module, start: Instruction) -> bool:
    """`is_sync` of GPU collectives (xla/service/gpu/backend_configs.proto)."""
    lines = [start]
    if start.opcode == "async-start":
        lines += [i for _, i in wrapped_operations(module, start) if i.opcode in COLLECTIVES]
    return any(
        config_value(group_config(line.backend_config, "collective_backend_config"), "is_sync")
        is True
        for line in lines
    )


def is_asynchronous(module: Module, item: Instruction | None) -> bool | None:
    """Whether a collective is begun and ended apart, and not marked as not to be.

    None for what begins none; an `async-start`, whose operation stands elsewhere, among that.
    """
    if item is None or base_opcode(item.opcode) not in COLLECTIVES:
        return None
    return async_role(item.opcode) == "start" and not is_sync(module, item)
