# ruff: noqa: D101 -- each class is the message of that name in XLA's .proto files
"""The fields of HloProto that are read: one class a message, one annotation a field.

Field numbers are facts of xla/service/hlo.proto and xla/xla_data.proto: those of jaxlib 0.10.2,
and those that older releases wrote. An annotation gives the number of its field, the type its
wire type (`wire.py` makes message classes of them). What repeats itself a lot and is a message of
its own (shapes, metadata, shardings) stands as bytes here, so that equal bytes are decoded once;
strings are bytes, since nothing promises that they are UTF-8; enumerations are numbers, since a
newer release may add to them. Holds no code; it is one table, and as long as that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated


class Message:
    """A decoded message: what its annotations name, with proto3's defaults where absent."""

    UNREAD: frozenset[int] = frozenset()
    """Fields that are known, and not read because no text ever showed them."""

    if TYPE_CHECKING:
        # Of protobuf's runtime, whose classes these describe.
        def HasField(self, field_name: str, /) -> bool:
            """Whether a field that is not repeated was given."""
            ...


# ---- shapes --------------------------------------------------------------------------------------


class TileProto(Message):
    dimensions: Annotated[Sequence[int], 1]


class SplitConfigProto(Message):
    dimension: Annotated[int, 1]
    split_indices: Annotated[Sequence[int], 2]


class LayoutProto(Message):
    minor_to_major: Annotated[Sequence[int], 1]
    tiles: Annotated[Sequence[TileProto], 6]
    element_size_in_bits: Annotated[int, 7]
    memory_space: Annotated[int, 8]
    dim_level_types: Annotated[Sequence[int], 9]
    physical_shape: Annotated[ShapeProto, 10]
    index_primitive_type: Annotated[int, 11]
    pointer_primitive_type: Annotated[int, 12]
    dim_unique: Annotated[Sequence[bool], 13]
    dim_ordered: Annotated[Sequence[bool], 14]
    dynamic_shape_metadata_prefix_bytes: Annotated[int, 15]
    tail_padding_alignment_in_elements: Annotated[int, 16]
    split_configs: Annotated[Sequence[SplitConfigProto], 17]


class ShapeProto(Message):
    element_type: Annotated[int, 2]
    dimensions: Annotated[Sequence[int], 3]
    tuple_shapes: Annotated[Sequence[ShapeProto], 4]
    layout: Annotated[LayoutProto, 5]
    is_dynamic_dimension: Annotated[Sequence[bool], 6]


class ProgramShapeProto(Message):
    parameters: Annotated[Sequence[ShapeProto], 1]
    result: Annotated[ShapeProto, 2]
    parameter_names: Annotated[Sequence[bytes], 3]


class LiteralProto(Message):
    """Packed floats are bytes here: their bits are kept and large arrays cost nothing."""

    shape: Annotated[ShapeProto, 1]
    preds: Annotated[Sequence[bool], 2]
    u8s: Annotated[bytes, 3]
    s32s: Annotated[Sequence[int], 4]
    s64s: Annotated[Sequence[int], 5]
    u32s: Annotated[Sequence[int], 6]
    u64s: Annotated[Sequence[int], 7, "uint64"]
    f32s: Annotated[bytes, 8]
    f64s: Annotated[bytes, 9]
    tuple_literals: Annotated[Sequence[LiteralProto], 10]
    f16s: Annotated[bytes, 11]
    c64s: Annotated[bytes, 12]
    bf16s: Annotated[bytes, 13]
    sparse_indices: Annotated[Sequence[int], 14]
    s8s: Annotated[bytes, 15]
    u16s: Annotated[bytes, 16]
    s16s: Annotated[bytes, 17]
    c128s: Annotated[bytes, 18]
    f8e5m2s: Annotated[bytes, 19]
    f8e4m3fns: Annotated[bytes, 20]
    s4s: Annotated[bytes, 21]
    u4s: Annotated[bytes, 22]
    f8e4m3b11fnuzs: Annotated[bytes, 23]
    f8e5m2fnuzs: Annotated[bytes, 24]
    f8e4m3fnuzs: Annotated[bytes, 25]
    s2s: Annotated[bytes, 26]
    u2s: Annotated[bytes, 27]
    f8e4m3s: Annotated[bytes, 28]
    f8e3m4s: Annotated[bytes, 29]
    s1s: Annotated[bytes, 30]
    u1s: Annotated[bytes, 31]
    f4e2m1fns: Annotated[bytes, 32]
    f8e8m0fnus: Annotated[bytes, 33]
    dynamic_sizes: Annotated[Sequence[int], 34]
    f6e3m2fns: Annotated[bytes, 35]
    f6e2m3fns: Annotated[bytes, 36]


