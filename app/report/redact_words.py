"""Words of a dump that say nothing of a program: HLO's own, JAX's primitives, what both print.

Whatever else stands in an `op_name`, or is the name of a function, was chosen by a person. The
primitives are those that jax 0.10.2 registers.
"""

PUBLIC_WORDS = frozenset(
    """
API_VERSION_ORIGINAL API_VERSION_STATUS_RETURNING_UNIFIED API_VERSION_TYPED_FFI Arg CLIP
ConvDimensionNumbers D DEFAULT E ENTRY EQ FILL_OR_DROP FLOAT False FileLocations FileNames
FunctionNames GE GT GatherDimensionNumbers GatherScatterMode HIGH HIGHEST HloModule L LE LT NE
NO_TRANSPOSE None PROMISE_IN_BOUNDS Precision ROOT S SIGNED ScatterDimensionNumbers StackFrames
T TOTALORDER TRANSPOSE True UNSIGNED _mean _normal _one_hot _take _threefry_split
_truncated_normal _uniform _var _where abs accum_grad_in_ref acos acosh add add_any addupdate
after after_all after_spmd_partitioner afz algorithm alias_passthrough_params all all_gather
all_gather_done all_gather_invariant all_gather_reduced all_gather_reduced_start
all_gather_start all_to_all all_to_all_done all_to_all_start
allow_spmd_sharding_propagation_to_output allow_spmd_sharding_propagation_to_parameters and
api_version approx_top_k argmax argmin arithmetic asin asinh async async_id atan atan2 atanh
auto axes axis_index axis_index_groups axis_name axis_size backend backend_config backward
barrier batch batch_group_count bessel_i0e bessel_i1e bf16 bfloat16 bit bitcast
bitcast_convert_type body body_0 body_nconsts bool bool_ box_get box_set branch_0_fun
branch_1_fun branch_2_fun branch_3_fun branch_4_fun branch_5_fun branch_6_fun branch_7_fun
branch_computations broadcast broadcast_dimensions broadcast_in_dim broadcast_to buffer
buffer_donor c128 c64 call call_exported call_hi_primitive call_hi_primitive_linearized
call_jaxpr calls cbrt ceil channel_id char checkpoint cholesky cholesky_update clamp clip clone
closed_call cls clz collapsed_slice_dims collective column command compare complex complex128
complex64 composite computation computations concatenate cond cond_nconsts condition condition_0
conditional conj const constant constrain_layout conv conv_general_dilated convert
convert_element_type convolution copy core_call core_closed_call cos cosh cosine cpu
create_linear create_token cublas cudnn cudnn_fusion cumlogsumexp cummax cummin cumprod cumsum
custom custom_call custom_call_has_side_effect custom_call_target custom_jvp_call
custom_jvp_call_jaxpr custom_lin custom_linear_solve custom_partitioning custom_vjp_call
custom_vjp_call_jaxpr custom_vmap_call dce_sink debug_callback debug_print deduplicated_name
default device_put devices digamma dim_as_value dim_labels dimension dimension_numbers
dimension_size dimensions direction distribution div divide domain donated_invars done dot
dot_general dot_product_attention_bwd dot_product_attention_bwd_wrapper
dot_product_attention_fp8_bwd dot_product_attention_fp8_bwd_wrapper
dot_product_attention_fp8_fwd dot_product_attention_fp8_fwd_wrapper dot_product_attention_fwd
dot_product_attention_fwd_wrapper double dtype dynamic dynamic_slice dynamic_slice_sizes
dynamic_update_slice eig eigh einsum element empty empty2 empty_ref end_column end_line
entry_computation entry_computation_layout epsilon eq eq_to erf erf_inv erfc eval_jaxpr even
execution_thread execution_threads exp exp2 expand_dims expm1 exponent_bits exponential f16 f32
f4e2m1fn f64 f8 f8e3m4 f8e4m3 f8e4m3b11fnuz f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu
false false_computation feature_group_count feature_index ffi_call fft fft_length fft_type
file_location_id file_name_id fill_value fingerprint_before_lhs finite float float16 float32
float64 float8_e4m3fn float8_e5m2 floor floor_divide forward free_ref freeze from_edtype
frontend frontend_attributes function_name_id fused fusion gather ge gelu gemm generator geqp3
geqrf get gpu grad gt hessenberg high highest horizontal householder_product i id igamma
igamma_grad_a igammac imag index index_vector_dim indices_are_sorted inf infeed infeed_config
inference inline inlineable input input_output_alias inserted_window_dims inspect_sharding int
int16 int32 int64 int8 integer_pow io_callback iota iota_2x32_shape iota_dimension is is_finite
is_host_transfer is_scheduled is_stable j jax jaxpr jit jvp k kCustom kInput kLoop kOutput kind
lambda largest last_tile_dim_replicate last_tile_dims layout layout_constraint le le_to left
left_side length lgamma lhs lhs_batch_dims lhs_contracting_dims limit_indices line linear
linear_call locals log log1p log_extend log_read log_softmax logical logistic logsumexp loop
lower lowered lowering lt lt_to lu lu_pivots_to_permutation m main main_thread mantissa_bits
manual map matmul max maximal maximum may_alias mean memory_space mesh metadata mhlo min minimum
minor_to_major mode module mul mulhi multiply must_alias n name nan ne nearest neg negate
new_box new_dtype new_log new_ref new_sizes nextafter norm not num_partitions offset offset_dims
one_hot op_name op_type opaque operand_precision operand_spmd optimization optimization_barrier
or origin original_value ormqr outfeed outfeed_config outfeed_shape output_to_operand_aliasing
pad padding padding_config pallas_call param parameter parameter_replication params
parent_frame_id partition pbroadcast pbroadcast2 pbroadcast_done pbroadcast_start peeled
permutation permute philox2x32 philox4x32 pin pipelined pjit platform_index pmap pmax pmin
polygamma popcnt population_count pow power ppermute ppermute_done ppermute_start precision
precv pred predecessors preduced preferred_element_type prod psend psum psum2 psum_done
psum_invariant psum_invariant_start psum_start pure_callback pvary qr ragged ragged_all_to_all
ragged_dot_general random_bits random_clone random_fold_in random_gamma random_seed random_split
random_unwrap random_wrap real recv reduce reduce_and reduce_max reduce_min reduce_or
reduce_precision reduce_prod reduce_scatter reduce_scatter_done reduce_scatter_start reduce_sum
reduce_window reduce_window_max reduce_window_min reduce_window_sum reduce_xor
reduced_vary_cast_p region regularized_incomplete_beta relu rem remainder remat remat2 remat_opt
rematted_computation replica replica_groups replicated reshape reshard resource_env rev reverse
rhs rhs_batch_dims rhs_contracting_dims right rng rng_bit_generator rng_uniform round rsqrt
run_state s1 s16 s2 s32 s4 s64 s8 scaled_dot scaled_matmul scaled_matmul_wrapper scan scan_body
scatter scatter_add scatter_dims_to_operand_dims scatter_max scatter_min scatter_mul scatter_sub
scheduling_name schur sdy select select_and_gather_add select_and_scatter select_and_scatter_add
select_n self send set shape shape_assertion shard_map sharding sharding_constraint shift
shift_left shift_right_arithmetic shift_right_logical sign silu sin sine sinh size slice
slice_sizes sm softmax solve sort source_column source_end_column source_end_line source_file
source_line source_target_pairs spec split spmd sqrt square squeeze stablehlo stack
stack_frame_id stage start start_index_map start_indices statistics stochastic stop_gradient
strides sub subtract sum sunk svd swap symmetric_product take tan tanh threefry2x32 threefry4x32
threefry_fold_in threefry_split tie tile tiles to to_apply to_edtype token top_k topk tpu
tpu_custom_call training transpose transpose_a triangular triangular_solve tridiagonal
tridiagonal_solve triton triton_kernel_call true true_computation true_divide tuple type u1 u16
u2 u32 u4 u64 u8 uint uint16 uint32 uint64 uint8 unconstrained_dims unique_indices unit_diagonal
unpin unreachable unreduced unreduced_psum unreduced_psum_start unreduced_reduce_scatter
unreduced_reduce_scatter_start unroll unrolled unstack update update_consts update_window_dims
use_global_device_ids var vary_unreduced_cast_p vmap void weak_type where while while_body
while_cond window wrapped x xla xla_call xla_pmap xmap xor y z zeros_like zeta
""".split()
)
