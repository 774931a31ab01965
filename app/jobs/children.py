"""The children of this process that analyse and compare: forked where all they need is loaded."""

import atexit
import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.sandbox import ForkServer, Limits, Outcome, Progress, run_child

_PRELOAD = (
    "app.jobs.analysis",
    "app.jobs.comparing",
    "app.jobs.redacting",
    "app.jobs.warm:analyse_a_little",
)


def prepare_children() -> None:
    """Begin to load what children need, so that the first has not to wait for it."""
    _fork_server().start()


def run_prepared(
    target: str,
    arguments: Mapping[str, Any],
    *,
    limits: Limits,
    folder: Path,
    progress: Progress | None = None,
    tick: Callable[[], None] | None = None,
    cancelled: threading.Event | None = None,
    paths: Sequence[Path] = (),
    apart: bool = False,
) -> Outcome:
    """As `run_child`, in a fork of this process's fork server; `apart`, in one of its own.

    Raises:
        ChildLost: as `run_child`.
    """
    server = ForkServer(_PRELOAD) if apart else _fork_server()
    try:
        return run_child(
            target,
            arguments,
            limits=limits,
            folder=folder,
            progress=progress,
            tick=tick,
            cancelled=cancelled,
            paths=paths,
            server=server,
        )
    finally:
        if apart:
            server.close()


@functools.cache
def _fork_server() -> ForkServer:
    server = ForkServer(_PRELOAD)
    atexit.register(server.close)
    return server