# ---- dimension numbers and options ---------------------------------------------------------------


class WindowDimension(Message):
    size: Annotated[int, 1]
    stride: Annotated[int, 2]
    padding_low: Annotated[int, 3]
    padding_high: Annotated[int, 4]
    window_dilation: Annotated[int, 5]
    base_dilation: Annotated[int, 6]
    window_reversal: Annotated[bool, 7]


class Window(Message):
    dimensions: Annotated[Sequence[WindowDimension], 1]


class ConvolutionDimensionNumbers(Message):
    kernel_input_feature_dimension: Annotated[int, 3]
    kernel_output_feature_dimension: Annotated[int, 4]
    kernel_spatial_dimensions: Annotated[Sequence[int], 6]
    input_batch_dimension: Annotated[int, 7]
    input_feature_dimension: Annotated[int, 8]
    output_batch_dimension: Annotated[int, 9]
    output_feature_dimension: Annotated[int, 10]
    input_spatial_dimensions: Annotated[Sequence[int], 11]
    output_spatial_dimensions: Annotated[Sequence[int], 12]


class SliceDimensions(Message):
    start: Annotated[int, 1]
    limit: Annotated[int, 2]
    stride: Annotated[int, 3]


class PaddingConfigDimension(Message):
    edge_padding_low: Annotated[int, 1]
    edge_padding_high: Annotated[int, 2]
    interior_padding: Annotated[int, 3]


class PaddingConfig(Message):
    dimensions: Annotated[Sequence[PaddingConfigDimension], 1]


class DotDimensionNumbers(Message):
    lhs_contracting_dimensions: Annotated[Sequence[int], 1]
    rhs_contracting_dimensions: Annotated[Sequence[int], 2]
    lhs_batch_dimensions: Annotated[Sequence[int], 3]
    rhs_batch_dimensions: Annotated[Sequence[int], 4]


class RaggedDotDimensionNumbers(Message):
    dot_dimension_numbers: Annotated[DotDimensionNumbers, 1]
    lhs_ragged_dimensions: Annotated[Sequence[int], 2]
    rhs_group_dimensions: Annotated[Sequence[int], 3]


class GatherDimensionNumbers(Message):
    offset_dims: Annotated[Sequence[int], 1]
    collapsed_slice_dims: Annotated[Sequence[int], 2]
    start_index_map: Annotated[Sequence[int], 3]
    index_vector_dim: Annotated[int, 4]
    operand_batching_dims: Annotated[Sequence[int], 5]
    start_indices_batching_dims: Annotated[Sequence[int], 6]


class ScatterDimensionNumbers(Message):
    update_window_dims: Annotated[Sequence[int], 1]
    inserted_window_dims: Annotated[Sequence[int], 2]
    scatter_dims_to_operand_dims: Annotated[Sequence[int], 3]
    index_vector_dim: Annotated[int, 4]
    input_batching_dims: Annotated[Sequence[int], 5]
    scatter_indices_batching_dims: Annotated[Sequence[int], 6]


class TensorSparsityConfig(Message):
    num_non_zero: Annotated[int, 1]
    block_size: Annotated[int, 2]
    dimension: Annotated[int, 3]
    stride: Annotated[int, 4]


class SparsityConfig(Message):
    lhs: Annotated[TensorSparsityConfig, 1]
    rhs: Annotated[TensorSparsityConfig, 2]


class PrecisionConfig(Message):
    operand_precision: Annotated[Sequence[int], 1]
    algorithm: Annotated[int, 2]


class TriangularSolveOptions(Message):
    left_side: Annotated[bool, 1]
    lower: Annotated[bool, 2]
    unit_diagonal: Annotated[bool, 3]
    transpose_a: Annotated[int, 4]


class CholeskyOptions(Message):
    lower: Annotated[bool, 1]


class ParameterReplication(Message):
    replicated_at_leaf_buffers: Annotated[Sequence[bool], 1]


class OutputOperandAliasing(Message):
    output_shape_index: Annotated[Sequence[int], 1]
    operand_index: Annotated[int, 2]
    operand_shape_index: Annotated[Sequence[int], 3]


