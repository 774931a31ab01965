"""The asking side of a fork server: children that have their modules loaded when they begin.

The server is a process of one thread that imports what it is told once and forks for each request,
so a child costs milliseconds and not the time of its imports. It is started when first needed, and
again when it was killed; it ends with the process that asked for it, and so do all its children.
"""

import json
import os
import select
import socket
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from app.sandbox.handles import Child, bare_environment, give, interpreter_for

_END_S = 10.0
"""The kernel may take a while to free gigabytes."""

_STOP_S = 5.0


class ChildLost(Exception):
    """The fork server ended, and with it a child; how that would have ended is not known."""


class ForkServer:
    """Forks children from a process that has loaded the modules of `preload`.

    An entry `module:function` is a function that is called there once as well. May be used by
    several threads; a process forked from one that uses it gets a server of its own.
    """

    def __init__(self, preload: Sequence[str]) -> None:
        self._preload = tuple(preload)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._asker = os.getpid()

    def start(self) -> None:
        """Begin to load, unless that is done; nothing waits for it."""
        with self._lock:
            self._ensure()

    def fork(self, folder: Path) -> Child:
        """A child with `folder` to work in.

        Raises:
            ChildLost: the server cannot be kept alive.
        """
        orders, orders_end = os.pipe()
        log, log_end = os.pipe()
        words, words_end = os.pipe()
        life, life_end = socket.socketpair()
        theirs = (orders, log_end, words_end, life_end.fileno())
        request = json.dumps({"folder": str(folder)}).encode()
        try:
            self._send(request, theirs)
        except BaseException:
            for fd in (orders_end, log, words):
                os.close(fd)
            life.close()
            raise
        finally:
            life_end.close()
            for fd in (orders, log_end, words_end):
                os.close(fd)
        return _Forked(orders_end, log, words, life)

    def close(self) -> None:
        """End the server and its children."""
        with self._lock:
            self._drop()

    def _send(self, request: bytes, descriptors: Sequence[int]) -> None:
        with self._lock:
            for _ in range(2):
                control = self._ensure()
                try:
                    socket.send_fds(control, [request], descriptors)
                except (BrokenPipeError, ConnectionResetError):
                    self._drop()
                else:
                    return
        raise ChildLost("the process that forks children ended twice")

    def _ensure(self) -> socket.socket:
        if self._asker != os.getpid():
            # Of the process that we were forked from; its own copies keep the server alive.
            self._control, self._process, self._asker = None, None, os.getpid()
        if self._control is None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    interpreter_for("app.sandbox.forking", str(theirs.fileno()), *self._preload),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    env=bare_environment(),
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            self._control = ours
        return self._control

    def _drop(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None and self._asker == os.getpid():
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._control = self._process = None


class _Forked:
    """A child of the fork server: `life` tells its number and its exit status, a line each."""

    def __init__(self, orders: int, log: int, words: int, life: socket.socket) -> None:
        self._orders = orders
        self._life = life
        # Not `select`, which knows no descriptor above 1023: a server may have many connections.
        self._heard = select.poll()
        self._heard.register(life, select.POLLIN)
        self._told = b""
        self._is_over = False
        self.log = log
        self.words = words

    def order(self, orders: bytes) -> None:
        pipe, self._orders = self._orders, -1
        give(orders, pipe)

    def has_ended(self) -> bool:
        while not self._is_over and self._heard.poll(0):
            self._hear()
        return self._is_over

    def end(self) -> int:
        if not self._is_over:
            try:
                self._life.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the server is gone; what it told last is still there to be read
            self._life.settimeout(_END_S)
            try:
                while not self._is_over:
                    self._hear()
            except TimeoutError:
                raise ChildLost("a child that was killed does not end") from None
        told = self._told.split()
        if len(told) < 2:
            raise ChildLost("the process that forks children ended")
        return int(told[1])

    def _hear(self) -> None:
        try:
            piece = self._life.recv(256)
        except ConnectionResetError:
            piece = b""
        self._told += piece
        self._is_over = not piece or self._told.count(b"\n") == 2

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The end of `life` kills what was not ended.
        self._life.close()
        for fd in (self._orders, self.log, self.words):
            if fd >= 0:
                os.close(fd)
