"""Instructions of a text that a class of failures is known to be about.

A log that names no instruction still narrows the search: each function lists what one kind of
failure has been seen to stumble over. What is listed is a suspect; healthy programs hold it, too.
Results are pairs of computation and instruction in text order unless said otherwise.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from app.analysis.opcodes import base_opcode, collective_opcode, config_value
from hlo_parser import Computation, Instruction, Module

Place = tuple[Computation, Instruction]

# They hold no bytes of their own, or those of their operands.
_ALIASES = frozenset(
    "parameter tuple get-tuple-element bitcast while conditional call opt-barrier after-all "
    "domain add-dependency async-done async-update copy-done".split()
)
# What the partitioner asks a sharding of (xla/service/spmd/spmd_partitioner.cc, Preprocess).
_SIDE_EFFECTS = frozenset(
    "rng-get-and-update-state infeed outfeed send recv send-done recv-done".split()
)
_SHARDING_CALLS = frozenset({"SPMDFullToShardShape", "SPMDShardToFullShape", "Sharding"})
_CALLERS_OF_SCALARS = frozenset("map reduce reduce-window scatter sort select-and-scatter".split())
_NARROW = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64}


def instructions(module: Module) -> Iterator[Place]:
    """All of them."""
    return ((c, i) for c in module.computations for i in c.instructions)


def with_target(module: Module, words: str) -> Iterator[Place]:
    """Custom calls whose target fits the regular expression `words`."""
    pattern = re.compile(words)
    for place in instructions(module):
        target = place[1].custom_call_target
        if target is not None and pattern.search(target):
            yield place


def with_opcode(module: Module, opcodes: Collection[str]) -> Iterator[Place]:
    """Instructions of these opcodes, their asynchronous starts too."""
    return (place for place in instructions(module) if base_opcode(place[1].opcode) in opcodes)


def largest_values(module: Module) -> Iterator[Place]:
    """What is written to memory, the largest first, down to a twentieth of that one.

    Nothing inside fusions is.
    """
    inside = _called_as(module, ("calls", "to_apply"))
    places = [
        (computation, instruction)
        for computation, instruction in instructions(module)
        if computation.name not in inside and instruction.opcode not in _ALIASES
    ]
    places.sort(key=lambda place: -place[1].shape.byte_size)
    enough = places[0][1].shape.byte_size // 20 if places else 0
    return (place for place in places if place[1].shape.byte_size > enough)


def with_sizes(module: Module, sizes: Collection[int]) -> Iterator[Place]:
    """Instructions that make several arrays, among them one of each of the `sizes` in bytes."""
    for computation, instruction in instructions(module):
        made = {element.byte_size for element in instruction.shape.elements}
        if len(sizes) > 1 and made.issuperset(sizes) and instruction.opcode not in _ALIASES:
            yield computation, instruction


def mixed_shardings(module: Module) -> Iterator[Place]:
    """Where a value goes between manual and other sharding without the calls that are for it."""
    for computation, instruction in instructions(module):
        own = _kind(instruction)
        if own is None or instruction.custom_call_target in _SHARDING_CALLS:
            continue
        for name in instruction.operands:
            operand = computation.get(name)
            if operand is None or operand.custom_call_target in _SHARDING_CALLS:
                continue
            other = _kind(operand)
            if other is not None and (own == "manual") != (other == "manual"):
                yield computation, instruction
                break


def unsharded_side_effects(module: Module) -> Iterator[Place]:
    """Instructions with side effects that carry no sharding."""
    for computation, instruction in instructions(module):
        has_effect = (
            instruction.opcode in _SIDE_EFFECTS
            or instruction.attributes.get("custom_call_has_side_effect") == "true"
        )
        if has_effect and instruction.sharding is None:
            yield computation, instruction


def integer_conditionals(module: Module) -> Iterator[Place]:
    """Conditionals of two branches with an integer index; those inside scalar code first."""
    scalar = _called_as(module, ("to_apply", "comparator", "scatter", "select"))
    found = [
        (computation, instruction)
        for computation, instruction in with_opcode(module, ("conditional",))
        if len(instruction.callees) == 2
        and (index := computation.get(instruction.operands[0])) is not None
        and index.shape.element_type != "pred"
    ]
    return iter(sorted(found, key=lambda place: place[0].name not in scalar))


def heavy_comparators(module: Module) -> Iterator[Place]:
    """Sorts, scatters and the like whose scalar code holds a scatter, a loop or an update."""
    for computation, instruction in instructions(module):
        if instruction.opcode not in _CALLERS_OF_SCALARS:
            continue
        called = (callee for _, callee in module.callees(instruction))
        opcodes = {i.opcode for callee in called for i in callee.instructions}
        if opcodes & {"scatter", "while", "dynamic-update-slice", "sort", "conditional"}:
            yield computation, instruction


def odd_layouts(module: Module) -> Iterator[Place]:
    """FFTs, bitcasts to another type and custom calls whose layout is not row-major."""
    for computation, instruction in with_opcode(
        module, ("fft", "bitcast-convert", "custom-call", "sort", "cholesky", "triangular-solve")
    ):
        order = instruction.shape.minor_to_major
        if order is not None and order != tuple(range(len(order) - 1, -1, -1)):
            yield computation, instruction


def folded_arithmetic(module: Module) -> Iterator[Place]:
    """Arithmetic that simplifiers replace by something nearly equal.

    exp under log, x*x under sqrt, and a conversion to a narrower type and back.
    """
    for computation, instruction in instructions(module):
        operand = computation.get(instruction.operands[0]) if instruction.operands else None
        if operand is None:
            continue
        pair = (instruction.opcode, operand.opcode)
        if (
            pair == ("log", "exponential")
            or (pair == ("sqrt", "multiply") and len(set(operand.operands)) == 1)
            or (pair == ("convert", "convert") and _is_narrowed(computation, instruction, operand))
        ):
            yield computation, instruction


def collectives(
    module: Module, channel: int | None = None, devices: tuple[int, ...] = ()
) -> Iterator[Place]:
    """Collectives, those on `channel` or with a group of just these `devices` where given."""
    for computation, instruction in instructions(module):
        if collective_opcode(instruction) is None:
            continue
        groups = instruction.replica_groups
        if (channel is None and not devices) or (
            (channel is not None and instruction.channel_id == channel)
            or (devices and groups is not None and devices in groups.expand())
        ):
            yield computation, instruction


def made_by_one_line(module: Module) -> tuple[Place, int] | None:
    """The source line that most instructions come from: its first one, and how many there are."""
    counts: Counter[tuple[str, int]] = Counter()
    first: dict[tuple[str, int], Place] = {}
    for computation, instruction in instructions(module):
        source = module.source_of(instruction)
        if source is not None:
            key = (source.file, source.line)
            counts[key] += 1
            first.setdefault(key, (computation, instruction))
    if not counts:
        return None
    (key, count), *_ = counts.most_common(1)
    return first[key], count


def in_recorded_graphs(module: Module) -> Iterator[Place]:
    """What computations made for command buffers hold that is known to resist recording."""
    for computation in module.computations:
        if computation.name.startswith("command_buffer"):
            for instruction in computation.instructions:
                if instruction.opcode in ("custom-call", "while", "conditional") or (
                    collective_opcode(instruction) is not None
                ):
                    yield computation, instruction


def in_host_memory(module: Module) -> Iterator[Place]:
    """Values with the memory space of the host, and the calls that move values there and back."""
    targets = ("MoveToHost", "MoveToDevice", "annotate_device_placement")
    for computation, instruction in instructions(module):
        if instruction.custom_call_target in targets or (
            instruction.shape.memory_space == 5 and instruction.opcode not in _ALIASES
        ):
            yield computation, instruction


def scaled_with_bias(module: Module) -> Iterator[Place]:
    """Calls of cuBLASLt that scale the product and add a bias."""
    for computation, instruction in with_target(module, r"^__cublas\$lt\$matmul"):
        config = instruction.backend_config
        alpha = config_value(config, "gemm_backend_config", "alpha_real")
        epilogue = config_value(config, "gemm_backend_config", "epilogue")
        if isinstance(epilogue, str) and epilogue.startswith("BIAS") and alpha not in (1, None):
            yield computation, instruction


def on_another_thread(module: Module) -> Iterator[Place]:
    """Calls of computations that run on another thread than the device's (on the host)."""
    for computation, instruction in instructions(module):
        called = (callee for _, callee in module.callees(instruction))
        if any(callee.execution_thread not in ("", "main") for callee in called):
            yield computation, instruction


def named_like(module: Module, ending: str) -> Iterator[Place]:
    """Instructions whose name ends with `ending` or holds it before another number."""
    for computation, instruction in instructions(module):
        if instruction.name.endswith(ending) or f"{ending}." in instruction.name:
            yield computation, instruction


def _called_as(module: Module, roles: Iterable[str]) -> frozenset[str]:
    wanted = frozenset(roles)
    return frozenset(
        callee.name
        for _, instruction in instructions(module)
        for callee in instruction.callees
        if callee.role in wanted and instruction.opcode not in ("call", "async-start")
    )


def _kind(instruction: Instruction) -> str | None:
    sharding = instruction.sharding
    if sharding is None or sharding.startswith("{{"):
        return None
    return "manual" if sharding.startswith("{manual") else "other"


def _is_narrowed(computation: Computation, outer: Instruction, inner: Instruction) -> bool:
    origin = computation.get(inner.operands[0]) if inner.operands else None
    widths = [
        _NARROW.get(i.shape.element_type) if i is not None else None for i in (origin, inner, outer)
    ]
    first, middle, last = widths
    if first is None or middle is None or last is None:
        return False
    return middle < min(first, last)
