"""Reports of the server compared: JSON over the API, and a page at /compare.

Two are compared as two dumps are; three and more are the ranks of one run, numbered as the names
of their archives or their labels say, else in the order given. An answer is kept for whoever asks
again: the reports of one address do not change.
"""

import re
from collections.abc import Callable, Sequence
from string import ascii_lowercase
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, Response

from app.analysis.ranks_numbers import rank_numbers
from app.errors import UsageError
from app.jobs.comparing_reports import compare_ranks_in_child, compare_reports_in_child
from app.model.ranks import RankComparison
from app.report.comparison import comparison_sheet
from app.report.comparison_ranks import ranks_sheet
from app.report.comparison_sheet import Sheet
from app.store import Problem, ReportRow
from app.views.comparison import ComparisonView
from app.web.callers import client_of
from app.web.contract import InServices, answers, errors
from app.web.rendering import Site, render
from app.web.services import Services, bundle_attachment, error_from, find_report

MAX_RANKS = 64
"""Reports that are compared as ranks."""

router = APIRouter(prefix="/api/v1", tags=["reports"])
page_router = APIRouter(include_in_schema=False)

# A server may stand below a path of its host.
_LINK = re.compile(
    r"(?:https?://[^/\s]{1,256}(?:/[^/?#\s]{1,64}){0,8}?)?"
    r"(?:/api/v1/reports|/r)/([^/?#\s]{1,256})[^\s]*"
)
_LETTER = re.compile(r"[a-z]")
# What the page calls the reports.
_NAMES = (*ascii_lowercase, *map(str, range(len(ascii_lowercase) + 1, MAX_RANKS + 1)))

ReportA = Annotated[str, Query(max_length=2048, description="the id of a report, or its link")]
ReportB = Annotated[str, Query(max_length=2048, description="the id of the other, or its link")]
Reports = Annotated[
    # All of them together must fit into one line of a request.
    list[Annotated[str, Query(max_length=200)]],
    Query(
        alias="report",
        min_length=2,
        max_length=MAX_RANKS,
        description="the id or the link of a rank's report; once for each rank",
    ),
]

_FAILS = errors(404, 409, changes=True)


@router.post(
    "/compare",
    responses={**_FAILS, **answers("ComparisonView")},
    operation_id="compare_reports",
    summary="Compare two reports",
)
def compare_reports(request: Request, services: InServices, a: ReportA, b: ReportB) -> Response:
    """What differs between two dumps: flags, passes, where the graphs part, loops, memory.

    The answer is that of `hloscope compare --json`.
    """
    found = _pair(services, client_of(request.scope), [a, b])
    return Response(found, media_type="application/json")


@router.get(
    "/compare/ranks",
    responses={**errors(404, 409), **answers("RankComparison")},
    operation_id="get_rank_comparison",
    summary="Compare the ranks of one run",
)
@router.post(
    "/compare/ranks",
    responses={**_FAILS, **answers("RankComparison")},
    operation_id="compare_ranks",
    summary="Compare the ranks of one run",
)
def compare_ranks(request: Request, services: InServices, reports: Reports) -> Response:
    """Which rank has other graphs, which begins collectives in another order, what all share.

    The answer is that of `hloscope compare --json` for more than two dumps.
    """
    found = _ranks(services, client_of(request.scope), reports)
    return Response(found, media_type="application/json")


@page_router.get("/compare")
def compare_page(request: Request, services: InServices) -> HTMLResponse:
    """The comparison for people, or the form that asks which reports: `a`, `b`, `c` and so on.

    `more` holds further ones, with blanks between.
    """
    given = request.query_params
    words = [given[name] for name in sorted(set(given)) if _LETTER.fullmatch(name)]
    ids = [report_id_of(word) for word in (*words, *given.get("more", "").split()) if word.strip()]
    sheet = _sheet(services, client_of(request.scope), ids) if len(ids) > 1 else None
    return HTMLResponse(
        render(
            "compare.html",
            site=Site(),
            sheet=sheet,
            reports=list(zip(_NAMES, ids, strict=False)),
            a=ids[0] if ids else "",
            b=ids[1] if len(ids) > 1 else "",
            more=" ".join(ids[2:]),
        )
    )


def _sheet(services: Services, client: str, ids: Sequence[str]) -> Sheet:
    if len(ids) == 2:
        found = _pair(services, client, ids)
        return comparison_sheet(msgspec.json.decode(found, type=ComparisonView))
    found = _ranks(services, client, ids)
    return ranks_sheet(msgspec.json.decode(found, type=RankComparison))


def report_id_of(word: str) -> str:
    """The id of a report that is named by its id or by a link to it."""
    word = word.strip()
    link = _LINK.fullmatch(word)
    return link[1] if link else word


def _pair(services: Services, client: str, words: Sequence[str]) -> bytes:
    """The JSON of the comparison; raises as `_rows` and `_answer`."""
    a, b = (bundle_attachment(row).blob for row in _rows(services, words))
    paths = [services.store.blobs.path(blob) for blob in (a, b)]

    def make() -> bytes | Problem:
        return compare_reports_in_child(services.store, services.settings, paths[0], paths[1])

    return _answer(services, client, ("pair", a, b), make)


def _ranks(services: Services, client: str, words: Sequence[str]) -> bytes:
    """The JSON of the comparison; raises as `_rows` and `_answer`."""
    if len(words) > MAX_RANKS:
        raise UsageError(
            f"these are more than {MAX_RANKS} reports",
            next_step="Compare those that matter, or all with `hloscope compare`.",
        )
    rows = _rows(services, words)
    numbers = rank_numbers([f"{row.name} {row.question.label}" for row in rows])
    blobs = [bundle_attachment(row).blob for row in rows]
    ranks = {
        number: services.store.blobs.path(blob) for number, blob in zip(numbers, blobs, strict=True)
    }

    def make() -> bytes | Problem:
        return compare_ranks_in_child(services.store, services.settings, ranks)

    return _answer(services, client, ("ranks", *map(str, numbers), *blobs), make)


def _rows(services: Services, words: Sequence[str]) -> list[ReportRow]:
    """The reports; raises as `find_report`, and where one is not named."""
    ids = [report_id_of(word) for word in words]
    if not all(ids):
        raise UsageError("two reports are needed", place="a, b", next_step="Give both their ids.")
    return [find_report(services, each) for each in ids]


def _answer(
    services: Services, client: str, key: tuple[str, ...], make: Callable[[], bytes | Problem]
) -> bytes:
    """What was made for `key` before, or is now; raises what ended the child badly."""

    def make_sized() -> tuple[bytes, int]:
        with services.view_slots.hold(client):
            found = make()
        if isinstance(found, Problem):
            raise error_from(found)
        return found, len(found)

    return services.comparisons.get(key, make_sized)
