"""What a share of a report would hold, found out in a child with limits."""

from app.jobs.budget import limits_for
from app.jobs.comparison import answer_of_child
from app.settings import Settings
from app.store import Problem, ReportRow, Store

PREVIEW = "app.jobs.redacting:preview_redaction"


def preview_in_child(
    store: Store, settings: Settings, row: ReportRow, redaction: dict[str, bool]
) -> bytes | Problem:
    """The JSON of a `redacting.Preview` of a finished report, or why there is none."""
    (held,) = row.attached("bundle")
    return answer_of_child(
        store,
        PREVIEW,
        {
            "source": str(store.blobs.path(held.blob)),
            "logs": [str(store.blobs.path(log.blob)) for log in row.attached("log")],
            "redaction": redaction,
        },
        limits=limits_for(settings, sum(item.bytes for item in row.attachments)),
        name=row.name,
    )
