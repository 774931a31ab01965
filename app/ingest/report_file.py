"""Reads a report that `analyze --json` wrote, to compare with or to hold a newer one against."""

from pathlib import Path

import msgspec

from app.errors import NotADump
from app.model.codec import report_from_json
from app.model.report import SCHEMA_VERSION, Report


def read_report(path: Path) -> Report:
    """The report in a file.

    Raises:
        NotADump: it cannot be read, is no report, or one of another schema.
    """
    try:
        report = report_from_json(path.read_bytes())
    except OSError as error:
        raise NotADump(
            f"cannot read: {error.strerror}", place=str(path), next_step="Check the path."
        ) from error
    except msgspec.MsgspecError as error:
        raise NotADump(
            f"this is no report ({error})",
            place=path.name,
            next_step="Give a dump, or what `hloscope analyze --json` wrote.",
        ) from error
    if report.schema_version != SCHEMA_VERSION:
        raise NotADump(
            f"the report has schema {report.schema_version}, this hloscope reads {SCHEMA_VERSION}",
            place=path.name,
            next_step="Give the dump itself.",
        )
    return report
