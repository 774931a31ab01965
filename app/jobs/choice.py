"""Who works at the jobs of a store: threads here, or workers elsewhere over a broker."""

from typing import TYPE_CHECKING

from app.errors import UsageError
from app.jobs.local import LocalRunner
from app.jobs.runner import Runner
from app.settings import Settings
from app.store import Store

if TYPE_CHECKING:
    from app.jobs.celery_workers import CeleryWorkers


def runner_for(store: Store, settings: Settings) -> Runner:
    """What a server runs its jobs with.

    Raises:
        UsageError: a broker is set, and Celery is not installed (`extra_missing`).
    """
    if not settings.broker_url:
        return LocalRunner(store, settings)
    try:
        from app.jobs.celery_runner import CeleryRunner
    except ImportError as error:
        raise _celery_is_missing() from error
    return CeleryRunner(store, settings)


def broker_workers(settings: Settings) -> "CeleryWorkers":
    """The workers of this machine that listen to the broker of `settings`; raises as above."""
    try:
        from app.jobs.celery_workers import CeleryWorkers
    except ImportError as error:
        raise _celery_is_missing() from error
    return CeleryWorkers(settings)


def _celery_is_missing() -> UsageError:
    return UsageError(
        "Celery is not installed, and HLOSCOPE_BROKER_URL asks for it",
        next_step="Install hloscope[scale].",
        code="extra_missing",
    )
