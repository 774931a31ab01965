"""One text of many features, with all that is read from it."""

from conftest import Golden
from hlo_parser import Instruction, Module, parse_module

TEXT = """\
HloModule jit_step, is_scheduled=true, input_output_alias={ {0}: (1, {}, may-alias) }, replica_count=2

FileNames
1 "train.py"

FunctionNames
1 "step"
2 "loss"

FileLocations
1 {file_name_id=1 function_name_id=1 line=20 end_line=20 column=4 end_column=31}
2 {file_name_id=1 function_name_id=2 line=7 end_line=9 column=2 end_column=8}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}


%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}

%cond (t: (s32[], f32[8])) -> pred[] {
  %t = (s32[]{:T(128)}, f32[8]{0:T(256)S(1)}) parameter(0)
  %n = s32[]{:T(128)} constant(5)
  ROOT %lt = pred[]{:T(512)} compare(%t#0, %n), direction=LT
}

ENTRY %main (a: (s32[], f32[8])) -> f32[8] {
  %a = (s32[]{:T(128)}, f32[8]{0:T(256)S(1)}) parameter(0), sharding={{replicated}, {devices=[2]<=[2]}}
  %w = (s32[]{:T(128)}, f32[8]{0:T(256)S(1)}) while(%a), condition=%cond, body=%body, metadata={op_name="while" stack_frame_id=2}, backend_config={"known_trip_count":{"n":"5"}}
  %ar = f32[8]{0} all-reduce-start(%w#1), channel_id=1, replica_groups=mesh['a'=2,'b'=2] {'a'}, to_apply=%sum, control-predecessors={%gone}
  what is this
  ROOT %done = f32[8]{0} all-reduce-done(%ar), frontend_attributes={_xla_x={{0,1}}}, metadata={op_name="psum" source_file="b.py" source_line=3}
}

"""  # noqa: E501 -- as XLA prints it


def summary(module: Module) -> dict[str, object]:
    """All of a module as plain data, what is empty left out."""
    return {
        "header": [module.name, dict(module.header.attributes)],
        "counts": [module.line_count, module.byte_size, module.instruction_count],
        "unparsed": [[gap.span.line, gap.text, gap.reason] for gap in module.unparsed],
        "computations": {
            computation.name: {
                f"{module.line_of(computation, made)} {made.name}": filled(module, made)
                for made in computation.instructions
            }
            for computation in module.computations
        },
    }


def filled(module: Module, made: Instruction) -> dict[str, object]:
    """What an instruction says, empty values left out."""
    place = module.source_of(made)
    said: dict[str, object] = {
        "opcode": made.opcode,
        "root": made.is_root,
        "shape": [made.shape.without_layout, made.shape.byte_size, made.shape.memory_space],
        "operands": [
            f"{name}{''.join(f'#{step}' for step in path)}"
            for name, path in zip(made.operands, made.operand_paths, strict=True)
        ],
        "attributes": list(made.attributes),
        "callees": [f"{callee.role}={callee.name}" for callee in made.callees],
        "control": list(made.control_predecessors),
        "config": made.backend_config,
        "frontend": dict(made.frontend_attributes),
        "groups": made.replica_groups and made.replica_groups.expand(),
        "sharding": made.sharding,
        "literal": made.literal and made.literal.scalar,
        "place": place and f"{place.file}:{place.line} {[frame.line for frame in place.frames]}",
    }
    return {
        key: value for key, value in said.items() if value or (value == 0 and value is not False)
    }


def test_everything_that_is_read(golden: Golden):
    golden("text.json", summary(parse_module(TEXT)))
