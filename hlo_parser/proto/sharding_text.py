"""Shardings, meshes and replica groups as XLA prints them.

Given decoded messages, gives the text of the attribute value. Three generations of each: lists of
devices, iota with reshape and transpose, and meshes with named axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hlo_parser.proto.schema import (
    AxisRefProto,
    DimensionSharding,
    HloInstructionProto,
    IotaReplicaGroupListProto,
    MeshProto,
    NamedShardingProto,
    OpSharding,
)
from hlo_parser.proto.shape_text import braced, int_list, with_indices

MetadataText = Callable[[bytes], str]
"""From encoded OpMetadata to what stands between its braces."""

# OpSharding::Type
_REPLICATED, _MAXIMAL, _TUPLE, _OTHER, _MANUAL, _UNKNOWN, _UNREDUCED = range(7)
_WORDS = {
    _REPLICATED: "replicated",
    _MAXIMAL: "maximal",
    _MANUAL: "manual",
    _UNKNOWN: "unknown",
    _UNREDUCED: "unreduced",
}
_LIKE = 1


def sharding_text(sharding: OpSharding, metadata: MetadataText, notes: list[str]) -> str:
    """A sharding with its braces (xla/hlo/ir/hlo_sharding.cc, HloSharding::Print)."""
    if sharding.HasField("named_sharding"):
        return _named_text(sharding.named_sharding, metadata)
    if sharding.type == _TUPLE:
        parts = [sharding_text(part, metadata, notes) for part in sharding.tuple_shardings]
        return f"{{{with_indices(parts)}}}"
    text = _body(sharding, notes)
    if sharding.is_shard_group:
        kind = "shard_like" if sharding.shard_group_type == _LIKE else "shard_as"
        text += f" {kind} {sharding.shard_group_id}"
    origins = [f"{{{metadata(data)}}}" for data in sharding.metadata]
    if len(origins) == 1:
        text += f" metadata={origins[0]}"
    elif origins:
        text += f" metadata={{{', '.join(origins)}}}"
    return f"{{{text}}}"


def _body(sharding: OpSharding, notes: list[str]) -> str:
    if sharding.type == _OTHER:
        return _tiled(sharding, notes)
    if sharding.type == _MAXIMAL:
        return f"maximal device={int_list(sharding.tile_assignment_devices)}"
    word = _WORDS.get(sharding.type)
    if word is None:
        notes.append(f"sharding type {sharding.type} is not known")
        return "unknown"
    return word


def _tiled(sharding: OpSharding, notes: list[str]) -> str:
    devices = (
        _iota(sharding.iota_reshape_dims, sharding.iota_transpose_perm)
        if sharding.iota_reshape_dims
        else int_list(sharding.tile_assignment_devices)
    )
    text = f"devices=[{int_list(sharding.tile_assignment_dimensions)}]{devices}"
    if sharding.replicate_on_last_tile_dim:
        return text + " last_tile_dim_replicate"
    if sharding.last_tile_dims:
        for kind in sharding.last_tile_dims:
            if kind not in _WORDS:
                notes.append(f"sharding type {kind} is not known")
        words = ", ".join(_WORDS.get(kind, "unknown") for kind in sharding.last_tile_dims)
        return f"{text} last_tile_dims={{{words}}}"
    return text


def _iota(reshape: Sequence[int], transpose: Sequence[int]) -> str:
    """`<=[4,2]T(1,0)`; one dimension has nothing to transpose."""
    text = f"<=[{int_list(reshape)}]"
    return f"{text}T({int_list(transpose)})" if len(reshape) > 1 and transpose else text


# ---- meshes --------------------------------------------------------------------------------------


def mesh_text(mesh: MeshProto) -> str:
    """`mesh['x'=2,'y'=4]`, with device ids where they are no iota (mesh_and_axis.cc)."""
    if not mesh.axes and len(mesh.device_ids) == 1:
        return f"maximal_mesh[device_id={mesh.device_ids[0]}]"
    axes = ",".join(f"{_axis_name(axis.name)}={axis.size}" for axis in mesh.axes)
    text = f"mesh[{axes}]"
    if mesh.HasField("iota_transform"):
        iota = mesh.iota_transform
        order = f"T({int_list(iota.transpose_perm)})" if len(iota.reshape_dims) > 1 else ""
        return f"{text}, device_ids=([{int_list(iota.reshape_dims)}]{order})"
    if mesh.device_ids:
        return f"{text}, device_ids=({int_list(mesh.device_ids)})"
    return text


def _axis_name(name: bytes) -> str:
    text = name.decode("utf-8", errors="backslashreplace")
    return "'" + "".join(c if c.isprintable() and c not in "'\"[]{}\\" else "_" for c in text) + "'"


def _axis_text(axis: AxisRefProto, mesh: MeshProto) -> str:
    index = axis.mesh_axis_index
    name = _axis_name(mesh.axes[index].name) if 0 <= index < len(mesh.axes) else f"'{index}'"
    if axis.HasField("sub_axis_info"):
        return f"{name}:({axis.sub_axis_info.pre_size}){axis.sub_axis_info.size}"
    return name


def _axes(axes: Sequence[AxisRefProto], mesh: MeshProto, separator: str) -> str:
    return separator.join(_axis_text(axis, mesh) for axis in axes)


def _named_text(sharding: NamedShardingProto, metadata: MetadataText) -> str:
    mesh = sharding.mesh
    text = mesh_text(mesh)
    if mesh.axes or not mesh.device_ids:
        text += f", {_named_body(sharding, mesh)}"
    if sharding.metadata:
        text += f", metadata={{{', '.join(f'{{{metadata(data)}}}' for data in sharding.metadata)}}}"
    return f"{{{text}}}"


def _named_body(sharding: NamedShardingProto, mesh: MeshProto) -> str:
    parts = {
        "replicated": sharding.replicated_axes,
        "unreduced": sharding.unreduced_axes,
        "manual": sharding.manual_axes,
    }
    given = [(word, axes) for word, axes in parts.items() if axes]
    if not sharding.dim_shardings:
        if not given:
            return "replicated"
        word, axes = given[0]
        if len(given) == 1 and word != "replicated" and _is_whole(axes, mesh):
            return word
    dimensions = ", ".join(_dimension(dimension, mesh) for dimension in sharding.dim_shardings)
    lists = (f", {word}={{{_axes(axes, mesh, ', ')}}}" for word, axes in given)
    return f"[{dimensions}]{''.join(lists)}"


def _is_whole(axes: Sequence[AxisRefProto], mesh: MeshProto) -> bool:
    """Whether the axes are all axes of the mesh, none of them in parts."""
    return [axis.mesh_axis_index for axis in axes] == list(range(len(mesh.axes))) and not any(
        axis.HasField("sub_axis_info") for axis in axes
    )


def _dimension(dimension: DimensionSharding, mesh: MeshProto) -> str:
    parts = [_axis_text(axis, mesh) for axis in dimension.axes]
    if not dimension.is_closed:
        parts.append("?")
    return f"{{{', '.join(parts)}}}"


# ---- replica groups ------------------------------------------------------------------------------


def replica_groups_text(instruction: HloInstructionProto) -> str:
    """The value of `replica_groups`, from whichever field this release uses."""
    if instruction.HasField("mesh_axes_replica_group_list"):
        groups = instruction.mesh_axes_replica_group_list
        return f"{mesh_text(groups.mesh)} {{{_axes(groups.axes, groups.mesh, ',')}}}"
    if instruction.HasField("iota_collective_device_list"):
        return _iota_groups(instruction.iota_collective_device_list)
    listed = instruction.replica_groups
    if instruction.HasField("collective_device_list"):
        devices = instruction.collective_device_list
        if devices.HasField("iota_replica_group_list"):
            return _iota_groups(devices.iota_replica_group_list)
        listed = devices.replica_groups
    return f"{{{','.join(braced(group.replica_ids) for group in listed)}}}"


def _iota_groups(groups: IotaReplicaGroupListProto) -> str:
    shape = f"[{groups.num_replica_groups},{groups.num_devices_per_group}]"
    return shape + _iota(groups.iota_reshape_dims, groups.iota_transpose_perm)
