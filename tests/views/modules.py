"""Modules for the tests of views."""

from hlo_parser import Module, parse_module

SMALL = parse_module("""HloModule jit_step, is_scheduled=true

FileNames
1 "/job/train.py"
2 "/job/layers.py"

FunctionNames
1 "main"
2 "dense"

FileLocations
1 {file_name_id=1 function_name_id=1 line=40 end_line=40 column=2 end_column=9}
2 {file_name_id=2 function_name_id=2 line=7 end_line=7 column=11 end_column=20}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}


%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %total = f32[] add(%a, %b)
}

ENTRY %main (x: f32[8,4], w: f32[4,8]) -> f32[] {
  %x = f32[8,4]{1,0} parameter(0)
  %w = f32[4,8]{1,0} parameter(1)
  %dot.1 = f32[8,8]{1,0} dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, \
metadata={op_name="jit(step)/dense/dot_general" stack_frame_id=2}
  %zero = f32[] constant(0)
  %send = f32[8,8]{1,0} negate(%dot.1), control-predecessors={%zero}
  %late = f32[8,8]{1,0} exponential(%dot.1), metadata={op_name="jit(step)/exp" stack_frame_id=1}
  %both = f32[8,8]{1,0} add(%send, %late)
  ROOT %reduce.2 = f32[] reduce(%both, %zero), dimensions={0,1}, to_apply=%sum
}

""")


def chain(length: int, *, opcode: str = "negate", edited: int = 0) -> Module:
    """One computation of `length` instructions, each the operand of the next.

    The first `edited` of every hundred have another opcode.
    """
    lines = ["HloModule long", "", "ENTRY %main (p: f32[8]) -> f32[8] {"]
    lines.append("  %i.0 = f32[8]{0} parameter(0)")
    for n in range(1, length):
        word = "abs" if n % 100 < edited else opcode
        place = f'op_name="jit(f)/step{n % 7}" source_file="/job/f.py" source_line={n % 50}'
        lines.append(f"  %i.{n} = f32[8]{{0}} {word}(%i.{n - 1}), metadata={{{place}}}")
    lines[-1] = lines[-1].replace("  %", "  ROOT %", 1)
    return parse_module("\n".join([*lines, "}", ""]))


def star(users: int) -> Module:
    """One instruction with very many users."""
    lines = ["HloModule star", "", "ENTRY %main (p: f32[8]) -> f32[8] {"]
    lines.append("  %hub = f32[8]{0} parameter(0)")
    lines += [f"  %u.{n} = f32[8]{{0}} negate(%hub)" for n in range(users)]
    lines.append("  ROOT %end = f32[8]{0} negate(%u.0)")
    return parse_module("\n".join([*lines, "}", ""]))
