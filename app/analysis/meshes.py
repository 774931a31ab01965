"""The meshes of a program, and the mesh axes that collectives run along.

A mesh is stated by the `xla.sdy.meshes` that Shardy leaves in the header of the first texts, by
shardings in their newest printing (`{mesh['dp'=2,'tp'=4], [{'dp'}, {}]}`) and by replica groups
printed alike. Groups that XLA prints over a mesh of its own, whose axes are the tiles of one
sharding (`mesh['axis_0'=8,'axis_1'=1] {'axis_0'}`), and groups that are plain numbers are compared
with the stated meshes as sets of sets. Given a history; gives nothing where no axis fits.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from app.analysis.device_groups import (
    Groups,
    Meaning,
    Pairs,
    devices_of,
    meaning_of_groups,
    pairs_of,
)
from app.analysis.tiles import mesh_of_tiles
from app.model.collective import AxesFrom
from app.model.dump import ModuleHistory
from app.model.mesh import Mesh, MeshAxis
from hlo_parser import Computation, Header, Instruction, Module, ReplicaGroups
from hlo_parser.possessive import compile_pattern

MOST_DEVICES = 1 << 16
"""Axes of larger meshes are not looked for."""

_MOST_MESHES = 16
_HEADER_KEY = "xla.sdy.meshes"
_SDY_MESH = compile_pattern(
    r"(?P<name>[\w.$-]{1,200}+)\s*+=\s*+#sdy\.mesh<\[(?P<axes>[^\]]*+)\]"
    r"(?:\s*+,\s*+device_ids\s*+=\s*+\[(?P<ids>[\d,\s]*+)\])?+\s*+>"
)
_SDY_AXIS = compile_pattern(r'\\*+"(?P<name>[^"\\]++)\\*+"\s*+=\s*+(?P<size>\d{1,9})')
PRINTED_MESH = compile_pattern(
    r"mesh\[(?P<axes>[^\]]*+)\](?:\s*+,\s*+device_ids=\((?P<ids>[^()]*+(?:\([^()]*+\))?+)\))?+"
)
_PRINTED_AXIS = compile_pattern(
    r"""(?:'(?P<one>[^']*+)'|"(?P<two>[^"]*+)")\s*+=\s*+(?P<size>\d{1,9})"""
)
_IOTA_IDS = compile_pattern(r"\[([\d,\s]++)\]\s*+(?:T\(([\d,\s]++)\))?+")
_MADE_UP = compile_pattern(r"axis_\d+")
_AXES_USED = compile_pattern(
    r"mesh\[[^\]]*+\](?:\s*+,\s*+device_ids=\([^()]*+(?:\([^()]*+\))?+\))?+\s*+\{([^{}]*+)\}"
)
_AXIS_USE = compile_pattern(
    r"""(?:'([^']*+)'|"([^"]*+)")(?:\s*+:\s*+\((\d{1,12})\)\s*+(\d{1,12}))?+"""
)


# A text names few meshes but may repeat them on every line.
_Named = tuple[str, tuple[MeshAxis, ...], tuple[int, ...]]


def find_meshes(history: ModuleHistory) -> tuple[Mesh, ...]:
    """The meshes that the texts of a module state, each once, in the order in which they occur.

    Where there is none, the one that the shardings of the first text with tiles allow.
    """
    found: dict[tuple[object, ...], Mesh] = {}
    for mesh in _stated(history):
        found.setdefault((mesh.axes, mesh.device_ids), mesh)
        if len(found) == _MOST_MESHES:
            break
    if found:
        return tuple(found.values())
    inferred = _inferred(history)
    return () if inferred is None else (inferred,)


