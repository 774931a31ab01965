"""Errors on the wire: one table of statuses, one JSON shape, one page.

Whatever goes wrong in a request ends here, with a stable code, the cause, the next step and the
place. A fault of ours shows nothing but an id, under which the log has the rest. The page of an
error inside a report leads back to it; a page's address with a slash too many leads to the page.
"""

import logging
import uuid
from collections.abc import Mapping
from typing import cast
from urllib.parse import quote

from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Match
from starlette.types import Scope

from app.errors import (
    AppError,
    BadArchive,
    InputError,
    JobFailed,
    LimitExceeded,
    NotADump,
    NotFound,
    QuotaSpent,
    UsageError,
)
from app.jobs.endings import problem_from
from app.store import NoSpace, Problem, StoreUnavailable
from app.web.callers import bearer_of, caller_of
from app.web.ownership import token_of_browser
from app.web.rendering import render
from app.web.services import NoReport, services_of
from app.web.subpath import root

_LOG = logging.getLogger(__name__)

_STATUS_BY_KIND: Mapping[type[AppError], int] = {
    NotADump: 415,
    BadArchive: 422,
    LimitExceeded: 413,
    InputError: 422,
    NotFound: 404,
    JobFailed: 500,
    QuotaSpent: 429,
    UsageError: 400,
    AppError: 500,
}

# Where the same kind of error means another status at this edge.
_STATUS_BY_CODE: Mapping[str, int] = {
    "bad_owner": 401,
    "bad_token": 401,
    "content_encoding": 415,
    "content_type": 415,
    "cross_site": 403,
    "field_too_long": 413,
    "gone": 410,
    "invalid": 422,
    "locked": 423,
    "login_needed": 401,
    "no_space": 507,
    "not_found": 404,
    "not_ready": 409,
    "offset_mismatch": 409,
    "queue_full": 503,
    "repeat_key": 409,
    "stopping": 503,
    "scope": 403,
    "too_many_parts": 413,
    "too_many_requests": 429,
    "too_slow": 408,
    "tus_version": 412,
}

_RETRY_AFTER_S: Mapping[str, int] = {
    "locked": 5,
    "no_space": 600,
    "not_ready": 2,
    "queue_full": 30,
    "quota": 3600,
    "stopping": 5,
    "store_unavailable": 30,
    "too_many_requests": 60,
}

_FRAMEWORK_WORDS: Mapping[int, tuple[str, str, str]] = {
    404: ("not_found", "there is nothing at this address", "See /api for what there is."),
    405: ("method_not_allowed", "this address does not take that method", "See /api."),
}

_TITLES: Mapping[int, str] = {
    401: "A token is needed",
    403: "Not from here",
    404: "Nothing here",
    405: "Not that way",
    408: "Too slow",
    409: "Not ready yet",
    410: "Gone",
    412: "Another version",
    413: "Too large",
    415: "Not an XLA dump",
    422: "This cannot be read",
    423: "In use",
    429: "Too many requests",
    500: "That went wrong",
    503: "Busy",
    507: "No room left",
}


def status_of(error: AppError) -> int:
    """The HTTP status of an error."""
    status = _STATUS_BY_CODE.get(error.code)
    if status is not None:
        return status
    return next(_STATUS_BY_KIND[kind] for kind in type(error).__mro__ if kind in _STATUS_BY_KIND)


def error_body(problem: Problem) -> dict[str, dict[str, str]]:
    """The one JSON shape of all errors."""
    return {
        "error": {
            "code": problem.code,
            "message": problem.message,
            "hint": problem.hint,
            "where": problem.where,
        }
    }


def problem_response(
    scope: Scope,
    status: int,
    problem: Problem,
    headers: Mapping[str, str] | None = None,
    report: str = "",
) -> Response:
    """The answer that tells `problem`: a page for a browser, JSON for anyone else.

    `report` is the address of the report to which the page leads back.
    """
    all_headers = dict(headers or {})
    if problem.code in _RETRY_AFTER_S:
        all_headers.setdefault("Retry-After", str(_RETRY_AFTER_S[problem.code]))
    if status == 401:
        all_headers["WWW-Authenticate"] = "Bearer"
    if status in (400, 401, 408, 413, 415, 429, 503, 507):
        # The rest of a body that will not be read must not be taken for the next request.
        all_headers["Connection"] = "close"
    if not wants_page(scope):
        return JSONResponse(error_body(problem), status, all_headers)
    title = _TITLES.get(status, "That did not work")
    page = render("error.html", title=title, status=status, problem=problem, report=report)
    return HTMLResponse(page, status, all_headers)


def wants_page(scope: Scope) -> bool:
    """The client is a browser looking at a page."""
    path: str = scope["path"]
    if path.startswith("/api/") or path.endswith(".json"):
        return False
    accepted = dict(scope["headers"]).get(b"accept", b"")
    return b"text/html" in accepted


