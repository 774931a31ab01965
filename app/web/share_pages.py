"""Pages for sharing a report from the browser that sent it: look, make the copy, revoke.

They work without a script. What they do is what `sharing.py` does over the API.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.report.redact import Preview, Replaced
from app.report.wording import legible
from app.store import ReportRow
from app.web.body import form_fields
from app.web.callers import caller_of
from app.web.intake import check_load
from app.web.ownership import remember_owner, token_of_browser
from app.web.receiving import days_from
from app.web.rendering import Site, render
from app.web.rights import check_right
from app.web.services import Services, bundle_attachment, find_report, services_of
from app.web.sharing import DEFAULT_DAYS, preview_of, revoke_of, share
from app.web.subpath import root
from app.web.wire import time_text

router = APIRouter(prefix="/r/{report_id}", include_in_schema=False)

InServices = Annotated[Services, Depends(services_of)]

_CHOICES = (7, 30, 90, 365)
_MAX_FORM_BYTES = 16 << 10
_MAX_KEPT = 60


@dataclass(frozen=True, slots=True)
class _ShareWords:
    """One share as its owner reads it."""

    handle: str
    made: str
    words: str


@dataclass(frozen=True, slots=True)
class _SharePage:
    """What the template shows; `kinds` are pairs of kind and count."""

    report: str
    action: str
    redact: bool
    op_names: bool
    source: bool
    expire_days: int
    choices: tuple[int, ...]
    shares: tuple[_ShareWords, ...]
    preview: bool = False
    kinds: tuple[tuple[str, str], ...] = ()
    replaced: tuple[Replaced, ...] = ()
    left_out: int = 0
    kept: tuple[str, ...] = ()


@router.api_route("/share", methods=["GET", "HEAD"])
def share_page(
    request: Request, report_id: str, services: InServices, look: str = ""
) -> HTMLResponse:
    """The form, and with `look` what a copy would and would not hold."""
    row = find_report(services, report_id)
    check_right(services, row, token=token_of_browser(request), owner=caller_of(request).owner)
    bundle_attachment(row)
    words = dict(request.query_params) if look else {"redact": "1"}
    redaction = _redaction(words)
    page = _SharePage(
        report=f"{root()}/r/{report_id}",
        action=f"{root()}/r/{report_id}/share",
        redact=redaction["redact"],
        op_names=redaction["op_names"],
        source=redaction["source"],
        expire_days=_days(words),
        choices=_CHOICES,
        shares=tuple(_words_of(each) for each in services.store.reports.shares_of(row.key)),
    )
    if look and redaction["redact"]:
        found = msgspec.json.decode(preview_of(request, services, row, redaction), type=Preview)
        page = _with_preview(page, legible(found))
    return HTMLResponse(render("share.html", site=Site(), page=page))


@router.post("/share")
async def make(request: Request, report_id: str, services: InServices) -> Response:
    """Have the copy made and go there."""
    words = await _form(request)
    row = await _own(request, services, report_id)
    await check_load(request, services)
    secrets = await run_in_threadpool(share, services, row, _redaction(words), _days(words))
    response = RedirectResponse(f"{root()}/r/{secrets.report_id}", 303)
    remember_owner(response, request, secrets)
    return response


@router.post("/share/revoke")
async def revoke(request: Request, report_id: str, services: InServices) -> Response:
    """Revoke one share and show the others."""
    words = await _form(request)
    row = await _own(request, services, report_id)
    await run_in_threadpool(revoke_of, services, row, words.get("handle", ""))
    return RedirectResponse(f"{root()}/r/{report_id}/share", 303)


async def _own(request: Request, services: Services, report_id: str) -> ReportRow:
    row = await run_in_threadpool(find_report, services, report_id)
    await run_in_threadpool(
        check_right,
        services,
        row,
        token=token_of_browser(request),
        owner=caller_of(request).owner,
    )
    return row


async def _form(request: Request) -> dict[str, str]:
    fields = await form_fields(request, max_bytes=_MAX_FORM_BYTES)
    return {name: values[-1] for name, values in fields.items()}


def _redaction(words: Mapping[str, str]) -> dict[str, bool]:
    return {name: words.get(name) == "1" for name in ("redact", "op_names", "source")}


def _days(words: Mapping[str, str]) -> int:
    return days_from(words.get("expire_days", str(DEFAULT_DAYS)))


def _words_of(row: ReportRow) -> _ShareWords:
    redaction = row.redaction or {}
    taken = "unchanged" if not redaction.get("redact") else "redacted"
    if redaction.get("op_names"):
        taken += ", without names"
    if redaction.get("source"):
        taken += ", without source files"
    made = time_text(row.created)[:16].replace("T", " ")
    ends = f", ends {time_text(row.expires)[:10]}" if row.expires is not None else ""
    return _ShareWords(row.handle, made, f"{made} UTC: {taken}{ends}")


def _with_preview(page: _SharePage, preview: Preview) -> _SharePage:
    flags = [f"--{name}={value}" for name, value in preview.flags.items()]
    return replace(
        page,
        preview=True,
        kinds=tuple((kind, f"{times:,}") for kind, times in preview.kinds.items()),
        replaced=preview.replaced,
        left_out=preview.total - len(preview.replaced),
        kept=(*preview.modules, *preview.sources, *flags)[:_MAX_KEPT],
    )
