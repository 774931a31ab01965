"""From a request with files to a stored report with a queued job."""

import logging
import time
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from app.errors import UsageError
from app.store import NewReport, Owner, Secrets, hash_of
from app.web.body import body_pieces
from app.web.callers import client_of, sender_of
from app.web.multipart import receive_form
from app.web.rates import too_many
from app.web.receiving import MAX_LOGS, Reception, Wish, clean_label, wish_from
from app.web.rights import owner_of, repeat_key_of
from app.web.services import Services

_LOG = logging.getLogger(__name__)

_FORM_OVERHEAD_BYTES = 1 << 20


async def take_upload(request: Request, services: Services, *, name: str = "") -> Secrets:
    """Receive the body of `request`, store it and queue its analysis.

    A `multipart/form-data` body is a form; any other is the dump itself, called `name`, and what
    else is to be said stands in the query (`name`, `log`, and the `WORDS` of `receiving.py`).

    Raises:
        AppError, NoSpace: the upload is turned away; nothing of it remains.
    """
    owner, repeat_key = owner_of(request), repeat_key_of(request)
    await check_load(request, services)
    if owner is not None:
        check = services.store.reports.check_quota
        await run_in_threadpool(check, owner, repeat_key=repeat_key)
    settings = services.settings
    with services.upload_slots.hold(client_of(request.scope)):
        reception = Reception(services.store, settings)
        pieces = body_pieces(
            request,
            max_bytes=settings.max_upload_bytes
            + MAX_LOGS * settings.max_log_bytes
            + _FORM_OVERHEAD_BYTES,
            idle_s=settings.upload_idle_s,
        )
        try:
            content_type = request.headers.get("content-type", "")
            if content_type.lower().startswith("multipart/"):
                wish = await receive_form(reception, content_type, pieces)
            else:
                wish = await _receive_raw(reception, request, pieces, name)
            now = time.time()
            new = reception.accept(wish, now=now)
            secrets = await run_in_threadpool(_create, services, new, repeat_key, now, owner)
        finally:
            await reception.close()
    services.runner.wake()
    request.app.state.metrics.received(sum(file.data.bytes for file in new.files))
    _LOG.info("a dump was taken", extra={"report": hash_of(secrets.report_id)[:12]})
    return secrets


async def check_load(request: Request, services: Services) -> None:
    """Let pass what the server still has room to work on.

    Raises:
        UsageError: too many analyses wait (`queue_full`), or too many uploads came from one
            sender (`too_many_requests`).
    """
    open_jobs = await run_in_threadpool(services.store.jobs.count_open)
    if open_jobs >= services.settings.max_open_jobs:
        raise UsageError(
            f"{open_jobs} analyses are waiting already",
            next_step="Try again in a while.",
            code="queue_full",
        )
    if not services.upload_rate.spend(sender_of(request)):
        raise too_many(
            "too many uploads came from this sender in the last hour",
            "Wait a while, or raise HLOSCOPE_MAX_UPLOADS_PER_HOUR.",
        )


def _create(
    services: Services, new: NewReport, repeat_key: str, now: float, owner: Owner | None
) -> Secrets:
    reports = services.store.reports
    if repeat_key:
        return reports.create_once(new, now=now, repeat_key=repeat_key, owner=owner)
    return reports.create(new, now=now, owner=owner)


async def _receive_raw(
    reception: Reception, request: Request, pieces: AsyncIterator[bytes], name: str
) -> Wish:
    query = request.query_params
    label = clean_label(name or query.get("name", ""), default="dump")
    dump = await reception.begin("archive", label)
    async for piece in pieces:
        await dump.write(piece)
    await reception.end(dump)
    log_text = query.get("log", "")
    if log_text:
        log = await reception.begin("log", "log")
        await log.write(log_text.encode("utf-8", "backslashreplace"))
        await reception.end(log)
    return wish_from(query)
