"""What the attributes of an instruction say, apart from how a release spells it.

Given an instruction and its module, gives the attributes that count for what is computed, by key,
as values that are equal for equal meaning. Paths and the addresses of callbacks are left out,
shardings and replica groups are read (see `canonical_sharding`), and of XLA's own backend configs
fields that hold nothing do not count: which of these are printed differs from release to release.
The config of somebody's custom call counts as it stands.
"""

import json
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from app.analysis.canonical_payload import without_paths
from app.analysis.canonical_sharding import (
    Meaning,
    closed,
    meshes_of,
    sharding_meaning,
    shardy_meaning,
)
from app.analysis.device_groups import devices_of, meaning_of_groups
from app.analysis.fingerprints import UNCOUNTED_KEYS
from hlo_parser import Header, Instruction, Module
from hlo_parser.possessive import compile_pattern

_COMMENT = compile_pattern(r"/\*.*?\*/", re.S)
_METADATA = compile_pattern(
    r"(?:,?\s*+)?metadata=\{(?:[^{}\"]++|\"(?:[^\"\\]++|\\.)*+\"|\{[^{}]*+\})*+\}"
)
_FINGERPRINT = compile_pattern(r'(?:,\s*+)?fingerprint_before_lhs="[^"]*+"')
_MESHES = compile_pattern(
    r'(?:,\s*+)?xla\.sdy\.meshes=(?:\{(?:[^{}"]++|"[^"]*+")*+\}|"(?:[^"\\]++|\\.)*+")'
)
_SHARDY = compile_pattern(r'(?:,\s*+)?xla\.sdy\.sharding="(?:[^"\\]++|\\.)*+"')
_NUMBER_ALONE = compile_pattern(r'"?\d++"?')
# A channel's number only tells channels apart.
_NOT_COUNTED = UNCOUNTED_KEYS | {"channel_id"}
_SHARDY_KEY = "xla.sdy.sharding"
# What XLA calls by a name of its own takes a message of its own.
_OWN_TARGETS = "__"
_NOTHING = ("", "DEFAULT", "ALG_UNSET")


@dataclass(frozen=True, slots=True)
class Setting:
    """What attributes are read by: the counts of devices as the header states them, its meshes."""

    counts: tuple[str | None, ...]
    meshes: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, header: Header) -> "Setting":
        """The setting of a module."""
        counts = tuple(map(header.attributes.get, ("num_partitions", "replica_count")))
        return cls(counts, tuple(meshes_of(header).items()))


def header_attributes(header: Header) -> Mapping[str, str]:
    """Those of a module that count and hold something; meshes count where they are used."""
    found: dict[str, str] = {}
    for key, text in header.attributes.items():
        text = _FINGERPRINT.sub("", plain(text))
        if key == "frontend_attributes":
            text = _MESHES.sub("", text).replace("{,", "{", 1)
        if text != "{}":
            found[key] = without_paths(text)
    return found


def counted_attributes(
    module: Module, setting: Setting, instruction: Instruction
) -> Mapping[str, Hashable]:
    """The values by key; `frontend_attributes` lack a sharding that `sharding` says, too."""
    found: dict[str, Hashable] = {}
    for key, text in instruction.attributes.items():
        if key in _NOT_COUNTED:
            continue
        if key == "backend_config":
            found[key] = _config(instruction, text)
        elif key == "replica_groups":
            devices = devices_of(module, instruction)
            found[key] = meaning_of_groups(instruction), devices or plain(text)
        elif key == "sharding":
            found[key] = _sharding(text)
        else:
            found[key] = without_paths(text)
    told = instruction.attributes.get("frontend_attributes", "")
    if "sharding" in found and _SHARDY_KEY in told:
        _merge_shardy(setting, instruction, found)
    rest = found.get("frontend_attributes")
    if isinstance(rest, str) and "@" in rest:
        # What is said there of a mesh says it by the mesh's name.
        found["frontend_attributes"] = rest, setting.meshes
    return found


def plain(text: str) -> str:
    """The text without comments, which number the elements of long tuples."""
    return _COMMENT.sub("", text) if "/*" in text else text


def _sharding(text: str) -> Meaning:
    return sharding_meaning(plain(_METADATA.sub("", text) if "metadata" in text else text))


def _merge_shardy(setting: Setting, instruction: Instruction, found: dict[str, Hashable]) -> None:
    """Leave out of the frontend attributes what Shardy says once more (until jaxlib 0.10)."""
    text = instruction.frontend_attributes.get(_SHARDY_KEY, "").replace('"', "'")
    meaning = shardy_meaning(text, dict(setting.meshes))
    if closed(meaning) != closed(cast(Meaning, found["sharding"])):
        return
    found["sharding"] = meaning
    rest = _SHARDY.sub("", instruction.attributes["frontend_attributes"]).replace("{,", "{", 1)
    if rest == "{}":
        del found["frontend_attributes"]
    else:
        found["frontend_attributes"] = without_paths(rest)


def _config(instruction: Instruction, text: str) -> str:
    target = instruction.custom_call_target
    if target is None or target.startswith(_OWN_TARGETS):
        held = instruction.backend_config
        if isinstance(held, dict):
            entries = _without_nothing(cast("dict[str, Any]", held))
            return without_paths(json.dumps(entries, sort_keys=True, separators=(",", ":")))
    elif "callback" in target and _NUMBER_ALONE.fullmatch(text):
        # The address of a Python callback (jaxlib until 0.5), another one in each run.
        return ""
    return without_paths(text)


def _without_nothing(value: Any) -> Any:
    """Numbers stay: an algorithm 0 may have been chosen."""
    if isinstance(value, list):
        return [_without_nothing(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    entries = {key: _without_nothing(item) for key, item in cast("dict[str, Any]", value).items()}
    return {key: item for key, item in entries.items() if not _is_nothing(item)}


def _is_nothing(value: Any) -> bool:
    return value is False or value is None or value in ([], {}) or value in _NOTHING
