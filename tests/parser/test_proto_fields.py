"""Every attribute, literal and shape through XLA: text -> jaxlib's proto -> the same values.

Each line below is put into a module; jaxlib 0.10.2 makes a proto of it, and what `parse_proto`
gives of that must equal what `parse_module` gives of the text. The lines are in XLA's own
spelling: what is a default and hence not printed does not occur.
"""

from collections.abc import Iterator

import pytest

from hlo_parser import (
    Difference,
    Module,
    modules_differ,
    parse_module,
    parse_proto,
    print_module,
)
from parser.oracle import Oracle

# In a serialized module but for what tests give it, and what no proto holds.
HEADER = (
    "HloModule m, is_scheduled=true, "
    "entry_computation_layout={(f32[8,8]{1,0}, f32[8,8]{1,0})->f32[]}"
)

BODIES = """\
%add (da: f32[], db: f32[]) -> f32[] {
  %da = f32[] parameter(0)
  %db = f32[] parameter(1)
  ROOT %d_sum = f32[] add(%da, %db)
}

%less (la: f32[], lb: f32[]) -> pred[] {
  %la = f32[] parameter(0)
  %lb = f32[] parameter(1)
  ROOT %l_lt = pred[] compare(%la, %lb), direction=LT
}

%rows (wa: f32[8], wb: f32[8]) -> (f32[8], f32[8]) {
  %wa = f32[8]{0} parameter(0)
  %wb = f32[8]{0} parameter(1)
  ROOT %w_t = (f32[8]{0}, f32[8]{0}) tuple(%wa, %wb)
}

%one (oa: f32[8,8]) -> f32[8,8] {
  %oa = f32[8,8]{1,0} parameter(0)
  ROOT %o_n = f32[8,8]{1,0} negate(%oa)
}

%other (ha: f32[8,8]) -> f32[8,8] {
  %ha = f32[8,8]{1,0} parameter(0)
  ROOT %h_n = f32[8,8]{1,0} tanh(%ha)
}

%test (ta: f32[8,8]) -> pred[] {
  %ta = f32[8,8]{1,0} parameter(0)
  ROOT %t_n = pred[] constant(true)
}
"""

BEFORE = """\
  %p = f32[8,8]{1,0} parameter(0)
  %q = f32[8,8]{1,0} parameter(1)
  %i = s32[8,2]{1,0} constant({...})
  %g = s64[2]{0} constant({4, 4})
  %z = f32[] constant(0)
  %s = s32[] constant(1)
  %b = pred[] constant(true)
  %k = token[] after-all()
  %u = u64[2]{0} constant({1, 2})
"""