class AxisNamer:
    """Names the axes that the collectives of one module run along."""

    def __init__(self, module: Module, meshes: Sequence[Mesh]) -> None:
        self._module = module
        self._meshes = {mesh.axes for mesh in meshes if mesh.standing == "stated"}
        everyone = module.header.replica_count * module.header.num_partitions
        self._grids = [_Grid(mesh) for mesh in meshes if _is_of(mesh, everyone)]
        self._known: dict[tuple[str, Meaning], tuple[tuple[str, ...], AxesFrom | None]] = {}

    def axes_of(self, instruction: Instruction) -> tuple[tuple[str, ...], AxesFrom | None]:
        """The axes in the order of the mesh, and what tells them; () where none fits.

        A part of an axis reads `x:(2)4`: four steps, each two devices apart. Of a permute they are
        those along which its pairs differ. Axes of one device are left out.
        """
        groups = instruction.replica_groups
        if groups is None:
            pairs = pairs_of(self._module, instruction, MOST_DEVICES)
            return self._first(grid.axes_of_pairs(pairs) for grid in self._grids)
        key = groups.text, meaning_of_groups(instruction)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._axes_of_groups(groups, instruction)
        return known

    def _axes_of_groups(
        self, groups: ReplicaGroups, instruction: Instruction
    ) -> tuple[tuple[str, ...], AxesFrom | None]:
        mesh = PRINTED_MESH.match(groups.text)
        if mesh is not None:
            axes = printed_axes(mesh["axes"])
            if axes in self._meshes or not _is_made_up(axes):
                printed = _axes_used(groups.text, axes)
                return printed, "groups" if printed else None
        devices = devices_of(self._module, instruction, MOST_DEVICES)
        return self._first(grid.axes_of_groups(devices) for grid in self._grids)

    def _first(self, answers: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], AxesFrom | None]:
        for grid, axes in zip(self._grids, answers, strict=True):
            if axes:
                return axes, "mesh" if grid.is_stated else "shardings"
        return (), None


