"""What uses a value: within its computation, and behind what runs that."""

import pytest

from app.analysis.readers import readers_anywhere, readers_of
from hlo_parser import parse_module

TEXT = """HloModule m

%inside (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  %c = f32[] constant(2)
  %other = f32[4]{0} negate(%p)
  %wide = f32[4]{0} broadcast(%c), dimensions={}
  ROOT %product = f32[4]{0} multiply(%other, %wide)
}

ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %before = f32[4]{0} sine(%x)
  %fused = f32[4]{0} fusion(%before), kind=kLoop, calls=%inside
  %beside = f32[4]{0} cosine(%before)
  ROOT %after = f32[4]{0} add(%fused, %beside)
}
"""


@pytest.mark.parametrize(
    ("value", "within", "anywhere"),
    [
        ("c", ["wide", "product"], ["wide", "product", "fused", "after"]),
        ("p", ["other", "product"], ["other", "product", "fused", "after"]),
        ("product", [], ["fused", "after"]),
    ],
)
def test_readers_come_nearest_first(value: str, within: list[str], anywhere: list[str]) -> None:
    module = parse_module(TEXT)
    inside = module.get("inside")
    assert inside is not None
    instruction = inside.get(value)
    assert instruction is not None
    assert [reader.name for reader in readers_of(inside, instruction)] == within
    found = readers_anywhere(module, inside, instruction)
    assert [reader.name for _, reader in found] == anywhere


def test_a_value_that_nothing_uses_has_none() -> None:
    module = parse_module(TEXT)
    main = module.get("main")
    assert main is not None
    last = main.get("after")
    assert last is not None
    assert list(readers_anywhere(module, main, last)) == []
