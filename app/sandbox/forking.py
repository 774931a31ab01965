"""What runs in a fork server: modules are loaded once, then a child is forked for each request.

Started by `app.sandbox.forks` alone, never imported by others. It has one thread, so a fork finds
no lock held by another. A request is one message on the control socket: the child's folder, and
four descriptors: its orders, its log, the pipe for its words, and a socket on which the child's
number is told, then its exit status. The end of that socket is the wish that the child be killed;
the end of the control socket says that whoever asked is gone, and then all children are killed.
"""

import fcntl
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from app.sandbox.child import FAILED, obey

DESCRIPTORS = 4
MAX_REQUEST_BYTES = 8192

_WORDS = 3
"""The descriptor under which a child finds its pipe; the first three are the usual ones."""


def main(control_fd: int, preload: list[str]) -> None:
    """Load the modules of `preload` (`module`, or `module:function` to be called), then serve."""
    with socket.socket(fileno=control_fd) as control:
        for name in preload:
            module, _, function = name.partition(":")
            loaded = importlib.import_module(module)
            if function:
                getattr(loaded, function)()
        # What is there now lives as long as the children: none of them needs to look at it.
        gc.collect()
        gc.freeze()
        _Server(control).serve()


class _Server:
    """The children by their numbers, each with the socket over which its life is told."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._lives: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._bell, bell = socket.socketpair()
        for each in (self._bell, bell):
            each.setblocking(False)
        self._ringing = bell
        signal.signal(signal.SIGCHLD, _only_ring)
        signal.set_wakeup_fd(bell.fileno(), warn_on_full_buffer=False)

    def serve(self) -> None:
        """Fork, kill and tell until whoever asks is gone."""
        self._selector.register(self._control, selectors.EVENT_READ, self._take_request)
        self._selector.register(self._bell, selectors.EVENT_READ, self._reap)
        try:
            while True:
                for key, _ in self._selector.select():
                    act: Callable[[], bool] = key.data
                    if not act():
                        return
        finally:
            for child in self._lives:
                _kill(child)

    def _take_request(self) -> bool:
        request, descriptors, _, _ = socket.recv_fds(self._control, MAX_REQUEST_BYTES, DESCRIPTORS)
        if not request:
            return False
        orders, log, words, life_fd = descriptors
        life = socket.socket(fileno=life_fd)
        server = os.getpid()
        try:
            child = os.fork()
        except OSError as error:
            os.write(log, f"no child could be forked: {error}\n".encode())
            life.close()
        else:
            if child == 0:
                _become_child(json.loads(request)["folder"], (orders, log, words), server)
            self._lives[child] = life
            _tell(life, child)
            self._selector.register(life, selectors.EVENT_READ, lambda: self._end(child))
        for fd in (orders, log, words):
            os.close(fd)
        return True

    def _end(self, child: int) -> bool:
        """The child is wanted no longer; its status is told when the kernel has it."""
        life = self._lives.get(child)
        if life is not None:
            self._selector.unregister(life)
            _kill(child)
        return True

    def _reap(self) -> bool:
        while True:
            try:
                if not self._bell.recv(4096):
                    break
            except BlockingIOError:
                break
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        for child in tuple(self._lives):
            if os.waitid(os.P_PID, child, options) is None:
                continue
            # Its number is kept until it has been waited for: what it left behind dies first.
            _kill(child)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            life = self._lives.pop(child)
            if life.fileno() in self._selector.get_map():
                self._selector.unregister(life)
            _tell(life, status)
            life.close()
        return True


def _tell(life: socket.socket, number: int) -> None:
    try:
        life.send(f"{number}\n".encode())
    except (BrokenPipeError, ConnectionResetError):
        pass  # nobody wants to know any more


def _only_ring(number: int, frame: FrameType | None) -> None:
    """Without a handler of Python's the bell would not ring."""


def _kill(child: int) -> None:
    """Kill the process group of a child that has not been waited for."""
    for kill in (os.killpg, os.kill):
        try:
            # It has no group of its own in its first moments.
            kill(child, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _become_child(folder: str, pipes: tuple[int, int, int], server: int) -> NoReturn:
    """Leave all of the server behind, obey the orders and end."""
    code = FAILED
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        # Moved out of the way first: any of them may have a number that another is to get.
        moved = [fcntl.fcntl(fd, fcntl.F_DUPFD, _WORDS + 1) for fd in pipes]
        for fd, place in zip(moved, (0, 2, _WORDS), strict=True):
            os.dup2(fd, place)
        os.closerange(_WORDS + 1, os.sysconf("SC_OPEN_MAX"))
        os.chdir(folder)
        os.environ["TMPDIR"] = folder
        tempfile.tempdir = None
        with open(0, encoding="utf-8", closefd=False) as file:
            orders = json.load(file)
        code = obey(orders, words=_WORDS, parent=server)
    except BaseException:
        with suppress(OSError):
            # Whoever asked may be gone, and nobody reads what is written.
            traceback.print_exc()
    finally:
        try:
            with suppress(OSError):
                sys.stderr.flush()
        finally:
            # Skips the interpreter's tidying up, as it does in any child, and never returns to what
            # the server does when it ends: that kills all children.
            os._exit(code)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
