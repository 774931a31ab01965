"""Pages of what passes did: two texts side by side with their rows, curves, loops, collectives."""

from dataclasses import dataclass
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import HTMLResponse, Response

from app.errors import NotFound
from app.jobs.comparing import pane_rows_at_once
from app.jobs.comparison import compare_in_child
from app.model.report import Module, Report
from app.report.collectives import (
    CollectivesPlace,
    Grouping,
    collectives_page,
    modules_with_collectives,
)
from app.report.compare_panes import PanePlace, chosen_texts, panes_page
from app.report.loops_page import (
    LoopsPlace,
    chosen_loop,
    chosen_rewrite,
    loops_page,
    no_loops_page,
)
from app.report.passes_page import PassesPlace, chosen_pass, passes_page
from app.report.verdict import main_module
from app.store import Problem
from app.views.collectives_schedule import Schedule, schedules_of
from app.views.diff_loop import BodyRows, body_of, body_rows, name_at
from app.views.diff_panes import PaneRows
from app.views.diff_slices import MAX_ROWS, PaneReader
from app.web.callers import client_of
from app.web.pane_shelf import PaneKey
from app.web.rendering import Site
from app.web.services import (
    Services,
    bundle_attachment,
    error_from,
    find_report,
    services_of,
)
from app.web.subpath import root
from app.web.texts import module_with_texts

router = APIRouter(prefix="/r/{report_id}", include_in_schema=False)

InServices = Annotated[Services, Depends(services_of)]
Name = Annotated[str, Query(max_length=4096)]
Index = Annotated[int, Query(ge=0, le=1_000_000)]

MAX_BYTES_IN_PLACE = 12 << 20
"""Bytes of two texts that the server aligns itself, unless so much changed that it takes long."""

_ROWS = r"^[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*$"


@dataclass(frozen=True, slots=True)
class _Asked:
    """Whose report, and who asks."""

    services: Services
    report_id: str
    client: str

    def report(self) -> Report:
        """The report."""
        held = bundle_attachment(find_report(self.services, self.report_id))
        services = self.services
        with services.shelf.borrow(held.blob, services.store.blobs.path(held.blob)) as bundle:
            return bundle.report()

    def schedules(
        self, report: Report, module: Module
    ) -> tuple[tuple[Schedule, ...], tuple[str, ...]]:
        """The schedules of a module's collectives, and why there are none; raises as `panes`."""
        services = self.services
        held = bundle_attachment(find_report(services, self.report_id))
        if not any(item.module == module.id for item in report.collectives):
            return (), ()
        if module.dumps[-1].bytes > MAX_BYTES_IN_PLACE:
            return (), ("The last text is too large to be drawn here.",)
        with (
            services.view_slots.hold(self.client),
            services.shelf.borrow(held.blob, services.store.blobs.path(held.blob)) as bundle,
        ):
            text = bundle.parse(module.id, len(module.dumps) - 1)
        return schedules_of(text, report.collectives, module.id), ()

    def rewrite(self, place: LoopsPlace) -> tuple[PaneReader | None, BodyRows | None]:
        """The body of a loop before and after the pass of the place; raises as `panes`."""
        dumps, event = place.module.dumps, place.event
        texts = event - 1, event
        if not 0 < event < len(dumps) or sum(dumps[i].bytes for i in texts) > MAX_BYTES_IN_PLACE:
            return None, None
        reader = self.panes(place.module.id, texts)
        services = self.services
        held = bundle_attachment(find_report(services, self.report_id))
        with (
            services.view_slots.hold(self.client),
            services.shelf.borrow(held.blob, services.store.blobs.path(held.blob)) as bundle,
        ):
            before, after = (
                body_of(bundle.parse(place.module.id, index), name_at(place.loop, index))
                for index in texts
            )
        return reader, body_rows(reader, before, after)

    def panes(self, module_id: str, texts: tuple[int, int]) -> PaneReader:
        """The two texts side by side, aligned now or lately; raises as `Bundle.parse`."""
        services = self.services
        held = bundle_attachment(find_report(services, self.report_id))
        path = services.store.blobs.path(held.blob)

        def make() -> tuple[PaneReader, int]:
            with (
                services.view_slots.hold(self.client),
                services.shelf.borrow(held.blob, path) as bundle,
            ):
                before, after = (bundle.dump_text(module_id, index) for index in texts)
                rows = None
                if len(before) + len(after) <= MAX_BYTES_IN_PLACE:
                    rows = pane_rows_at_once(bundle, module_id, texts)
                if rows is None:
                    found = compare_in_child(
                        services.store,
                        services.settings,
                        path,
                        module_id=module_id,
                        texts=texts,
                        target="app.jobs.comparing:write_pane_rows",
                    )
                    if isinstance(found, Problem):
                        raise error_from(found)
                    rows = msgspec.json.decode(found, type=PaneRows)
                return PaneReader(rows, before, after), len(before) + len(after)

        return services.shelf.panes.get(PaneKey(held.blob, module_id, *texts), make)


async def _asked(request: Request, report_id: str, services: InServices) -> _Asked:
    return _Asked(services, report_id, client_of(request.scope))


InAsked = Annotated[_Asked, Depends(_asked)]


