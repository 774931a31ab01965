"""The page from which whoever sent a report has its dump compiled again, where the server lets him.

Off unless the server is told otherwise: a compile takes minutes of its processors. What is found
is a report of its own, on the same files; a job makes it, like any other.
"""

import time
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.errors import NotFound, UsageError
from app.report.wording import counted
from app.store import ReportRow
from app.web.body import form_fields
from app.web.callers import caller_of
from app.web.intake import check_load
from app.web.ownership import remember_owner, token_of_browser
from app.web.rendering import Site, render
from app.web.rights import check_right, may_replay
from app.web.services import Services, bundle_attachment, find_report, services_of
from app.web.subpath import root

router = APIRouter(prefix="/r/{report_id}", include_in_schema=False)

InServices = Annotated[Services, Depends(services_of)]

_MAX_FORM_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class _Choice:
    """One thing to ask for: its word, and what it does."""

    word: str
    title: str
    text: str
    is_chosen: bool = False


_CHOICES = (
    _Choice("prove", "Workarounds", "Each that the report names is tried, and its doubts.", True),
    _Choice("flags", "Flags", "Each flag of the run is turned, then the smallest set is sought."),
    _Choice("passes", "Passes", "Each pass is switched off alone, the likeliest first."),
    _Choice("releases", "Releases", "Every jaxlib release that this server has."),
    _Choice("reduce", "A small module", "Taken away is all that the failure can do without."),
)


@dataclass(frozen=True, slots=True)
class _ReplayPage:
    """What the template shows; `flags` are those of the run as far as they were given."""

    report: str
    action: str
    choices: tuple[_Choice, ...]
    flags: str
    time: str


@router.api_route("/replay", methods=["GET", "HEAD"])
def replay_page(request: Request, report_id: str, services: InServices) -> HTMLResponse:
    """The form."""
    row = find_report(services, report_id)
    check_right(services, row, token=token_of_browser(request), owner=caller_of(request).owner)
    _check_may(services, row)
    page = _ReplayPage(
        report=f"{root()}/r/{report_id}",
        action=f"{root()}/r/{report_id}/replay",
        choices=_CHOICES,
        flags=row.question.flags,
        time=counted(max(1, services.settings.replay_budget_s // 60), "minute"),
    )
    return HTMLResponse(render("replay.html", site=Site(), page=page))


@router.post("/replay")
async def begin(request: Request, report_id: str, services: InServices) -> Response:
    """Queue the replay and go to the report that it will be."""
    words = await form_fields(request, max_bytes=_MAX_FORM_BYTES)
    row = await run_in_threadpool(find_report, services, report_id)
    owner = caller_of(request).owner
    await run_in_threadpool(
        check_right, services, row, token=token_of_browser(request), owner=owner
    )
    _check_may(services, row)
    await check_load(request, services)
    asked = [choice.word for choice in _CHOICES if choice.word in words.get("ask", ())]
    if not asked:
        raise UsageError("nothing was asked for", next_step="Choose what to try.")
    flags = words.get("flags", [row.question.flags])[-1]
    question = replace(row.question, replay=" ".join(asked), flags=flags)
    secrets = await run_in_threadpool(
        services.store.reports.create_replay, row, question, now=time.time(), owner=owner
    )
    services.runner.wake()
    response = RedirectResponse(f"{root()}/r/{secrets.report_id}", 303)
    remember_owner(response, request, secrets)
    return response


def _check_may(services: Services, row: ReportRow) -> None:
    if not services.settings.replay_jobs:
        raise NotFound(
            "this server compiles nothing again",
            next_step="Use hloscope replay on your machine, or set HLOSCOPE_REPLAY_JOBS=true.",
        )
    bundle_attachment(row)
    if not may_replay(services.settings, row):
        raise UsageError("there is no dump to compile", next_step="Send one, not its log alone.")
