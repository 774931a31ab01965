"""Has jobs done by workers elsewhere, over a broker: sends each waiting job's number to them.

Nothing depends on what the broker remembers. A job that waits in the rows and was not sent lately
is sent again, whoever sent it before; where it was claimed meanwhile the message changes nothing.
"""

import logging
import time

from app.jobs.budget import limits_for
from app.jobs.celery_app import BROKER_FAULTS, celery_app, send
from app.jobs.local import SMALL_BYTES
from app.jobs.sweeper import Sweeper
from app.settings import Settings
from app.store import Store

_LOG = logging.getLogger(__name__)

RESEND_S = 30.0
_WALL_BEHIND_S = 120.0


class CeleryRunner:
    """Sends the waiting jobs of `store` to the broker at `settings.broker_url`.

    Lost workers are given up here, too: the sending process is there whatever becomes of them.
    """

    def __init__(self, store: Store, settings: Settings, *, resend_s: float = RESEND_S) -> None:
        self._store = store
        self._settings = settings
        self._resend_s = resend_s
        self._app = celery_app(settings.broker_url)
        self._sent: dict[int, float] = {}
        self._sweeper = Sweeper(store, self._send_waiting)

    def start(self) -> None:
        """Begin to send."""
        self._sweeper.start()

    def wake(self) -> None:
        """Look at the queue now; a worker sees for itself that its job's report is deleted."""
        self._sweeper.wake()

    def stop(self) -> None:
        """Send no more; what runs elsewhere goes on."""
        self._sweeper.stop()
        self._app.close()

    def _send_waiting(self) -> None:
        now = time.monotonic()
        waiting = self._store.jobs.waiting()
        self._sent = {job.job_id: at for job in waiting if (at := self._sent.get(job.job_id))}
        for job in waiting:
            if now - self._sent.get(job.job_id, -self._resend_s) < self._resend_s:
                continue
            limits = limits_for(self._settings, job.bytes, compiles=job.is_replay)
            try:
                send(
                    self._app,
                    job.job_id,
                    is_small=job.bytes <= SMALL_BYTES and not job.is_replay,
                    lives_s=self._resend_s,
                    time_limit_s=limits.wall_s + _WALL_BEHIND_S,
                )
            except BROKER_FAULTS as error:
                # The next look tries again; meanwhile the rows keep what waits.
                _LOG.warning("the broker takes no message: %s", error)
                return
            self._sent[job.job_id] = now
