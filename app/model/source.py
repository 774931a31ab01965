"""Places in a user's program, and the base of all values that are written to JSON."""

from typing import Literal

import msgspec

SourceHow = Literal[
    "stated", "earlier_text", "renumbered", "callees", "loop_body", "operand", "users", "caller"
]
"""How a place is known: `stated` by the instruction itself, `earlier_text` by the same one before a
pass dropped it, `renumbered` by the name of its operation in a text before the frame ids no longer
fitted their table, `callees` by what it runs, `loop_body` by what
the body of a loop does with the value, `operand` by the value that it hands on, `users` by the
one line that it is made for, `caller` by what runs the computation that it stands in."""


class Struct(msgspec.Struct, frozen=True):
    """Base of all report values: immutable and compared by value.

    Built by keyword too, but msgspec does not hand `kw_only` down, so each class says it.
    """


class Frame(Struct, frozen=True, kw_only=True):
    """One call of the Python stack that traced an instruction."""

    file: str
    line: int
    function: str | None = None


class Source(Struct, frozen=True, kw_only=True):
    """A place in the user's program; `frames` go from the innermost call outwards."""

    file: str
    line: int
    column: int | None = None
    function: str | None = None
    frames: tuple[Frame, ...] = ()


class SourceCoverage(Struct, frozen=True, kw_only=True):
    """How many instructions of the text at position `dump` have a place in the program.

    `inferred` counts those that do not state theirs by how it is known; `none_opcodes` are the
    commonest of those without one.
    """

    dump: int
    instructions: int
    stated: int
    inferred: dict[SourceHow, int] = msgspec.field(default_factory=dict[SourceHow, int])
    none: int = 0
    none_opcodes: dict[str, int] = msgspec.field(default_factory=dict[str, int])
