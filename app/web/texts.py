"""What a report's page asks for one by one: texts of passes, their differences, searches, loops.

JSON for the page's scripts, from the bundle alone; how much one answer may hold is the views'
matter. A text as it was dumped is a download and never shown by the browser itself.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated
from urllib.parse import quote

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from app.bundle import Bundle
from app.jobs.comparing import difference
from app.jobs.comparison import compare_in_child
from app.store import Problem
from app.views.loop_view import loop_view
from app.views.neighbourhood import neighbourhood
from app.views.outline import outline
from app.views.pass_text import pass_text
from app.views.search import search_instructions
from app.web.guard import client_of
from app.web.services import (
    Services,
    bundle_attachment,
    error_from,
    find_report,
    services_of,
)

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

    def compare(self, module_id: str, texts: tuple[int, int], computation: str) -> bytes:
        """The difference of two texts as JSON, made in a child; raises what ended it badly."""
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


@router.get("/modules/{module_id:path}/diff/{before}/{after}")
def diff(
    reader: InReader, module_id: str, before: Index, after: Index, computation: Name = ""
) -> Response:
    """What differs between two texts of a module, or between the two forms of one computation."""
    texts = before, after
    with reader.bundle() as bundle:
        if _size_of(bundle, module_id, texts) <= MAX_BYTES_IN_PLACE:
            return _json(difference(bundle, module_id, texts, computation))
        return Response(
            reader.compare(module_id, texts, computation), media_type="application/json"
        )


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


def _size_of(bundle: Bundle, module_id: str, texts: tuple[int, int]) -> int:
    dumps = next((each.dumps for each in bundle.modules() if each.id == module_id), ())
    # One that is not there has no size: what reads it says so.
    return sum(dumps[index].bytes for index in texts if index < len(dumps))


def _json(answer: object) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")
