"""The patterns for ordinary lines answer as the grammar does, and nothing but our error comes out.

The grammar is the record of what a line means; the patterns only answer faster. They may refuse
what the grammar takes, but whatever they take must mean the same.
"""

import random
import re
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hlo_parser import HloSyntaxError, Instruction, Interner, parse_module, patterns
from hlo_parser.grammar import GrammarError, InstructionParts, read_instruction
from hlo_parser.lines import LineReader
from hlo_parser.values import holds_body
from parser.dump_texts import hlo_texts
from samples import SAMPLE_DUMPS, load_samples


def parts_of(made: Instruction) -> InstructionParts:
    """What the grammar would have to say for this instruction."""
    return InstructionParts(
        is_root=made.is_root,
        name=made.name,
        shape=made.shape.text,
        opcode=made.opcode,
        arguments=made.arguments,
        operands=made.operands,
        operand_paths=made.operand_paths,
        attributes=dict(made.attributes),
    )


def assert_agreement(line: str) -> bool:
    """Hold the patterns against the grammar; whether the patterns took the line."""
    made = LineReader().ordinary([line])[0]
    if made is None:
        return False
    expected = read_instruction(line)
    assert parts_of(made) == expected
    assert list(made.attributes) == list(expected.attributes)
    return True


def lines_of_sample(name: str) -> list[str]:
    """Every distinct instruction line of a sample dump."""
    interner = Interner()
    (sample,) = [sample for sample in load_samples() if sample.name == name]
    for _, text in hlo_texts(sample.archive):
        parse_module(text, interner=interner)
    return list(interner.lines.instructions)


SAMPLES = sorted(path.parent.name for path in SAMPLE_DUMPS.glob("*/manifest.toml"))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_thousand_lines_of_each_sample_agree(name: str):
    lines = lines_of_sample(name)
    chosen = random.Random(name).sample(lines, min(1000, len(lines)))
    taken = sum(assert_agreement(line) for line in chosen)
    assert taken == len(chosen), "an ordinary line went the slow way"


@pytest.mark.long
@pytest.mark.parametrize("name", SAMPLES)
def test_every_line_of_the_samples_agrees(name: str):
    lines = lines_of_sample(name)
    assert sum(assert_agreement(line) for line in lines) == len(lines)


# ---- made-up lines -------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "x.1", "%p-start.2", "s32", "ROOT", "constant", "%parameter", "_b"])
SHAPES = st.recursive(
    st.sampled_from(
        [
            "f32[]",
            "s4[2,3]{1,0:T(8,128)(2,1)E(4)S(1)}",
            "pred[<=7,?]",
            "token[]",
            "bf16[2]{0}",
            "u8[2]{:T(4)}",
            "f32[2]{}",
            "f32[2",
            "f32 [2]",
            "b(f32[2])",
        ]
    ),
    lambda inner: st.lists(inner, max_size=6).map(lambda shapes: f"({', '.join(shapes)})"),
    max_leaves=8,
)
REFERENCES = st.builds(
    lambda shape, name, path: f"{shape}{name}{path}",
    st.one_of(st.just(""), SHAPES.map(lambda shape: f"{shape} ")),
    NAMES,
    st.sampled_from(["", "", "", "#0", "#1#22", "#", "#x"]),
)
COMMAS = st.sampled_from([", ", ", ", ", ", ", /*index=5*/", ",", " , ", ", , "])
LITERALS = st.recursive(
    st.sampled_from(
        ["1", "-2.5e-07", "inf", "-nan(0x3)", "true", "(1, 2)", "...", "1, 2", "", " "]
    ),
    lambda inner: st.lists(inner, max_size=3).map(lambda items: f"{{{', '.join(items)}}}"),
    max_leaves=6,
)
VALUES = st.recursive(
    st.sampled_from(
        [
            "1",
            "%add.1",
            "kLoop",
            "{1,0}",
            '"a\\"b"',
            '"}"',
            '{"a":"}"}',
            "b01f_01io->b01f",
            "0_0x1_1",
            "[2,4]<=[8]T(1,0)",
            "mesh['a'=2] {'a'}",
            "f32[2]{0}",
            "x:y@2",
            "{'}'}",
            "a=b",
            '"',
            "{",
            "}",
            "/*c*/1",
            "a/*c*/b",
            "//x",
            "{/*}*/}",
            "[1]",
            "(1)",
            "",
            "é",
            "mesh['a'=2]",
            "mesh['a'=2] {'a'/*}*/}",
            "mesh['a' = 2] {'a'}",
            '{op_name="f/g" scheduling_name="a.1" stack_frame_id=3}',
            '{op_name="a // b" x=1}',
            '{scheduling_name="a = b"}',
            '{"a" = 1}',
            '{"a" /*}*/}',
            "{ %x = y }",
            "{%x=y}",
            "{ x = f32[] iota() }",
            "{x =\ty}",
        ]
    ),
    lambda inner: st.lists(inner, max_size=3).map(lambda items: f"{{{', '.join(items)}}}"),
    max_leaves=4,
)
KEYS = st.sampled_from(
    ["k", "backend_config", "control-predecessors", "literal", "to_apply", "a.b", "metadata"]
)
ATTRIBUTES = st.builds(lambda comma, key, value: f"{comma}{key}={value}", COMMAS, KEYS, VALUES)


