"""What a report's page asks for one by one: texts of passes, their differences, searches, graphs.

JSON for the page's scripts, from the bundle alone; how much one answer may hold is the views'
matter. A text as it was dumped is a download and never shown by the browser itself.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import HTMLResponse, Response

from app.analysis.diff import diff_modules
from app.bundle import Bundle
from app.errors import NotFound
from app.ingest.collection import collection_paused
from app.jobs.comparing import difference, takes_long
from app.jobs.comparison import compare_in_child
from app.model.report import Module as ReportModule
from app.model.report import Report
from app.report.graph import MAX_OPENED, GraphPlace, graph_page
from app.report.history import HistoryPlace, history_page
from app.report.passes import changed_texts
from app.report.verdict import main_module
from app.report.wording import legible
from app.store import Problem
from app.views.cut import shown_name
from app.views.graph_view import NodeState, graph_view, named_place, states_of
from app.views.instruction_history import Texts, instruction_history, names_of_loop
from app.views.loop_view import loop_view
from app.views.neighbourhood import neighbourhood
from app.views.outline import outline
from app.views.pass_text import pass_text
from app.views.search import search_instructions
from app.web.callers import client_of
from app.web.rendering import Site
from app.web.services import (
    Services,
    bundle_attachment,
    error_from,
    find_report,
    services_of,
)
from app.web.subpath import root
from hlo_parser import Module

router = APIRouter(prefix="/r/{report_id}", include_in_schema=False)

InServices = Annotated[Services, Depends(services_of)]
Index = Annotated[int, Path(ge=0, le=1_000_000)]
Name = Annotated[str, Query(max_length=4096)]

MAX_BYTES_IN_PLACE = 4 << 20
"""Bytes of two texts that the server compares itself, in a second at worst."""

# Module ids hold the folder they were found in, and so may hold slashes.
_TEXT = "/modules/{module_id:path}/texts/{index}"


class Reader:
    """The bundle of one report, borrowed for one request of `client`."""

    def __init__(self, services: Services, report_id: str, client: str) -> None:
        self._services = services
        self._report_id = report_id
        self._client = client

    @contextmanager
    def bundle(self) -> Generator[Bundle]:
        """The open bundle; raises as `find_report`, `bundle_attachment` and `Slots.hold`."""
        services = self._services
        held = bundle_attachment(find_report(services, self._report_id))
        with (
            services.view_slots.hold(self._client),
            services.shelf.borrow(held.blob, services.store.blobs.path(held.blob)) as bundle,
        ):
            yield bundle

    def difference(self, module_id: str, texts: tuple[int, int], computation: str) -> bytes:
        """The difference of two texts as JSON; of large ones made in a child.

        Raises what `bundle` and `Bundle.parse` do, and what ended the child badly.
        """
        with self.bundle() as bundle:
            if not _is_large(bundle, module_id, texts):
                return msgspec.json.encode(difference(bundle, module_id, texts, computation))
            return self._compare(module_id, texts, computation)

    def _compare(self, module_id: str, texts: tuple[int, int], computation: str) -> bytes:
        services = self._services
        held = bundle_attachment(find_report(services, self._report_id))
        found = compare_in_child(
            services.store,
            services.settings,
            services.store.blobs.path(held.blob),
            module_id=module_id,
            texts=texts,
            computation=computation,
        )
        if isinstance(found, Problem):
            raise error_from(found)
        return found


async def _reader(request: Request, report_id: str, services: InServices) -> Reader:
    return Reader(services, report_id, client_of(request.scope))


InReader = Annotated[Reader, Depends(_reader)]


class _GraphQuery:
    """What the address of a graph says; a `loop` or a `line` of the text stand for the rest."""

    def __init__(
        self,
        module: Name = "",
        text: Annotated[int | None, Query(ge=0, le=1_000_000)] = None,
        against: Annotated[str, Query(pattern=r"^\d{0,7}$")] = "",
        computation: Name = "",
        instruction: Name = "",
        loop: Name = "",
        line: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
        radius: Annotated[int, Query(ge=1, le=20)] = 2,
        opened: Annotated[tuple[Name, ...], Query(alias="open", max_length=MAX_OPENED)] = (),
        find: Annotated[str, Query(max_length=500)] = "",
    ) -> None:
        self.module, self.text, self.loop, self.line = module, text, loop, line
        self.against = int(against) if against else None
        self.computation, self.instruction = computation, instruction
        self.radius, self.opened, self.find = radius, opened, find.strip()

    def place(self, here: str, report: Report) -> GraphPlace:
        """The place as far as the report knows it; names may still be missing."""
        loop = next((each for each in report.loops if each.id == self.loop), None)
        if self.loop and loop is None:
            raise NotFound(f"there is no loop {self.loop!r} in this report")
        module = module_with_texts(report, loop.module if loop else self.module)
        last = loop.last_dump if loop else len(module.dumps) - 1
        return GraphPlace(
            report=here,
            module=module,
            text=last if self.text is None else self.text,
            against=self.against,
            computation=self.computation,
            instruction=self.instruction or (loop.name if loop else ""),
            radius=self.radius,
            opened=self.opened,
        )


@router.get("/graph")
def graph(
    reader: InReader, report_id: str, query: Annotated[_GraphQuery, Depends()]
) -> HTMLResponse:
    """A page with the graph of a computation, of a loop's body, or around an instruction."""
    with reader.bundle() as bundle:
        report = bundle.report()
        place = query.place(f"{root()}/r/{report_id}", report)
        module = bundle.parse(place.module.id, place.text)
        wanted = place.instruction
        computation, instruction = named_place(
            module, place.computation, wanted, line=query.line, is_loop=bool(query.loop)
        )
        place = replace(place, computation=computation, instruction=instruction)
        around = neighbourhood(
            module, computation, instruction, radius=query.radius, opened=query.opened
        )
        states, notes = _changes(bundle, place, module)
        if wanted and not instruction and not query.loop:
            notes = (*notes, f"This text has no instruction {wanted} in {computation}.")
        page = graph_page(
            report,
            place,
            graph_view(around, states),
            computations=[shown_name(each.name) for each in module.computations],
            found=search_instructions(module, query.find) if query.find else None,
            notes=tuple(map(legible, notes)),
            base_context={"site": Site()},
        )
    return HTMLResponse(page)


