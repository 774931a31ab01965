"""How a child's ending is told to whoever sent the dump.

What the analysis refused keeps its own words. A limit names the setting that raises it. A crash or
a fault of ours gets an id, under which the log of the server holds the rest.
"""

import logging
import signal
import uuid

from app.errors import AppError, JobFailed
from app.jobs.room import NO_ROOM, NO_ROOM_NEXT
from app.sandbox import Ending, Limits, Outcome
from app.store import Problem

_LOG = logging.getLogger(__name__)


def problem_of(outcome: Outcome, limits: Limits, *, name: str) -> Problem:
    """Why there is no report; `name` is that of the upload."""
    return problem_from(outcome.refusal or _failure(outcome, limits, name))


OWN_FAULTS = frozenset({"analysis_fault", "crashed", "killed", "worker_lost"})
"""Codes of endings that are no fault of the upload."""

NO_SPACE = Problem(code="no_space", message=NO_ROOM, hint=NO_ROOM_NEXT)


def problem_from(error: AppError) -> Problem:
    """An error in the words a stored report keeps."""
    return Problem(code=error.code, message=error.cause, hint=error.next_step, where=error.place)


def _failure(outcome: Outcome, limits: Limits, name: str) -> JobFailed:
    match outcome.ending:
        case Ending.MEMORY:
            return JobFailed(
                f"the analysis needed more than the {limits.memory_bytes / (1 << 30):.1f} GiB of "
                "memory it may have",
                place=name,
                next_step="Send only the module that matters, or raise HLOSCOPE_JOB_MEMORY_BYTES.",
                code="memory",
            )
        case Ending.CPU_TIME:
            return JobFailed(
                f"the analysis used up its {limits.cpu_s} seconds of processor time",
                place=name,
                next_step="Send only the module that matters, or raise HLOSCOPE_JOB_CPU_S.",
                code="cpu_time",
            )
        case Ending.WALL_TIME:
            return JobFailed(
                f"the analysis did not end within {limits.wall_s:.0f} seconds",
                place=name,
                next_step="Try again when the server is idle, or raise HLOSCOPE_JOB_TIMEOUT_S.",
                code="wall_time",
            )
        case Ending.CRASHED if outcome.signal == signal.SIGKILL:
            return JobFailed(
                "the system killed the analysis, most likely for want of memory",
                place=name,
                next_step="Try again when the server is less busy.",
                code="killed",
            )
        case _:
            return _fault_of_ours(outcome, name)


def _fault_of_ours(outcome: Outcome, name: str) -> JobFailed:
    fault = uuid.uuid4().hex[:12]
    _LOG.error(
        "fault %s: analysis %s, signal %s\n%s", fault, outcome.ending, outcome.signal, outcome.log
    )
    crashed = outcome.ending is Ending.CRASHED
    what = f"crashed (signal {outcome.signal})" if crashed else "met a fault of its own"
    return JobFailed(
        f"the analysis {what}",
        place=name,
        next_step=f"Please report this with the number {fault}; the server's log has the rest.",
        code="crashed" if crashed else "analysis_fault",
    )