@st.composite
def lines(draw: st.DrawFn) -> str:
    """Lines that are nearly right."""
    opcode = draw(st.sampled_from(["add", "fusion", "constant", "parameter", "all-gather-start"]))
    if opcode == "constant":
        arguments = draw(LITERALS)
    elif opcode == "parameter":
        arguments = draw(st.sampled_from(["0", "12", "", "-1", "x", "1.5"]))
    else:
        references = draw(st.lists(REFERENCES, max_size=4))
        arguments = "".join(
            part for reference in references for part in (draw(COMMAS), reference)
        ).removeprefix(", ")
    root, name = draw(st.sampled_from(["", "", "ROOT "])), draw(NAMES)
    tail = "".join(draw(st.lists(ATTRIBUTES, max_size=3)))
    return f"{root}{name} = {draw(SHAPES)} {opcode}({arguments}){tail}"


@settings(max_examples=600, deadline=None)
@given(lines())
@example("x = f32[] add(a), k=/*c*/1")
@example("x = f32[] parameter(a)")
@example("x = f32[] add(0)")
@example("x = f32[] constant()")
@example("x = f32[2}] add(a)")
def test_made_up_lines_agree(line: str):
    try:
        assert_agreement(line)
    except GrammarError as error:
        pytest.fail(f"the patterns took what the grammar refuses: {line!r}: {error}")


@settings(max_examples=600, deadline=None)
@given(st.lists(ATTRIBUTES, max_size=3).map("".join))
@example(", calls={ %x = y }")
@example(", calls={%x=y}")
@example(', metadata={op_name="calls={ x = y }" stack_frame_id=1}')
@example(", k={a//b}")
@example(", k=a//b")
@example(', k="a\\", calls={ %x = y }, l="')
@example(', k={a:"\\"/* "}')
@example(', k={a\\"/*"}')
def test_attributes_of_the_usual_form_hold_no_comment_and_no_computation(tail: str):
    usual = patterns.plain_attribute_list.fullmatch(tail)
    if usual is None or "\n" in tail:
        return
    without_strings = re.sub(r'"[^"]*"', '""', tail)
    assert patterns.attribute_list.fullmatch(tail)
    assert "/" not in without_strings
    assert not holds_body(without_strings)


# ---- damaged texts -------------------------------------------------------------------------------

TEXT = """\
HloModule m, is_scheduled=true, entry_computation_layout={(f32[2]{0})->f32[2]{0}}

FileNames
1 "a.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=2 end_line=2 column=1 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y), metadata={op_name="s" stack_frame_id=1}
}, execution_thread="other"

ENTRY %main (p: f32[2]) -> f32[2] {
  %p = f32[2]{0} parameter(0), sharding={devices=[2]<=[2]}
  %c = f32[2]{0} constant({1, 2}), backend_config={"a":[1,{"b":"}"}]}
  ROOT %r = f32[2]{0} all-reduce(%p), replica_groups={{0,1}}, to_apply=%sum
}

"""
PIECES = st.sampled_from(
    [
        "{",
        "}",
        "(",
        ")",
        '"',
        "'",
        "\\",
        "\n",
        "\n\n",
        "/*",
        "*/",
        "//",
        ",",
        "=",
        " ",
        "%",
        "#",
        "é",
        "\0",
        "\r",
        "ROOT ",
        "ENTRY ",
        "}\n\n",
        "{\n",
        "x = ",
        "HloModule ",
        "FileNames\n",
        "[",
        "]",
    ]
)


def touch_everything(text: str) -> None:
    """Ask a module for all it can say."""
    module = parse_module(text)
    assert b"".join(module.pieces) == text.encode()
    last_line = text.count("\n") + 1
    for gap in module.unparsed:
        assert 1 <= gap.span.line <= gap.span.end_line <= last_line
        assert gap.span.column >= 1
        assert gap.reason
    for computation in module.computations:
        assert 1 <= module.first_line(computation) <= last_line
        assert computation.users is not None
        assert computation.root in computation.instructions
        for position, made in enumerate(computation.instructions):
            assert len(made.operands) == len(made.operand_paths)
            assert computation.line_offset(position) < computation.line_count
            parts_of(made)
            for value in (
                made.metadata,
                made.backend_config,
                made.frontend_attributes,
                made.source_target_pairs,
                made.control_predecessors,
                made.dimensions,
                made.shape.elements,
                made.shape.byte_size,
                module.source_of(made),
            ):
                repr(value)
            if made.replica_groups is not None:
                # More devices than any machine has are not listed.
                with suppress(ValueError):
                    made.replica_groups.expand()
            if made.literal is not None:
                repr(made.literal.scalar)


@settings(max_examples=600, deadline=None)
@given(st.integers(0, len(TEXT)), st.integers(0, 40), st.lists(PIECES, max_size=4).map("".join))
def test_damaged_texts_raise_nothing_but_our_error(place: int, cut: int, put: str):
    with suppress(HloSyntaxError):
        touch_everything(TEXT[:place] + put + TEXT[place + cut :])
