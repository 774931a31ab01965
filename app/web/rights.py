"""Who may change a report: whoever holds its token, or the secret of its owner.

Reading needs neither: the address of a report is its secret. Secrets come in headers and cookies
only, never in an address.
"""

import hmac

from starlette.requests import Request

from app.errors import UsageError
from app.settings import Settings
from app.store import Owner, ReportRow, hash_of, is_owner_secret
from app.web.callers import caller_of
from app.web.services import Services

OWNER_HEADER = "Hloscope-Owner"
REPEAT_HEADER = "Idempotency-Key"


def owner_of(request: Request) -> Owner | None:
    """The member who sends the request, else whoever it says does, or None.

    A member cannot be somebody else for a while: quotas are counted by owner.

    Raises:
        UsageError: what it says is too short to be a secret (`bad_owner`).
    """
    member = caller_of(request).owner
    secret = request.headers.get(OWNER_HEADER, "").strip()
    if member is not None or not secret:
        return member
    if not is_owner_secret(secret):
        raise UsageError(
            "that is no secret of an owner",
            place=OWNER_HEADER,
            next_step="Make one with `openssl rand -hex 24`, keep it, and send it every time.",
            code="bad_owner",
        )
    return Owner(secret)


def repeat_key_of(request: Request) -> str:
    """The key under which an upload may be sent again, or "".

    Raises:
        UsageError: it is too short to be a secret, which the report's id is made of (`bad_field`).
    """
    key = request.headers.get(REPEAT_HEADER, "").strip()
    if key and not is_owner_secret(key):
        raise UsageError(
            "it is no secret: others could guess the report's address",
            place=REPEAT_HEADER,
            next_step="Make a new one for each upload with `openssl rand -hex 24`.",
            code="bad_field",
        )
    return key


def check_right(
    services: Services, row: ReportRow, *, token: str, owner: Owner | None = None
) -> None:
    """Let pass whoever may share or delete the report.

    Raises:
        UsageError: neither token nor owner are the report's (`bad_token`).
    """
    if hmac.compare_digest(hash_of(token), row.owner_key):
        return
    if owner is not None and services.store.reports.is_owned_by(row.key, owner):
        return
    raise UsageError(
        "only whoever sent the report can do that",
        place="Authorization",
        next_step="Open it in the browser it was sent from, or send `Authorization: Bearer` with"
        f" the report's `delete_token`, or the `{OWNER_HEADER}` it was sent with.",
        code="bad_token",
    )


def may_replay(settings: Settings, row: ReportRow) -> bool:
    """Whether the server compiles, and there is a dump to compile; a share has none."""
    is_whole = row.parent_key is None and bool(row.attached("archive"))
    return settings.replay_jobs and is_whole


def delete_report_of(
    services: Services, row: ReportRow, token: str, owner: Owner | None = None
) -> None:
    """Delete a report, and what was shared of it; raises as `check_right`."""
    check_right(services, row, token=token, owner=owner)
    services.store.reports.delete(row.key)
    services.runner.wake()
