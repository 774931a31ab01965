"""Replica groups in their three printed forms, and the devices they stand for.

`{{0,1},{2,3}}` (list), `[2,4]<=[4,2]T(1,0)` (iota, since 0.4.31) and
`mesh['a'=2,'b'=4] {'a'}` (mesh, since 0.10). Counts come from the text alone; the device lists
are made when asked for.
"""

from __future__ import annotations

import re
from itertools import pairwise
from math import prod
from typing import Literal as OneOf

from hlo_parser.possessive import compile_pattern

GroupsForm = OneOf["list", "iota", "mesh"]

MAX_DEVICES = 1 << 22
"""`expand` refuses texts that claim more devices than this."""

_GROUP = compile_pattern(r"\{([\d\s,]*+)\}")
_IOTA = compile_pattern(r"\[([\d,\s]++)\]\s*+<=\s*+\[([\d,\s]++)\]\s*+(?:T\(([\d,\s]++)\))?+")
# Names of axes may hold what they like, brackets too.
_NAME = r"""(?:'((?:[^'\\]++|\\.)*+)'|"((?:[^"\\]++|\\.)*+)")"""
_QUOTED = r"""'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+\""""
_MESH = compile_pattern(
    rf"""mesh\[(?P<axes>(?:{_QUOTED}|[^\]'"]++)*+)\]\s*+"""
    r"(?:,\s*+device_ids=\((?P<ids>[^()]*+(?:\([^()]*+\))?+)\)\s*+)?+"
    rf"""\{{(?P<over>(?:{_QUOTED}|[^{{}}'"]++)*+)\}}"""
)
_AXIS = compile_pattern(rf"{_NAME}\s*+=\s*+(\d{{1,12}})")
_AXIS_USE = compile_pattern(rf"{_NAME}(?:\s*+:\s*+\((\d{{1,12}})\)\s*+(\d{{1,12}}))?+")
_IDS_IOTA = compile_pattern(r"\[([\d,\s]++)\]\s*+(?:T\(([\d,\s]++)\))?+")


def _ints(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in re.findall(r"\d{1,18}", text))


def _strides(sizes: tuple[int, ...]) -> list[int]:
    strides = [1] * len(sizes)
    for index in range(len(sizes) - 2, -1, -1):
        strides[index] = strides[index + 1] * sizes[index + 1]
    return strides


def _offsets(sizes: tuple[int, ...], order: tuple[int, ...]) -> list[int]:
    """Row-major positions of an array of `sizes`, listed with its dimensions in `order`."""
    strides = _strides(sizes)
    offsets = [0]
    for dimension in order:
        stride = strides[dimension]
        offsets = [base + step * stride for base in offsets for step in range(sizes[dimension])]
    return offsets


def _iota(sizes: tuple[int, ...], permutation: tuple[int, ...]) -> list[int]:
    order = permutation or tuple(range(len(sizes)))
    if sorted(order) != list(range(len(sizes))):
        return []
    _check_count(prod(sizes))
    return _offsets(sizes, order)


def _check_count(count: int) -> None:
    if count > MAX_DEVICES:
        raise ValueError(f"{count} devices are too many to list (at most {MAX_DEVICES})")