F = "f32[8,8]{1,0}"
LINES = f"""\
{F} custom-call(%p, %q), custom_call_target="f\\"g\\\\h\\'i\\303\\251", operand_layout_constraints={{f32[8,8]{{1,0}}, f32[8,8]{{0,1}}}}, custom_call_has_side_effect=true, output_to_operand_aliasing={{{{}}: (0, {{}})}}, schedule=SCHEDULE_LATEST, api_version=API_VERSION_TYPED_FFI, backend_config={{a = 3}}
{F} custom-call(%p, %q), window={{size=3}}, dim_labels=b0f_0io->b0f, feature_group_count=2, batch_group_count=3, operand_precision={{high,default}}, padding_type=PADDING_SAME, custom_call_target="f", literal=s32[2]{{0}} {{1, 2}}, schedule=SCHEDULE_EARLIEST, api_version=API_VERSION_STATUS_RETURNING, called_computations={{%add}}, backend_config="hi"
(f32[8,8]{{1,0}}, (f32[2]{{0}}, ())) custom-call(%p), custom_call_target="", literal=( f32[] 1, s32[2]{{0}} {{1, 2}} ), output_to_operand_aliasing={{{{0}}: (0, {{}})}}, api_version=API_VERSION_STATUS_RETURNING_UNIFIED
{F} custom-call(), custom_call_target="f", operand_layout_constraints={{}}, padding_type=PADDING_VALID
{F} batch-norm-inference(%p, %z, %z, %z, %z), epsilon=0.001, feature_index=1
c64[8,5]{{1,0}} fft(%p), fft_type=RFFT, fft_length={{8}}
c64[8,8]{{1,0}} fft(%p), fft_type=FFT, fft_length={{8,8}}
c64[8,8]{{1,0}} fft(%p), fft_type=IFFT, fft_length={{8}}
{F} fft(%p), fft_type=IRFFT, fft_length={{8}}
pred[8,8]{{1,0}} compare(%p, %q), direction=LT, type=TOTALORDER
pred[8,8]{{1,0}} compare(%p, %q), direction=NE
pred[8,2]{{1,0}} compare(%i, %i), direction=GE
pred[8,2]{{1,0}} compare(%i, %i), direction=EQ, type=UNSIGNED
pred[2]{{0}} compare(%u, %u), direction=GT
pred[] compare(%b, %b), direction=LE
{F} triangular-solve(%p, %q), left_side=true, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE
{F} triangular-solve(%p, %q), transpose_a=ADJOINT
{F} triangular-solve(%p, %q), left_side=true, transpose_a=TRANSPOSE
{F} cholesky(%p), lower=true
{F} cholesky(%p)
(f32[8,8]{{1,0}}, f32[8,8]{{1,0}}, u32[]) copy-start(%p), cross_program_prefetch_index=0
(f32[8,8]{{1,0}}, f32[8,8]{{1,0}}, u32[]) copy-start(%p)
{F} reverse(%p), dimensions={{}}
{F} transpose(%p), dimensions={{1,0}}
f32[16,8]{{1,0}} concatenate(%p, %q), dimensions={{0}}
{F} broadcast(%z), dimensions={{}}
f32[64]{{0}} reshape(%p)
f32[64]{{0}} reshape(%p), inferred_dimension=0
{F} map(%p, %q), dimensions={{0,1}}, to_apply=%add
{F} sort(%p), dimensions={{0}}, is_stable=true, to_apply=%less
{F} sort(%p), dimensions={{1}}, to_apply=%less
(f32[8,2]{{1,0}}, s32[8,2]{{1,0}}) topk(%p), k=2, largest=true
(f32[8,2]{{1,0}}, s32[8,2]{{1,0}}) topk(%p), k=2, largest=false
f32[2,3]{{1,0}} slice(%p), slice={{[0:2:1], [1:7:2]}}
f32[2,3]{{1,0}} slice(%p), slice={{[0:2], [1:4]}}
{F} reduce-precision(%p), exponent_bits=8, mantissa_bits=7
{F} rng(%z, %z), distribution=rng_uniform
{F} rng(%z, %z), distribution=rng_normal
(u64[2]{{0}}, u32[4]{{0}}) rng-bit-generator(%u), algorithm=rng_three_fry
(u64[2]{{0}}, u32[4]{{0}}) rng-bit-generator(%u), algorithm=rng_philox
(u64[2]{{0}}, u32[4]{{0}}) rng-bit-generator(%u), algorithm=rng_default
u64[2]{{0}} rng-get-and-update-state(), delta=3
f32[10,9]{{1,0}} pad(%p, %z), padding=1_1x0_1
f32[10,15]{{1,0}} pad(%p, %z), padding=1_1_0x-1_1_1
f32[1,2]{{1,0}} dynamic-slice(%p, %s, %s), dynamic_slice_sizes={{1,2}}
f32[8,1,8]{{2,1,0}} gather(%p, %i), offset_dims={{1,2}}, collapsed_slice_dims={{}}, start_index_map={{0,1}}, index_vector_dim=1, slice_sizes={{1,8}}, indices_are_sorted=true
{F} gather(%p, %i), offset_dims={{}}, collapsed_slice_dims={{1}}, start_index_map={{1}}, operand_batching_dims={{0}}, start_indices_batching_dims={{0}}, index_vector_dim=2, slice_sizes={{1,1}}
{F} scatter(%p, %i, %q), update_window_dims={{1}}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0,1}}, index_vector_dim=1, indices_are_sorted=true, unique_indices=true, to_apply=%add
{F} scatter(%p, %i, %q), update_window_dims={{}}, inserted_window_dims={{1}}, scatter_dims_to_operand_dims={{1}}, input_batching_dims={{0}}, scatter_indices_batching_dims={{0}}, index_vector_dim=2, to_apply=%add
s32[4,4]{{1,0}} iota(), iota_dimension=1
{F} dot(%p, %q), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, operand_precision={{highest,default}}
{F} dot(%p, %q), lhs_batch_dims={{0}}, lhs_contracting_dims={{1}}, rhs_batch_dims={{0}}, rhs_contracting_dims={{1}}
f32[8,8,8,8]{{3,2,1,0}} dot(%p, %q), lhs_contracting_dims={{}}, rhs_contracting_dims={{}}
f32[2,8,8]{{2,1,0}} ragged-dot(%p, %q, %g), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}, lhs_ragged_dims={{0}}, operand_precision={{highest,default}}
{F} ragged-dot(%p, %q, %g), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}, lhs_ragged_dims={{0}}, rhs_group_dims={{0}}
{F} scaled-dot(%p, %q, %p, %q), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, operand_precision={{highest,default}}, algorithm=dot_tf32_tf32_f32
{F} convolution(%p, %q), dim_labels=bf_io->bf, operand_precision={{high,default}}
{F} convolution(%p, %q), dim_labels=bf_io->bf, convolution_kind=fprop
{F} convolution(%p, %q), dim_labels=bf_io->bf, feature_group_count=4, batch_group_count=2, convolution_kind=wgrad
{F} convolution(%p, %q), dim_labels=bf_io->bf, convolution_kind=dgrad, sparsity_config={{lhs={{sparsity=2x4 dimension=1 stride=1}}}}
{F} convolution(%p, %q), dim_labels=bf_io->bf, sparsity_config={{rhs={{sparsity=2x4 dimension=1 stride=1}}}}
{F} convolution(%p, %q), window={{size=1}}, dim_labels=?bf_i?o->b?f
{F} domain(%p), domain={{kind="sharding", entry={{maximal device=0}}, exit={{replicated}}}}
s32[] get-dimension-size(%p), dimensions={{1}}
f32[<=8,8]{{1,0}} set-dimension-size(%p, %s), dimensions={{0}}
{F} reduce-window(%p, %z), window={{size=1x2 stride=1x2 pad=0_0x1_1 lhs_dilate=2x1 rhs_dilate=1x2 rhs_reversal=0x1}}, to_apply=%add
f32[] reduce-window(%z, %z), to_apply=%add
f32[8]{{0}} reduce(%p, %z), dimensions={{1}}, to_apply=%add
{F} select-and-scatter(%p, %q, %z), window={{size=1x1}}, select=%less, scatter=%add
((f32[8]{{0}}), token[]) infeed(%k), infeed_config="ab\\'c\\"\\n"
token[] outfeed(%p, %k), outfeed_shape=f32[8,8]{{0,1}}, outfeed_config="q"
(f32[8,8]{{1,0}}, u32[], token[]) send(%p, %k), channel_id=3, is_host_transfer=true
(f32[8,8]{{1,0}}, u32[], token[]) recv(%k), channel_id=3
{F} all-reduce(%p), channel_id=1, replica_groups={{{{0,1}},{{2,3}}}}, constrain_layout=true, use_global_device_ids=true, to_apply=%add
{F} all-reduce(%p), replica_groups={{}}, to_apply=%add
{F} all-reduce-start(%p), channel_id=1, replica_groups={{{{}}}}, to_apply=%add
f32[16,8]{{1,0}} all-gather(%p), channel_id=1, replica_groups=[2,2]<=[4], dimensions={{0}}, use_global_device_ids=true
f32[16,8]{{1,0}} all-gather(%p), channel_id=1, replica_groups=[2,2]<=[2,2]T(1,0), dimensions={{0}}
f32[16,8]{{1,0}} all-gather(%p), channel_id=1, replica_groups=mesh['a'=2,'b'=4] {{'a','b':(2)2}}, dimensions={{0}}
f32[16,8]{{1,0}} all-gather(%p), channel_id=1, replica_groups=mesh['a'=2,'b'=4], device_ids=([2,4]T(1,0)) {{'a'}}, dimensions={{0}}
(f32[8,8]{{1,0}}, f32[16,8]{{1,0}}) all-gather-start(%p), channel_id=1, replica_groups={{}}, constrain_layout=true, dimensions={{0}}
{F} all-to-all(%p), channel_id=2, replica_groups={{{{0}}}}, dimensions={{0}}
(f32[8,8]{{1,0}}) all-to-all(%p), replica_groups={{{{0}}}}
f32[4,8]{{1,0}} reduce-scatter(%p), replica_groups={{{{0,1}}}}, dimensions={{0}}, to_apply=%add
{F} ragged-all-to-all(%p, %q, %g, %g, %g, /*index=5*/%g), channel_id=3, replica_groups={{{{0,1}}}}
{F} collective-broadcast(%p), channel_id=5, replica_groups={{{{0,1}}}}
{F} collective-permute(%p), channel_id=4, source_target_pairs={{{{0,1}},{{1,0}}}}
{F} collective-permute(%p, %q, %s, %s), source_target_pairs={{{{0,1}},{{1,0}}}}, slice_sizes={{{{4}},{{8}}}}
(f32[8,8]{{1,0}}, f32[8,8]{{1,0}}, u32[], u32[]) collective-permute-start(%p), source_target_pairs={{}}
(f32[8,8]{{1,0}}, f32[8]{{0}}) scan(%p, %z), dimensions={{0}}, num_carries=1, is_reverse=true, is_associative=true, to_apply=%rows
(f32[8,8]{{1,0}}, f32[8]{{0}}) scan(%p, %z), dimensions={{0}}, num_carries=1, is_associative=false, to_apply=%rows
{F} while(%p), condition=%test, body=%one
{F} conditional(%b, %p, %q), true_computation=%one, false_computation=%other
{F} conditional(%s, %p, %q), branch_computations={{%one, %other}}
{F} call(%p), to_apply=%one, is_composite=true, frontend_attributes={{composite.name="a"}}
{F} call(%p), to_apply=%one
{F} fusion(%p), kind=kCustom, output_to_operand_aliasing={{{{}}: (0, {{}})}}, calls=%one
{F} fusion(%p), kind=kLoop, calls=%one
{F} tanh(%p), statistics={{visualizing_index=0,count_nan=100,max=1.5}}, result_accuracy={{mode=highest}}
{F} tanh(%p), result_accuracy={{tolerance={{atol=0,rtol=0.5,ulps=2}}}}, origin={{{{"add.1"}}}}
{F} tanh(%p), frontend_attributes={{a={{q=[1]}},b="x",c={{"k":1}},d="{{"}}, origin={{{{"t" {{1,0}}}}}}
(f32[8,8]{{1,0}}, (f32[8,8]{{1,0}}, f32[])) custom-call(), custom_call_target="x", control-predecessors={{%z, %s}}, origin={{({{"a"}}, ({{"b" {{0}}}}, {{}}))}}
{F} negate(%p), origin={{[synthetic_call]}}, metadata={{op_type="a\\"" op_name="b\\303\\251\\'" source_file="f" source_line=3 source_end_line=4 source_column=5 source_end_column=6 profile_type={{1}} deduplicated_name="d" scheduling_name="e f"}}
{F} negate(%p), metadata={{op_name="x" metadata_payload="x\\"x"}}, backend_config={{"a":{{"b":[1,"}}"]}}}}
{F} negate(%p), metadata={{metadata_payload=""}}, backend_config="[1]"
{F} negate(%p), metadata={{scheduling_name="n"}}, backend_config="{{a b}} c"
{F} custom-call(), custom_call_target="x", sharding={{maximal device=0}}, backend_config={{}}
"""  # noqa: E501 -- one line each, as XLA prints them

