"""Strict reading: line, column, what was expected, and a caret under it."""

import pickle

import pytest

from hlo_parser import HloSyntaxError, Span, parse_module

GOOD = """\
HloModule m, num_partitions=2

%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}

ENTRY %e (p: f32[2]) -> (f32[2], f32[2]) {
  %p = f32[2]{0} parameter(0)
  %r.1 = f32[2]{0} all-reduce(%p), replica_groups={{0,1}}, to_apply=%sum
  %r = f32[2]{0} add(%r.1, %p), control-predecessors={%p}
  ROOT %t = (f32[2]{0}, f32[2]{0}) tuple(%r.1, %r)
}

"""


def refused(text: str) -> HloSyntaxError:
    """The error of a strict reading."""
    with pytest.raises(HloSyntaxError) as caught:
        parse_module(text, strict=True)
    return caught.value


def assert_caret_at(error: HloSyntaxError, text: str, word: str) -> None:
    """The error's place is where `word` stands in its line, and the print-out shows it."""
    head, line, caret = str(error).split("\n")
    assert error.line_text == text.split("\n")[error.span.line - 1]
    assert head == f"line {error.span.line}, column {error.span.column}: {error.message}"
    assert line == error.line_text
    assert error.line_text[error.span.column - 1 :].startswith(word)
    assert caret == " " * (error.span.column - 1) + "^"


def test_a_good_text_passes():
    assert parse_module(GOOD, strict=True).unparsed == ()


@pytest.mark.parametrize("told", ["}, a={}", '}, a={{\\"', "it's }, a={", "}\\n}, a=b"])
def test_what_a_string_holds_is_no_attribute_of_the_computation(told: str):
    metadata = f'add(%x, %y), metadata={{op_name="{told}"}}'
    assert parse_module(GOOD.replace("add(%x, %y)", metadata), strict=True).unparsed == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "word", "message"),
    [
        (
            "%y = f32[] parameter(1)",
            "%y = garbage !!",
            5,
            "garbage",
            "expected '(' or a shape or an opcode and '(', found 'garbage'",
        ),
        ("add(%x, %y)", "add(%x %y)", 6, "%y)", "expected '#' or ')' or ',', found '%'"),
        ("add(%x, %y)", "add(%x, %y) k=v", 6, "k=v", "expected ',', found 'k'"),
        (
            "add(%x, %y)",
            "add(%x, %y), k=",
            6,
            "",
            "expected '(' or '{' or a shape or a string or a value, found the end",
        ),
        ("parameter(1)", "parameter(x)", 5, "x)", "expected an integer, found 'x'"),
        ("%x = f32[] p", "%x = f32[2 p", 4, "p", "expected ',' or ']', found 'parameter'"),
        ("_partitions=2", "_partitions=2 ?", 1, "?", "expected ',', found '?'"),
        ("%y = f32[] parameter(1)", "what", 5, "what", "expected an instruction"),
        ("ENTRY", "noise\n\nENTRY", 9, "noise", "expected a computation"),
        ("%sum (x", "%e (x", 9, "e (p", "computation e is defined twice"),
        (
            "%y = f32[] parameter(1)",
            "%x = f32[] parameter(1)",
            5,
            "x =",
            "instruction x is defined twice",
        ),
        ("%sum (x", "ENTRY %sum (x", 9, "ENTRY", "a second ENTRY"),
        ("%y = f32", "ROOT %y = f32", 6, "ROOT", "a second ROOT"),
        ("add(%r.1, %p)", "add(%r.1, %r.2)", 12, "r.2", "operand r.2 is not defined"),
        ("add(%r.1, %p)", "add(%r.1, %t)", 12, "t)", "operand t is defined only later"),
        ("to_apply=%sum", "to_apply=%plus", 11, "plus", "computation plus is not defined"),
    ],
)
def test_faults(old: str, new: str, line: int, word: str, message: str):
    text = GOOD.replace(old, new)
    assert text != GOOD
    error = refused(text)
    assert error.message == message
    assert error.span.line == line
    assert_caret_at(error, text, word)


