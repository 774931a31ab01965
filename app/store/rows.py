"""The values that go in and out of the database."""

from dataclasses import dataclass
from typing import Any, Literal

from app.store.blobs import Incoming

JobState = Literal["queued", "running", "done", "failed"]
Role = Literal["archive", "log", "bundle"]


@dataclass(frozen=True, slots=True)
class Question:
    """What the sender said about the run beside the files.

    `label` is for people; `commit` and `run` lead to what was compiled and where: an address, or
    for the commit its digest. `replay` is what is to be tried by compiling again, words that the
    job understands; empty for an analysis alone.
    """

    flags: str = ""
    release: str | None = None
    hung: bool = False
    label: str = ""
    commit: str = ""
    run: str = ""
    replay: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there is no report: a stable code, the cause, the next step and the place."""

    code: str
    message: str
    hint: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A blob that a report holds on to; `name` is a label, never a path."""

    role: Role
    name: str
    blob: str
    bytes: int


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """One file as sent; `name` is a label, never a path."""

    role: Role
    name: str
    data: Incoming


@dataclass(frozen=True, slots=True)
class NewReport:
    """What was sent, received in full but not yet kept; `files` in the sender's order.

    `expires` is when it shall be deleted at the latest, in Unix seconds.
    """

    name: str
    question: Question
    files: tuple[ReceivedFile, ...]
    expires: float | None = None

    @property
    def archive(self) -> ReceivedFile | None:
        """The dump, unless only logs were sent."""
        return next((file for file in self.files if file.role == "archive"), None)


@dataclass(frozen=True, slots=True)
class NewShare:
    """A copy of a report to be made for others; `redaction` is what the job that makes it is told.

    `name` stands in place of the report's own.
    """

    parent_key: str
    name: str
    redaction: dict[str, bool]
    expires: float | None


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One report as stored, with its newest job's progress; times are Unix seconds.

    `key` is the hash of the report's id; `sha256` and `bytes` are those of the archive. A share,
    the copy of another report, has that one's `parent_key` and its `redaction`; its `key` begins
    with the `handle` by which the owner of that report can tell it from others.
    """

    key: str
    owner_key: str
    name: str
    state: JobState
    created: float
    finished: float | None
    sha256: str
    bytes: int
    question: Question
    attachments: tuple[Attachment, ...]
    summary: dict[str, Any] | None
    problem: Problem | None
    attempt: int
    stage: str
    done: int
    total: int | None
    expires: float | None = None
    parent_key: str | None = None
    redaction: dict[str, bool] | None = None

    @property
    def handle(self) -> str:
        """What names the share to the owner of its parent, and opens nothing."""
        return self.key[:16]

    @property
    def is_over(self) -> bool:
        """Nothing will change any more by itself."""
        return self.state in ("done", "failed")

    def attached(self, role: Role) -> tuple[Attachment, ...]:
        """The attachments of one role in the sender's order."""
        return tuple(item for item in self.attachments if item.role == role)


@dataclass(frozen=True, slots=True)
class Job:
    """A job as claimed: `owner` and `attempt` together are the right to change it."""

    id: int
    report_key: str
    owner: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds a job; `until` changes with each renewal, and is compared with itself alone."""

    job_id: int
    owner: str
    attempt: int
    until: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that nobody has claimed; `bytes` are those of the upload that it reads."""

    job_id: int
    bytes: int
    is_replay: bool