ALGORITHMS = [
    "dot_any_f8_any_f8_f32",
    "dot_any_f8_any_f8_f32_fast_accum",
    "dot_f16_f16_f16",
    "dot_f16_f16_f32",
    "dot_bf16_bf16_bf16",
    "dot_bf16_bf16_f32",
    "dot_bf16_bf16_f32_x3",
    "dot_bf16_bf16_f32_x6",
    "dot_bf16_bf16_f32_x9",
    "dot_tf32_tf32_f32",
    "dot_tf32_tf32_f32_x3",
    "dot_f32_f32_f32",
    "dot_f64_f64_f64",
]

SHARDINGS = """\
{replicated}
{manual}
{unknown}
{unreduced}
{maximal device=3}
{devices=[4,1,2]0,1,2,3,4,5,6,7 last_tile_dim_replicate}
{devices=[2,1,2,2]<=[8] last_tile_dims={manual, replicated}}
{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dims={unreduced}}
{devices=[4,1]<=[4]}
{devices=[4,1]3,2,1,0}
{replicated shard_as 1}
{devices=[4,1]<=[4] shard_like 0}
{replicated metadata={op_name="a"}}
{devices=[2,1]<=[2] metadata={{op_name="a"}, {op_name="b" source_file="x" source_line=3}}}
{mesh['x'=2,'y'=4], [{'x'}, {}]}
{mesh['x'=2,'y'=4], [{?}, {'y'}]}
{mesh['x'=4,'y'=4,'z'=2,'w'=2], [{'x':(1)2, ?}, {}], replicated={'y':(2)2}, unreduced={'z'}, manual={'w'}, metadata={{op_name="a"}}}
{mesh['a'=2,'b'=2], device_ids=(0,2,1,3), [{'a'}, {}]}
{mesh['a'=2,'b'=2], device_ids=([2,2]T(1,0)), [{'a', 'b'}, {}]}
{mesh['x'=2,'y'=2], replicated}
{mesh['x'=2,'y'=2], manual, metadata={{op_name="q"}}}
{mesh['x'=2,'y'=2], unreduced}
{mesh['x'=2,'y'=2], [], replicated={'x', 'y'}}
{mesh['x'=2,'y'=2], [], unreduced={'y'}, manual={'x'}}
{maximal_mesh[device_id=3], metadata={{op_name="q"}}}
{mesh[], replicated}
"""  # noqa: E501

