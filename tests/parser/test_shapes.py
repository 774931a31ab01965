"""Shapes from their text."""

import pytest

from hlo_parser import Shape


def test_an_array():
    shape = Shape("f32[2,<=3]{1,0:T(8,128)(2,1)S(5)}")
    assert (shape.kind, shape.element_type, shape.dimensions) == ("array", "f32", (2, 3))
    assert shape.is_dynamic
    assert (shape.minor_to_major, shape.memory_space) == ((1, 0), 5)
    assert shape.layout_text == "1,0:T(8,128)(2,1)S(5)"
    assert shape.without_layout == "f32[2,<=3]"
    assert shape.elements == ()


def test_layouts_may_be_missing_or_without_order():
    assert Shape("f32[2]").minor_to_major is None
    assert Shape("f32[]{:T(256)}").minor_to_major == ()
    assert Shape("f32[2]").memory_space == 0


def test_a_tuple():
    shape = Shape("(f32[2]{0}, (s32[], pred[3]{0:S(1)}), /*index=5*/token[])")
    assert (shape.kind, shape.element_type, shape.dimensions) == ("tuple", "", ())
    assert [element.text for element in shape.elements] == [
        "f32[2]{0}",
        "(s32[], pred[3]{0:S(1)})",
        "token[]",
    ]
    assert [element.text for element in shape.elements[1].elements] == ["s32[]", "pred[3]{0:S(1)}"]
    assert not shape.is_dynamic
    assert shape.byte_size == 8 + 4 + 3
    assert shape.without_layout == "(f32[2], (s32[], pred[3]), token[])"


def test_other_kinds():
    assert Shape("token[]").kind == "token"
    assert Shape("opaque[]").kind == "opaque"
    assert Shape("()").elements == ()
    buffer = Shape("b(f32[4]{0})")
    assert (buffer.kind, buffer.byte_size) == ("buffer", 16)
    assert [element.text for element in buffer.elements] == ["f32[4]{0}"]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("pred[3]", 3),
        ("s8[3]", 3),
        ("bf16[2,3]", 12),
        ("f32[]", 4),
        ("f64[2]", 16),
        ("c64[2]", 16),
        ("c128[]", 16),
        ("f8e4m3fn[5]", 5),
        ("f8e8m0fnu[5]", 5),
        ("s4[5]", 3),
        ("u2[5]", 2),
        ("u1[9]", 2),
        ("f4e2m1fn[3]", 2),
        ("token[]", 0),
        ("opaque[]", 0),
        ("f32[0,7]", 0),
        ("f32[<=4]", 16),
        ("f32[?,4]", 0),
        ("(s4[3], s4[3])", 4),
        ("future7x[8]", 7),
        ("", 0),
        ("f32[" + "9," * 60 + "9]", 2**63 - 1),
    ],
)
def test_byte_size(text: str, size: int):
    assert Shape(text).byte_size == size


def test_an_unbounded_dimension_is_minus_one():
    shape = Shape("f32[?,4]")
    assert (shape.dimensions, shape.is_dynamic) == ((-1, 4), True)
    assert Shape("(f32[?], s32[])").is_dynamic


def test_equal_text_is_equal():
    assert Shape("f32[2]") == Shape("f32[2]")
    assert len({Shape("f32[2]"), Shape("f32[2]"), Shape("f32[3]")}) == 2
