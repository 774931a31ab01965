"""How far an analysis is, in words a person reads."""

from app.store import ReportRow

_STAGES = {
    "": "Starting",
    "starting": "Starting",
    "read": "Reading and parsing files",
    "loops": "Following loops through the passes",
    "rules": "Weighing the evidence",
    "bundle": "Writing the report",
    "learn": "Looking for what must not be shown",
    "redact": "Taking it out",
}


def progress_words(row: ReportRow) -> str:
    """`Reading and parsing files: 34 of 109`."""
    if row.state == "queued":
        return "Waiting for a free worker"
    stage = _STAGES.get(row.stage, row.stage.replace("_", " ").capitalize())
    counted = f": {row.done:,}" if row.done else ""
    if row.total:
        counted = f": {row.done:,} of {row.total:,}"
    again = f" (attempt {row.attempt})" if row.attempt > 1 else ""
    return f"{stage}{counted}{again}"
