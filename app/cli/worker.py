"""`hloscope worker`: works at the jobs of a server, on this machine or another.

Without a broker it looks at the rows for what waits. The server's database and blobs must then be
such as more than one process may use: given by address, and the same for all.
"""

import argparse
import logging
import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

from app.cli.arguments import Commands
from app.cli.commands import COMMANDS
from app.errors import ServerFault, UsageError
from app.jobs.choice import broker_workers, runner_for
from app.logs import configure
from app.settings import Settings
from app.store import Store, StoreUnavailable

_LOG = logging.getLogger(__name__)

_DROP_COPIES_S = 600.0


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("worker", help=COMMANDS["worker"])
    parser.add_argument("--database", metavar="URL", help="the database of the server")
    parser.add_argument("--blobs", metavar="URL", help="where the server keeps dumps and reports")
    parser.add_argument("--broker", metavar="URL", help="RabbitMQ; without it the rows are polled")
    parser.add_argument("--data", type=Path, metavar="DIR", help="a folder of this worker's own")
    parser.add_argument("--workers", type=int, metavar="N", help="analyses that run at once")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Work until interrupted or told to end."""
    given = {
        "database_url": arguments.database,
        "blobs_url": arguments.blobs,
        "broker_url": arguments.broker,
        "data_dir": arguments.data,
        "job_workers": arguments.workers,
    }
    settings = replace(settings, **{name: it for name, it in given.items() if it is not None})
    if settings.job_workers < 1:
        raise UsageError("a worker works at one job at least", place="--workers")
    configure(as_json=settings.log_json)
    stopping = threading.Event()
    _set_by_signals(stopping, signal.SIGTERM, signal.SIGINT)
    try:
        _work(settings, stopping)
    except StoreUnavailable as error:
        raise ServerFault(str(error), next_step="Start the worker again when it does.") from error
    return 0


def _work(settings: Settings, stopping: threading.Event) -> None:
    with Store.of(settings) as store, _copies_dropped(store, stopping):
        if settings.broker_url:
            workers = broker_workers(settings)
            print(f"hloscope works for the broker, on {store_of(settings)}", flush=True)
            workers.work(stopping)
            return
        runner = runner_for(store, settings)
        runner.start()
        print(f"hloscope works for the database, on {store_of(settings)}", flush=True)
        stopping.wait()
        runner.stop()


def store_of(settings: Settings) -> str:
    """Where the rows and files stand, without what lets one in."""
    places = dict.fromkeys(filter(None, (settings.database_url, settings.blobs_url)))
    return " and ".join(map(_without_secrets, places)) or str(settings.data_dir.resolve())


def _without_secrets(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@contextmanager
def _copies_dropped(store: Store, stopping: threading.Event) -> Generator[None]:
    """Drop this machine's copies of what was deleted until `stopping` is set."""

    def drop() -> None:
        while not stopping.wait(_DROP_COPIES_S):
            try:
                store.ledger.drop_copies()
            except StoreUnavailable as error:
                _LOG.warning("copies of what was deleted are left for now: %s", error)

    thread = threading.Thread(target=drop, name="copies", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def _set_by_signals(event: threading.Event, *numbers: int) -> None:
    """Have a thread of its own set `event` when one of the signals comes.

    The handler runs in the main thread between two of its steps, which may be those of waiting for
    the event with its lock in hand: setting it there would wait for itself.
    """
    receiving, sending = os.pipe()
    process = os.getpid()

    def handle(number: int, _: FrameType | None) -> None:
        del number
        # A fork has the same pipe, and its end is its own matter.
        if os.getpid() == process:
            os.write(sending, b".")

    def set_it() -> None:
        os.read(receiving, 1)
        event.set()

    threading.Thread(target=set_it, name="signals", daemon=True).start()
    for number in numbers:
        signal.signal(number, handle)