class _Mesh:
    """The axes of a mesh split where sub-axes need it, and which parts the groups run over."""

    __slots__ = ("group_dims", "ids", "sizes")

    def __init__(self, match: re.Match[str]) -> None:
        axes = [
            (first or second, int(size)) for first, second, size in _AXIS.findall(match["axes"])
        ]
        used = [
            (first or second, int(before or 1), int(size) if size else None)
            for first, second, before, size in _AXIS_USE.findall(match["over"])
        ]
        cuts: dict[str, set[int]] = {name: {1, size} for name, size in axes}
        for name, before, size in used:
            if name in cuts and size is not None:
                cuts[name] |= {before, before * size}
        self.ids: str | None = match["ids"]
        sizes: list[int] = []
        place: dict[str, list[tuple[int, int]]] = {}
        for name, _ in axes:
            points = sorted(point for point in cuts[name] if point > 0)
            place[name] = []
            for low, high in pairwise(points):
                place[name].append((low, len(sizes)))
                sizes.append(high // low)
        whole = dict(axes)
        self.sizes: tuple[int, ...] = tuple(sizes)
        self.group_dims: tuple[int, ...] = tuple(
            dimension
            for name, before, size in used
            for low, dimension in place.get(name, ())
            if before <= low < before * (size if size is not None else whole[name])
        )

    @property
    def group_size(self) -> int:
        return prod(self.sizes[dimension] for dimension in self.group_dims)

    def devices(self) -> list[int]:
        """The device at each mesh position, row-major."""
        count = prod(self.sizes)
        _check_count(count)
        if self.ids is None:
            return list(range(count))
        iota = _IDS_IOTA.fullmatch(self.ids.strip())
        if iota is not None:
            return _iota(_ints(iota.group(1)), _ints(iota.group(2) or ""))
        return list(_ints(self.ids))


class ReplicaGroups:
    """Which devices take part together in a collective."""

    __slots__ = ("form", "text")

    text: str
    form: GroupsForm

    def __init__(self, text: str) -> None:
        self.text = text
        if text.startswith("mesh"):
            self.form = "mesh"
        else:
            self.form = "iota" if text.startswith("[") else "list"

    def __repr__(self) -> str:
        return f"ReplicaGroups({self.text[:80]!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReplicaGroups) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def expand(self) -> tuple[tuple[int, ...], ...]:
        """The groups as printed order has them; () means all devices in one group.

        Raises ValueError when the text claims more than `MAX_DEVICES` devices.
        """
        if self.form == "list":
            groups = tuple(_ints(group) for group in _GROUP.findall(self.text))
            return () if groups == ((),) else groups
        devices, size = self._devices()
        if size == 0:
            return ()
        return tuple(tuple(devices[start : start + size]) for start in range(0, len(devices), size))

    def _devices(self) -> tuple[list[int], int]:
        """All devices, group after group, and the size of a group; 0 when not readable."""
        iota = _IOTA.fullmatch(self.text)
        if iota is not None:
            shape = _ints(iota.group(1))
            devices = _iota(_ints(iota.group(2)), _ints(iota.group(3) or ""))
            return devices, shape[-1] if shape and prod(shape) == len(devices) else 0
        match = _MESH.fullmatch(self.text)
        if match is None:
            return [], 0
        mesh = _Mesh(match)
        devices = mesh.devices()
        others = tuple(d for d in range(len(mesh.sizes)) if d not in mesh.group_dims)
        offsets = _offsets(mesh.sizes, others + mesh.group_dims)
        if len(devices) != len(offsets):
            return [], 0
        return [devices[offset] for offset in offsets], mesh.group_size

    @property
    def group_size(self) -> int | None:
        """Devices in each group; None when groups differ in size or hold all devices."""
        if self.form == "list":
            sizes = {len(_ints(group)) for group in _GROUP.findall(self.text)}
            return sizes.pop() if len(sizes) == 1 and sizes != {0} else None
        iota = _IOTA.fullmatch(self.text)
        if iota is not None:
            return _ints(iota.group(1))[-1]
        match = _MESH.fullmatch(self.text)
        return _Mesh(match).group_size if match else None

    @property
    def group_count(self) -> int | None:
        """How many groups; 1 when all devices form one, None when not readable."""
        if self.form == "list":
            return max(1, len(_GROUP.findall(self.text)))
        iota = _IOTA.fullmatch(self.text)
        if iota is not None:
            return prod(_ints(iota.group(1))[:-1])
        match = _MESH.fullmatch(self.text)
        if match is None:
            return None
        mesh = _Mesh(match)
        return prod(mesh.sizes) // max(1, mesh.group_size)