SHAPES = """\
f32[8,8]{0,1:T(8,128)(2,1)E(16)S(1)}
(f32[]{:T(256)}, s4[4]{0:L(1024)E(4)SC(0:1,2)M(8)}, b(f32[2]{0}), token[], opaque[], /*index=5*/f32[<=2,?]{1,0:T(8,*)}, ())
f32[8,8]{0,1:#(u32)*(u16)S(5)}
f32[8]{0:SC(0:4)(0:2,6)}
((f32[1]{0}, (pred[], c128[2,0]{1,0})), s64[])
"""  # noqa: E501

TYPES = (
    "pred s1 s2 s4 s8 s16 s32 s64 u1 u2 u4 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128 f8e5m2 f8e4m3"
    " f8e4m3fn f8e4m3b11fnuz f8e3m4 f8e5m2fnuz f8e4m3fnuz f4e2m1fn f8e8m0fnu f6e3m2fn f6e2m3fn"
).split()

LITERALS = """\
f32[] constant(3.40282347e+38)
f32[] constant(-nan(0x7fffff))
f32[] constant(1.4013e-45)
f64[] constant(0.33333333333333331)
f64[] constant(1e+300)
f16[] constant(0.099976)
bf16[3]{0} constant({0.2002, -inf, -nan(0x1)})
f8e5m2[4]{0} constant({0.094, inf, nan, -5.7e+04})
f8e4m3[4]{0} constant({inf, nan, 0.312, -1.5})
f8e3m4[3]{0} constant({0.297, 15.5, nan})
f8e4m3fn[4]{0} constant({0.102, 448, nan, -nan})
f8e4m3b11fnuz[3]{0} constant({0.312, -nan, 30})
f8e5m2fnuz[3]{0} constant({0.31, -nan, 5.7e+04})
f8e4m3fnuz[3]{0} constant({0.312, -nan, 240})
f8e8m0fnu[4]{0} constant({1, 2, 0.5, nan})
f4e2m1fn[5]{0} constant({0.5, 1, 6, -3, 0})
s4[5]{0} constant({1, -2, 3, 7, -8})
u4[3]{0} constant({1, 2, 15})
s2[5]{0} constant({1, -2, 0, 1, -1})
u2[5]{0} constant({1, 2, 3, 0, 3})
s1[9]{0} constant({0, -1, 0, 0, -1, 0, 0, 0, -1})
u1[9]{0} constant({1, 0, 1, 0, 0, 0, 0, 0, 1})
s8[3]{0} constant({1, -2, 3})
u8[2]{0} constant({200, 3})
s16[2]{0} constant({-5, 6})
u16[2]{0} constant({65535, 6})
s32[2]{0} constant({-2147483648, 6})
u32[] constant(4294967295)
s64[] constant(-9223372036854775808)
u64[] constant(18446744073709551615)
pred[] constant(false)
pred[2,2]{1,0} constant({ { 1, 0 }, { 0, 1 } })
c64[] constant((1, 2.5))
c64[2]{0} constant({(1, 2.5), (nan, nan)})
c128[] constant((0.1, 2))
f32[2,2]{0,1} constant({ { 1, 2 }, { 3, 4 } })
f32[2,1,2]{2,1,0} constant({ { { 1, 2 } }, { { 3, 4 } } })
f32[1,2,2,2]{3,2,1,0} constant({ { /*i0=0*/ { /*i1=0*/ { 1, 2 }, { 3, 4 } }, { /*i1=1*/ { 5, 6 }, { 7, 8 } } } })
f32[0]{0} constant({})
f32[2,0]{1,0} constant({ {}, {} })
f32[1]{0} constant({5})
f32[3,1]{1,0} constant({ {5}, {6}, {7} })
f32[11]{0} constant({...})
"""  # noqa: E501

