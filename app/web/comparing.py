"""Two reports of the server compared: JSON over the API, and a page at /compare."""

import re
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response

from app.errors import UsageError
from app.jobs.comparing_reports import compare_reports_in_child
from app.report.comparison import comparison_sheet
from app.store import Problem
from app.views.comparison import ComparisonView
from app.web.callers import client_of
from app.web.contract import InServices, answers, errors
from app.web.rendering import Site, render
from app.web.services import Services, bundle_attachment, error_from, find_report

router = APIRouter(prefix="/api/v1", tags=["reports"])
page_router = APIRouter(include_in_schema=False)

_LINK = re.compile(r"(?:https?://[^/\s]{1,256})?(?:/api/v1/reports|/r)/([^/?#\s]{1,256})[^\s]*")

ReportA = Annotated[str, Query(max_length=2048, description="the id of a report, or its link")]
ReportB = Annotated[str, Query(max_length=2048, description="the id of the other, or its link")]


@router.post(
    "/compare",
    responses={**errors(404, 409, changes=True), **answers("ComparisonView")},
    operation_id="compare_reports",
    summary="Compare two reports",
)
def compare_reports(request: Request, services: InServices, a: ReportA, b: ReportB) -> Response:
    """What differs between two dumps: flags, passes, where the graphs part, loops, memory.

    The answer is that of `hloscope compare --json`.
    """
    found = _compared(services, client_of(request.scope), a, b)
    return Response(msgspec.json.encode(found), media_type="application/json")


@page_router.get("/compare")
def compare_page(
    request: Request, services: InServices, a: ReportA = "", b: ReportB = ""
) -> HTMLResponse:
    """The comparison for people, or the form that asks which reports."""
    a, b = report_id_of(a), report_id_of(b)
    sheet = None
    if a and b:
        sheet = comparison_sheet(_compared(services, client_of(request.scope), a, b))
    return HTMLResponse(render("compare.html", site=Site(), sheet=sheet, a=a, b=b))


def report_id_of(word: str) -> str:
    """The id of a report that is named by its id or by a link to it."""
    word = word.strip()
    link = _LINK.fullmatch(word)
    return link[1] if link else word


def _compared(services: Services, client: str, a: str, b: str) -> ComparisonView:
    """Raises as `find_report`, `bundle_attachment`, and what ended the child badly."""
    ids = [report_id_of(word) for word in (a, b)]
    if not all(ids):
        raise UsageError("two reports are needed", place="a, b", next_step="Give both their ids.")
    paths = [
        services.store.blobs.path(bundle_attachment(find_report(services, each)).blob)
        for each in ids
    ]
    with services.view_slots.hold(client):
        found = compare_reports_in_child(services.store, services.settings, paths[0], paths[1])
    if isinstance(found, Problem):
        raise error_from(found)
    return found
