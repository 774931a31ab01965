"""The API under /api/v1: send a dump, ask how far it is, read the report, list and delete."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from app.errors import NotFound, UsageError
from app.jobs.event_diffs import event_diffs_of
from app.report.forms import MEDIA_TYPES, ReportForm, in_form
from app.store import ReportRow, StoreUnavailable
from app.web.callers import bearer_of, client_of
from app.web.contract import (
    FailOn,
    InServices,
    OwnerSecret,
    RepeatKey,
    WaitSeconds,
    answers,
    errors,
    errors_of_stream,
)
from app.web.intake import take_upload
from app.web.rights import OWNER_HEADER, delete_report_of, owner_of
from app.web.services import Services, find_report, open_bundle
from app.web.wire import CreatedReport, ReportList, ReportState, created_of, page_url, state_of

_POLL_S = 0.25
_SUFFIXES = {"junit": "xml", "thread": "md"}

router = APIRouter(prefix="/api/v1", tags=["reports"])

_UPLOAD_ERRORS = errors(401, 408, 409, 413, 507, changes=True)
_RAW_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The dump as it is: .tar.gz, .tar.zst, .tar, .zip, or one HLO text.",
        "content": {
            "application/octet-stream": {
                "schema": {"type": "string", "format": "binary", "minLength": 1}
            }
        },
    }
}
_FORM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "anyOf": [{"required": ["dump"]}, {"required": ["log"]}],
    "properties": {
        "dump": {"type": "string", "format": "binary"},
        "log": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "format": "binary", "minLength": 1},
            "description": "files or pasted text, repeatable",
        },
        "flags": {"type": "string", "description": "the run's XLA_FLAGS"},
        "release": {"type": "string", "description": "the run's jaxlib release"},
        "hung": {"type": "string", "description": "1: killed because it hung"},
        "label": {"type": "string", "description": "a few words, to tell it from others"},
        "commit": {"type": "string", "description": "what was compiled: a digest or an address"},
        "run": {"type": "string", "description": "the address of the CI run"},
        "expire_days": {"type": "string", "description": "days after which it is deleted"},
    },
}
_ANY_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            **_RAW_BODY["requestBody"]["content"],
            "multipart/form-data": {"schema": _FORM_SCHEMA},
        },
    }
}
# Two addresses that differ in the name of a parameter alone would be one to OpenAPI.
_FILE_NAME: dict[str, Any] = {
    "parameters": [
        {
            "name": "report_id",
            "in": "path",
            "required": True,
            "description": "the dump's file name, which curl adds to an address ending in `/`",
            "schema": {"type": "string"},
        }
    ]
}


class _Words:
    """What may be said of a raw body in the query; read again where the body is."""

    def __init__(
        self,
        name: Annotated[str, Query(description="the dump's file name")] = "",
        log: Annotated[str, Query(description="the run's log, where it is short")] = "",
        flags: Annotated[str, Query(description="the run's XLA_FLAGS")] = "",
        release: Annotated[str, Query(description="the run's jaxlib release")] = "",
        hung: Annotated[str, Query(description="1: killed because it hung")] = "",
        label: Annotated[str, Query(description="a few words, to tell it from others")] = "",
        commit: Annotated[str, Query(description="what was compiled: a digest or an address")] = "",
        run: Annotated[str, Query(description="the address of the CI run")] = "",
        expire_days: Annotated[str, Query(description="days after which it is deleted")] = "",
        owner: OwnerSecret = "",
        repeat: RepeatKey = "",
    ) -> None:
        del log, flags, release, hung, label, commit, run, expire_days, owner, repeat
        self.name = name


_CREATES: dict[str, Any] = {
    "status_code": 201,
    "response_model": CreatedReport,
    "responses": _UPLOAD_ERRORS,
}


@router.post(
    "/reports",
    operation_id="create_report",
    summary="Send a dump, a log, or both",
    openapi_extra=_ANY_BODY,
    **_CREATES,
)
@router.put(
    "/reports",
    operation_id="put_report",
    summary="Send a dump as the body",
    openapi_extra=_RAW_BODY,
    **_CREATES,
)
@router.put(
    "/reports/{report_id}",
    operation_id="put_named_report",
    summary="Send a dump as the body, under its file's name",
    openapi_extra=_RAW_BODY | _FILE_NAME,
    **_CREATES,
)
async def create_report(
    request: Request,
    services: InServices,
    words: Annotated[_Words, Depends()],
    wait: WaitSeconds = 0,
    fail_on: FailOn = "error",
) -> Response:
    """The body is the dump itself, as `curl -T` sends it; with POST it may be a form too.

    What a form has as fields, the address of a bare dump may have as parameters.
    """
    name = words.name or request.path_params.get("report_id", "")
    secrets = await take_upload(request, services, name=name)
    row = await run_in_threadpool(find_report, services, secrets.report_id)
    row = await settled(request, services, row, wait)
    created = created_of(row, secrets, services.settings, fail_on)
    return JSONResponse(created.model_dump(), 201, {"Location": created.url})


@router.get(
    "/reports",
    responses=errors(401),
    operation_id="list_own_reports",
    summary="List your own reports",
)
def list_own(
    request: Request,
    services: InServices,
    owner: OwnerSecret = "",
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    fail_on: FailOn = "error",
) -> ReportList:
    """Those that were sent with this `Hloscope-Owner`, the newest first."""
    del owner
    known = owner_of(request)
    if known is None:
        raise UsageError(
            "reports are listed for their owner only",
            place=OWNER_HEADER,
            next_step="Send the secret that the reports were sent with.",
            code="bad_owner",
        )
    rows, total = services.store.reports.owned_by(known, offset=offset, limit=limit)
    return ReportList(
        items=[state_of(row, report_id, services.settings, fail_on) for report_id, row in rows],
        total=total,
        offset=offset,
        limit=limit,
    )


@router.get(
    "/reports/{report_id}",
    responses=errors(404),
    operation_id="get_report_state",
    summary="How far a report is",
)
async def get_state(
    request: Request,
    report_id: str,
    services: InServices,
    wait: WaitSeconds = 0,
    fail_on: FailOn = "error",
) -> ReportState:
    """The state of the analysis, and what came of it in a few words."""
    row = await run_in_threadpool(find_report, services, report_id)
    row = await settled(request, services, row, wait)
    return state_of(row, report_id, services.settings, fail_on)


@router.get(
    "/reports/{report_id}/report",
    response_class=JSONResponse,
    responses={**errors(404, 409), **answers("Report")},
    operation_id="get_report",
    summary="The report itself",
)
def get_report(report_id: str, services: InServices) -> Response:
    """The report as JSON (`schema_version` 1), once there is one."""
    with open_bundle(services, find_report(services, report_id)) as bundle:
        return Response(bundle.report_json(), media_type="application/json")


def _schema_of(media_type: str) -> dict[str, Any]:
    # Of JSON there are several forms, each with a description of its own elsewhere.
    return {} if media_type.endswith("json") else {"type": "string"}


@router.get(
    "/reports/{report_id}/report.{form}",
    response_class=Response,
    responses={
        **errors_of_stream(404, 409),
        200: {"content": {kind: {"schema": _schema_of(kind)} for kind in sorted(MEDIA_TYPES)}},
    },
    operation_id="get_report_in_form",
    summary="The report in a form for CI, a bug thread or a mailbox",
)
def get_report_in_form(
    report_id: str,
    form: ReportForm,
    services: InServices,
    root: Annotated[
        str, Query(description="where the repository was; paths are shown from it")
    ] = "",
    fail_on: FailOn = "error",
) -> Response:
    """`sarif` for code scanning, `junit` and `gitlab` for CI, `html` offline, `md` as a summary.

    `thread` is the first post of a bug thread: masked signature, last pass, environment, commands.
    `root` matters to `sarif`, `junit`, `gitlab` and `github`; `fail_on` to `junit`. `md` and
    `thread` of a share hold its address where the server is told its own (`HLOSCOPE_BASE_URL`).
    """
    row = find_report(services, report_id)
    # The address of a private report is a secret, and this text is made to be pasted. Where the
    # server is not told its own address, what the request calls it proves nothing.
    is_public = row.parent_key is not None and bool(services.settings.base_url)
    link = page_url(services.settings, report_id) if is_public else ""
    with open_bundle(services, row) as bundle:
        diffs = event_diffs_of(bundle) if form == "html" else ()
        text, kind = in_form(
            bundle.report(), form, root=root, fail_on=fail_on, link=link, diffs=diffs
        )
    name = f"report.{_SUFFIXES.get(form, form)}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text.encode("utf-8", "backslashreplace"), media_type=kind, headers=headers)


async def _watched(report_id: str, services: InServices) -> ReportRow:
    return await run_in_threadpool(find_report, services, report_id)


async def _stream_slot(request: Request, services: InServices) -> AsyncIterator[None]:
    with services.stream_slots.hold(client_of(request.scope)):
        yield


@router.get(
    "/reports/{report_id}/events",
    response_class=EventSourceResponse,
    responses=errors_of_stream(404),
    operation_id="watch_report",
    summary="Follow the analysis as server-sent events",
)
async def watch(
    report_id: str,
    services: InServices,
    row: Annotated[ReportRow, Depends(_watched)],
    slot: Annotated[None, Depends(_stream_slot)],
) -> AsyncIterator[ServerSentEvent]:
    """A `state` event whenever something changed.

    The stream ends when the analysis has, when the report is deleted, and when the server cannot
    tell.
    """
    del slot
    shown: ReportState | None = None
    while True:
        state = state_of(row, report_id, services.settings)
        if state != shown:
            shown = state
            yield ServerSentEvent(data=state, event="state")
        if row.is_over or services.stopping.is_set():
            return
        await asyncio.sleep(_POLL_S)
        try:
            row = await run_in_threadpool(find_report, services, report_id)
        except (NotFound, StoreUnavailable):
            return  # half an answer is out: whoever asks again is told why


@router.delete(
    "/reports/{report_id}",
    status_code=204,
    responses=errors(401, 404, changes=True),
    operation_id="delete_report",
    summary="Delete a report, its dump and its logs",
)
def delete_report(
    request: Request, report_id: str, services: InServices, owner: OwnerSecret = ""
) -> None:
    """Needs `Authorization: Bearer` with the `delete_token` given when it was sent, or the owner.

    What was shared of it goes too. A share is revoked in the same way.
    """
    del owner
    row = find_report(services, report_id)
    delete_report_of(services, row, bearer_of(request), owner_of(request))


async def settled(request: Request, services: Services, row: ReportRow, wait_s: float) -> ReportRow:
    """The report when it is over or `wait_s` seconds have passed, whichever comes first."""
    if row.is_over or not wait_s:
        return row
    deadline = time.monotonic() + wait_s
    with services.wait_slots.hold(client_of(request.scope)):
        while not row.is_over and time.monotonic() < deadline:
            await asyncio.sleep(min(_POLL_S, wait_s))
            newer = await run_in_threadpool(services.store.reports.find_key, row.key)
            is_left = services.stopping.is_set() or await request.is_disconnected()
            if newer is None or is_left:
                break
            row = newer
    return row