ALL_LINES = [
    *LINES.splitlines(),
    *LITERALS.splitlines(),
    *(
        f"{F} dot(%p, %q), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, algorithm={word}"
        for word in ALGORITHMS
    ),
    *(f"{F} negate(%p), sharding={sharding}" for sharding in SHARDINGS.splitlines()),
    "() tuple(), sharding={}",
    "(f32[], f32[]) tuple(%z, %z), sharding={{replicated}, {maximal device=1}}",
    *(f'{shape} custom-call(), custom_call_target="x"' for shape in SHAPES.splitlines()),
    *(f'{word}[2]{{0}} custom-call(), custom_call_target="x"' for word in TYPES),
]


def text_with(line: str) -> str:
    return (
        f"{HEADER}\n\n{BODIES}\nENTRY %main (p: f32[8,8], q: f32[8,8]) -> f32[] {{\n"
        f"{BEFORE}  %r = {line}\n  ROOT %end = f32[] negate(%z)\n}}\n\n"
    )


# What the lines above have no place for: pairs, tables, threads, the header.
WHOLE = """\
HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, must-alias), {1}: (1, {0}, may-alias) }, buffer_donor={ (1, {1}), (2, {}) }, entry_computation_layout={(f32[4]{0}, (f32[4]{0}, s32[]), f32[8]{0})->(f32[4]{0}, f32[4]{0})}, frontend_attributes={a={x="y"},b="c"}

FileNames
1 "/home/me/train.py"
2 "it\\'s"

FunctionNames
1 "step"
2 "loss.<locals>.<lambda>"

FileLocations
1 {file_name_id=1 function_name_id=1 line=20 end_line=21 column=4 end_column=31}
2 {file_name_id=2 function_name_id=2 line=7 end_line=9 column=2 end_column=8}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}


%wrapped (w: f32[4]) -> f32[4] {
  %w = f32[4]{0} parameter(0)
  ROOT %n = f32[4]{0} negate(%w), metadata={op_name="n" stack_frame_id=1}
}, execution_thread="side"

ENTRY %main (p: f32[4], t: (f32[4], s32[]), e: f32[8]) -> (f32[4], f32[4]) {
  %p = f32[4]{0} parameter(0), parameter_replication={true}
  %t = (f32[4]{0}, s32[]) parameter(1), parameter_replication={true,false}
  %e = f32[8]{0} parameter(2)
  %s = ((f32[4]{0}), f32[4]{0}, u32[]) async-start(%p), async_execution_thread="side", output_to_operand_aliasing={{1}: (0, {})}, calls=%wrapped
  %u = ((f32[4]{0}), f32[4]{0}, u32[]) async-update(%s)
  %k = token[] after-all()
  %x = (f32[4]{0}, u32[], token[]) send(%p, %k), channel_id=1
  %y = token[] send-done(%x), channel_id=1, control-predecessors={%s, %u}
  %d = f32[4]{0} async-done(%u)
  %g = f32[4]{0} get-tuple-element(%t), index=0, metadata={op_name="d" stack_frame_id=2}
  ROOT %r = (f32[4]{0}, f32[4]{0}) tuple(%d, %g)
}

"""  # noqa: E501


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as made:
        yield made


