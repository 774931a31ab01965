"""Sending a dump in parts that can be taken up again: a part of the tus protocol, version 1.0.0.

Core, creation, expiration and termination, as tus clients speak them. The report's address and the
token that deletes it are told when the upload begins; the report is there once the last byte is.
Everything beside the dump stands in `Upload-Metadata`.
"""

import base64
import binascii
import time
from dataclasses import asdict
from email.utils import formatdate
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from app.errors import AppError, LimitExceeded, NotFound, UsageError
from app.store import (
    Incoming,
    NewReport,
    NoSpace,
    Question,
    ReceivedFile,
    ReportKeys,
    UploadRow,
    Uploads,
    hash_of,
    secrets_of,
)
from app.web.body import body_pieces
from app.web.callers import client_of, sender_of
from app.web.contract import InServices, OwnerSecret, errors
from app.web.guard import TUS_VERSION
from app.web.intake import check_load
from app.web.rates import too_many
from app.web.receiving import WORDS, clean_label, end_after, wish_from
from app.web.rights import owner_of
from app.web.services import Services
from app.web.sniff import SNIFFED_BYTES, check_first_bytes
from app.web.subpath import root
from app.web.wire import CreatedUpload, page_url

_EXTENSIONS = "creation,expiration,termination"
_PART = "application/offset+octet-stream"
_LIVES_S = 24 * 3600.0
_MAX_METADATA = 32 << 10

router = APIRouter(prefix="/api/v1/uploads", tags=["uploads"])

_Version = Annotated[str, Header(alias="Tus-Resumable", description="1.0.0")]
_Offset = Annotated[str, Header(alias="Upload-Offset", description="bytes the server has")]


def _speaks_tus(version: _Version = "") -> None:
    if version != TUS_VERSION:
        raise UsageError(
            "the request does not say which version of tus it speaks",
            place="Tus-Resumable",
            next_step=f"Send `Tus-Resumable: {TUS_VERSION}`.",
            code="tus_version",
        )


_SPEAKS = [Depends(_speaks_tus)]


@router.options(
    "",
    status_code=204,
    operation_id="describe_uploads",
    summary="What the server takes of tus",
    responses=errors(),
)
def describe(services: InServices) -> Response:
    """Version, extensions and the largest dump, as headers."""
    headers = {
        "Tus-Extension": _EXTENSIONS,
        "Tus-Max-Size": str(services.settings.max_upload_bytes),
    }
    return Response(status_code=204, headers=headers)


@router.post(
    "",
    status_code=201,
    response_model=CreatedUpload,
    operation_id="create_upload",
    summary="Begin to send a dump in parts",
    dependencies=_SPEAKS,
    responses=errors(401, 412, 413, 507, changes=True),
)
async def create(
    request: Request,
    services: InServices,
    length: Annotated[
        str, Header(alias="Upload-Length", description="bytes of the whole dump")
    ] = "",
    metadata: Annotated[
        str,
        Header(
            alias="Upload-Metadata",
            description="`filename`, `log` and what a form may hold, each with its text in Base64",
        ),
    ] = "",
    owner: OwnerSecret = "",
) -> Response:
    """`Location` is where the parts go; the answer tells what the report will be."""
    del owner
    known = owner_of(request)
    await check_load(request, services)
    size = _number(length, "Upload-Length")
    if not 0 < size <= services.settings.max_upload_bytes:
        raise LimitExceeded(
            f"it is not between 1 and {services.settings.max_upload_bytes} bytes",
            place="Upload-Length",
            next_step="Send only the module that matters.",
        )
    words = _words_from(metadata)
    wish = wish_from({word: words.get(word, "") for word in WORDS})
    sender = sender_of(request)
    await run_in_threadpool(_check_open, services, sender, 1)
    if known is not None:
        await run_in_threadpool(services.store.reports.check_quota, known, adding=size)
    secrets, keys = secrets_of(known)
    if await run_in_threadpool(services.store.blobs.room) < size:
        raise NoSpace
    kept = {
        "name": clean_label(words.get("filename", words.get("name", "")), default="dump"),
        "log": words.get("log", ""),
        "question": asdict(wish.question),
        "expire_days": wish.expire_days,
        "keys": asdict(keys),
    }
    expires = time.time() + _LIVES_S
    upload_id = await run_in_threadpool(_begin, services, size, kept, expires, sender)
    here = f"{root()}/api/v1/uploads/{upload_id}"
    made = CreatedUpload(
        upload=here,
        id=secrets.report_id,
        url=page_url(services.settings, secrets.report_id),
        delete_token=secrets.delete_token,
    )
    headers = {"Location": here, "Upload-Expires": formatdate(expires, usegmt=True)}
    return JSONResponse(made.model_dump(), 201, headers)


