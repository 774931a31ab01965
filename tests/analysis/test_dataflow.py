"""Values are the same whatever the spelling of tuple access."""

from app.analysis.dataflow import (
    Value,
    invariant_elements,
    operand_values,
    root_elements,
    value_of,
    walk_operands,
)
from hlo_parser import Computation, parse_module

SPELT_OUT = """HloModule m

ENTRY main {
  p = (f32[], (f32[2]{0}, s32[])) parameter(0)
  inner = (f32[2]{0}, s32[]) get-tuple-element(p), index=1
  x = f32[2]{0} get-tuple-element(inner), index=0
  pair = (f32[2]{0}, f32[2]{0}) tuple(x, x)
  again = f32[2]{0} get-tuple-element(pair), index=1
  y = f32[2]{0} negate(again)
  n = s32[] get-tuple-element(inner), index=1
  a = f32[] get-tuple-element(p), index=0
  back = (f32[2]{0}, s32[]) tuple(y, n)
  ROOT t = (f32[], (f32[2]{0}, s32[])) tuple(a, back)
}
"""
COMPACT = """HloModule m

ENTRY %main {
  %p = (f32[], (f32[2]{0}, s32[])) parameter(0)
  %pair = (f32[2]{0}, f32[2]{0}) tuple(%p#1#0, %p#1#0)
  %y = f32[2]{0} negate(%pair#1)
  %back = (f32[2]{0}, s32[]) tuple(%y, %p#1#1)
  ROOT %t = (f32[], (f32[2]{0}, s32[])) tuple(%p#0, %back)
}
"""


def entry(text: str) -> Computation:
    module = parse_module(text)
    assert module.unparsed == ()
    return module.entry


def test_both_spellings_give_the_same_values() -> None:
    for text in (SPELT_OUT, COMPACT):
        main = entry(text)
        negate = main.get("y")
        assert negate is not None
        assert operand_values(main, negate) == (Value("p", (1, 0)),)
        assert root_elements(main) == (Value("p", (0,)), Value("back"))
        assert invariant_elements(main) == {0}


def test_a_path_goes_through_nested_tuples() -> None:
    main = entry(SPELT_OUT)
    assert value_of(main, "t", (1, 0)) == Value("y")
    assert value_of(main, "t", (1, 1)) == Value("p", (1, 1))


def test_undefined_names_and_cycles_end_the_walk() -> None:
    main = entry(
        "HloModule m\n\nENTRY main {\n"
        "  a = f32[] get-tuple-element(b), index=0\n"
        "  b = (f32[]) tuple(a)\n"
        "  ROOT c = f32[] negate(gone)\n}\n"
    )
    assert value_of(main, "gone", (3,)) == Value("gone", (3,))
    assert value_of(main, "a").name in ("a", "b")
    assert [i.name for i in walk_operands(main, main.instructions[0])] == ["b"]
