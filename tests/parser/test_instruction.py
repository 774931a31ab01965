"""Typed parts of single instructions."""

import math

import pytest

from hlo_parser import Callee, Instruction, parse_module
from hlo_parser.instruction import AttributeList
from hlo_parser.patterns import plain_attribute_list
from hlo_parser.value_pool import ValuePool
from hlo_parser.values import metadata_from_text


def instruction(line: str) -> Instruction:
    """The instruction of one line."""
    module = parse_module(f"HloModule m\n\ne {{\n  {line}\n}}\n\n")
    assert module.unparsed == ()
    (found,) = module.computations[0].instructions
    return found


# Both spellings must give the same: ordinary lines are cut by patterns, odd ones by the grammar.
SPELLINGS = [lambda line: line, lambda line: line.replace(" = ", " = /* odd */ ", 1)]


@pytest.fixture(params=SPELLINGS, ids=["ordinary", "odd"])
def read(request: pytest.FixtureRequest):
    """Reads a line in one of the spellings."""
    return lambda line: instruction(request.param(line))


def test_parts(read):
    made = read("ROOT %a.1-x = (f32[2]{0}, s32[]) while(%t), condition=%c, body=%b")
    assert (made.name, made.opcode, made.is_root) == ("a.1-x", "while", True)
    assert made.shape.text == "(f32[2]{0}, s32[])"
    assert made.operands == ("t",)
    assert made.callees == (Callee("condition", "c"), Callee("body", "b"))
    assert list(made.attributes) == ["condition", "body"]


@pytest.mark.parametrize(
    ("arguments", "operands", "paths"),
    [
        ("", (), ()),
        ("a", ("a",), ((),)),
        ("%a, %b", ("a", "b"), ((), ())),
        ("%t#1#0, %t#12", ("t", "t"), ((1, 0), (12,))),
        ("f32[2]{0} %a, (s32[], f32[3,4]{1,0:T(8,128)S(1)}) %t#1", ("a", "t"), ((), (1,))),
        ("f32[2]{0} a, pred[] b", ("a", "b"), ((), ())),
        ("%a, %b, %c, %d, %e, /*index=5*/%f", tuple("abcdef"), ((),) * 6),
        ("s32[<=5,?] %s32, () %u1", ("s32", "u1"), ((), ())),
        ("%constant, parameter, %ENTRY", ("constant", "parameter", "ENTRY"), ((), (), ())),
    ],
)
def test_operands(read, arguments, operands, paths):
    made = read(f"x = f32[] fusion({arguments}), kind=kLoop")
    assert (made.operands, made.operand_paths) == (operands, paths)
    assert made.attributes == {"kind": "kLoop"}


def test_a_parameter_has_a_number_and_no_operands(read):
    made = read("p = f32[2]{0} parameter(12), sharding={replicated}")
    assert (made.parameter_number, made.operands, made.sharding) == (12, (), "{replicated}")
    assert read("x = f32[] negate(p)").parameter_number is None
    assert read("p = f32[] parameter(/*the first*/0)").parameter_number == 0


@pytest.mark.parametrize(
    ("shape", "text", "value"),
    [
        ("f32[]", "2.5", 2.5),
        ("f32[]", "0", 0.0),
        ("bf16[]", "-inf", -math.inf),
        ("f32[]{:T(128)}", "1e-07", 1e-07),
        ("s32[]", "-7", -7),
        ("u64[]", "18446744073709551615", 2**64 - 1),
        ("pred[]", "true", True),
        ("pred[]", "0", False),
        ("c64[]", "(1, -2.5)", complex(1, -2.5)),
        ("f32[1]{0}", "{1}", None),
        ("f32[2,2]", "{ {1, 2}, {3, 4} }", None),
        ("f32[9]", "{...}", None),
        ("(f32[], s32[])", "(1, 2)", None),
        ("s32[]", "9" * 100, None),
        ("f32[]", "", None),
    ],
)
def test_literals(read, shape, text, value):
    made = read(f"c = {shape} constant({text})")
    assert made.operands == ()
    assert made.literal is not None
    assert made.literal.text == text
    assert made.literal.is_elided == (text == "{...}")
    assert made.literal.scalar == value
    assert type(made.literal.scalar) is type(value)


