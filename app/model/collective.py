"""A collective as the report shows it: where it stands, what it moves, how it came to be.

The field names are keys of the JSON contract, as in `report.py`. Sizes are bytes, times
microseconds; positions named `dump` are those of the module's dumps.
"""

from typing import Literal

import msgspec

from app.model.source import Source, SourceHow, Struct

CollectiveEventKind = Literal[
    "created",
    "copied",
    "became",
    "decomposed",
    "combined",
    "split",
    "made_async",
    "made_sync",
    "pipelined",
    "moved",
    "moved_into_loop",
    "moved_out_of_loop",
    "retyped",
    "regrouped",
]

AxesFrom = Literal["groups", "mesh", "shardings"]


class Window(Struct, frozen=True, kw_only=True):
    """What a scheduled module runs between an asynchronous start and its done.

    `in_flight` are starts of the first few other collectives on their way meanwhile. Of the time
    that the collective takes `hidden_us` pass behind computation and `exposed_us` are waited for,
    by the peaks of `device` and the bandwidth of its links: estimates, rough and rather low. With
    `device_assumed` the dump does not say which device it is. Times are None where nothing is known
    of the backend, and in a pair that XLA marked as not overlapped.
    """

    start: str
    done: str
    instructions: int
    flops: int | None = None
    bytes: int = 0
    in_flight: tuple[str, ...] = ()
    hidden_us: float | None = None
    exposed_us: float | None = None
    device: str | None = None
    device_assumed: bool = False


class CollectiveEvent(Struct, frozen=True, kw_only=True):
    """Something that a pass did to a collective, or to the one it was copied from.

    `pass` is None where texts are missing in between and the pass named last may not be the one.
    """

    dump: int
    pass_: str | None = msgspec.field(name="pass", default=None)
    kind: CollectiveEventKind
    detail: str = ""


class Collective(Struct, frozen=True, kw_only=True):
    """One collective in a module's last dump; `bytes` leave one device in one execution.

    `source_from` is the dump in which `source` stands: an earlier one where a pass dropped it;
    `source_how` is how it is known.
    `groups` are `replica_groups` as devices, where there are few; of a permute the chains and rings
    along which its `pairs` (source and target device) hand data on. `axes` are the mesh axes it
    runs along, `x:(2)4` for a part of one, and `axes_from` what tells them: the `groups` as
    printed, a `mesh` that a text states, or the tiles of `shardings`, from which the mesh is
    inferred. `executions` is how often it runs in one run of the module, trips of all loops around
    multiplied, None where one of them is not known; with `conditional` a branch need not be taken,
    and it is the most. `total_bytes` leave one device in that run. `history` begins where the
    collective first appears; it is empty where it was not followed, as one of very many.
    `fused` is the computation of the fusion `instruction` inside which it runs; where `opcode` is
    inferred from that, `printed` is what the text has: a fusion whose all-reduce hands out each
    device's own part alone is a reduce-scatter. `waited_us` is what a synchronous one of a schedule
    takes, estimated as the times of `Window`: nothing runs meanwhile, so all of it is waited for.
    """

    module: str
    dump: int
    computation: str
    instruction: str
    opcode: str
    bytes: int
    replica_groups: str | None = None
    channel_id: int | None = None
    loop: str | None = None
    source: Source | None = None
    source_from: int | None = None
    source_how: SourceHow | None = None
    is_async: bool = msgspec.field(name="async", default=False)
    window: Window | None = None
    groups: tuple[tuple[int, ...], ...] = ()
    axes: tuple[str, ...] = ()
    history: tuple[CollectiveEvent, ...] = ()
    axes_from: AxesFrom | None = None
    pairs: tuple[tuple[int, int], ...] = ()
    executions: int | None = None
    conditional: bool = False
    total_bytes: int | None = None
    waited_us: float | None = None
    fused: str | None = None
    printed: str | None = None
