"""The devices that take part in a collective, and between which of them data goes.

Numbers in replica groups and in source-target pairs mean devices, partitions or replicas, depending
on opcode, channel and `use_global_device_ids`; here they all become devices, numbered as XLA does,
replica times partitions plus partition. Reads one instruction and its module's header. Which axes
of a mesh these are is for `meshes.py` to say.
"""

import re
from math import prod
from typing import Literal

from app.analysis.opcodes import collective_opcode
from hlo_parser import Instruction, Module, ReplicaGroups

MOST_DEVICES = 512
"""Groups of more devices than this, all together, are not written out in a report."""

Groups = tuple[tuple[int, ...], ...]
Pairs = tuple[tuple[int, int], ...]
Meaning = Literal["devices", "partitions", "replicas", "replicas_with_partitions"]

# Collectives whose groups name replicas, each with all its partitions, when they have a channel
# but no global ids; the others then name partitions.
_OF_REPLICAS = frozenset({"all-gather", "all-reduce", "reduce-scatter"})

_COUNTS = {"num_partitions", "replica_count"}
# Characters that a device takes in a text, with ample room.
_LONGEST_DEVICE = 20
_SOURCE = re.compile(r"(?:<=|device_ids=\()\s*+\[(\d{1,9}(?:,\d{1,9}){0,9})\]")
_PAIRS_OF_TRANSFER = "_xla_send_recv_source_target_pairs"
_PAIR = re.compile(r"\{(\d{1,9}),(\d{1,9})\}")


def meaning_of_groups(instruction: Instruction) -> Meaning:
    """What the numbers in the groups are (xla/service/collective_ops_utils.cc).

    The answer of GetCollectiveOpGroupMode, flattened ids called devices.
    """
    if (instruction.channel_id or 0) <= 0:
        return "replicas"
    if instruction.attributes.get("use_global_device_ids") == "true":
        return "devices"
    is_of_replicas = collective_opcode(instruction) in _OF_REPLICAS
    return "replicas_with_partitions" if is_of_replicas else "partitions"


def group_size(module: Module, instruction: Instruction) -> int:
    """Devices that take part together in a collective; 1 where it stays on one device.

    What the numbers in the groups mean: see `meaning_of_groups`.
    """
    header = module.header
    meaning = meaning_of_groups(instruction)
    groups = instruction.replica_groups
    size = None if groups is None else groups.group_size
    if size is None and groups is not None and groups.form == "list":
        size = max((len(group) for group in groups.expand()), default=None)
    if size is not None:
        whole = header.num_partitions if meaning == "replicas_with_partitions" else 1
        return max(1, size * whole)
    if meaning == "replicas":
        return max(1, header.replica_count)
    if meaning == "partitions":
        return max(1, header.num_partitions)
    return max(1, header.replica_count * header.num_partitions)


def devices_of(module: Module, instruction: Instruction, most: int = MOST_DEVICES) -> Groups:
    """The groups as devices; () where there are no groups, one device, or more than `most`.

    Texts before November 2023 do not say how many devices there are; then numbers are taken as they
    stand.
    """
    groups = instruction.replica_groups
    numbers = None if groups is None else _numbers(groups, most)
    if numbers is None:
        return ()
    if not _COUNTS & module.header.attributes.keys():
        return numbers if any(any(group) for group in numbers) else ()
    replicas, partitions = module.header.replica_count, module.header.num_partitions
    everyone = replicas * partitions
    if not 1 < everyone <= most:
        return ()
    match meaning_of_groups(instruction):
        case "devices":
            found = numbers or (tuple(range(everyone)),)
        case "replicas_with_partitions":
            numbers = numbers or (tuple(range(replicas)),)
            found = tuple(
                tuple(r * partitions + p for r in group for p in range(partitions))
                for group in numbers
            )
        case "replicas":
            numbers = numbers or (tuple(range(replicas)),)
            found = tuple(
                tuple(r * partitions + p for r in group)
                for p in range(partitions)
                for group in numbers
            )
        case "partitions":
            numbers = numbers or (tuple(range(partitions)),)
            found = tuple(
                tuple(r * partitions + p for p in group)
                for r in range(replicas)
                for group in numbers
            )
    return found if sum(map(len, found)) <= most else ()


def pairs_of(module: Module, instruction: Instruction, most: int = MOST_DEVICES) -> Pairs:
    """Source and target devices of a permute, in text order; () for others and too many devices.

    A permute that was taken apart keeps its pairs with `send` and `recv`, without a word on whether
    they name replicas or partitions: where there are several of both, they are not read.
    """
    replicas, partitions = module.header.replica_count, module.header.num_partitions
    pairs = instruction.source_target_pairs
    if instruction.opcode in ("send", "recv"):
        text = instruction.frontend_attributes.get(_PAIRS_OF_TRANSFER, "")
        if (replicas > 1 and partitions > 1) or len(text) > _LONGEST_DEVICE * most:
            return ()
        pairs = tuple((int(found[1]), int(found[2])) for found in _PAIR.finditer(text))
    if replicas * partitions > most or not 0 < len(pairs) <= most:
        return ()
    if partitions == 1 or replicas == 1:
        return pairs
    if meaning_of_groups(instruction) == "replicas":
        return tuple(
            (s * partitions + p, t * partitions + p) for p in range(partitions) for s, t in pairs
        )
    return tuple(
        (r * partitions + s, r * partitions + t) for r in range(replicas) for s, t in pairs
    )


def chains_of(pairs: Pairs) -> Groups:
    """Devices in the order in which they hand data on, rings from where they are printed first.

    What a device keeps to itself is left out.
    """
    follows = {source: target for source, target in pairs if source != target}
    targets = set(follows.values())
    found: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for first in (*(s for s in follows if s not in targets), *follows):
        chain: list[int] = []
        here: int | None = first
        while here is not None and here not in seen:
            seen.add(here)
            chain.append(here)
            here = follows.get(here)
        if chain:
            found.append(tuple(chain))
    return tuple(found)


def is_same_groups(one: ReplicaGroups | None, other: ReplicaGroups | None) -> bool:
    """Whether two texts group alike; those of too many devices are alike when they read alike."""
    if one == other:
        return True
    if one is None or other is None:
        return False
    here, there = _numbers(one, MOST_DEVICES), _numbers(other, MOST_DEVICES)
    return here is not None and here == there


def _numbers(groups: ReplicaGroups, most: int) -> Groups | None:
    """The numbers as the text has them, None where they are too many or not readable."""
    if len(groups.text) > _LONGEST_DEVICE * most:
        return None
    if groups.form != "list":
        size, count = groups.group_size, groups.group_count
        if size is None or count is None or size * count > most:
            return None
        # The device list that the text takes them from may be claimed to be longer.
        if any(prod(map(int, sizes.split(","))) > most for sizes in _SOURCE.findall(groups.text)):
            return None
    return groups.expand()
