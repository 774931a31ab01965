"""Places in a user's program, and the base of all values that are written to JSON."""

import msgspec


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
