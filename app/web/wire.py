"""What the API answers with; pydantic only here, at the edge, for the OpenAPI description."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from app.model.report import SEVERITIES
from app.settings import Settings
from app.store import ReportRow, Secrets
from app.web.stages import first_results, progress_words

Threshold = Literal["error", "warning", "note", "never"]


class ErrorWords(BaseModel):
    """What went wrong."""

    code: str = Field(description="a stable word, for programs")
    message: str = Field(description="what is wrong")
    hint: str = Field(description="what to do about it, or empty")
    where: str = Field(description="the file, field or header it is about, or empty")


class ErrorBody(BaseModel):
    """The shape of every error."""

    error: ErrorWords


class JobProgress(BaseModel):
    """How far the analysis is."""

    stage: str
    done: int
    total: int | None = Field(description="null where it is not known")
    words: str = Field(description="the same for people")
    first: list[str] = Field(description="what can be said already, a sentence each")


class Links(BaseModel):
    """Where a report belongs to, as its sender said; empty where nothing was said."""

    commit: str = Field(description="what was compiled: a digest or an address")
    run: str = Field(description="the address of the CI run")


class ReportState(BaseModel):
    """A report and how far it is."""

    id: str
    url: str = Field(description="the report's page: a full address where the server knows its own")
    state: Literal["queued", "running", "done", "failed"]
    name: str
    bytes: int = Field(description="size of the dump as sent")
    sha256: str = Field(description="digest of the dump as sent; empty where only a log was")
    label: str = Field(description="the sender's words to tell it from others, or empty")
    links: Links
    created: str = Field(description="ISO 8601, UTC")
    finished: str | None
    expires: str | None = Field(description="when it is deleted, where its sender said so")
    redaction: dict[str, bool] | None = Field(
        description="for a share what was asked to be taken out; null for a report itself"
    )
    attempt: int = Field(description="how often the analysis was begun")
    progress: JobProgress | None = Field(description="null when it is over")
    summary: dict[str, Any] | None = Field(
        description="once there is a report: `verdict` (the class of what failed; of a compile "
        "that ended well, what the leading finding is of, as its rule is named), that finding's "
        "`rule` and `class`, `headline` and counts"
    )
    failed: bool | None = Field(
        description="no report, or a finding at or above `fail_on`; null while it is not over"
    )
    error: ErrorWords | None = Field(description="why there is no report")


class CreatedReport(ReportState):
    """A report just made, with the one chance to note the token that deletes it."""

    delete_token: str


class ReportList(BaseModel):
    """A part of a list of reports."""

    items: list[ReportState]
    total: int
    offset: int
    limit: int


class CreatedUpload(BaseModel):
    """An upload just begun, and the report it will be once all of it is there."""

    upload: str = Field(description="where the parts go")
    id: str = Field(description="the report's id")
    url: str = Field(description="the report's page")
    delete_token: str


class ShareState(BaseModel):
    """A share as its owner sees it; the link itself is not kept."""

    handle: str = Field(description="what it is revoked by")
    state: Literal["queued", "running", "done", "failed"]
    created: str = Field(description="ISO 8601, UTC")
    expires: str | None
    redaction: dict[str, bool]


class ShareList(BaseModel):
    """What was shared of a report, the newest first."""

    items: list[ShareState]


def share_of(row: ReportRow) -> ShareState:
    """A stored share as its owner sees it."""
    return ShareState(
        handle=row.handle,
        state=row.state,
        created=time_text(row.created),
        expires=None if row.expires is None else time_text(row.expires),
        redaction=row.redaction or {},
    )


def page_url(settings: Settings, report_id: str) -> str:
    """The address of a report's page."""
    return f"{settings.base_url.rstrip('/')}/r/{report_id}"


def state_of(
    row: ReportRow, report_id: str, settings: Settings, fail_on: Threshold = "error"
) -> ReportState:
    """A stored report as the API shows it."""
    return ReportState(**_state(row, report_id, settings, fail_on))


def created_of(
    row: ReportRow, secrets: Secrets, settings: Settings, fail_on: Threshold
) -> CreatedReport:
    """Like `state_of`, with the token that only its sender gets."""
    state = _state(row, secrets.report_id, settings, fail_on)
    return CreatedReport(**state, delete_token=secrets.delete_token)


def _state(
    row: ReportRow, report_id: str, settings: Settings, fail_on: Threshold
) -> dict[str, Any]:
    problem = row.problem
    return {
        "id": report_id,
        "url": page_url(settings, report_id),
        "state": row.state,
        "name": row.name,
        "bytes": row.bytes,
        "sha256": row.sha256,
        "label": row.question.label,
        "links": {"commit": row.question.commit, "run": row.question.run},
        "created": time_text(row.created),
        "finished": None if row.finished is None else time_text(row.finished),
        "expires": None if row.expires is None else time_text(row.expires),
        "redaction": row.redaction,
        "attempt": row.attempt,
        "progress": None
        if row.is_over
        else {
            "stage": row.stage,
            "done": row.done,
            "total": row.total,
            "words": progress_words(row),
            "first": first_results(row),
        },
        "summary": row.summary if row.is_over else None,
        "failed": _has_failed(row, fail_on),
        "error": None
        if problem is None
        else {
            "code": problem.code,
            "message": problem.message,
            "hint": problem.hint,
            "where": problem.where,
        },
    }


def _has_failed(row: ReportRow, fail_on: Threshold) -> bool | None:
    if not row.is_over:
        return None
    if row.state == "failed" or row.summary is None:
        return True
    counts: Mapping[str, int] = row.summary["findings"]
    reached = () if fail_on == "never" else SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    return any(counts[severity] for severity in reached)


def time_text(seconds: float) -> str:
    """A time in Unix seconds as ISO 8601 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
