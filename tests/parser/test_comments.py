"""Comments become blanks, and nothing else does."""

import pytest

from hlo_parser import parse_module
from hlo_parser.comments import blanked, blanked_bytes
from hlo_parser.head_and_foot import foot_of


def marked(text: str) -> str:
    """What a text loses: its comments, each between angle brackets."""
    plain, shown = blanked(text), ""
    assert len(plain) == len(text)
    for before, after in zip(text, plain, strict=True):
        shown += before if before == after else f"<{before}>"
    return shown.replace("><", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a /*b*/ c", "a </*b*/> c"),
        ("a // b\n// c\rd", "a <//> <b>\n<//> <c>\rd"),
        ("/* {\n'*/ a", "</*> <{>\n<'*/> a"),
        ("{1, /*index=5*/2, /*i0=1*/3, /*x=1*/4}", "{1, /*index=5*/2, /*i0=1*/3, </*x=1*/>4}"),
        ('a="//" /*é*/ b', 'a="//" </*é*/> b'),
        ("a='it//s' //x", "a='it//s' <//x>"),
        ('a="one\n// two", /*b*/c', 'a="one\n// two", </*b*/>c'),
        ('backend_config={"u": //a\n} //b', 'backend_config={"u": //a\n} <//b>'),
        ("backend_config=//a\n{//b\n}", "backend_config=<//a>\n{//b\n}"),
        (
            "frontend_attributes={/*a*/k={//b\n}, j='//' /*c*/} /*d*/",
            "frontend_attributes={</*a*/>k={//b\n}, j='//' </*c*/>} </*d*/>",
        ),
        ("sharding={//a\n}", "sharding={<//a>\n}"),
        ("a /* never closed", "a /* never closed"),
        ("it's // so", "it's // so"),
        ("backend_config={ /*a*/", "backend_config={ </*a*/>"),
    ],
)
def test_what_is_blanked(text: str, expected: str) -> None:
    assert marked(text) == expected
    raw = text.encode()
    assert len(blanked_bytes(raw)) == len(raw)
    assert blanked_bytes(raw).split() == blanked(text).encode().split()


def test_a_text_without_comments_is_itself() -> None:
    text = "ROOT a = f32[2] add(b, c)"
    assert blanked(text) is text


VALUES = [
    ("{/*x*/replicated}", "{replicated}"),
    ("{ /*x*/ replicated /*y*/}", "{ replicated }"),
    ("{devices=[2,1]/*x*/<=[2]/*y*/last_tile_dims={/*z*/manual}}",
     "{devices=[2,1]<=[2] last_tile_dims={manual}}"),
    ("{replicated/* {\n' */manual}", "{replicated manual}"),
    ('{op_name="a  /*b*/" /*c*/ source_line=1/**/}', '{op_name="a  /*b*/" source_line=1}'),
    ("{1, /*index=5*/2}", "{1, /*index=5*/2}"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), VALUES)
@pytest.mark.parametrize("blank", ["", " "], ids=["XLA's own spelling", "any other"])
def test_values_are_kept_without_their_comments(value: str, expected: str, blank: str) -> None:
    module = parse_module(
        f"HloModule m, a={blank}{value}\n\n"
        f"e {{\n  b = f32[] iota(), a={blank}{value}, c=d\n}}, a={blank}{value}\n\n"
    )
    assert module.unparsed == ()
    assert module.header.attributes == {"a": expected}
    (made,) = module.entry.instructions
    assert made.attributes == {"a": expected, "c": "d"}
    assert foot_of(module.entry.text) == [("a", expected)]


def test_a_line_comment_in_a_value_is_a_blank() -> None:
    module = parse_module("e {\n  b = f32[] iota(), a={c //d\n  e}\n}\n")
    assert module.entry.instructions[0].attributes == {"a": "{c e}"}
