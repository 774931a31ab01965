"""What opcodes say about themselves: collectives, asynchronous halves, what counts as one.

Given instructions alone, without their module. What an `async-start` wraps stands in the
computation it calls and is not looked up here (`async_pairs.py` does that).
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, cast

from hlo_parser import Instruction

AsyncRole = Literal["start", "update", "done"]

# Opcodes that move data between devices. `send` and `recv` are what collective-permute becomes
# when it is taken apart (xla/service/collective_permute_decomposer.cc).
COLLECTIVES = frozenset(
    {
        "all-gather",
        "all-reduce",
        "all-to-all",
        "collective-broadcast",
        "collective-permute",
        "ragged-all-to-all",
        "recv",
        "reduce-scatter",
        "send",
    }
)

# The asynchronous forms that are opcodes of their own; every other `X-start` is another spelling
# of `async-start` around X (xla/hlo/ir/hlo_instruction.cc, print options `syntax_sugar_async_ops`).
NATIVE_ASYNC = frozenset({"all-gather", "all-reduce", "collective-permute", "copy", "send", "recv"})

# Targets by which libtpu marks the ends of a collective that runs inside fusions.
# More than any release has; a hostile text may have any number.
_MOST_OPCODES = 1_024
TPU_START = "AsyncCollectiveStart"
TPU_DONE = "AsyncCollectiveDone"


@lru_cache(maxsize=_MOST_OPCODES)
def async_role(opcode: str) -> AsyncRole | None:
    """Which part of an asynchronous operation an instruction of this opcode is."""
    if opcode.endswith("-start") or opcode in ("send", "recv"):
        return "start"
    if opcode.endswith("-done"):
        return "done"
    if opcode.endswith("-update"):
        return "update"
    return None


@lru_cache(maxsize=_MOST_OPCODES)
def base_opcode(opcode: str) -> str | None:
    """The operation that an opcode begins: `all-gather` for `all-gather-start`.

    None where the line begins nothing of its own: updates, dones, and `async-start`, whose
    operation stands in the computation it calls.
    """
    role = async_role(opcode)
    if role is None or opcode in ("send", "recv"):
        return opcode
    if role != "start" or opcode == "async-start":
        return None
    return opcode.removesuffix("-start")


@lru_cache(maxsize=_MOST_OPCODES)
def _base_collective(opcode: str) -> str | None:
    base = base_opcode(opcode)
    return base if base in COLLECTIVES else None


def collective_opcode(instruction: Instruction) -> str | None:
    """The collective that this instruction begins, None for everything else.

    Transfers to and from the host are no collectives. libtpu (0.0.50) repeats a fused collective
    in each fusion that drives it onwards; those with `"flag_start":"2"` in their
    `async_collective_fusion_config` continue one that began elsewhere.
    """
    opcode = _base_collective(instruction.opcode)
    if opcode is None:
        return None
    if opcode in ("send", "recv"):
        return None if instruction.attributes.get("is_host_transfer") == "true" else opcode
    flag = config_value(instruction.backend_config, "async_collective_fusion_config", "flag_start")
    return None if isinstance(flag, str) and flag.isdecimal() else opcode


def config_value(config: object, *path: str) -> object:
    """The value at `path` in a parsed backend config; None where a key is missing."""
    for key in path:
        if not isinstance(config, dict):
            return None
        config = cast(Mapping[str, object], config).get(key)
    return config


def group_config(config: object, group: str) -> object:
    """The part of a GPU backend config named `group`, e.g. `collective_backend_config`.

    Until January 2024 that inner message stood alone, without the outer keys.
    """
    inner = config_value(config, group)
    return config if inner is None else inner
