"""The header line and the frame tables of a module, from its proto.

Given a decoded module, gives text. The proto does not hold the whole configuration of a module:
`replica_count` and `num_partitions` come from its device assignment, and what the SPMD
partitioner may propagate (`allow_spmd_sharding_propagation_to_*`) is not there at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hlo_parser.proto.names import legal_name
from hlo_parser.proto.schema import AliasEntryProto, HloModuleProto, StackFrameIndexProto
from hlo_parser.proto.shape_text import braced, program_layout_text
from hlo_parser.proto.value_text import frontend_attributes_text, quoted

_ALIAS_KINDS = {1: "may-alias", 2: "must-alias"}


def header_text(module: HloModuleProto, notes: list[str]) -> str:
    """`HloModule name, key=value, ...` (xla/hlo/ir/hlo_module.cc, HloModule::Print)."""
    parts = [f"HloModule {legal_name(module.name, notes)}", *_attributes(module, notes)]
    return ", ".join(parts)


def _attributes(module: HloModuleProto, notes: list[str]) -> Iterator[str]:
    if module.HasField("schedule"):
        yield "is_scheduled=true"
    if aliases := module.input_output_alias.entries:
        yield f"input_output_alias={{ {', '.join(_alias(alias, notes) for alias in aliases)} }}"
    if donors := module.buffer_donor.entries:
        entries = (
            f"({donor.parameter_number}, {braced(donor.parameter_shape_index)})" for donor in donors
        )
        yield f"buffer_donor={{ {', '.join(entries)} }}"
    if module.HasField("host_program_shape"):
        layout = program_layout_text(module.host_program_shape, notes)
        yield f"entry_computation_layout={layout}"
    devices = module.device_assignment
    if devices.replica_count > 1:
        yield f"replica_count={devices.replica_count}"
    if devices.computation_count > 1:
        yield f"num_partitions={devices.computation_count}"
    if attributes := frontend_attributes_text(module.frontend_attributes.map, notes):
        yield f"frontend_attributes={attributes}"
    if module.original_value_recovery_table:
        notes.append("origin_recovery_table is not read from protos")


def _alias(alias: AliasEntryProto, notes: list[str]) -> str:
    kind = _ALIAS_KINDS.get(alias.kind)
    if kind is None:
        notes.append(f"alias kind {alias.kind} is not known")
    parameter = f"{alias.parameter_number}, {braced(alias.parameter_shape_index)}"
    return f"{braced(alias.output_shape_index)}: ({parameter}{f', {kind}' if kind else ''})"


def frame_lines(index: StackFrameIndexProto) -> Iterator[str]:
    """The four tables, each with an empty line behind it, the last with two; or nothing."""
    if not (index.file_names or index.stack_frames):
        return
    yield from _table("FileNames", map(quoted, index.file_names))
    yield from _table("FunctionNames", map(quoted, index.function_names))
    locations = (
        f"{{file_name_id={row.file_name_id} function_name_id={row.function_name_id}"
        f" line={row.line} end_line={row.end_line}"
        f" column={row.column} end_column={row.end_column}}}"
        for row in index.file_locations
    )
    yield from _table("FileLocations", locations)
    # Parents are printed one too high: 1 means none (xla/hlo/ir/hlo_module.cc).
    frames = (
        f"{{file_location_id={row.file_location_id} parent_frame_id={row.parent_frame_id + 1}}}"
        for row in index.stack_frames
    )
    yield from _table("StackFrames", frames)
    yield ""


def _table(title: str, rows: Iterable[str]) -> Iterator[str]:
    yield title
    for number, row in enumerate(rows, 1):
        yield f"{number} {row}"
    yield ""