def test_a_nan_literal(read):
    for text in ("nan", "-nan", "nan(0x7fc0)", "-nan(0x3)"):
        scalar = read(f"c = f32[] constant({text})").literal.scalar
        assert math.isnan(scalar)


def test_metadata(read):
    made = read(
        r'x = f32[] add(a, b), metadata={op_type="add" op_name="jit(f)/\"q\" \303\251\n[a=(1, 2)]" '
        r'source_file="/a b/t.py" source_line=3 source_end_line=4 source_column=5 '
        r'source_end_column=9 profile_type={1} scheduling_name="a\b" stack_frame_id=4 future=7}'
    )
    metadata = made.metadata
    assert metadata is not None
    assert metadata.op_type == "add"
    assert metadata.op_name == 'jit(f)/"q" é\n[a=(1, 2)]'
    assert metadata.source_file == "/a b/t.py"
    assert (metadata.source_line, metadata.source_end_line) == (3, 4)
    assert (metadata.source_column, metadata.source_end_column) == (5, 9)
    assert metadata.scheduling_name == "a\\b"
    assert metadata.stack_frame_id == 4
    assert metadata.deduplicated_name is None
    assert read("x = f32[] add(a, b)").metadata is None
    assert read("x = f32[] add(a, b), metadata={}").metadata.op_name is None


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{op_name=""}',
        "{op_name=\"jit(f)/a='{b}' stack_frame_id=9\" stack_frame_id=3}",
        '{op_name="a" source_file="/b c.py" source_line=12}',
        '{op_name="a" deduplicated_name="b.1" scheduling_name="c" stack_frame_id=4}',
        '{scheduling_name="c.2"}',
        '{source_file="d"}',
        "{ stack_frame_id=123456789012345678}",
        '{op_name="a"stack_frame_id=3}',
    ],
)
def test_metadata_of_usual_form_is_read_as_any(text):
    assert metadata_from_text(text) == metadata_from_text(f"{text[:-1]} unknown=1}}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        ", index=3",
        ', kind=kLoop, calls=%fused.1, metadata={op_name="a, b={c}" stack_frame_id=3}',
        ', metadata={scheduling_name="x"}, backend_config={"a":{"b":["}"]},"c":"d, e=f"}',
        ", dimensions={0,1}, dimensions={2}, replica_groups=[2,4]<=[4,2]T(1,0)",
        ", replica_groups=mesh['a'=2,'b'=4] {'a'}, control-predecessors={%a, %b}",
        ', custom_call_target="a, b", sharding={devices=[2,1]<=[2]}',
    ],
)
def test_attributes_of_usual_form_are_cut_as_any(text):
    assert plain_attribute_list.fullmatch(text)
    plain = AttributeList(text, ValuePool(), is_plain=True)
    assert list(plain.raw.items()) == list(AttributeList(text, ValuePool()).raw.items())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            '{"known_trip_count":{"n":"5"},"l":[1,2.5,null]}',
            {"known_trip_count": {"n": "5"}, "l": [1, 2.5, None]},
        ),
        (r'"{\"known_trip_count\":{\"n\":\"5\"}}"', {"known_trip_count": {"n": "5"}}),
        ('{"a":"} // \\" {"}', {"a": '} // " {'}),
        (r'"plain \"text\""', 'plain "text"'),
        ("{oops [1,2}", "{oops [1,2}"),
        ("{}", {}),
        ('""', ""),
    ],
)
def test_backend_config(read, text, value):
    made = read(f"x = f32[] add(a, b), backend_config={text}, k=v")
    assert made.backend_config == value
    assert made.attributes == {"backend_config": text, "k": "v"}


def test_frontend_attributes(read):
    made = read(
        'x = f32[] send(a, b), frontend_attributes={_xla_pairs={{0,1},{1,2}},a.b-c="q, \\"r\\"",'
        'mesh={mesh = #sdy.mesh<["x"=2]>},old=word}, channel_id=3'
    )
    assert dict(made.frontend_attributes) == {
        "_xla_pairs": "{{0,1},{1,2}}",
        "a.b-c": 'q, "r"',
        "mesh": '{mesh = #sdy.mesh<["x"=2]>}',
        "old": "word",
    }
    assert made.channel_id == 3
    assert dict(read("x = f32[] add(a), frontend_attributes={}").frontend_attributes) == {}


