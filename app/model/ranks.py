"""N dumps of the ranks of one run compared: the answer of `compare` for more than two dumps.

The field names are keys of the JSON contract, as in `report.py`. `rank` is the number that the
name of a dump gives, or its place in the order given. Positions are those of a module's `dumps`.
"""

from typing import Literal

import msgspec

from app.model.comparison import InstructionPlace
from app.model.report import SCHEMA_VERSION, Tool
from app.model.source import Source, Struct


class Rank(Struct, frozen=True, kw_only=True):
    """One dump; `releases` are the jaxlib releases that fit, oldest first."""

    rank: int
    name: str
    releases: tuple[str, ...] = ()
    flags_from: tuple[str, ...] = ()
    modules: int = 0


class RankFlag(Struct, frozen=True, kw_only=True):
    """A flag that ranks set differently: each value (None: not set) with the ranks that have it."""

    name: str
    values: tuple[tuple[str | None, tuple[int, ...]], ...]


class RankDifference(Struct, frozen=True, kw_only=True):
    """Ranks whose graphs of a module are others than those of `reference`, a rank of most.

    `ranks` have one graph among them. The first text that differs is `dump` of `file` (made by
    `pass`); in it `theirs` is the first instruction that differs, `usual` what stands there in the
    reference. `what` as in a comparison of two. `dump` is None where one history ends early.
    """

    ranks: tuple[int, ...]
    reference: int
    dump: int | None = None
    file: str | None = None
    pass_: str | None = msgspec.field(name="pass", default=None)
    what: tuple[str, ...] = ()
    theirs: InstructionPlace | None = None
    usual: InstructionPlace | None = None


class RankModule(Struct, frozen=True, kw_only=True):
    """One module over the ranks: `digest` is that of the reference's last text.

    `same` are the ranks with the graphs of the reference after every pass, `missing` those that
    did not compile it.
    """

    name: str
    role: str = "user"
    texts: int = 0
    digest: str = ""
    same: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    differences: tuple[RankDifference, ...] = ()


class CollectiveStep(Struct, frozen=True, kw_only=True):
    """A collective as it is begun: `shape` without layout, `bytes` that one device sends."""

    opcode: str
    shape: str
    bytes: int
    computation: str
    instruction: str
    source: Source | None = None


ACROSS_GROUPS = "all groups together"
"""In place of groups: each group has its order, but groups that share devices take other turns."""


class OrderDifference(Struct, frozen=True, kw_only=True):
    """The first place where ranks begin other collectives between the same devices.

    `position` counts the collectives of the communicator in the module, from 0, a loop's body
    once; None as a step means that the list ends there. `groups` may be `ACROSS_GROUPS`.
    """

    module: str
    devices: tuple[int, ...]
    groups: str = ""
    position: int
    ranks: tuple[int, ...]
    reference: int
    theirs: CollectiveStep | None = None
    usual: CollectiveStep | None = None


class Communicator(Struct, frozen=True, kw_only=True):
    """Devices that take part in collectives together, and how many collectives of the reference.

    `devices` is empty where they are too many to write out; then `groups` is the text. `is_same`
    says that all ranks begin the same ones in the same order.
    """

    module: str
    devices: tuple[int, ...]
    groups: str = ""
    collectives: int = 0
    is_same: bool = True


class Overlap(Struct, frozen=True, kw_only=True):
    """Two communicators that share devices without being one: their order must agree everywhere.

    `first` and `second` are instructions that use them, in the order in which they are begun;
    `unordered` counts pairs of collectives that only the schedule keeps apart.
    """

    module: str
    devices: tuple[int, ...]
    other_devices: tuple[int, ...]
    shared: tuple[int, ...]
    first: str
    second: str
    unordered: int = 0


class RankComparison(Struct, frozen=True, kw_only=True):
    """All ranks compared; `is_hlo_the_cause` is false where every rank has the same graphs."""

    schema_version: int = SCHEMA_VERSION
    kind: Literal["ranks"] = "ranks"
    tool: Tool
    verdict: str
    is_hlo_the_cause: bool
    ranks: tuple[Rank, ...]
    flags: tuple[RankFlag, ...] = ()
    modules: tuple[RankModule, ...] = ()
    orders: tuple[OrderDifference, ...] = ()
    communicators: tuple[Communicator, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    notes: tuple[str, ...] = ()
