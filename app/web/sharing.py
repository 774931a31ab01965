"""Sharing over the API: what a share would hold, making one, listing and revoking them.

A share is a copy of a report under an address of its own, with another token to revoke it. Whoever
may delete a report may share it. The copy holds nothing of what was taken out, so everything that
reads reports reads it without knowing.
"""

import time
from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from app.errors import NotFound, UsageError
from app.jobs.previewing import preview_in_child
from app.report.redact import input_name
from app.store import NewShare, Problem, ReportRow, Secrets
from app.web.api import settled
from app.web.callers import bearer_of, client_of
from app.web.contract import InServices, OwnerSecret, WaitSeconds, answers, errors
from app.web.intake import check_load
from app.web.receiving import MAX_EXPIRE_DAYS, end_after
from app.web.rights import check_right, owner_of
from app.web.services import Services, bundle_attachment, error_from, find_report
from app.web.wire import CreatedReport, ShareList, created_of, share_of

DEFAULT_DAYS = 90
MAX_SHARES = 100
"""Shares that one report may have at a time."""

router = APIRouter(prefix="/api/v1/reports/{report_id}", tags=["sharing"])


class Redaction:
    """What shall be taken out, as the address says it."""

    def __init__(
        self,
        redact: Annotated[
            bool, Query(description="take out what names people, hosts and places")
        ] = True,
        op_names: Annotated[
            bool, Query(description="take out names chosen in the program too")
        ] = False,
        source: Annotated[bool, Query(description="take out names of source files too")] = False,
    ) -> None:
        self.words = {"redact": redact, "op_names": op_names, "source": source}


@router.get(
    "/redaction",
    response_class=JSONResponse,
    responses={**errors(401, 404, 409, 413), **answers("Preview")},
    operation_id="preview_share",
    summary="What a share would hold",
)
def preview(
    request: Request,
    report_id: str,
    services: InServices,
    redaction: Annotated[Redaction, Depends()],
    owner: OwnerSecret = "",
) -> Response:
    """What would be taken out, with the word that would stand for it; for the owner alone."""
    del owner
    row = find_report(services, report_id)
    check_right(services, row, token=bearer_of(request), owner=owner_of(request))
    found = preview_of(request, services, row, redaction.words)
    return Response(found, media_type="application/json")


@router.post(
    "/shares",
    status_code=201,
    response_model=CreatedReport,
    responses=errors(401, 404, 409, 413, changes=True),
    operation_id="create_share",
    summary="Share a report under a link that can be revoked",
)
async def create(
    request: Request,
    report_id: str,
    services: InServices,
    redaction: Annotated[Redaction, Depends()],
    expire_days: Annotated[
        int, Query(ge=1, le=MAX_EXPIRE_DAYS, description="days after which the link is dead")
    ] = DEFAULT_DAYS,
    wait: WaitSeconds = 0,
    owner: OwnerSecret = "",
) -> Response:
    """The copy is made like a report: wait for it, then give its `url` to whoever may read it.

    It counts as an upload of whoever asks, and among the reports of the owner.
    """
    del owner
    row = await run_in_threadpool(find_report, services, report_id)
    await run_in_threadpool(
        check_right, services, row, token=bearer_of(request), owner=owner_of(request)
    )
    await check_load(request, services)
    secrets = await run_in_threadpool(share, services, row, redaction.words, expire_days)
    made = await run_in_threadpool(find_report, services, secrets.report_id)
    made = await settled(request, services, made, wait)
    created = created_of(made, secrets, services.settings, "error")
    return JSONResponse(created.model_dump(), 201, {"Location": created.url})


@router.get(
    "/shares",
    responses=errors(401, 404),
    operation_id="list_shares",
    summary="List what was shared of a report",
)
def shares(
    request: Request, report_id: str, services: InServices, owner: OwnerSecret = ""
) -> ShareList:
    """Without the links, which are not kept; each has a `handle` to revoke it by."""
    del owner
    row = find_report(services, report_id)
    check_right(services, row, token=bearer_of(request), owner=owner_of(request))
    return ShareList(items=[share_of(each) for each in services.store.reports.shares_of(row.key)])


@router.delete(
    "/shares/{handle}",
    status_code=204,
    responses=errors(401, 404, changes=True),
    operation_id="revoke_share",
    summary="Revoke a share by its handle",
)
def revoke(
    request: Request, report_id: str, handle: str, services: InServices, owner: OwnerSecret = ""
) -> None:
    """The link leads nowhere from then on. With the link, deleting it does the same."""
    del owner
    row = find_report(services, report_id)
    check_right(services, row, token=bearer_of(request), owner=owner_of(request))
    revoke_of(services, row, handle)


def share(
    services: Services, row: ReportRow, redaction: Mapping[str, bool], expire_days: int
) -> Secrets:
    """Have a copy of a finished report made; its id and token are told this once.

    Raises:
        UsageError: the report is not finished, is a share itself, or has too many already.
    """
    bundle_attachment(row)
    if row.parent_key is not None:
        raise UsageError(
            "this is a share already", next_step="Share the report that it was made from."
        )
    if _shares_left(services, row) <= 0:
        raise _too_many_shares()
    now = time.time()
    name = input_name(row.name) if redaction["redact"] else row.name
    new = NewShare(row.key, name, dict(redaction), end_after(expire_days, now))
    secrets = services.store.reports.create_share(new, now=now)
    if _shares_left(services, row) < 0:
        # Others were made meanwhile, maybe by another server.
        made = services.store.reports.find(secrets.report_id)
        if made is not None:
            services.store.reports.delete(made.key)
        raise _too_many_shares()
    services.runner.wake()
    return secrets


def _shares_left(services: Services, row: ReportRow) -> int:
    return MAX_SHARES - len(services.store.reports.shares_of(row.key))


def _too_many_shares() -> UsageError:
    return UsageError(
        f"it is shared {MAX_SHARES} times already",
        next_step="Revoke one of them.",
        code="too_many_requests",
    )


def revoke_of(services: Services, row: ReportRow, handle: str) -> None:
    """Delete the share of that handle.

    Raises:
        NotFound: the report has none of it.
    """
    for each in services.store.reports.shares_of(row.key):
        if each.handle == handle:
            services.store.reports.delete(each.key)
            services.runner.wake()
            return
    raise NotFound(
        "the report has no such share", next_step="It may have been revoked, or have had its time."
    )


def preview_of(
    request: Request, services: Services, row: ReportRow, redaction: Mapping[str, bool]
) -> bytes:
    """The JSON of what a share would hold; raises what ended the search badly."""
    bundle_attachment(row)
    with services.view_slots.hold(client_of(request.scope)):
        found = preview_in_child(services.store, services.settings, row, dict(redaction))
    if isinstance(found, Problem):
        raise error_from(found)
    return found
