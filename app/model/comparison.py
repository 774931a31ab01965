"""What differs between two analysed dumps: the answer of `compare`, frozen and written to JSON.

The field names are keys of the JSON contract, as in `report.py`. The two dumps are `a` and `b`;
what one side does not have or say is None. Positions are those of a module's `dumps`, sizes bytes.
"""

from typing import Literal

import msgspec

from app.model.report import SCHEMA_VERSION, LoopEventKind, Releases, Tool
from app.model.source import Source, Struct

Sides = Literal["a", "b"]
Unit = Literal["", "bytes", "flops", "us"]
Outcome = Literal["equal", "equal_in_the_end", "differ", "stopped", "unknown"]


class Side(Struct, frozen=True, kw_only=True):
    """One of the two dumps: where it was compiled, and which files state its flags."""

    name: str
    backend: str | None = None
    jaxlib: Releases = Releases()
    flags_from: tuple[str, ...] = ()
    modules: int = 0
    failure: str | None = None


class FlagChange(Struct, frozen=True, kw_only=True):
    """A flag that differs; `stated` by a file, log or the user, else inferred from passes."""

    name: str
    a: str | None = None
    b: str | None = None
    stated: bool = True
    why: str = ""


class NextPass(Struct, frozen=True, kw_only=True):
    """Both ran `pass` on equal or paired texts, and other passes stand next in line.

    A file's name says which pass follows, so here the pipelines differ, whatever they changed.
    """

    pass_: str = msgspec.field(name="pass")
    a: str
    b: str
    dump_a: int
    dump_b: int


class PassLists(Struct, frozen=True, kw_only=True):
    """The passes that file names tell of; `only_a` and `only_b` in the order of the files.

    A pass that changed nothing leaves no file, so a name that one side alone has may be one that
    ran in both. Where a side `stops`, the other is read as far as that one came.
    """

    common: int = 0
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    next: tuple[NextPass, ...] = ()
    stops: Sides | None = None


class InstructionPlace(Struct, frozen=True, kw_only=True):
    """An instruction of one side, as it stands."""

    computation: str
    instruction: str
    opcode: str
    shape: str
    source: Source | None = None


class Parting(Struct, frozen=True, kw_only=True):
    """Where the graphs of two modules part.

    `last_equal_a` and `last_equal_b` are the last texts with one digest, None where none are, in
    the files `equal_file_a` and `equal_file_b`;
    `dump_a` and `dump_b` the first texts that differ, None on the side that made none; they are
    those that the diff compares. `pass_a` and `pass_b` made them: what the file says, or what
    stands next in line where the side ends there. `what` and the two places are the first
    instruction that differs; `loops_a` and `loops_b` the loops that those passes changed.
    """

    last_equal_a: int | None = None
    last_equal_b: int | None = None
    dump_a: int | None = None
    dump_b: int | None = None
    equal_file_a: str | None = None
    equal_file_b: str | None = None
    file_a: str | None = None
    file_b: str | None = None
    pass_a: str | None = None
    pass_b: str | None = None
    what: tuple[str, ...] = ()
    a: InstructionPlace | None = None
    b: InstructionPlace | None = None
    loops_a: tuple[str, ...] = ()
    loops_b: tuple[str, ...] = ()


class Amount(Struct, frozen=True, kw_only=True):
    """One figure of the last texts; `unit` is "", "bytes", "flops" or "us"."""

    name: str
    a: int | None = None
    b: int | None = None
    unit: Unit = ""


class LoopPair(Struct, frozen=True, kw_only=True):
    """A loop of both sides, or of one: ids of the reports, and what tells of it.

    `name` is what the report of a calls it, or that of b where a has no such loop; `name_b` is what
    that of b calls it where both have it.
    `what` names the parts that differ: `trip_count`, `carry`, `collectives`, `events`, `missing`.
    `collectives` are counts and `collective_bytes` sizes directly in the body, as in the reports.
    """

    a: str | None = None
    b: str | None = None
    name: str = ""
    name_b: str = ""
    source: Source | None = None
    how: str = ""
    trip_count_a: int | None = None
    trip_count_b: int | None = None
    carry_a: int = 0
    carry_b: int = 0
    collectives_a: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    collectives_b: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    bytes_a: int | None = None
    bytes_b: int | None = None
    events_a: tuple[LoopEventKind, ...] = ()
    events_b: tuple[LoopEventKind, ...] = ()
    what: tuple[str, ...] = ()


class CollectiveSum(Struct, frozen=True, kw_only=True):
    """The collectives of one opcode in one loop (an index into `loops`), or outside of all."""

    opcode: str
    loop: int | None = None
    count_a: int = 0
    count_b: int = 0
    bytes_a: int = 0
    bytes_b: int = 0
    exposed_us_a: float | None = None
    exposed_us_b: float | None = None


class BufferPair(Struct, frozen=True, kw_only=True):
    """Bytes that are live at the peak for one class of buffer at one line of the program."""

    class_: str = msgspec.field(name="class")
    source: Source | None = None
    instruction: str | None = None
    bytes_a: int = 0
    bytes_b: int = 0


class ModulePair(Struct, frozen=True, kw_only=True):
    """A module of both sides, or of one; `how` says why the two were paired.

    `equal_texts` counts the texts of `a` that have the digest of one of `b`. `digest_a` and
    `digest_b` are those of the last texts. `elided` constants have no printed value: they count
    as equal.
    """

    name: str
    a: str | None = None
    b: str | None = None
    role: str = "user"
    how: str = ""
    outcome: Outcome = "unknown"
    texts_a: int = 0
    texts_b: int = 0
    equal_texts: int = 0
    digest_a: str | None = None
    digest_b: str | None = None
    elided: int = 0
    passes: PassLists = PassLists()
    parting: Parting | None = None
    amounts: tuple[Amount, ...] = ()
    loops: tuple[LoopPair, ...] = ()
    collectives: tuple[CollectiveSum, ...] = ()
    buffers: tuple[BufferPair, ...] = ()


class Comparison(Struct, frozen=True, kw_only=True):
    """Two dumps compared: `verdict` is one sentence, the user's modules stand first."""

    schema_version: int = SCHEMA_VERSION
    kind: Literal["comparison"] = "comparison"
    tool: Tool
    verdict: str
    a: Side
    b: Side
    flags: tuple[FlagChange, ...] = ()
    modules: tuple[ModulePair, ...] = ()
    notes: tuple[str, ...] = ()
