"""Holding on to a child process: its orders, pipes and end, however it was started.

`start_child` starts it in a new interpreter; `app.sandbox.forks` has the kind that is forked. A
handle is a context, and when it is left the child and its whole process group are gone.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import app

_BOOTSTRAP = "import sys, runpy; sys.path.append(sys.argv.pop(1)); runpy.run_module(" + (
    "sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


class Child(Protocol):
    """A child as its parent sees it; `log` and `words` are descriptors to be read."""

    log: int
    words: int

    def order(self, orders: bytes) -> None:
        """Tell the child what to do."""
        ...

    def has_ended(self) -> bool:
        """The child itself has ended; what it left behind may live on."""
        ...

    def end(self) -> int:
        """Kill what is left of it; the exit code, or minus the number of a signal."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def interpreter_for(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of the application, cut off from the user's own packages."""
    root = Path(app.__file__).resolve().parent.parent
    return [sys.executable, "-I", "-c", _BOOTSTRAP, str(root), module, *arguments]


def bare_environment() -> dict[str, str]:
    """Nothing of the server's environment is handed on: it may hold secrets."""
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}


def give(orders: bytes, pipe: int) -> None:
    """Write all of the orders to a pipe, and close it."""
    try:
        with os.fdopen(pipe, "wb") as file:
            file.write(orders)
    except BrokenPipeError:
        pass  # it died before it listened: its exit status says of what


def start_child(folder: Path) -> Child:
    """A child in a new interpreter, with `folder` to work in."""
    words, write_end = os.pipe()
    try:
        started = subprocess.Popen(
            interpreter_for("app.sandbox.child", str(write_end), str(os.getpid())),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=bare_environment() | {"TMPDIR": str(folder)},
            pass_fds=(write_end,),
            start_new_session=True,
        )
    except BaseException:
        os.close(words)
        raise
    finally:
        os.close(write_end)
    return _Started(started, words)


class _Started:
    def __init__(self, started: subprocess.Popen[bytes], words: int) -> None:
        assert started.stderr is not None
        self._started = started
        self.words = words
        self.log = started.stderr.fileno()

    def order(self, orders: bytes) -> None:
        assert self._started.stdin is not None
        give(orders, os.dup(self._started.stdin.fileno()))
        self._started.stdin.close()

    def has_ended(self) -> bool:
        # Looks without taking the exit status, which keeps the process number reserved.
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._started.pid, options) is not None

    def end(self) -> int:
        if self._started.returncode is None:
            try:
                os.killpg(self._started.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # all of it is gone already
        return self._started.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()
        os.close(self.words)
        for file in (self._started.stderr, self._started.stdin):
            if file is not None:
                file.close()