class _DiffQuery:
    """What the address of two panes says; a `line` or a name of a `side` stand for a row."""

    def __init__(
        self,
        module: Name = "",
        a: Annotated[str, Query(pattern="^[0-9]{0,7}$")] = "",
        b: Annotated[str, Query(pattern="^[0-9]{0,7}$")] = "",
        at: Annotated[str, Query(pattern="^[0-9]{0,9}$")] = "",
        opened: Annotated[str, Query(alias="open", max_length=2_000, pattern=r"^[0-9,]*$")] = "",
        query: Annotated[str, Query(alias="q", max_length=500)] = "",
        start: Annotated[str, Query(alias="from", pattern="^[0-9]{0,9}$")] = "",
        side: Annotated[str, Query(pattern="^[ab]?$")] = "b",
        line: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
        computation: Name = "",
        instruction: Name = "",
    ) -> None:
        self.module = module
        self.before = int(a) if a else None
        self.after = int(b) if b else None
        self.at = int(at) if at else -1
        self.opened = tuple(int(word) for word in opened.split(",") if word)
        self.query = query.strip()
        self.start = int(start or 0)
        self.side = 0 if side == "a" else 1
        self.line, self.computation, self.instruction = line, computation, instruction

    def row_in(self, reader: PaneReader) -> int:
        """The row that is meant, -1 for none."""
        if self.at >= 0:
            return self.at
        found = None
        if self.computation:
            found = reader.row_of(self.side, self.computation, self.instruction)
        elif self.line:
            found = reader.row_at(self.side, self.line)
        if found is None and self.query:
            found = next(iter(reader.find(self.query).rows), None)
        return -1 if found is None else found


@router.api_route("/diff", methods=["GET", "HEAD"])
def diff(asked: InAsked, report_id: str, query: Annotated[_DiffQuery, Depends()]) -> HTMLResponse:
    """A page with any two texts of a module side by side."""
    report = asked.report()
    module = module_with_texts(report, query.module)
    before, after = chosen_texts(module, query.before, query.after)
    reader = asked.panes(module.id, (before, after))
    place = PanePlace(
        report=f"{root()}/r/{report_id}",
        module=module,
        before=before,
        after=after,
        at=query.row_in(reader),
        opened=query.opened,
        query=query.query,
        start=query.start,
    )
    return HTMLResponse(panes_page(report, place, reader, base_context={"site": Site()}))


@router.api_route("/passes", methods=["GET", "HEAD"])
def passes(
    asked: InAsked,
    report_id: str,
    module: Name = "",
    at: Annotated[str, Query(pattern="^[0-9]{0,7}$")] = "",
    everything: Annotated[bool, Query(alias="all")] = False,
) -> HTMLResponse:
    """A page with all passes of a module as curves, and one of them at a time."""
    report = asked.report()
    chosen = module_with_texts(report, module)
    place = PassesPlace(
        report=f"{root()}/r/{report_id}",
        module=chosen,
        at=chosen_pass(chosen, int(at) if at else None),
        all=everything,
    )
    return HTMLResponse(passes_page(report, place, base_context={"site": Site()}))


@router.api_route("/loops", methods=["GET", "HEAD"])
def loops(
    asked: InAsked,
    report_id: str,
    loop: Name = "",
    module: Name = "",
    event: Annotated[str, Query(pattern="^[0-9]{0,7}$")] = "",
) -> HTMLResponse:
    """A page with the loops of a module: over its passes, and one of them in full."""
    report = asked.report()
    chosen = chosen_loop(report, loop, module)
    if chosen is None and not report.loops:
        return HTMLResponse(no_loops_page(f"{root()}/r/{report_id}", base_context={"site": Site()}))
    if chosen is None:
        raise NotFound(
            f"there is no loop {loop or 'of this module'!r} in this report",
            next_step="The report lists all loops.",
        )
    place = LoopsPlace(
        report=f"{root()}/r/{report_id}",
        module=module_with_texts(report, chosen.module),
        loop=chosen,
        event=chosen_rewrite(chosen, int(event) if event else None),
    )
    reader, body = asked.rewrite(place)
    page = loops_page(report, place, reader=reader, body=body, base_context={"site": Site()})
    return HTMLResponse(page)


@router.api_route("/collectives", methods=["GET", "HEAD"])
def collectives(
    asked: InAsked, report_id: str, module: Name = "", group: Grouping = "", computation: Name = ""
) -> HTMLResponse:
    """A page with the collectives of a module: in the schedule, and as a table."""
    report = asked.report()
    place = CollectivesPlace(
        report=f"{root()}/r/{report_id}",
        module=_with_collectives(report, module),
        group=group,
        computation=computation,
    )
    schedules, notes = asked.schedules(report, place.module)
    page = collectives_page(report, place, schedules, notes=notes, base_context={"site": Site()})
    return HTMLResponse(page)


@router.get("/diff/rows")
def diff_rows(
    asked: InAsked,
    module: Name,
    a: Index,
    b: Index,
    rows: Annotated[str, Query(max_length=4096, pattern=_ROWS)],
    whole: bool = False,
) -> Response:
    """Rows of two texts by number, as `3-20,44`; `whole`: with all of their text."""
    reader = asked.panes(module, (a, b))
    return _json(reader.picked(rows_named(rows), whole=whole))


@router.get("/diff/find")
def diff_find(asked: InAsked, module: Name, a: Index, b: Index, query: Name) -> Response:
    """The rows of two texts whose lines contain `query`."""
    return _json(asked.panes(module, (a, b)).find(query))


def rows_named(words: str) -> list[int]:
    """The numbers in `3-20,44`, as many as one answer gives."""
    found: list[int] = []
    for word in words.split(","):
        first, _, last = word.partition("-")
        room = MAX_ROWS - len(found)
        found += range(int(first), min(int(last or first) + 1, int(first) + room))
    return found[:MAX_ROWS]


def _with_collectives(report: Report, module_id: str) -> Module:
    """The module asked for; for "" one with collectives, if any has them."""
    found = modules_with_collectives(report)
    main = main_module(report)
    if module_id or not found or main in found:
        return module_with_texts(report, module_id)
    return found[0]


def _json(answer: object) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")