def differences(first: Module, second: Module) -> list[Difference]:
    """Without the order of computations, which is the texts' own where XLA would print another."""
    return [d for d in modules_differ(first, second) if d.what != "order of computations"]


def check(text: str, oracle: Oracle) -> None:
    """Text and proto give equal modules, and XLA reads what either form prints as the same."""
    answer = oracle.serialized(text.encode())
    assert isinstance(answer, bytes), answer
    read, proto = parse_module(text, strict=True), parse_proto(answer)
    assert differences(read, proto) == []
    assert proto.unparsed == ()
    for form in ("long", "short"):
        printed = print_module(read, form=form)
        assert modules_differ(read, parse_module(printed, strict=True)) == ()
        again = oracle.serialized(printed.encode())
        assert isinstance(again, bytes), again
        assert modules_differ(parse_proto(again), proto) == ()


@pytest.mark.parametrize("line", ALL_LINES)
def test_a_line(line: str, oracle: Oracle) -> None:
    check(text_with(line), oracle)


def test_a_whole_module(oracle: Oracle) -> None:
    check(WHOLE, oracle)
    answer = oracle.serialized(WHOLE.encode())
    assert isinstance(answer, bytes)
    assert print_module(parse_proto(answer)) == WHOLE


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("negate(%w)", "tanh(%w)", "opcode"),
        ("tuple(%d, %g)", "tuple(%g, %d)", "operands"),
        ("line=20", "line=22", "frames"),
        ("must-alias", "may-alias", "input_output_alias"),
        ('op_name="d"', 'op_name="dd"', "metadata.op_name"),
        ("={true,false}", "={true,true}", "parameter_replication"),
        ('"side"', '"aside"', "execution_thread"),
        ("%u = ((f32[4]{0}), f32[4]{0}", "%u = ((f32[4]{0}), f32[4]{0:S(1)}", "shape"),
    ],
)
def test_a_difference_is_seen(old: str, new: str, what: str, oracle: Oracle) -> None:
    answer = oracle.serialized(WHOLE.encode())
    assert isinstance(answer, bytes)
    changed = parse_module(WHOLE.replace(old, new))
    assert what in {d.what for d in modules_differ(changed, parse_proto(answer))}