class Tolerance(Message):
    atol: Annotated[float, 1]
    rtol: Annotated[float, 2]
    ulps: Annotated[int, 3]


class ResultAccuracy(Message):
    mode: Annotated[int, 1]
    tolerance: Annotated[Tolerance, 2]


class Statistic(Message):
    stat_name: Annotated[bytes, 1]
    stat_val: Annotated[float, 2]


class StatisticsViz(Message):
    stat_index_to_visualize: Annotated[int, 1]
    statistics: Annotated[Sequence[Statistic], 2]


class MapEntry(Message):
    key: Annotated[bytes, 1]
    value: Annotated[bytes, 2]


class FrontendAttributes(Message):
    map: Annotated[Sequence[MapEntry], 1]


class OriginalArrayProto(Message):
    instruction_name: Annotated[bytes, 1]
    shape_index: Annotated[Sequence[int], 2]


class OriginalValueElementProto(Message):
    shape_index: Annotated[Sequence[int], 1]
    original_array: Annotated[OriginalArrayProto, 2]


class OriginalValueProto(Message):
    elements: Annotated[Sequence[OriginalValueElementProto], 1]
    is_synthetic_call: Annotated[bool, 2]


class Payload(Message):
    value: Annotated[bytes, 1]
    id: Annotated[int, 2]


class OpMetadata(Message):
    UNREAD = frozenset({6, 7, 8, 9, 10})

    op_type: Annotated[bytes, 1]
    op_name: Annotated[bytes, 2]
    source_file: Annotated[bytes, 3]
    source_line: Annotated[int, 4]
    profile_type: Annotated[Sequence[int], 5]
    deduplicated_name: Annotated[bytes, 12]
    stack_frame_id: Annotated[int, 15]
    scheduling_name: Annotated[bytes, 16]
    source_end_line: Annotated[int, 17]
    source_column: Annotated[int, 18]
    source_end_column: Annotated[int, 19]
    metadata_payload: Annotated[Payload, 20]


# ---- devices -------------------------------------------------------------------------------------


class MeshAxis(Message):
    name: Annotated[bytes, 1]
    size: Annotated[int, 2]


class IotaTransform(Message):
    reshape_dims: Annotated[Sequence[int], 1]
    transpose_perm: Annotated[Sequence[int], 2]


class MeshProto(Message):
    axes: Annotated[Sequence[MeshAxis], 1]
    device_ids: Annotated[Sequence[int], 2]
    iota_transform: Annotated[IotaTransform, 3]


class SubAxis(Message):
    pre_size: Annotated[int, 1]
    size: Annotated[int, 2]


class AxisRefProto(Message):
    mesh_axis_index: Annotated[int, 1]
    sub_axis_info: Annotated[SubAxis, 2]


class DimensionSharding(Message):
    axes: Annotated[Sequence[AxisRefProto], 1]
    is_closed: Annotated[bool, 2]


class NamedShardingProto(Message):
    mesh: Annotated[MeshProto, 2]
    dim_shardings: Annotated[Sequence[DimensionSharding], 3]
    replicated_axes: Annotated[Sequence[AxisRefProto], 4]
    unreduced_axes: Annotated[Sequence[AxisRefProto], 5]
    metadata: Annotated[Sequence[bytes], 6]
    manual_axes: Annotated[Sequence[AxisRefProto], 7]


class OpSharding(Message):
    UNREAD = frozenset({2})

    type: Annotated[int, 1]
    tile_assignment_dimensions: Annotated[Sequence[int], 3]
    tile_assignment_devices: Annotated[Sequence[int], 4]
    tuple_shardings: Annotated[Sequence[OpSharding], 5]
    replicate_on_last_tile_dim: Annotated[bool, 6]
    metadata: Annotated[Sequence[bytes], 7]
    last_tile_dims: Annotated[Sequence[int], 8]
    iota_reshape_dims: Annotated[Sequence[int], 9]
    iota_transpose_perm: Annotated[Sequence[int], 10]
    is_shard_group: Annotated[bool, 11]
    shard_group_id: Annotated[int, 12]
    shard_group_type: Annotated[int, 13]
    named_sharding: Annotated[NamedShardingProto, 14]


class ReplicaGroup(Message):
    replica_ids: Annotated[Sequence[int], 1]


class IotaReplicaGroupListProto(Message):
    num_replica_groups: Annotated[int, 1]
    num_devices_per_group: Annotated[int, 2]
    iota_reshape_dims: Annotated[Sequence[int], 3]
    iota_transpose_perm: Annotated[Sequence[int], 4]