class _Grid:
    """A mesh as coordinates of its devices."""

    def __init__(self, mesh: Mesh) -> None:
        self.is_stated = mesh.standing == "stated"
        self._axes = [axis for axis in mesh.axes if axis.size > 1]
        sizes = [axis.size for axis in self._axes]
        self._strides = [prod(sizes[position + 1 :]) for position in range(len(sizes))]
        self._devices = mesh.device_ids or tuple(range(prod(sizes)))
        self._place = {device: position for position, device in enumerate(self._devices)}

    def axes_of_groups(self, groups: Groups) -> tuple[str, ...]:
        """The axes over which the mesh falls into just these groups, in whatever order."""
        if not groups or len(groups[0]) < 2:
            return ()
        first = next((group for group in groups if self._devices[0] in group), ())
        places = [self._place.get(device) for device in first]
        used: list[tuple[str, int, int]] = []
        for axis, stride in zip(self._axes, self._strides, strict=True):
            steps = sorted({place // stride % axis.size for place in places if place is not None})
            if len(steps) > 1:
                if steps != list(range(0, steps[1] * len(steps), steps[1])):
                    return ()
                used.append((_use(axis, steps[1], len(steps)), steps[1] * stride, len(steps)))
        if not self.is_stated and any(":" in name for name, _, _ in used):
            return ()
        expected = self._groups_over([(stride, size) for _, stride, size in used])
        if expected != {frozenset(group) for group in groups}:
            return ()
        return tuple(name for name, _, _ in used)

    def _groups_over(self, used: Sequence[tuple[int, int]]) -> set[frozenset[int]]:
        """The devices that differ only in the given steps (distance in places and number)."""
        offsets = [0]
        for stride, size in used:
            offsets = [offset + step * stride for offset in offsets for step in range(size)]
        left = set(range(len(self._devices)))
        found: set[frozenset[int]] = set()
        for place in range(len(self._devices)):
            if place in left:
                places = [place + offset for offset in offsets]
                if not left.issuperset(places):
                    return set()
                left.difference_update(places)
                found.add(frozenset(self._devices[at] for at in places))
        return found

    def axes_of_pairs(self, pairs: Pairs) -> tuple[str, ...]:
        """The axes along which source and target of any pair differ."""
        places = [(self._place.get(source), self._place.get(target)) for source, target in pairs]
        if any(source is None or target is None for source, target in places):
            return ()
        return tuple(
            axis.name
            for axis, stride in zip(self._axes, self._strides, strict=True)
            if any(
                source // stride % axis.size != target // stride % axis.size
                for source, target in places
                if source is not None and target is not None
            )
        )


def _is_of(mesh: Mesh, everyone: int) -> bool:
    """Whether the mesh holds each of the module's devices once."""
    if prod(axis.size for axis in mesh.axes) != everyone or everyone > MOST_DEVICES:
        return False
    return not mesh.device_ids or sorted(mesh.device_ids) == list(range(everyone))


def _use(axis: MeshAxis, step: int, size: int) -> str:
    return axis.name if size == axis.size else f"{axis.name}:({step}){size}"


def _axes_used(text: str, axes: Sequence[MeshAxis]) -> tuple[str, ...]:
    """The axes behind a printed mesh, those of one device left out."""
    alone = {axis.name for axis in axes if axis.size < 2}
    found = _AXES_USED.fullmatch(text)
    return tuple(
        (first or second) + (f":({step}){size}" if size else "")
        for first, second, step, size in _AXIS_USE.findall(found[1] if found else "")
        if (first or second) not in alone
    )


# ---- what texts state ----------------------------------------------------------------------------


@dataclass(slots=True)
class _Seen:
    """What was looked at before: lists of attributes, which lines share, and values in them."""

    attributes: set[object] = field(default_factory=set[object])
    texts: set[str] = field(default_factory=set[str])


def _stated(history: ModuleHistory) -> Iterator[Mesh]:
    headers: set[Header] = set()
    computations: set[Computation] = set()
    seen = _Seen()
    for dump in history.dumps:
        header = dump.module.header
        named = () if header in headers else tuple(meshes_in_header(header))
        headers.add(header)
        fresh = [c for c in dump.module.computations if c not in computations]
        computations.update(fresh)
        for name, axes, ids in (*named, *_in_lines(fresh, seen)):
            yield Mesh(
                module=history.id,
                name=name,
                axes=axes,
                standing="stated",
                dump=dump.index,
                device_ids=ids,
            )


def meshes_in_header(header: Header) -> Iterator[_Named]:
    """Name, axes and devices, () for all in order, of the meshes that Shardy states there."""
    _, key, text = header.attributes.get("frontend_attributes", "").partition(_HEADER_KEY)
    for found in _SDY_MESH.finditer(text) if key else ():
        axes = tuple(
            MeshAxis(name=axis["name"], size=int(axis["size"]))
            for axis in _SDY_AXIS.finditer(found["axes"])
        )
        ids = tuple(map(int, re.findall(r"\d{1,9}", found["ids"] or "")))
        if axes:
            yield found["name"], axes, _unless_in_order(ids, axes)


def _in_lines(computations: Iterable[Computation], seen: _Seen) -> Iterator[_Named]:
    """Meshes in shardings and replica groups, those with made-up names left out."""
    for computation in computations:
        new = [i for i in computation.instructions if i.attribute_list not in seen.attributes]
        seen.attributes.update([instruction.attribute_list for instruction in new])
        for instruction in new:
            groups = instruction.replica_groups
            for text in (instruction.sharding, groups and groups.text):
                if text and "mesh[" in text and text not in seen.texts:
                    seen.texts.add(text)
                    yield from _printed_meshes(text)


def _printed_meshes(text: str) -> Iterator[_Named]:
    for found in PRINTED_MESH.finditer(text):
        axes = printed_axes(found["axes"])
        ids = printed_ids(found["ids"], axes)
        if axes and ids is not None and not _is_made_up(axes):
            yield "", axes, ids


def printed_axes(text: str) -> tuple[MeshAxis, ...]:
    """The axes that stand between the brackets of `mesh['x'=2,'y'=4]`."""
    return tuple(
        MeshAxis(name=found["one"] or found["two"], size=int(found["size"]))
        for found in _PRINTED_AXIS.finditer(text)
    )


def printed_ids(text: str | None, axes: Sequence[MeshAxis]) -> tuple[int, ...] | None:
    """The devices as listed; () where they stand in order, None where they are too many."""
    if text is None:
        return ()
    numbers = [int(word) for word in re.findall(r"\d{1,9}", text)]
    iota = _IOTA_IDS.fullmatch(text)
    if iota is None:
        return _unless_in_order(tuple(numbers), axes)
    count = prod(int(word) for word in re.findall(r"\d{1,9}", iota[1]))
    if count > MOST_DEVICES:
        return None
    (ids,) = ReplicaGroups(f"[1,{count}]<={text}").expand() or ((),)
    return _unless_in_order(ids, axes) if ids else None


def _unless_in_order(ids: tuple[int, ...], axes: Sequence[MeshAxis]) -> tuple[int, ...]:
    is_whole = len(ids) == prod(axis.size for axis in axes)
    return () if is_whole and ids == tuple(range(len(ids))) else ids


def _is_made_up(axes: Sequence[MeshAxis]) -> bool:
    return all(_MADE_UP.fullmatch(axis.name) for axis in axes)


def _inferred(history: ModuleHistory) -> Mesh | None:
    for dump in history.dumps:
        header = dump.module.header
        shardings = [
            instruction.sharding
            for computation in dump.module.computations
            for instruction in computation.instructions
            if instruction.sharding is not None and "devices=[" in instruction.sharding
        ]
        if shardings:
            sizes = mesh_of_tiles(
                dict.fromkeys(shardings), header.num_partitions * header.replica_count
            )
            axes = [
                MeshAxis(name=f"axis_{number}", size=size)
                for number, size in enumerate(sizes or ())
            ]
            if not axes:
                return None
            return Mesh(
                module=history.id,
                name="",
                axes=tuple(axes),
                standing="inferred",
                dump=dump.index,
            )
    return None
