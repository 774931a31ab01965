"""The browser that sent a report: how it is known again, and what its pages offer it.

It holds the report's token in a cookie that goes to the report's own addresses and nowhere else.
"""

from starlette.requests import Request
from starlette.responses import Response

from app.store import ReportRow, Secrets, hash_of
from app.web.callers import caller_of
from app.web.rendering import About, Owner, Site
from app.web.rights import may_replay
from app.web.subpath import root
from app.web.wire import time_text

_COOKIE = "owner"
_COOKIE_S = 400 * 24 * 3600


def token_of_browser(request: Request) -> str:
    """The token that the browser holds of this report, or ""."""
    return request.cookies.get(_COOKIE, "")


def remember_owner(response: Response, request: Request, secrets: Secrets) -> None:
    """Have the browser hold the token."""
    response.set_cookie(
        _COOKIE,
        secrets.delete_token,
        max_age=_COOKIE_S,
        path=f"{root()}/r/{secrets.report_id}",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def forget_owner(response: Response, report_id: str) -> None:
    """Have the browser drop the token."""
    response.delete_cookie(_COOKIE, path=f"{root()}/r/{report_id}")


def site_of(request: Request, row: ReportRow, report_id: str) -> Site:
    """What stands around a page of the report."""
    question = row.question
    about = About(
        label=question.label,
        commit=question.commit,
        run=question.run,
        ends=time_text(row.expires)[:10] if row.expires is not None else "",
        is_share=row.parent_key is not None,
        is_redacted=row.redaction is not None and row.redaction["redact"],
    )
    if not _is_theirs(request, row):
        return Site(about=about)
    here = f"{root()}/r/{report_id}"
    settings = request.app.state.services.settings
    may_share = row.parent_key is None and bool(row.attached("bundle"))
    return Site(
        owner=Owner(
            delete_action=f"{here}/delete",
            share_page=f"{here}/share" if may_share else "",
            replay_page=f"{here}/replay" if may_share and may_replay(settings, row) else "",
        ),
        about=about,
    )


def _is_theirs(request: Request, row: ReportRow) -> bool:
    token = token_of_browser(request)
    if token and hash_of(token) == row.owner_key:
        return True
    member = caller_of(request).owner
    reports = request.app.state.services.store.reports
    return member is not None and reports.is_owned_by(row.key, member)
