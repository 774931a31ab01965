"""The rows that a new report puts down: itself, then its owner, its files and its first job.

Two steps, since in between it shows whether the report is there already, and what its owner may
have is checked. Takes the caller's transaction; keeps no file.
"""

from collections.abc import Iterable
from dataclasses import asdict

from sqlalchemy import Connection, insert

from app.store.rows import Attachment, Question
from app.store.schema import attachment, job, owned, report
from app.store.secret import ReportKeys


def insert_report(
    connection: Connection,
    keys: ReportKeys,
    now: float,
    *,
    name: str,
    question: Question,
    expires: float | None,
    sha256: str = "",
    size: int = 0,
) -> None:
    """The report itself; `sha256` and `size` (bytes) are those of its dump, where it has one.

    Raises:
        IntegrityError: it is there already.
    """
    connection.execute(
        insert(report).values(
            key=keys.report,
            owner_key=keys.token,
            state="queued",
            created=now,
            name=name,
            sha256=sha256,
            bytes=size,
            question=asdict(question),
            expires=expires,
        )
    )


def insert_beside(
    connection: Connection, keys: ReportKeys, now: float, *, files: Iterable[Attachment] = ()
) -> None:
    """Whose it is, if anybody's, what it is made of, and the job that makes it."""
    if keys.owner:
        connection.execute(
            insert(owned).values(report_key=keys.report, owner=keys.owner, nonce=keys.nonce)
        )
    for position, file in enumerate(files):
        connection.execute(
            insert(attachment).values(report_key=keys.report, position=position, **asdict(file))
        )
    connection.execute(insert(job).values(new_job(keys.report, now)))


def new_job(report_key: str, now: float) -> dict[str, object]:
    """The row of a job that waits."""
    return {
        "report_key": report_key,
        "state": "queued",
        "attempt": 0,
        "stage": "",
        "done": 0,
        "created": now,
    }