@router.get("/history")
def history(
    reader: InReader,
    report_id: str,
    computation: Name,
    instruction: Name,
    text: Annotated[int, Query(ge=0, le=1_000_000)],
    module: Name = "",
) -> HTMLResponse:
    """A page with what passes did to an instruction, back to the one that made it."""
    with reader.bundle() as bundle, collection_paused():
        report = bundle.report()
        chosen = module_with_texts(report, module)
        texts = Texts(
            parse=lambda index: bundle.parse(chosen.id, index),
            text=lambda index: bundle.dump_text(chosen.id, index),
            changed=changed_texts(chosen),
            loops=[names_of_loop(loop) for loop in report.loops if loop.module == chosen.id],
        )
        found = instruction_history(texts, text, computation, instruction)
        place = HistoryPlace(
            report=f"{root()}/r/{report_id}",
            module=chosen,
            text=text,
            computation=computation,
            instruction=instruction,
        )
    return HTMLResponse(history_page(report, place, found, base_context={"site": Site()}))


@router.get("/modules/{module_id:path}/diff/{before}/{after}")
def diff(
    reader: InReader, module_id: str, before: Index, after: Index, computation: Name = ""
) -> Response:
    """What differs between two texts of a module, or between the two forms of one computation."""
    answer = reader.difference(module_id, (before, after), computation)
    return Response(answer, media_type="application/json")


@router.get(_TEXT + "/raw")
def raw(reader: InReader, module_id: str, index: Index) -> Response:
    """A text as it was dumped, byte for byte, to be saved."""
    with reader.bundle() as bundle:
        data = bundle.dump_bytes(module_id, index)
        dumps = next(module.dumps for module in bundle.modules() if module.id == module_id)
    name = dumps[index].file.rpartition("/")[2]
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    return Response(data, media_type="text/plain; charset=utf-8", headers=headers)


@router.get(_TEXT + "/outline")
def computations(reader: InReader, module_id: str, index: Index, containing: Name = "") -> Response:
    """The computations of a text."""
    with reader.bundle() as bundle:
        return _json(outline(bundle.parse(module_id, index), containing=containing))


@router.get(_TEXT + "/search")
def search(reader: InReader, module_id: str, index: Index, query: Name) -> Response:
    """The instructions of a text that contain `query` in name, opcode, op_name or source."""
    with reader.bundle() as bundle:
        return _json(search_instructions(bundle.parse(module_id, index), query))


@router.get(_TEXT + "/neighbourhood")
def around(
    reader: InReader,
    module_id: str,
    index: Index,
    computation: Name,
    instruction: Name,
    radius: Annotated[int, Query(ge=0, le=20)] = 2,
) -> Response:
    """What an instruction is computed from, and what from it."""
    with reader.bundle() as bundle:
        module = bundle.parse(module_id, index)
        return _json(neighbourhood(module, computation, instruction, radius=radius))


@router.get(_TEXT)
def text(
    reader: InReader,
    module_id: str,
    index: Index,
    first: Annotated[int, Query(ge=1, le=1_000_000_000)] = 1,
    count: Annotated[int, Query(ge=0, le=5_000)] = 1_000,
) -> Response:
    """Numbered lines of a text."""
    with reader.bundle() as bundle:
        return _json(pass_text(bundle.dump_text(module_id, index), first=first, count=count))


@router.get("/loops/{loop_id:path}")
def loop(reader: InReader, loop_id: str) -> Response:
    """One loop through all passes."""
    with reader.bundle() as bundle:
        return _json(loop_view(bundle.report(), loop_id))


def module_with_texts(report: Report, module_id: str) -> ReportModule:
    """The module of that id, the one that matters most for "".

    Raises:
        NotFound: there is no such module, or it has no text.
    """
    chosen = next((each for each in report.modules if each.id == module_id), None)
    if not module_id:
        chosen = main_module(report)
    if chosen is None or not chosen.dumps:
        raise NotFound(f"there is no text of module {module_id!r} in this report")
    return chosen


def _changes(
    bundle: Bundle, place: GraphPlace, after: Module
) -> tuple[dict[str, NodeState], tuple[str, ...]]:
    """What the text changed since `place.against`, and a note where that was not looked into."""
    if place.against is None or place.against == place.text:
        return {}, ()
    texts = place.against, place.text
    if _is_large(bundle, place.module.id, texts):
        return {}, ("These texts are too large to mark the changes here; Compare does it.",)
    found = diff_modules(bundle.parse(place.module.id, place.against), after)
    return states_of(found, place.computation), ()


def _is_large(bundle: Bundle, module_id: str, texts: tuple[int, int]) -> bool:
    """Whether two texts are to be compared in a child."""
    dumps = next((each.dumps for each in bundle.modules() if each.id == module_id), ())
    # One that is not there has no size: what reads it says so.
    size = sum(dumps[index].bytes for index in texts if index < len(dumps))
    return size > MAX_BYTES_IN_PLACE or takes_long(bundle, module_id, texts)


def _json(answer: object) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")
