"""A collective that libtpu drives through fusions, cut down to what matters."""

ASYNC_FUSIONS = """HloModule m, is_scheduled=true, num_partitions=8

%begin (p0: f32[4]) -> (f32[4], f32[32], u32[]) {
  %p0 = f32[4]{0} parameter(0)
  %ag.1 = f32[32]{0} all-gather(%p0), channel_id=2, replica_groups={{0,1,2,3,4,5,6,7}}, dimensions={0}, use_global_device_ids=true, backend_config={"async_collective_fusion_config":{"flag_end":"-1","flag_start":"-1"}}
  ROOT %start = (f32[4]{0}, f32[32]{0}, u32[]) custom-call(%ag.1), custom_call_target="AsyncCollectiveStart"
}

%drive (q0: f32[4], q1: f32[32], q2: u32[], q3: f32[8,8]) -> (f32[8,8], f32[4], f32[32], u32[]) {
  %q3 = f32[8,8]{1,0} parameter(3)
  %conv = f32[8,8]{1,0} convolution(%q3, %q3), dim_labels=bf_io->bf
  %q0 = f32[4]{0} parameter(0)
  %ag.2 = f32[32]{0} all-gather(%q0), channel_id=2, replica_groups={{0,1,2,3,4,5,6,7}}, dimensions={0}, use_global_device_ids=true, backend_config={"async_collective_fusion_config":{"flag_end":"8","flag_start":"2"}}
  %q1 = f32[32]{0} parameter(1)
  %q2 = u32[] parameter(2)
  ROOT %t = (f32[8,8]{1,0}, f32[4]{0}, f32[32]{0}, u32[]) tuple(%conv, %q0, %q1, %q2)
}

%finish (r0: f32[4], r1: f32[32], r2: u32[]) -> f32[32] {
  %r0 = f32[4]{0} parameter(0)
  %r1 = f32[32]{0} parameter(1)
  %ag.3 = f32[32]{0} all-gather(%r0), channel_id=2, replica_groups={{0,1,2,3,4,5,6,7}}, dimensions={0}, use_global_device_ids=true, backend_config={"async_collective_fusion_config":{"flag_end":"8","flag_start":"2"}}
  %r2 = u32[] parameter(2)
  ROOT %done = f32[32]{0} custom-call(%r0, %r1, %ag.3, %r2), custom_call_target="AsyncCollectiveDone"
}

ENTRY %main (x: f32[4], y: f32[8,8]) -> (f32[32], f32[8,8]) {
  %x = f32[4]{0} parameter(0)
  %y = f32[8,8]{1,0} parameter(1)
  %ac-start = (f32[4]{0}, f32[32]{0}, u32[]) fusion(%x), kind=kCustom, calls=%begin
  %neg = f32[8,8]{1,0} negate(%y)
  %mid = (f32[8,8]{1,0}, f32[4]{0}, f32[32]{0}, u32[]) fusion(%ac-start#0, %ac-start#1, %ac-start#2, %neg), kind=kOutput, calls=%drive
  %ac-done = f32[32]{0} fusion(%mid#1, %mid#2, %mid#3), kind=kCustom, calls=%finish
  ROOT %out = (f32[32]{0}, f32[8,8]{1,0}) tuple(%ac-done, %mid#0)
}
"""  # noqa: E501 - HLO lines

_AROUND = """HloModule m, is_scheduled=true, num_partitions=8

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

INSIDE%body (p: (s32[], f32[512,64])) -> (s32[], f32[512,64]) {
  %p = (s32[], f32[512,64]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[512,64]{1,0} get-tuple-element(%p), index=1
  %busy = f32[512,64]{1,0} negate(%x)
  COLLECTIVE
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  ROOT %r = (s32[], f32[512,64]{1,0}) tuple(%next, %x)
}

%cond (q: (s32[], f32[512,64])) -> pred[] {
  %q = (s32[], f32[512,64]{1,0}) parameter(0)
  %j = s32[] get-tuple-element(%q), index=0
  %n = s32[] constant(4)
  ROOT %c = pred[] compare(%j, %n), direction=LT
}

ENTRY %main (x0: f32[512,64]) -> f32[512,64] {
  %x0 = f32[512,64]{1,0} parameter(0)
  %zero = s32[] constant(0)
  %t = (s32[], f32[512,64]{1,0}) tuple(%zero, %x0)
  %w = (s32[], f32[512,64]{1,0}) while(%t), condition=%cond, body=%body
  ROOT %out = f32[512,64]{1,0} get-tuple-element(%w), index=1
}
"""

_META = 'metadata={op_name="jit(f)/dot_general" source_file="t.py" source_line=9}'

# The sum of which each device keeps a part, as `tpu-all-reduce-scatter-fusion` leaves it.
SCATTERED = _AROUND.replace(
    "INSIDE",
    """%all-reduce-scatter.1.clone (input: f32[512,64]) -> f32[72,64] {
  %input = f32[512,64]{1,0} parameter(0)
  %nil = f32[] constant(0)
  %pad = f32[576,64]{1,0} pad(%input, %nil), padding=0_64x0_0
  %whole = f32[576,64]{1,0} all-reduce(%pad), channel_id=6, replica_groups={{0,1,2,3,4,5,6,7}}, use_global_device_ids=true, to_apply=%add
  %me = u32[] partition-id()
  %rows = u32[] constant(72)
  %offset = u32[] multiply(%me, %rows)
  %zero = u32[] constant(0)
  ROOT %own = f32[72,64]{1,0} dynamic-slice(%whole, %offset, %zero), dynamic_slice_sizes={72,64}
}

""",  # noqa: E501 - HLO lines
).replace(
    "COLLECTIVE",
    "%scatter = f32[72,64]{1,0} fusion(%busy), kind=kCustom, calls=%all-reduce-scatter.1.clone, "
    + _META,
)

# The same program before that pass.
WHOLE_BEFORE = _AROUND.replace("INSIDE", "").replace(
    "COLLECTIVE",
    "%all = f32[512,64]{1,0} all-reduce(%busy), channel_id=6, replica_groups={{0,1,2,3,4,5,6,7}}, "
    f"use_global_device_ids=true, to_apply=%add, {_META}\n"
    "  %me = u32[] partition-id()\n"
    "  %rows = u32[] constant(64)\n"
    "  %offset = u32[] multiply(%me, %rows)\n"
    "  %nil = u32[] constant(0)\n"
    "  %own = f32[64,64]{1,0} dynamic-slice(%all, %offset, %nil), dynamic_slice_sizes={64,64}",
)
