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
