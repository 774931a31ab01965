"""What the handlers of one application share, made once when it starts."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from starlette.requests import Request

from app.bundle import Bundle
from app.errors import AppError, InputError, JobFailed, NotFound, UsageError
from app.jobs.endings import OWN_FAULTS
from app.jobs.runner import Runner
from app.settings import Settings
from app.store import Attachment, Problem, ReportRow, Store
from app.web.kept_pages import KeptPages
from app.web.made_once import MadeOnce
from app.web.rates import Rate, Slots
from app.web.readings import Readings
from app.web.shelf import Shelf


@dataclass(frozen=True, slots=True)
class Services:
    """Settings, the store, the runner of jobs, and the counters that limits need.

    `own_folders` are, by report id, folders of the person who runs the server in which files that
    the report names are looked up; an upload has none. `stopping` is set when the server is asked
    to end: whatever waits gives up.
    """

    settings: Settings
    store: Store
    runner: Runner
    upload_rate: Rate
    stopping: threading.Event
    own_folders: Mapping[str, tuple[Path, ...]] = field(default_factory=dict[str, tuple[Path, ...]])
    shelf: Shelf = field(default_factory=Shelf)
    readings: Readings = field(default_factory=Readings)
    pages: KeptPages = field(default_factory=KeptPages)
    comparisons: MadeOnce[tuple[str, ...], bytes] = field(
        default_factory=lambda: MadeOnce(64 << 20)
    )
    upload_slots: Slots = field(default_factory=lambda: Slots(6, 40, "uploads"))
    # Held for an upload and not for an address: parts that come at once would be mixed.
    part_slots: Slots = field(
        default_factory=lambda: Slots(1, 400, "parts of this upload", code="locked")
    )
    stream_slots: Slots = field(default_factory=lambda: Slots(12, 400, "event streams"))
    view_slots: Slots = field(default_factory=lambda: Slots(6, 12, "comparisons"))
    wait_slots: Slots = field(default_factory=lambda: Slots(12, 400, "waiting requests"))


async def services_of(request: Request) -> Services:
    """The services of the application that got `request`."""
    services: Services = request.app.state.services
    return services


def find_report(services: Services, report_id: str) -> ReportRow:
    """The report of this id.

    Raises:
        NotFound: it never was, has had its time, or is deleted; told alike.
    """
    row = services.store.reports.find(report_id)
    if row is None or (row.expires is not None and row.expires <= time.time()):
        raise unknown_report()
    return row


class NoReport(NotFound):
    """No report at this address: it never was, is gone, or is not for whoever asks."""

    default_code = "no_report"


def unknown_report() -> NoReport:
    """What is told of every report that cannot be had, alike."""
    return NoReport(
        "there is no report at this address",
        next_step="It may have been deleted; whoever sent you the link knows.",
        code=NotFound.default_code,
    )


def open_bundle(services: Services, row: ReportRow) -> Bundle:
    """The bundle of a finished report, to be closed after use.

    Raises:
        UsageError: the analysis is not over (`not_ready`).
        InputError, JobFailed: it ended without a report; the words say why.
    """
    return Bundle.open(services.store.blobs.path(bundle_attachment(row).blob))


def bundle_attachment(row: ReportRow) -> Attachment:
    """Where the bundle of a finished report is; raises as `open_bundle`."""
    held = row.attached("bundle")
    if held:
        return held[0]
    if row.problem is not None:
        raise error_from(row.problem)
    raise UsageError(
        "the analysis is not over yet",
        next_step="Ask again, or wait with `?wait=60` at the report's state.",
        code="not_ready",
    )


def error_from(problem: Problem) -> AppError:
    """The error a stored problem was made from, as far as a status needs it."""
    kind = JobFailed if problem.code in OWN_FAULTS else InputError
    return kind(problem.message, place=problem.where, next_step=problem.hint, code=problem.code)
