"""Pages for people: sending a dump, watching the analysis, reading the report, deleting it."""

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)

from app.errors import NotFound
from app.report.html import PageLinks, report_page
from app.report.markdown import report_markdown
from app.rules.pages import rule_page, rule_pages
from app.store import ReportRow
from app.web.callers import caller_of
from app.web.intake import take_upload
from app.web.ownership import forget_owner, remember_owner, site_of, token_of_browser
from app.web.program import folders_of, lines_of_findings
from app.web.reference import api_reference
from app.web.rendering import Site, binary_size, render
from app.web.rights import delete_report_of
from app.web.samples import offered_samples, report_of_sample
from app.web.services import (
    Services,
    bundle_attachment,
    find_report,
    open_bundle,
    services_of,
)
from app.web.stages import first_results, progress_words, stage_views
from app.web.subpath import root
from app.web.wire import state_of

router = APIRouter(include_in_schema=False)

InServices = Annotated[Services, Depends(services_of)]

_REFRESH_S = 3


@router.api_route("/", methods=["GET", "HEAD"])
def upload_page(services: InServices) -> Response:
    """The page on which a dump is sent."""
    settings = services.settings
    return HTMLResponse(
        render(
            "upload.html",
            site=Site(),
            max_upload=binary_size(settings.max_upload_bytes),
            needs_token=bool(settings.upload_token),
            report_days=settings.report_days,
            samples=offered_samples(),
            data={
                "max_upload_bytes": settings.max_upload_bytes,
                "max_log_bytes": settings.max_log_bytes,
            },
        )
    )


@router.post("/")
async def upload(request: Request, services: InServices) -> Response:
    """Take the form, with or without a script behind it, and go to the report."""
    secrets = await take_upload(request, services)
    path = f"{root()}/r/{secrets.report_id}"
    if "application/json" in request.headers.get("accept", ""):
        response: Response = JSONResponse({"url": path}, 201)
    else:
        response = RedirectResponse(path, 303)
    remember_owner(response, request, secrets)
    return response


@router.post("/samples/{name}")
def sample(name: str, services: InServices) -> Response:
    """Go to the report of a sample, which the first who asks has analysed."""
    chosen = next((each for each in offered_samples() if each.name == name), None)
    if chosen is None:
        raise NotFound("there is no such sample", place=name)
    report_id = report_of_sample(services.store, chosen)
    services.runner.wake()
    return RedirectResponse(f"{root()}/r/{report_id}", 303)


@router.api_route("/r/{report_id}", methods=["GET", "HEAD"])
def report(request: Request, report_id: str, services: InServices) -> Response:
    """The report, or how far it is, or why there is none."""
    row = find_report(services, report_id)
    site = site_of(request, row, report_id)
    if not row.attached("bundle"):
        return _job_page(services, row, report_id, site)
    folders = folders_of(services, report_id)

    def make() -> str:
        return _report_page(services, row, report_id, site, folders)

    if folders:
        # Whoever runs the server edits the files there, and reads what stands in them now.
        return HTMLResponse(make())
    blob = bundle_attachment(row).blob
    return HTMLResponse(services.pages.get((blob, report_id, root(), site), make))


def _report_page(
    services: Services, row: ReportRow, report_id: str, site: Site, folders: tuple[Path, ...]
) -> str:
    here = f"{root()}/r/{report_id}"
    blob = bundle_attachment(row).blob
    with services.shelf.borrow(blob, services.store.blobs.path(blob)) as bundle:
        shown = bundle.report()
        return report_page(
            shown,
            links=PageLinks(
                report=here,
                json=f"{here}/report.json",
                markdown=f"{here}/report.md",
                offline=f"{root()}/api/v1/reports/{report_id}/report.html",
            ),
            source_lines=lines_of_findings(shown, bundle, folders),
            base_context={"site": site},
        )


@router.api_route("/r/{report_id}/report.json", methods=["GET", "HEAD"])
def report_as_json(report_id: str, services: InServices) -> Response:
    """The report as JSON."""
    with open_bundle(services, find_report(services, report_id)) as bundle:
        return Response(bundle.report_json(), media_type="application/json")


@router.api_route("/r/{report_id}/report.md", methods=["GET", "HEAD"])
def report_as_markdown(report_id: str, services: InServices) -> Response:
    """The report in brief, as Markdown for a bug thread; as text, so that nothing renders it."""
    with open_bundle(services, find_report(services, report_id)) as bundle:
        text = report_markdown(bundle.report())
    headers = {"Content-Disposition": 'inline; filename="report.md"'}
    return PlainTextResponse(text, headers=headers)


@router.post("/r/{report_id}/delete")
async def delete(request: Request, report_id: str, services: InServices) -> Response:
    """Delete the report for the browser that sent it."""
    row = await run_in_threadpool(find_report, services, report_id)
    token = token_of_browser(request)
    await run_in_threadpool(delete_report_of, services, row, token, caller_of(request).owner)
    response = HTMLResponse(render("deleted.html", site=Site()))
    forget_owner(response, report_id)
    return response


@router.api_route("/rules", methods=["GET", "HEAD"])
def rules() -> Response:
    """All rules, each with the way to its page."""
    return HTMLResponse(render("rules.html", site=Site(), pages=rule_pages()))


@router.api_route("/rules/{code}", methods=["GET", "HEAD"])
def rule(code: str) -> Response:
    """The page of one rule."""
    page = rule_page(code)
    if page is None:
        raise NotFound("no such rule", place=code, next_step="See /rules for all of them.")
    return HTMLResponse(render("rule.html", site=Site(), page=page))


@router.api_route("/api", methods=["GET", "HEAD"])
def reference(request: Request, services: InServices) -> Response:
    """What the API takes and gives, for people."""
    operations = api_reference(request.app.openapi())
    base = (services.settings.base_url or str(request.base_url)).rstrip("/")
    return HTMLResponse(render("api.html", site=Site(), operations=operations, base=base))


def _job_page(services: Services, row: ReportRow, report_id: str, site: Site) -> Response:
    state = state_of(row, report_id, services.settings)
    data: dict[str, Any] = {
        "state": state.model_dump(),
        "events": f"{root()}/api/v1/reports/{report_id}/events",
        "poll": f"{root()}/api/v1/reports/{report_id}",
    }
    page = render(
        "job.html",
        site=site,
        row=row,
        size=binary_size(row.bytes) if row.bytes else "",
        problem=row.problem,
        words=progress_words(row),
        stages=stage_views(row),
        first=first_results(row),
        refresh_s=None if row.is_over else _REFRESH_S,
        data=data,
    )
    return HTMLResponse(page)
