"""Micro-texts that hold one form each, with what XLA's own parser says of it.

`forms/instructions.txt` has one instruction per line, to be put into `FRAME`; `forms/modules.txt`
one text per line, its line breaks written as `¶`. In front of each stands a verdict: `+` taken,
`-` refused, `!` XLA dies of it, `>` refused, but
taken by an older or newer release.
"""

from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).with_name("forms")

FRAME = """\
HloModule m

add2 {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}

ge2 {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = pred[] compare(x, y), direction=GE
}

one {
  x = f32[4] parameter(0)
  ROOT z = f32[4] negate(x)
}

cond {
  x = (s32[], f32[4]) parameter(0)
  ROOT z = pred[] constant(true)
}

body {
  ROOT x = (s32[], f32[4]) parameter(0)
}

ENTRY e {
  a = f32[4]{0} parameter(0)
  b = f32[4]{0} parameter(1)
  m = f32[2,3]{1,0} parameter(2)
  n = f32[3,5]{1,0} parameter(3)
  s = f32[] parameter(4)
  i = s32[] parameter(5)
  p = pred[] parameter(6)
  t = (s32[], f32[4]{0}) parameter(7)
  k = token[] parameter(8)
  c = c64[4]{0} parameter(9)
  x3 = f32[1,4,1] constant({...})
  w3 = f32[1,1,1] constant({...})
  sq = f32[2,2] constant({...})
  u2x = u64[2] constant({...})
  ROOT r = @
}
"""
LINE = 1 + FRAME[: FRAME.index("@")].count("\n")
"""Where the instruction under test stands."""


class Form(NamedTuple):
    """One form: its verdict, its own text, and the whole text to be read."""

    verdict: str
    shown: str
    text: str


def forms() -> list[Form]:
    """All forms of both files."""
    found: list[Form] = []
    for line in (FOLDER / "instructions.txt").read_text().splitlines():
        found.append(Form(line[0], line[2:], FRAME.replace("@", line[2:])))
    for line in (FOLDER / "modules.txt").read_text().splitlines():
        found.append(Form(line[0], line[2:], line[2:].replace("¶", "\n")))
    return found