class CollectiveDeviceListProto(Message):
    replica_groups: Annotated[Sequence[ReplicaGroup], 1]
    iota_replica_group_list: Annotated[IotaReplicaGroupListProto, 2]


class MeshAxesReplicaGroupListProto(Message):
    mesh: Annotated[MeshProto, 1]
    axes: Annotated[Sequence[AxisRefProto], 2]


class SourceTarget(Message):
    source: Annotated[int, 1]
    target: Annotated[int, 2]


# ---- instructions, computations, modules ---------------------------------------------------------


class HloInstructionProto(Message):
    name: Annotated[bytes, 1]
    opcode: Annotated[bytes, 2]
    shape: Annotated[bytes, 3]
    metadata: Annotated[bytes, 7]
    literal: Annotated[bytes, 8]
    parameter_number: Annotated[int, 9]
    fusion_kind: Annotated[bytes, 11]
    tuple_index: Annotated[int, 13]
    dimensions: Annotated[Sequence[int], 14]
    window: Annotated[Window, 15]
    convolution_dimension_numbers: Annotated[ConvolutionDimensionNumbers, 16]
    slice_dimensions: Annotated[Sequence[SliceDimensions], 17]
    exponent_bits: Annotated[int, 18]
    mantissa_bits: Annotated[int, 19]
    dynamic_slice_sizes: Annotated[Sequence[int], 20]
    padding_config: Annotated[PaddingConfig, 21]
    outfeed_config: Annotated[bytes, 22]
    distribution: Annotated[int, 23]
    epsilon: Annotated[float, 24, "float"]
    feature_index: Annotated[int, 25]
    channel_id: Annotated[int, 26]
    infeed_config: Annotated[bytes, 27]
    custom_call_target: Annotated[bytes, 28]
    outfeed_shape: Annotated[bytes, 29]
    dot_dimension_numbers: Annotated[DotDimensionNumbers, 30]
    fft_type: Annotated[int, 31]
    fft_length: Annotated[Sequence[int], 32]
    gather_dimension_numbers: Annotated[GatherDimensionNumbers, 33]
    gather_slice_sizes: Annotated[Sequence[int], 34]
    id: Annotated[int, 35]
    operand_ids: Annotated[Sequence[int], 36]
    control_predecessor_ids: Annotated[Sequence[int], 37]
    called_computation_ids: Annotated[Sequence[int], 38]
    sharding: Annotated[bytes, 40]
    backend_config: Annotated[bytes, 43]
    all_reduce_id: Annotated[int, 45]
    is_host_transfer: Annotated[bool, 47]
    scatter_dimension_numbers: Annotated[ScatterDimensionNumbers, 48]
    replica_groups: Annotated[Sequence[ReplicaGroup], 49]
    feature_group_count: Annotated[int, 50]
    precision_config: Annotated[PrecisionConfig, 51]
    source_target_pairs: Annotated[Sequence[SourceTarget], 52]
    domain_entry_sharding: Annotated[bytes, 54]
    domain_exit_sharding: Annotated[bytes, 55]
    constrain_layout: Annotated[bool, 56]
    operand_shapes_with_layout: Annotated[Sequence[bytes], 57]
    batch_group_count: Annotated[int, 58]
    triangular_solve_options: Annotated[TriangularSolveOptions, 59]
    is_stable: Annotated[bool, 60]
    parameter_replication: Annotated[ParameterReplication, 61]
    cholesky_options: Annotated[CholeskyOptions, 62]
    comparison_direction: Annotated[bytes, 63]
    custom_call_has_side_effect: Annotated[bool, 65]
    delta: Annotated[int, 66]
    indices_are_sorted: Annotated[bool, 67]
    frontend_attributes: Annotated[bytes, 68]
    unique_indices: Annotated[bool, 69]
    rng_algorithm: Annotated[int, 70]
    use_global_device_ids: Annotated[bool, 71]
    comparison_type: Annotated[bytes, 72]
    is_cross_program_prefetch: Annotated[bool, 73]
    output_operand_aliasing: Annotated[Sequence[OutputOperandAliasing], 74]
    padding_type: Annotated[int, 75]
    custom_call_schedule: Annotated[int, 76]
    custom_call_api_version: Annotated[int, 77]
    async_group_id: Annotated[int, 78]
    async_execution_thread: Annotated[bytes, 79]
    cross_program_prefetch_index: Annotated[int, 80]
    k: Annotated[int, 81]
    statistics_viz: Annotated[bytes, 82]
    largest: Annotated[bool, 85]
    collective_device_list: Annotated[CollectiveDeviceListProto, 87]
    original_value: Annotated[bytes, 88]
    is_composite: Annotated[bool, 89]
    ragged_dot_dimension_numbers: Annotated[RaggedDotDimensionNumbers, 90]
    result_accuracy: Annotated[ResultAccuracy, 91]
    iota_collective_device_list: Annotated[IotaReplicaGroupListProto, 92]
    mesh_axes_replica_group_list: Annotated[MeshAxesReplicaGroupListProto, 93]
    is_reverse: Annotated[bool, 94]
    num_carries: Annotated[int, 95]
    is_associative: Annotated[int, 96]
    conv_kind: Annotated[int, 97]
    sparsity_config: Annotated[SparsityConfig, 98]
    backend_config_payload: Annotated[Payload, 99]


