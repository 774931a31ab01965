"""The Celery application: what is sent over the broker, and by which rules.

A message holds the number of a job and nothing else, as JSON; nothing is pickled, and no result
comes back, since the rows are the truth. A message may be lost or come twice: whoever gets one
claims the job in the rows first, and what waits there for long is sent again.
"""

from typing import Any

from celery import Celery  # pyright: ignore[reportMissingTypeStubs]
from kombu.entity import Queue
from kombu.exceptions import OperationalError

TASK = "hloscope.work"
SMALL_QUEUE = "hloscope.small"
LARGE_QUEUE = "hloscope.large"

BROKER_FAULTS = (OperationalError, OSError)
"""What is raised where the broker does not answer."""

_CONNECT_S = 5
_HEARTBEAT_S = 20


def celery_app(broker_url: str) -> Any:
    """An application that speaks to the broker at `broker_url`; nothing is asked of it yet."""
    made: Any = Celery("hloscope", broker=broker_url, set_as_current=False)
    made.conf.update(
        accept_content=["json"],
        broker_connection_retry_on_startup=True,
        broker_connection_timeout=_CONNECT_S,
        broker_heartbeat=_HEARTBEAT_S,
        broker_transport_options={"confirm_publish": True, "write_timeout": _CONNECT_S},
        event_serializer="json",
        result_backend=None,
        task_acks_late=True,
        task_default_queue=LARGE_QUEUE,
        task_ignore_result=True,
        task_queues=[Queue(SMALL_QUEUE), Queue(LARGE_QUEUE)],
        task_reject_on_worker_lost=True,
        task_serializer="json",
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_prefetch_multiplier=1,
        worker_send_task_events=False,
    )
    return made


def send(app: Any, job_id: int, *, is_small: bool, lives_s: float, time_limit_s: float) -> None:
    """Ask for a worker to take a job; raises `BROKER_FAULTS`.

    The broker forgets the message after `lives_s`. A worker's slot that is busy with it for
    `time_limit_s` is killed: this is the wall behind the limits of the child itself.
    """
    app.send_task(
        TASK,
        args=(job_id,),
        queue=SMALL_QUEUE if is_small else LARGE_QUEUE,
        expiration=lives_s,
        time_limit=time_limit_s,
        retry=False,
        ignore_result=True,
    )