@router.head(
    "/{upload_id}",
    operation_id="get_upload_offset",
    summary="How much of a dump is there",
    dependencies=_SPEAKS,
    responses=errors(404, 412),
)
def offset(upload_id: str, services: InServices) -> Response:
    """`Upload-Offset` is where to go on. Once all is there the upload is gone: see the report."""
    row = _found(services, upload_id)
    headers = {"Upload-Offset": str(row.offset), "Upload-Length": str(row.length)}
    return Response(headers=headers | _expires(row))


@router.patch(
    "/{upload_id}",
    status_code=204,
    operation_id="send_part",
    summary="Send the next part of a dump",
    dependencies=_SPEAKS,
    responses=errors(404, 408, 409, 412, 413, 423, 507, changes=True),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {_PART: {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def send_part(
    request: Request, upload_id: str, services: InServices, at: _Offset = ""
) -> Response:
    """What came before a connection broke is kept. The last part makes the report.

    Where that fails for want of room, an empty part later on tries again.
    """
    if request.headers.get("content-type", "") != _PART:
        raise UsageError(
            "a part has another type",
            place="Content-Type",
            next_step=f"Send `{_PART}`.",
            code="content_type",
        )
    row = await run_in_threadpool(_found, services, upload_id)
    with services.upload_slots.hold(client_of(request.scope)), services.part_slots.hold(row.key):
        row = await run_in_threadpool(_found, services, upload_id)
        if _number(at, "Upload-Offset") != row.offset:
            raise UsageError(
                f"the server has {row.offset} bytes",
                place="Upload-Offset",
                next_step="Ask with HEAD, and go on from there.",
                code="offset_mismatch",
            )
        await _receive(request, services, row)
        row = await run_in_threadpool(_found, services, upload_id)
        if row.offset == row.length:
            await run_in_threadpool(_complete, services, row)
    return Response(status_code=204, headers={"Upload-Offset": str(row.offset)} | _expires(row))


@router.delete(
    "/{upload_id}",
    status_code=204,
    operation_id="delete_upload",
    summary="Give an upload up",
    dependencies=_SPEAKS,
    responses=errors(404, 412, 423, changes=True),
)
def give_up(upload_id: str, services: InServices) -> None:
    """Nothing of it remains."""
    row = _found(services, upload_id)
    with services.part_slots.hold(row.key):
        services.store.uploads.delete(row.key)


async def _receive(request: Request, services: Services, row: UploadRow) -> None:
    """Append the body, also where it breaks off in the middle."""
    if await run_in_threadpool(services.store.blobs.room) < row.length - row.offset:
        raise NoSpace
    uploads, at = services.store.uploads, row.offset
    waiting = bytearray()
    pieces = body_pieces(
        request, max_bytes=row.length - row.offset, idle_s=services.settings.upload_idle_s
    )
    try:
        async for piece in pieces:
            waiting += piece
            if len(waiting) >= uploads.piece_bytes:
                data = bytes(waiting)
                waiting.clear()
                # Other uploads go on meanwhile.
                if await run_in_threadpool(services.store.blobs.room) < len(data):
                    raise NoSpace
                await run_in_threadpool(_append, uploads, row.key, data, at)
                at += len(data)
    finally:
        if waiting:
            await run_in_threadpool(_append, uploads, row.key, bytes(waiting), at)


def _append(uploads: Uploads, key: str, data: bytes, at: int) -> None:
    """Raises `UsageError` where another server had the same part, or the upload was given up."""
    if not uploads.append(key, data, at=at):
        raise UsageError(
            "another part came at the same time",
            place="Upload-Offset",
            next_step="Ask with HEAD, and go on from there.",
            code="offset_mismatch",
        )


def _begin(services: Services, size: int, kept: dict[str, Any], expires: float, sender: str) -> str:
    uploads = services.store.uploads
    upload_id = uploads.create(size, kept, expires=expires, sender=sender)
    try:
        # Others were begun meanwhile, maybe at another server.
        _check_open(services, sender, 0)
    except UsageError:
        uploads.delete(hash_of(upload_id))
        raise
    return upload_id


def _check_open(services: Services, sender: str, adding: int) -> None:
    most = services.settings.max_open_uploads
    if services.store.uploads.count_open(sender) + adding > most:
        raise too_many(
            f"{most} uploads in parts are open already",
            "End one, give one up with DELETE, or wait: an upload has a day.",
        )


def _complete(services: Services, row: UploadRow) -> None:
    """Make the report of a complete upload, unless it was made when this was tried before.

    Raises:
        NotADump: the dump's first bytes say that it is none; the upload is gone.
        NoSpace, StoreUnavailable: the upload is kept as it is.
    """
    store = services.store
    if store.reports.find_key(row.wish["keys"]["report"]) is not None:
        store.uploads.delete(row.key)
        return
    try:
        first = store.uploads.first_bytes(row.key, SNIFFED_BYTES)
        check_first_bytes(first, name=row.wish["name"])
    except AppError:
        store.uploads.delete(row.key)
        raise
    received: list[Incoming] = []
    try:
        _make_report(services, row, received)
    except BaseException:
        # The dump is there: an empty part tries again, once there is room.
        for incoming in received:
            store.blobs.discard(incoming)
        raise
    store.uploads.delete(row.key)
    services.runner.wake()


def _make_report(services: Services, row: UploadRow, received: list[Incoming]) -> None:
    store, wish = services.store, row.wish
    received.append(store.uploads.take(row.key))
    files = [ReceivedFile("archive", wish["name"], received[0])]
    if wish["log"]:
        with store.blobs.receive() as writer:
            writer.write(wish["log"].encode("utf-8", "backslashreplace"))
            received.append(writer.finish())
        files.append(ReceivedFile("log", "log", received[1]))
    now = time.time()
    new = NewReport(
        wish["name"],
        Question(**wish["question"]),
        tuple(files),
        expires=end_after(wish["expire_days"], now),
    )
    # Where another server got the last part, too, one of both makes the report.
    store.reports.create_as(ReportKeys(**wish["keys"]), new, now=now)


def _found(services: Services, upload_id: str) -> UploadRow:
    row = services.store.uploads.find(upload_id)
    if row is None or row.expires <= time.time():
        raise NotFound(
            "there is no such upload",
            next_step="It may be complete, or have had its time: see the report, or begin again.",
        )
    return row


def _expires(row: UploadRow) -> dict[str, str]:
    return {"Upload-Expires": formatdate(row.expires, usegmt=True)}


def _number(text: str, place: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise UsageError(
            "it is no number of bytes", place=place, next_step="Send it.", code="bad_field"
        )
    return int(text)


def _words_from(metadata: str) -> dict[str, Any]:
    """`filename ZHVtcC50YXI=,hung MQ==` as a mapping."""
    words: dict[str, str] = {}
    if len(metadata) > _MAX_METADATA:
        raise UsageError("it is too long", place="Upload-Metadata", code="field_too_long")
    for pair in filter(None, (part.strip() for part in metadata.split(","))):
        key, _, value = pair.partition(" ")
        try:
            words[key] = base64.b64decode(value, validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError) as error:
            raise UsageError(
                "a text is not in Base64", place="Upload-Metadata", code="bad_field"
            ) from error
    return words