class HloComputationProto(Message):
    UNREAD = frozenset({7})

    name: Annotated[bytes, 1]
    instructions: Annotated[Sequence[bytes], 2]
    program_shape: Annotated[bytes, 4]
    id: Annotated[int, 5]
    root_id: Annotated[int, 6]
    execution_thread: Annotated[bytes, 8]


class InstructionSequence(Message):
    instruction_ids: Annotated[Sequence[int], 1]


class SequencesEntry(Message):
    key: Annotated[int, 1]
    value: Annotated[InstructionSequence, 2]


class HloScheduleProto(Message):
    sequences: Annotated[Sequence[SequencesEntry], 1]


class AliasEntryProto(Message):
    output_shape_index: Annotated[Sequence[int], 1]
    parameter_number: Annotated[int, 2]
    parameter_shape_index: Annotated[Sequence[int], 3]
    kind: Annotated[int, 4]


class HloInputOutputAliasProto(Message):
    entries: Annotated[Sequence[AliasEntryProto], 1]


class BufferDonorEntryProto(Message):
    parameter_number: Annotated[int, 1]
    parameter_shape_index: Annotated[Sequence[int], 2]


class HloBufferDonorProto(Message):
    entries: Annotated[Sequence[BufferDonorEntryProto], 1]


class FileLocation(Message):
    file_name_id: Annotated[int, 1]
    function_name_id: Annotated[int, 2]
    line: Annotated[int, 3]
    column: Annotated[int, 4]
    end_line: Annotated[int, 5]
    end_column: Annotated[int, 6]


class StackFrame(Message):
    file_location_id: Annotated[int, 1]
    parent_frame_id: Annotated[int, 2]


class StackFrameIndexProto(Message):
    file_names: Annotated[Sequence[bytes], 1]
    function_names: Annotated[Sequence[bytes], 2]
    file_locations: Annotated[Sequence[FileLocation], 3]
    stack_frames: Annotated[Sequence[StackFrame], 4]


class DeviceAssignmentProto(Message):
    UNREAD = frozenset({3})

    replica_count: Annotated[int, 1]
    computation_count: Annotated[int, 2]


class HloModuleProto(Message):
    UNREAD = frozenset({10, 11, 12, 13, 14, 16, 21, 23})

    name: Annotated[bytes, 1]
    entry_computation_name: Annotated[bytes, 2]
    computations: Annotated[Sequence[HloComputationProto], 3]
    host_program_shape: Annotated[ProgramShapeProto, 4]
    id: Annotated[int, 5]
    entry_computation_id: Annotated[int, 6]
    schedule: Annotated[HloScheduleProto, 7]
    input_output_alias: Annotated[HloInputOutputAliasProto, 8]
    device_assignment: Annotated[DeviceAssignmentProto, 15]
    stack_frame_index: Annotated[StackFrameIndexProto, 17]
    buffer_donor: Annotated[HloBufferDonorProto, 18]
    frontend_attributes: Annotated[FrontendAttributes, 19]
    original_value_recovery_table: Annotated[bytes, 20]
    payloads: Annotated[Sequence[bytes], 22]


class HloProto(Message):
    """Of HloUnoptimizedSnapshot too, which has its module in the same field."""

    hlo_module: Annotated[HloModuleProto, 1]
    buffer_assignment: Annotated[bytes, 3]


class HloSnapshot(Message):
    UNREAD = frozenset({2, 3, 4})

    hlo: Annotated[HloProto, 1]