def test_collective_attributes(read):
    made = read(
        "x = f32[4]{0} collective-permute(a), channel_id=-1, "
        "source_target_pairs={{0,1},{1, 0}}, control-predecessors={%b, c.1}, dimensions={1,0}"
    )
    assert made.channel_id == -1
    assert made.source_target_pairs == ((0, 1), (1, 0))
    assert made.control_predecessors == ("b", "c.1")
    assert made.dimensions == (1, 0)
    assert made.attribute_int("channel_id") == -1
    assert made.attribute_int("dimensions") is None
    assert made.attribute_int("nothing") is None


@pytest.mark.parametrize(
    "groups",
    [
        "{{0,1},{2,3}}",
        "[2,2]<=[4]",
        "[2,4]<=[4,2]T(1,0)",
        "mesh['a'=2,'b'=2] {'a'}",
        "mesh['a'=2,'b'=4], device_ids=([2,4]T(1,0)) {'a','b':(2)2}",
        "{}",
    ],
)
def test_replica_groups_keep_their_commas(read, groups):
    made = read(f"x = f32[] all-reduce(a), replica_groups={groups}, to_apply=%s")
    assert made.replica_groups.text == groups
    assert [callee.name for callee in made.callees] == ["s"]


def test_callees_of_every_kind(read):
    made = read(
        "x = f32[] conditional(p, a, b), branch_computations={%s, t.1}, called_computations={u}"
    )
    assert made.callees == (
        Callee("branch_computations", "s"),
        Callee("branch_computations", "t.1"),
        Callee("called_computations", "u"),
    )
    made = read("x = f32[] select-and-scatter(a, b, c), select=%ge, scatter=%add")
    assert [callee.role for callee in made.callees] == ["select", "scatter"]


@pytest.mark.parametrize(
    "value",
    [
        "b01f_01io->b01f",
        "0_0_0x1_-1_2",
        "{[0:10], [2:8:2]}",
        "{size=3x3 stride=2x2 pad=0_0x1_1}",
        "rng_default",
        "1.5",
        "-3",
        "{{}: (0, {}), {1}: (2, {0,1})}",
        "L.1@2:4_R.0@2:4",
        '"a, b={"',
        "f32[2]{0}",
        "{ {0}: (1, {}, may-alias) }",
        "{[synthetic_call]}",
        '{({"a"}, ({"b" {0}}, {}))}',
        "{devices=[2,2]<=[2,2]T(1,0) last_tile_dims={manual}}",
        "{mesh['x'=2], [{'x':(1)2, ?}, {}]}",
    ],
)
def test_values_are_kept_as_printed(read, value):
    assert read(f"x = f32[] op(a), k={value}, z=1").attributes == {"k": value, "z": "1"}


def test_values_only_the_grammar_takes():
    made = instruction(
        "x = () custom-call(a), literal=s32[2]{0} {1, 2}, outfeed_shape=(f32[2], token[])"
    )
    assert made.attributes == {"literal": "s32[2]{0} {1, 2}", "outfeed_shape": "(f32[2], token[])"}


def test_other_typed_attributes(read):
    made = read('x = f32[] custom-call(a), custom_call_target="my\\"target"')
    assert made.custom_call_target == 'my"target'
    made = read("x = f32[] get-tuple-element(t), index=2")
    assert (made.tuple_index, made.custom_call_target) == (2, None)
    assert read("x = f32[] op(t), index=2").tuple_index is None


def test_a_shape_may_be_missing():
    made = instruction("x = add(a, b)")
    assert (made.shape.text, made.shape.byte_size, made.operands) == ("", 0, ("a", "b"))


def test_type_words_may_be_names(read):
    made = read("s1 = f32[] add(u1, f32)")
    assert (made.name, made.operands) == ("s1", ("u1", "f32"))
