"""Parts of a report over the API: passes, the difference of any two, loops, collectives, searches.

Each list comes a window at a time (`offset`, `limit`); how much one answer may hold at most is the
views' matter. All of it is read from the bundle.
"""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Path, Query
from starlette.responses import JSONResponse, Response

from app.model.report import Severity
from app.views.loop_view import loop_view
from app.views.pass_text import MAX_LINES, pass_text
from app.views.search import MAX_HITS, search_instructions
from app.views.slices import (
    MAX_ITEMS,
    collectives_of,
    findings_of,
    loops_of,
    module_of,
    module_rows,
    passes_of,
    slice_of,
)
from app.web.contract import answers, errors
from app.web.texts import InReader

router = APIRouter(prefix="/api/v1/reports/{report_id}", tags=["slices"])

ReportId = Annotated[str, Path(description="the report's `id`")]
Offset = Annotated[int, Query(ge=0, le=1_000_000_000, description="items left out before")]
Limit = Annotated[int, Query(ge=1, le=MAX_ITEMS, description="items at most")]
ModuleId = Annotated[
    str, Query(max_length=4096, description="a module's `id`; empty for the program's own")
]
OfModule = Annotated[str, Query(max_length=4096, description="a module's `id`; empty for all")]
Word = Annotated[str, Query(max_length=4096)]
Position = Annotated[
    int | None,
    Query(ge=0, le=1_000_000, description="position among the module's passes; else the last"),
]
_FAILS = errors(404, 409)


@router.get(
    "/modules",
    response_class=JSONResponse,
    responses={**_FAILS, **answers("ModuleSlice")},
    operation_id="list_modules",
    summary="The modules of a report",
)
def modules(
    report_id: ReportId, reader: InReader, offset: Offset = 0, limit: Limit = 100
) -> Response:
    """In the order of the report: the program's own modules first."""
    with reader.bundle() as bundle:
        return _json(slice_of(module_rows(bundle.report()), offset=offset, limit=limit))


@router.get(
    "/passes",
    response_class=JSONResponse,
    responses={**_FAILS, **answers("PassSlice")},
    operation_id="list_passes",
    summary="The passes of a module",
)
def passes(
    report_id: ReportId,
    reader: InReader,
    module: ModuleId = "",
    offset: Offset = 0,
    limit: Limit = 100,
) -> Response:
    """One entry for each text, with the pass that left it and what it holds."""
    with reader.bundle() as bundle:
        return _json(slice_of(passes_of(bundle.report(), module), offset=offset, limit=limit))


@router.get(
    "/text",
    response_class=JSONResponse,
    responses={**errors(404, 409, 413), **answers("PassText")},
    operation_id="get_pass_text",
    summary="Lines of the text after a pass",
)
def text(
    report_id: ReportId,
    reader: InReader,
    module: ModuleId = "",
    index: Position = None,
    first: Annotated[int, Query(ge=1, le=1_000_000_000, description="first line")] = 1,
    count: Annotated[int, Query(ge=0, le=MAX_LINES, description="lines at most")] = 1_000,
) -> Response:
    """Lines are counted from 1, as in the file that was dumped."""
    with reader.bundle() as bundle:
        found = module_of(bundle.report(), module)
        at = len(found.dumps) - 1 if index is None else index
        return _json(pass_text(bundle.dump_text(found.id, at), first=first, count=count))


@router.get(
    "/diff",
    response_class=JSONResponse,
    responses={**errors(404, 409, 413), **answers("PassDiff")},
    operation_id="diff_passes",
    summary="What differs between any two passes",
)
def diff(
    report_id: ReportId,
    reader: InReader,
    before: Annotated[int, Query(ge=0, le=1_000_000, description="position of a pass")],
    after: Annotated[int, Query(ge=0, le=1_000_000, description="position of another")],
    module: ModuleId = "",
    computation: Annotated[
        str, Query(max_length=4096, description="look into this computation alone")
    ] = "",
) -> Response:
    """Matched by structure, not by lines: moved, copied and renamed instructions are told so."""
    with reader.bundle() as bundle:
        module_id = module_of(bundle.report(), module).id
    answer = reader.difference(module_id, (before, after), computation)
    return Response(answer, media_type="application/json")


@router.get(
    "/loops",
    response_class=JSONResponse,
    responses={**_FAILS, **answers("LoopSlice")},
    operation_id="list_loops",
    summary="The loops, each through all passes",
)
def loops(
    report_id: ReportId,
    reader: InReader,
    module: OfModule = "",
    offset: Offset = 0,
    limit: Limit = 100,
) -> Response:
    """Outermost first."""
    with reader.bundle() as bundle:
        return _json(slice_of(loops_of(bundle.report(), module), offset=offset, limit=limit))


@router.get(
    "/loops/{loop_id:path}",
    response_class=JSONResponse,
    responses={**_FAILS, **answers("LoopView")},
    operation_id="get_loop",
    summary="One loop, pass by pass",
)
def loop(report_id: ReportId, loop_id: str, reader: InReader) -> Response:
    """Its rows in the order of the passes, and the loops around and inside it."""
    with reader.bundle() as bundle:
        return _json(loop_view(bundle.report(), loop_id))


@router.get(
    "/collectives",
    response_class=JSONResponse,
    responses={**_FAILS, **answers("CollectiveSlice")},
    operation_id="list_collectives",
    summary="The collectives, with what hides them",
)
def collectives(
    report_id: ReportId,
    reader: InReader,
    module: OfModule = "",
    loop: Annotated[str, Query(max_length=4096, description="a loop's `id`; empty for all")] = "",
    opcode: Annotated[str, Query(max_length=64, description="such as `all-gather`")] = "",
    offset: Offset = 0,
    limit: Limit = 100,
) -> Response:
    """Those of the last text of each module."""
    with reader.bundle() as bundle:
        found = collectives_of(bundle.report(), module, loop=loop, opcode=opcode)
        return _json(slice_of(found, offset=offset, limit=limit))


@router.get(
    "/findings",
    response_class=JSONResponse,
    responses={**_FAILS, **answers("FindingSlice")},
    operation_id="list_findings",
    summary="The findings",
)
def findings(
    report_id: ReportId,
    reader: InReader,
    severity: Annotated[Severity | None, Query(description="of this severity alone")] = None,
    rule: Annotated[str, Query(max_length=64, description="of this rule alone")] = "",
    offset: Offset = 0,
    limit: Limit = 100,
) -> Response:
    """The gravest and surest first; those with confidence `ruled_out` are among them."""
    with reader.bundle() as bundle:
        found = findings_of(bundle.report(), severity=severity or "", rule=rule)
        return _json(slice_of(found, offset=offset, limit=limit))


@router.get(
    "/search",
    response_class=JSONResponse,
    responses={**errors(404, 409, 413), **answers("SearchResult")},
    operation_id="search_instructions",
    summary="Find instructions of a pass",
)
def search(
    report_id: ReportId,
    reader: InReader,
    query: Annotated[str, Query(description="a part of name, opcode, op_name or `file.py:12`")],
    module: ModuleId = "",
    index: Position = None,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_HITS, description="hits at most")] = 100,
) -> Response:
    """In text order; `total` counts all that match."""
    with reader.bundle() as bundle:
        found = module_of(bundle.report(), module)
        at = len(found.dumps) - 1 if index is None else index
        parsed = bundle.parse(found.id, at)
        return _json(search_instructions(parsed, query, offset=offset, limit=limit))


def _json(answer: object) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")
