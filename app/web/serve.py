"""Runs the server on an address, and has a sample analysed at start when one is given.

Whether it could run is told without running it, too.
"""

import ipaddress
import os
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import uvicorn

from app.errors import UsageError
from app.logs import configure
from app.settings import Settings
from app.store import Store
from app.web.application import create_app
from app.web.sample import place_sample

_GRACE_S = 3
_KEEP_ALIVE_S = 20
_PORTS = range(1 << 16)


def serve(
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    sample: Path | None = None,
    logs: Sequence[Path] = (),
) -> None:
    """Serve until interrupted; port 0 takes a free one.

    A `sample` (dump or folder, with its `logs`) is analysed through the queue like any upload. Its
    link is printed and stays the same over restarts.

    Raises:
        UsageError: the address or the data folder is in use, or the sample is not there.
        KeyboardInterrupt: it was interrupted.
    """
    configure(as_json=settings.log_json)
    with (
        _listening(host, port) as listener,
        Store.of(settings) as store,
    ):
        base = settings.base_url.rstrip("/") or _address_of(listener)
        print(f"hloscope serves {base}/", flush=True)
        own_folders: dict[str, tuple[Path, ...]] = {}
        if sample is not None or logs:
            report_id = place_sample(store, sample, logs)
            own_folders[report_id] = tuple(p.parent for p in (sample, *logs) if p is not None)
            print(f"The sample's report: {base}/r/{report_id}", flush=True)
        if not (_is_private(host) or settings.upload_token or settings.members_only):
            print(
                "Whoever reaches that address may send dumps: HLOSCOPE_UPLOAD_TOKEN and"
                " HLOSCOPE_MEMBERS_ONLY say who may.",
                file=sys.stderr,
                flush=True,
            )
        app = create_app(settings, store=store, own_folders=own_folders)
        server = _Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # `proxies.py` sees to that
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=_GRACE_S,
                ws="none",
                lifespan="on",
            ),
            app.state.stopping,
        )
        server.run(sockets=[listener])


def check(settings: Settings, *, host: str, port: int) -> None:
    """Take the address and the data folder as `serve` would, and let go of them.

    Raises:
        UsageError: one of them is in use, or cannot be had.
    """
    with _listening(host, port), Store.of(settings):
        pass


class _Server(uvicorn.Server):
    """Tells those who wait inside the application that it is about to end."""

    def __init__(self, config: uvicorn.Config, stopping: threading.Event) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._stopping.set()
        super().handle_exit(sig, frame)


def _listening(host: str, port: int) -> socket.socket:
    # Python's own check of it leaves a socket open.
    if port not in _PORTS:
        raise _not_there(host, port, f"a port is a number from 0 to {_PORTS[-1]}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise _not_there(host, port, _reason(error)) from error


def _not_there(host: str, port: int, reason: str) -> UsageError:
    return UsageError(
        f"the server cannot listen there: {reason}",
        place=f"{host}:{port}",
        next_step="Choose another with --port; 0 takes a free one.",
        code="cannot_listen",
    )


def _is_private(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reason(error: OSError) -> str:
    # The plain words: `create_server` adds the address to them, which is told already. Those of
    # names that lead nowhere have numbers of their own, below 0.
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)


def _address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
