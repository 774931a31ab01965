"""The scaled-out set on one machine: PostgreSQL, RabbitMQ, S3, two servers and two workers.

`python tests/scale/set.py` starts it in a temporary folder, prints the addresses and runs until
interrupted. Tests use the classes: every program can be killed and started again at its place.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from engines import BucketServer, Postgres  # noqa: E402  # found by the lines above
from rabbit import Rabbit  # noqa: E402

HLOSCOPE = [sys.executable, "-c", "import sys; from app.cli.main import main; sys.exit(main())"]
_WAIT_S = 90.0
_STOP_S = 40.0


class Program:
    """One `hloscope` command that runs until it is ended; its output stands in a file."""

    def __init__(
        self, name: str, words: Sequence[str], environ: Mapping[str, str], folder: Path
    ) -> None:
        self.name = name
        self._words = [*HLOSCOPE, *words]
        kept = {key: value for key, value in os.environ.items() if "HLOSCOPE" not in key}
        self._environ = kept | dict(environ)
        self.output = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._before = 0

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start, also after an end of any kind, and wait until it says that it works."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start, and wait for nothing."""
        self._before = self.output.stat().st_size if self.output.exists() else 0
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                self._words,
                cwd=ROOT,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def wait(self) -> None:
        """Wait until it says that it works."""
        assert self._process is not None
        deadline = time.monotonic() + _WAIT_S
        while b"hloscope " not in (said := self.output.read_bytes()[self._before :]):
            assert self._process.poll() is None, said.decode(errors="replace")[-4000:]
            assert time.monotonic() < deadline, said.decode(errors="replace")[-4000:]
            time.sleep(0.05)

    def kill(self) -> None:
        """End it as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Ask it to end."""
        if self._process is not None:
            self.end_by(signal.SIGTERM)

    def end_by(self, number: signal.Signals) -> int:
        """Send it a signal, and wait until it has ended; its exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        try:
            return self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def descendants(self) -> dict[int, str]:
        """The processes below it, with the words of their command lines."""
        parents: dict[int, int] = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                parents[int(stat.parent.name)] = int(parent)
        found: dict[int, str] = {}
        level = {self.pid}
        while level := {pid for pid, parent in parents.items() if parent in level}:
            found |= {pid: _command_of(pid) for pid in level}
        return found


class ServerSet(Protocol):
    """Servers with all that they need, started by being entered."""

    servers: list[Program]
    workers: list[Program]
    urls: list[str]
    environ: dict[str, str]

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class EmbeddedSet:
    """One server with SQLite and a folder, and nothing beside."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self.data = folder / "data"
        self.environ = {**settings, "HLOSCOPE_DATA_DIR": str(self.data)}
        port = free_port()
        self.urls = [f"http://127.0.0.1:{port}"]
        self.servers = [Program("server", ["serve", "--port", str(port)], self.environ, folder)]
        self.workers: list[Program] = []

    def __enter__(self) -> Self:
        self.servers[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self.servers[0].kill()


class ScaledSet:
    """Two servers and two workers on PostgreSQL, RabbitMQ and a bucket; `close` ends all."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self._folder = folder
        self._settings = dict(settings)
        self.database = Postgres()
        self.broker = Rabbit()
        self.bucket = BucketServer()
        self.environ: dict[str, str] = {}
        self.servers: list[Program] = []
        self.workers: list[Program] = []
        self.urls: list[str] = []

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the programs, then the engines."""
        for program in self.workers:
            program.stop()
        for program in self.servers:
            program.kill()
        self.database.close()
        self.broker.close()
        self.bucket.kill()

    def _start(self) -> None:
        self.database.start()
        self.broker.start()
        self.bucket.start()
        self.environ = {
            **self._settings,
            **self.bucket.keys,
            "HLOSCOPE_DATABASE_URL": self.database.new_database(),
            "HLOSCOPE_BLOBS_URL": self.bucket.new_place(),
            "HLOSCOPE_BROKER_URL": self.broker.url,
        }
        for number in (1, 2):
            port = free_port()
            self.urls.append(f"http://127.0.0.1:{port}")
            self.servers.append(self._program(f"server{number}", "serve", "--port", str(port)))
            self.workers.append(self._program(f"worker{number}", "worker"))
        for program in (*self.servers, *self.workers):
            program.launch()
        for program in (*self.servers, *self.workers):
            program.wait()

    def _program(self, name: str, *words: str) -> Program:
        own = {"HLOSCOPE_DATA_DIR": str(self._folder / name)}
        return Program(name, words, self.environ | own, self._folder)


def free_port() -> int:
    """A port of this machine's own address that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def main() -> int:
    """Run the set until interrupted."""
    folder = Path(tempfile.mkdtemp(prefix="hloscope-set-"))
    settings = {name: it for name, it in os.environ.items() if name.startswith("HLOSCOPE_")}
    try:
        with ScaledSet(folder, {"HLOSCOPE_JOB_WORKERS": "1"} | settings) as running:
            for url in running.urls:
                with urllib.request.urlopen(f"{url}/healthz") as answer:
                    print(f"{url}/ answers {answer.status}", flush=True)
            print(f"Logs are in {folder}; Ctrl-C ends all of it.", flush=True)
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    sys.exit(main())
