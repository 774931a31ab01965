"""Pairs of texts that take long to put side by side, put side by side while a bundle is made.

A reader who opens what a pass changed waits for that once for each pair, half a second and more
where thousands of instructions changed; the few such pairs of a dump are kept in its bundle. Most
dumps have none. It is an extra: what takes longer than it may, or more memory than is there, is
left out, and the bundle is as good without it.
"""

import logging
import resource
import signal
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import process_time

import msgspec

from app.analysis.diff import diff_modules
from app.bundle import AlignedTexts, Bundle, add_aligned
from app.ingest import Progress
from app.ingest.collection import collection_paused
from app.jobs.room import room_told
from app.model.dump import DumpContents
from app.views.diff_panes import FORM
from app.views.diff_rows import pane_rows
from hlo_parser import Computation, Module

_LOG = logging.getLogger(__name__)

MAX_ALIGNED = 4
"""Pairs that are kept of one dump."""

MIN_CHANGED = 4_000
"""Instructions of either text that do not stand in the other: what only came or only went has
nothing to be matched with. On a dump of 157 texts of up to 21,000 instructions the four pairs that
are kept took 0.75 to 1.0 s each, all others 0.55 s at most; three of a program whose work was
doubled took 0.8 to 3.3 s."""

MAX_BYTES = 12 << 20
"""Two texts of more bytes than this would hold up the report for seconds."""

MAX_SECONDS = 12.0
"""Of processor time, for all pairs of a dump."""

Pair = tuple[str, int, int]
"""A module's id, and the positions of two of its texts."""


def add_costly_pairs(bundle: Path, contents: DumpContents | None, progress: Progress) -> None:
    """Add the costly pairs of `contents` to the bundle that was written of them.

    Raises:
        JobFailed: the disk is full (`no_space`).
    """
    pairs = costly_pairs(contents)
    modules = {module.id: module.dumps for module in contents.modules} if contents else {}

    def texts_of(pair: Pair) -> tuple[Module, Module]:
        module_id, before, after = pair
        progress("pairs", pairs.index(pair), len(pairs))
        return modules[module_id][before].module, modules[module_id][after].module

    _add(bundle, pairs, texts_of)


def copy_pairs(source: Bundle, bundle: Path) -> None:
    """Add what `source` keeps to a bundle with the same texts.

    Raises:
        BadArchive: `source` is damaged.
        JobFailed: the disk is full (`no_space`).
    """
    with room_told():
        add_aligned(
            bundle,
            (
                AlignedTexts(module_id, before, after, FORM, data)
                for module_id, before, after in source.aligned_pairs()
                if (data := source.aligned(module_id, before, after, form=FORM)) is not None
            ),
        )


def add_pairs_again(bundle: Path, pairs: Sequence[Pair]) -> None:
    """Add `pairs` to a bundle that has none, from the texts that it holds itself.

    Raises:
        NotFound, LimitExceeded, BadArchive: as `Bundle.parse`.
        JobFailed: the disk is full (`no_space`).
    """
    with Bundle.open(bundle) as opened:

        def texts_of(pair: Pair) -> tuple[Module, Module]:
            module_id, before, after = pair
            return opened.parse(module_id, before), opened.parse(module_id, after)

        _add(bundle, pairs[:MAX_ALIGNED], texts_of)


def _add(
    bundle: Path, pairs: Sequence[Pair], texts_of: Callable[[Pair], tuple[Module, Module]]
) -> None:
    if not pairs:
        return
    made: list[AlignedTexts] = []
    try:
        with _at_most(_seconds()):
            for pair in pairs:
                made.append(AlignedTexts(*pair, FORM, _rows(*texts_of(pair))))
    except (_TimeIsUp, MemoryError, RecursionError) as error:
        kept, wanted, why = len(made), len(pairs), type(error).__name__.strip("_")
        _LOG.warning("only %d of %d pairs of texts are kept side by side: %s", kept, wanted, why)
    with room_told():
        add_aligned(bundle, made)


class _TimeIsUp(Exception):
    """Raised wherever the processor is when the time for the pairs is over."""


def _seconds() -> float:
    """Seconds of processor time for all pairs: at most half of what the process has left."""
    limit, _ = resource.getrlimit(resource.RLIMIT_CPU)
    if limit == resource.RLIM_INFINITY:
        return MAX_SECONDS
    return max(0.0, min(MAX_SECONDS, (limit - process_time()) / 2))


@contextmanager
def _at_most(seconds: float) -> Generator[None]:
    """Raise `_TimeIsUp` in the main thread after so much processor time."""

    def stop(number: int, frame: object) -> None:
        del number, frame
        raise _TimeIsUp

    if not seconds:
        raise _TimeIsUp
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def costly_pairs(contents: DumpContents | None) -> tuple[Pair, ...]:
    """The neighbouring texts between which most was changed, where that is very much; in order."""
    found: list[tuple[int, Pair]] = []
    for module in contents.modules if contents else ():
        for after, dump in enumerate(module.dumps[1:], 1):
            before = module.dumps[after - 1]
            if before.byte_size + dump.byte_size <= MAX_BYTES:
                size = cost(before.module, dump.module)
                if size:
                    found.append((size, (module.id, after - 1, after)))
    found.sort(key=lambda each: -each[0])
    return tuple(sorted(pair for _, pair in found[:MAX_ALIGNED]))


def cost(before: Module, after: Module) -> int:
    """How many instructions stand in one of two texts alone, where these take long; else 0.

    Equal lines of a dump are one object.
    """
    left, right = set(before.computations), set(after.computations)
    old, new = (_instructions(alone) for alone in (left - right, right - left))
    went, came = len(old - new), len(new - old)
    return went + came if min(went, came) >= MIN_CHANGED else 0


def _instructions(computations: Iterable[Computation]) -> set[int]:
    return {id(each) for computation in computations for each in computation.instructions}


def _rows(before: Module, after: Module) -> bytes:
    with collection_paused():
        return msgspec.json.encode(pane_rows(before, after, diff_modules(before, after)))
