"""One loop through all passes, as rows: what each pass did, and the quiet stretches between."""

from collections.abc import Iterator

from app.errors import NotFound
from app.model.report import Loop, LoopEvent, Module, Report, Source, Struct

MAX_ROWS = 1_000


class LoopRow(Struct, frozen=True, kw_only=True):
    """The loop over dumps `first` to `last` of its module.

    A row with `events` is one dump, written after the pass `after`; one without is a stretch in
    which nothing happened to the loop.
    """

    first: int
    last: int
    file: str
    pipeline: str | None = None
    after: str | None = None
    events: tuple[LoopEvent, ...] = ()


class LoopLink(Struct, frozen=True, kw_only=True):
    """Another loop that this one belongs with."""

    id: str
    name: str
    source: Source | None = None


class LoopView(Struct, frozen=True, kw_only=True):
    """A loop, its rows in the order of the dumps, and the loops around and inside it."""

    loop: Loop
    rows: tuple[LoopRow, ...]
    parent: LoopLink | None = None
    children: tuple[LoopLink, ...] = ()
    rows_left_out: int = 0


def loop_view(report: Report, loop_id: str) -> LoopView:
    """The loop of that id with its rows.

    Raises:
        NotFound: the report has no such loop.
    """
    by_id = {loop.id: loop for loop in report.loops}
    loop = by_id.get(loop_id)
    if loop is None:
        raise NotFound(f"there is no loop {loop_id!r}", place=report.input.name)
    module = next((item for item in report.modules if item.id == loop.module), None)
    rows = () if module is None else tuple(_rows(loop, module))
    parent = by_id.get(loop.parent or "")
    return LoopView(
        loop=loop,
        rows=rows[:MAX_ROWS],
        rows_left_out=max(0, len(rows) - MAX_ROWS),
        parent=None if parent is None else _link(parent),
        children=tuple(
            _link(other)
            for other in report.loops
            if other.parent == loop_id and other.module == loop.module
        ),
    )


def _rows(loop: Loop, module: Module) -> Iterator[LoopRow]:
    events: dict[int, list[LoopEvent]] = {}
    for event in loop.events:
        events.setdefault(event.dump, []).append(event)
    quiet = loop.first_dump
    for index in sorted(events):
        if quiet < index:
            yield _row(module, quiet, index - 1)
        yield _row(module, index, index, tuple(events[index]))
        quiet = index + 1
    # `removed` is told of the first dump without the loop, one past its last.
    if quiet <= loop.last_dump:
        yield _row(module, quiet, loop.last_dump)


def _row(module: Module, first: int, last: int, events: tuple[LoopEvent, ...] = ()) -> LoopRow:
    dump = module.dumps[first] if 0 <= first < len(module.dumps) else None
    return LoopRow(
        first=first,
        last=last,
        file="" if dump is None else dump.file,
        pipeline=None if dump is None else dump.pipeline,
        after=None if dump is None else dump.after,
        events=events,
    )


def _link(loop: Loop) -> LoopLink:
    return LoopLink(id=loop.id, name=loop.name, source=loop.source)