def response_to(scope: Scope, error: Exception) -> Response:
    """The answer to a request that ended with `error`, whatever it is."""
    report = _report_behind(scope, error)
    match error:
        case AppError():
            return problem_response(scope, status_of(error), problem_from(error), report=report)
        case NoSpace():
            problem = Problem(
                "no_space",
                "the server's disk has no room left",
                "Try again later, or tell whoever runs the server.",
            )
            return problem_response(scope, 507, problem)
        case StoreUnavailable():
            _LOG.error("the store does not answer", exc_info=error)
            problem = Problem(
                "store_unavailable", "the server's store does not answer", "Try again later."
            )
            return problem_response(scope, 503, problem)
        case RequestValidationError():
            return problem_response(scope, 422, _from_validation(scope, error), report=report)
        case HTTPException():
            return _from_framework(scope, error)
        case _:
            return _fault(scope, error)


async def handle(request: Request, error: Exception) -> Response:
    """The application's handler for every error it knows."""
    report_id = request.path_params.get("report_id")
    if isinstance(error, NotFound) and report_id and await _had(request, report_id):
        error = UsageError(
            "the report is gone: it was deleted, or has had its time",
            next_step="Send the dump again for another.",
            code="gone",
        )
    return response_to(request.scope, error)


async def _had(request: Request, report_id: str) -> bool:
    """Whoever asks once had the report of this id."""
    services = await services_of(request)
    held = {bearer_of(request), token_of_browser(request)} - {""}
    owner = caller_of(request).owner
    had = services.store.reports.was_of
    for token in held or {""}:
        if (token or owner) and await run_in_threadpool(had, report_id, token=token, owner=owner):
            return True
    return False


def _report_behind(scope: Scope, error: Exception) -> str:
    """The address of the report of which a page failed, "" where that is not to be had either."""
    report_id = scope.get("path_params", {}).get("report_id")
    is_gone = isinstance(error, NoReport) or (isinstance(error, AppError) and error.code == "gone")
    here = f"/r/{report_id}"
    if not report_id or is_gone or not str(scope["path"]).startswith(f"{here}/"):
        return ""
    return root() + here


def _from_validation(scope: Scope, error: RequestValidationError) -> Problem:
    first = cast("Mapping[str, object]", error.errors()[0])
    loc = [str(part) for part in cast("tuple[object, ...]", first["loc"])]
    # The value itself is not repeated: it may be anything, and is the client's own.
    message, hint = str(first["msg"]), "See /api for what this address takes."
    if "/r/" in str(scope["path"]) and "/api/" not in str(scope["path"]):
        # Of a page the reader followed a link, or cut or typed one.
        is_missing = first["type"] == "missing"
        odd = f"{loc[-1]!r} in the address is no value that this page knows"
        message = f"the address lacks {loc[-1]!r}" if is_missing else odd
        hint = "Go back to the report, and on from there."
    return Problem("invalid", message, hint, ".".join(loc))


def _from_framework(scope: Scope, error: HTTPException) -> Response:
    page = _page_without_slash(scope) if error.status_code == 404 else ""
    if page:
        return RedirectResponse(page, 308)
    code, message, hint = _FRAMEWORK_WORDS.get(
        error.status_code, ("refused", str(error.detail), "See /api.")
    )
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(sorted(_methods_at(scope)))
    return problem_response(scope, error.status_code, Problem(code, message, hint), headers)


def _page_without_slash(scope: Scope) -> str:
    """The page that is meant by an address which ends in slashes, "" where there is none."""
    path: str = scope["path"]
    bare = path.rstrip("/")
    if bare == path or scope["method"] not in ("GET", "HEAD") or not wants_page(scope):
        return ""
    if not _methods_at({**scope, "path": bare}) & {"GET", "HEAD"}:
        return ""
    query: bytes = scope["query_string"]
    return f"{root()}{quote(bare)}" + (f"?{query.decode('latin-1')}" if query else "")


def _methods_at(scope: Scope) -> set[str]:
    """All methods of an address; the framework names those of one of its routes only."""
    methods: set[str] = set()
    for route in scope["app"].state.routes:
        if route.matches(scope)[0] is not Match.NONE:
            methods.update(getattr(route, "methods", None) or ())
    return methods


def _fault(scope: Scope, error: Exception) -> Response:
    fault = uuid.uuid4().hex[:12]
    _LOG.error("fault %s: %s", fault, scope["method"], exc_info=error)
    problem = Problem(
        "internal",
        "the server met a fault of its own",
        f"Please report this with the number {fault}; the server's log has the rest.",
    )
    return problem_response(scope, 500, problem)
