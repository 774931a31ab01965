"""Whether a request may be made at all, before any handler runs and before a body is read.

By default anybody may do everything: whoever runs the server on their own machine is its single
user, and the address of a report is its secret. Where the server is for members only, anybody may
read what was shared and nothing else, and is told of a report that is not shared what is told of
one that never was. Whose a report is, the handlers check (`rights.py`).
"""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from app.errors import NotFound, UsageError
from app.store import hash_of
from app.web.callers import ANYBODY, Need, bearer_of, find_caller
from app.web.ownership import token_of_browser
from app.web.services import Services, find_report, services_of, unknown_report

_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
# A sample is no dump of whoever asks: its report is made once, for all.
_READING_POSTS = ("/api/v1/compare", "/samples/{name}")
_FOR_ANYBODY = frozenset({"/healthz", "/readyz", "/api", "/rules", "/rules/{code}"})
_FOR_ADMINS = frozenset({"/metrics"})


async def admit(request: Request) -> None:
    """Let pass whoever may ask this, and note down who it is.

    Raises:
        UsageError: the token is no good (`bad_token`) or does not allow this (`scope`), or a member
            is wanted (`login_needed`).
        NotFound: there is no such report, or none that is shared with anybody.
    """
    services = await services_of(request)
    caller = await run_in_threadpool(find_caller, request, services.settings, services.store)
    request.state.caller = caller
    need = _need_of(request)
    if caller.may(need):
        return
    if need == "admin":
        raise NotFound("there is nothing at this address", next_step="See /api for what there is.")
    if caller is ANYBODY and services.settings.members_only:
        await _admit_stranger(request, services, need)
    elif caller is ANYBODY and need == "upload" and services.settings.upload_token:
        raise UsageError(
            "this server takes uploads only with its token",
            place="Authorization",
            next_step="Send `Authorization: Bearer TOKEN`; whoever runs the server has it.",
            code="bad_token",
        )
    elif caller is not ANYBODY and (caller.owner is not None or services.settings.members_only):
        raise UsageError(
            f"the token does not allow this: it is for {', '.join(sorted(caller.scopes))}",
            place="Authorization",
            next_step="Ask whoever runs the server for a token with another scope.",
            code="scope",
        )


def _need_of(request: Request) -> Need:
    path: str = request.scope["route"].path
    if path in _FOR_ADMINS:
        return "admin"
    if request.method in _SAFE_METHODS or path in _READING_POSTS:
        return "read"
    # The name in the address of a PUT is that of a file.
    return "change" if request.method != "PUT" and _is_about_one(request) else "upload"


def _is_about_one(request: Request) -> bool:
    return bool({"report_id", "upload_id"} & request.path_params.keys())


async def _admit_stranger(request: Request, services: Services, need: Need) -> None:
    if request.scope["route"].path in _FOR_ANYBODY:
        return
    report_id = request.path_params.get("report_id")
    if report_id is None or need == "upload":
        raise UsageError(
            "this server is for its members",
            place="Authorization",
            next_step="Sign in, or send `Authorization: Bearer` with a token; whoever runs the"
            " server makes one with `hloscope admin tokens create`.",
            code="login_needed",
        )
    row = await run_in_threadpool(find_report, services, report_id)
    is_shared = row.parent_key is not None
    held = (bearer_of(request), token_of_browser(request))
    if not is_shared and row.owner_key not in map(hash_of, held):
        raise unknown_report()