@pytest.mark.parametrize(
    ("text", "line", "word", "message"),
    [
        (
            "HloModule m\n\nENTRY %c {\n  ROOT %constant = s32[2] constant({1,\n    2.5})\n}\n",
            5,
            "2.5",
            "expected an integer, found '2.5'",
        ),
        (
            "HloModule m\n\nENTRY %c {\n  ROOT %constant = f32[2] constant({nan(0x7), 1, 2})\n}\n",
            4,
            "})",
            "a literal of 2 elements, found 3",
        ),
        (
            "HloModule m\n\n%c {\n  %a = s32[] parameter(0)\n}\n\n%c {\n"
            "  %a = s32[] parameter(0)\n}\n",
            7,
            "c {",
            "computation c is defined twice",
        ),
        (
            "HloModule m\n\nENTRY %c {\n  %a = s32[] frob\n}\n",
            4,
            "frob",
            "expected an opcode and '(', found 'frob'",
        ),
        (
            "HloModule m\n\nENTRY %c { %a = s32[] parameter() }\n",
            3,
            ") }",
            "expected an integer, found ')'",
        ),
        (
            "HloModule m\n\nENTRY %c {\n  %a = s32[] parameter(0)\n}, backend_config={},"
            " execution_thread=7\n",
            5,
            "execution_thread=",
            "execution_thread takes a string",
        ),
        (
            "r = f32[] reduce(f32[5], f32[]), dimensions={0}, to_apply=\n{\n"
            "  q = f32[] add(f32[], f32[])\n}",
            3,
            ", f32",
            "expected a name behind the shape",
        ),
        (
            "HloModule m, is_scheduled=true, is_scheduled=true\n\nENTRY %c {\n"
            "  %a = s32[] parameter(0)\n}\n",
            1,
            "is_scheduled=true",
            "attribute is_scheduled is given twice",
        ),
        (
            "HloModule m\n\nc {\n  a = s32[] parameter(0)\n  b = s32[] frob(a)\n}\n\n"
            "ENTRY e {\n  a = s32[] parameter(0)\n  b = s32[] (a)\n}\n",
            5,
            "frob",
            "unknown opcode frob",
        ),
        (
            "HloModule m\n\nENTRY e (x: g32[]) -> f32[] {\n  x = f32[] parameter(\n}\n",
            3,
            "e (x",
            "unknown element type g32",
        ),
        (
            "HloModule m\n\nENTRY e {\n  a = s32[] parameter(0)\n  b = s32[] parameter(0)\n"
            "  ROOT a = s32[] add(a, b)\n}\n",
            5,
            "0)",
            "a second parameter 0",
        ),
        (
            'HloModule m\n\nFileNames\n1 "a"\n\nFunctionNames\n1 "f"\n\nFileLocations\n'
            "1 {file_name_id=x}\n\nStackFrames\n\nENTRY e {\n  a = s32[] parameter(0)\n}\n",
            10,
            "x}",
            "expected an integer, found 'x'",
        ),
        (
            "HloModule m\n\nENTRY e {\n  a = s32[] parameter(0)\n  ROOT w = s32[] while(a),"
            " condition={\n  c = s32[] parameter(0)\n  ROOT d = pred[ compare(c, c)\n}, body={\n"
            "  ROOT c = s32[] parameter(0)\n}\n}\n",
            7,
            "compare",
            "expected '<=' or '?' or ']' or an integer, found 'compare'",
        ),
        (
            "\n  a = f32[2] negate(f32[2] x)\n  b = f32[2] copy(a)\n",
            3,
            "b =",
            "expected the end of the text behind its one instruction",
        ),
    ],
)
def test_faults_of_other_texts(text: str, line: int, word: str, message: str):
    error = refused(text)
    assert (error.span.line, error.message) == (line, message)
    assert_caret_at(error, text, word)


@pytest.mark.parametrize("word", ["HloModule m, num_partitions=2\n", "\n"])
def test_places_do_not_depend_on_line_ends(word: str):
    text = GOOD.replace("add(%r.1, %p)", "add(%r.1, %r.2)")
    error = refused(text.replace("\n", "\r\n"))
    assert (error.span, error.line_text) == (refused(text).span, refused(text).line_text)
    assert word in text


def test_a_fault_behind_a_line_break():
    text = GOOD.replace("add(%x, %y)", "add(%x,\n    %y %z)")
    error = refused(text)
    assert error.span == Span(7, 8, 7, 11)
    assert_caret_at(error, text, "%z")
    error = refused(GOOD.replace("add(%x, %y)", "add(%x,\n    %z)"))
    assert (error.span, error.message) == (Span(7, 6, 7, 7), "operand z is not defined")


def test_a_long_line_is_shown_around_the_fault():
    text = GOOD.replace("add(%x, %y)", "add(" + "%x, " * 500 + "!)")
    error = refused(text)
    _, shown, caret = str(error).split("\n")
    assert len(shown) <= 200
    assert shown[len(caret) - 1] == "!"


def test_errors_survive_pickling():
    error = refused(GOOD.replace("%x, %y", "%x, %z"))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.span) == (str(error), error.span)


def test_other_text_has_a_place_too():
    error = refused("hello\nworld")
    assert_caret_at(error, "hello\nworld", "hello")
    assert error.message == "no HLO computation in this text"


@pytest.mark.parametrize("number", ["-1", "9" * 30, "\N{ARABIC-INDIC DIGIT ZERO}"])
def test_a_parameter_has_a_number_that_counts(number: str):
    text = f"HloModule m\n\nENTRY %e {{\n  ROOT %p = f32[] parameter({number})\n}}\n\n"
    assert_caret_at(refused(text), text, number)
