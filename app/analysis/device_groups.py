"""The devices that take part in a collective, and the mesh axes it runs along.

Numbers in replica groups mean devices, partitions or replicas, depending on opcode, channel and
`use_global_device_ids`; here they all become devices, numbered as XLA does, replica times
partitions plus partition. Reads one instruction and its module's header.
"""

import re
from math import prod
from typing import Literal

from app.analysis.opcodes import collective_opcode
from hlo_parser import Instruction, Module, ReplicaGroups

MOST_DEVICES = 64
"""Groups of more devices than this, all together, are not written out."""

Groups = tuple[tuple[int, ...], ...]
Meaning = Literal["devices", "partitions", "replicas", "replicas_with_partitions"]

# Collectives whose groups name replicas, each with all its partitions, when they have a channel
# but no global ids; the others then name partitions.
_OF_REPLICAS = frozenset({"all-gather", "all-reduce", "reduce-scatter"})

_LONGEST_TEXT = 20 * MOST_DEVICES
_SOURCE = re.compile(r"(?:<=|device_ids=\()\s*+\[(\d{1,9}(?:,\d{1,9}){0,9})\]")
_AXES_USED = re.compile(r"mesh\[[^\]]*+\][^{]*+\{([^{}]*+)\}")
_AXIS_USE = re.compile(r"""(?:'([^']*+)'|"([^"]*+)")(?:\s*+:\s*+(\(\d{1,12}\)\s*+\d{1,12}))?+""")


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


def devices_of(module: Module, instruction: Instruction) -> Groups:
    """The groups as devices; () where there are no groups, one device, or too many to show."""
    groups = instruction.replica_groups
    replicas, partitions = module.header.replica_count, module.header.num_partitions
    everyone = replicas * partitions
    if groups is None or not 1 < everyone <= MOST_DEVICES:
        return ()
    numbers = _numbers(groups)
    if numbers is None:
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
    return found if sum(map(len, found)) <= MOST_DEVICES else ()


def mesh_axes(groups: ReplicaGroups | None) -> tuple[str, ...]:
    """The axes that the groups run along, where they are printed as parts of a mesh.

    A part of an axis reads `x:(2)4`: four steps, each two devices apart. Meshes that XLA made up
    itself have axes called `axis_0`.
    """
    found = None if groups is None else _AXES_USED.fullmatch(groups.text)
    if found is None:
        return ()
    return tuple(
        (first or second) + (f":{part}" if part else "")
        for first, second, part in _AXIS_USE.findall(found.group(1))
    )


def is_same_groups(one: ReplicaGroups | None, other: ReplicaGroups | None) -> bool:
    """Whether two texts group alike; those of too many devices are alike when they read alike."""
    if one == other:
        return True
    if one is None or other is None:
        return False
    here, there = _numbers(one), _numbers(other)
    return here is not None and here == there


def _numbers(groups: ReplicaGroups) -> Groups | None:
    """The numbers as the text has them, None where they are too many or not readable."""
    if len(groups.text) > _LONGEST_TEXT:
        return None
    if groups.form != "list":
        size, count = groups.group_size, groups.group_count
        if size is None or count is None or size * count > MOST_DEVICES:
            return None
        # The device list that the text takes them from may be claimed to be longer.
        if any(
            prod(map(int, sizes.split(","))) > MOST_DEVICES
            for sizes in _SOURCE.findall(groups.text)
        ):
            return None
    return groups.expand()
