"""Bytes that instructions read and write."""

import pytest

from app.analysis.touched import TouchReader
from hlo_parser import parse_module

TEXT = """HloModule m

updates {
  stack = f32[8,16] parameter(0)
  row = f32[1,16] parameter(1)
  i = s32[] parameter(2)
  zero = s32[] constant(0)
  ROOT u = f32[8,16] dynamic-update-slice(stack, row, i, zero)
}

reads {
  table = f32[8,16] parameter(0)
  j = s32[] parameter(1)
  none = s32[] constant(0)
  ROOT part = f32[1,16] dynamic-slice(table, j, none), dynamic_slice_sizes={1,16}
}

ENTRY e {
  a = f32[8,16] parameter(0)
  n = s32[] parameter(1)
  t = (f32[8,16], s32[]) tuple(a, n)
  g = f32[8,16] get-tuple-element(t), index=0
  plain = f32[8,16] add(g, a)
  slice = f32[2,16] slice(a), slice={[0:2], [0:16]}
  one = f32[1,16] fusion(a, n), kind=kLoop, calls=reads
  ROOT all = f32[8,16] fusion(plain, one, n), kind=kLoop, calls=updates
}
"""


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("a", 0),
        ("t", 0),
        ("plain", 3 * 512),
        ("slice", 2 * 128),
        # The row and its index are read, the row is written; the table is only sliced.
        ("one", 64 + 64 + 4),
        # The stack is updated in place: the row is read and written.
        ("all", 64 + 64 + 4),
    ],
)
def test_bytes_read_and_written(name: str, size: int) -> None:
    module = parse_module(TEXT)
    instruction = module.entry.get(name)
    assert instruction is not None
    assert TouchReader(module).of(module.entry, instruction) == size
