"""A small dump with all that the views of a report show, its names made to harm."""

from web.asking import tar_of

HOSTILE = '</script><script>alert("1")</script>\u202e'
PROGRAM = "/home/me/train.py"
MODULE = "module_0007.jit_step"
_STEM = f"{MODULE}.sm_9.0_gpu_after_optimizations"

_TEXT = """HloModule jit_step, is_scheduled=true, num_partitions=2

FileNames
1 "/home/me/train.py"
2 "/home/me/HOSTILE.py"

FunctionNames
1 "step"
2 "loss<b>"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=3 end_column=9}
2 {file_name_id=1 function_name_id=1 line=9 end_line=9 column=3 end_column=9}
3 {file_name_id=2 function_name_id=2 line=3 end_line=3 column=1 end_column=2}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=1}
3 {file_location_id=3 parent_frame_id=2}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

fused {
  p0 = f32[64,64] parameter(0)
  ROOT e = f32[64,64] exponential(p0), metadata={op_name="jit(step)/exp" stack_frame_id=3}
}

body {
  p = (s32[], f32[64,64], f32[4,64,64]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[64,64] get-tuple-element(p), index=1
  ys = f32[4,64,64] get-tuple-element(p), index=2
  one = s32[] constant(1)
  zero = s32[] constant(0)
  next = s32[] add(i, one), metadata={op_name="jit(step)/while/body/add" stack_frame_id=1}
  h = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/while/body/dot_general" stack_frame_id=1}
  sum = f32[64,64] all-reduce(h), replica_groups={{0,1}}, to_apply=add, metadata={op_name="HOSTILE" stack_frame_id=2}
  row = f32[1,64,64] bitcast(sum)
  u = f32[4,64,64] dynamic-update-slice(ys, row, i, zero, zero), metadata={op_name="jit(step)/while/body/stack" stack_frame_id=1}
  ROOT t = (s32[], f32[64,64], f32[4,64,64]) tuple(next, sum, u)
}

condition {
  q = (s32[], f32[64,64], f32[4,64,64]) parameter(0)
  n = s32[] get-tuple-element(q), index=0
  bound = s32[] constant(4)
  ROOT less = pred[] compare(n, bound), direction=LT
}

ENTRY main {
  x0 = f32[64,64] parameter(0), metadata={op_name="state['x']"}
  start = s32[] constant(0)
  filled = f32[4,64,64] broadcast(start), dimensions={}
  init = (s32[], f32[64,64], f32[4,64,64]) tuple(start, x0, filled)
  loop.1 = (s32[], f32[64,64], f32[4,64,64]) while(init), condition=condition, body=body, metadata={op_name="jit(step)/while" stack_frame_id=1}
  s = f32[4,64,64] get-tuple-element(loop.1), index=2
  last = f32[64,64] get-tuple-element(loop.1), index=1
  g = f32[64,64] fusion(last), kind=kLoop, calls=fused
  w = f32[64,64] copy(g)
  ROOT out = (f32[64,64], f32[4,64,64]) tuple(w, s)
}
"""  # noqa: E501

_BUFFERS = """BufferAssignment:
allocation 0: size 16384, parameter 0, shape |f32[64,64]| at ShapeIndex {}:
 value: <0 x0 @0> (size=16384,offset=0): f32[64,64]{1,0}
allocation 1: size 16384, output shape is |f32[64,64]|, maybe-live-out:
 value: <1 w @0> (size=16384,offset=0): f32[64,64]{1,0}
allocation 2: size 131072, preallocated-temp:
 value: <2 filled @0> (size=65536,offset=0): f32[4,64,64]{2,1,0}
 value: <3 p{2} (phi) @0> (size=65536,offset=0): f32[4,64,64]{2,1,0}
 value: <4 u @0> (size=65536,offset=0): f32[4,64,64]{2,1,0}
 value: <5 loop.1{2} (phi) @0> (size=65536,offset=0): f32[4,64,64]{2,1,0}
 value: <6 p{1} (phi) @0> (size=16384,offset=65536): f32[64,64]{1,0}
 value: <7 h @0> (size=16384,offset=81920): f32[64,64]{1,0}
 value: <8 sum @0> (size=16384,offset=98304): f32[64,64]{1,0}
 value: <9 g @0> (size=16384,offset=81920): f32[64,64]{1,0}
"""

_LIVE = """HloLiveRange (max 11):
  InstructionSequence:
    0:x0
    1:filled
    2:next
    3:h
    4:sum
    5:u
    6:loop.1
    7:g
    8:w
    9:out
  BufferLiveRange:
    x0{}:0-1
    filled{}:1-1
    p{1}:2-4
    p{2}:2-4
    h{}:3-4
    sum{}:4-5
    u{}:5-6
    loop.1{2}:6-9
    g{}:7-8
    w{}:8-9
"""


_PROGRAM = """import jax

# </script><script>alert(1)</script> \u202e


def step(x):
    return jax.lax.scan(lambda c, _: (c @ c, c), x, length=4)  # <b>
    # and the sum
    return psum(x)
"""


def view_dump() -> bytes:
    """An archive with two texts of one module, its buffer assignment, live ranges, and program."""
    last = _TEXT.replace("HOSTILE", HOSTILE.replace('"', '\\"'))
    first = last.replace(", is_scheduled=true", "").replace(
        "w = f32[64,64] copy(g)", "w = f32[64,64] negate(g)"
    )
    return tar_of(
        {
            f"{MODULE}.0001.p.after_first.before_second.txt": first.encode(),
            f"{_STEM}.txt": last.encode(),
            f"{_STEM}-buffer-assignment.txt": _BUFFERS.encode(),
            f"{_STEM}-live-range.txt": _LIVE.encode(),
            "src/me/train.py": _PROGRAM.encode(),
        }
    )
