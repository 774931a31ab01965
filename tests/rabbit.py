"""A RabbitMQ node for tests: in a folder of its own, on this machine's own address alone.

It keeps what it holds over `kill` and `start`, as a real one does over a crash.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

# The program itself: the one on PATH wants to be another user.
_SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_WAIT_S = 90.0


class Rabbit:
    """One node; its log stands in its folder."""

    def __init__(self) -> None:
        assert _SERVER.exists(), "RabbitMQ is missing (on Debian: apt-get install rabbitmq-server)"
        self._folder = Path(tempfile.mkdtemp(prefix="hloscope-mq-"))
        self._port, dist, epmd = (_free_port() for _ in range(3))
        (self._folder / "plugins").write_text("[].\n")
        (self._folder / "rabbit.conf").write_text(
            "loopback_users = none\ndisk_free_limit.absolute = 50MB\n"
        )
        self._environ = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "HOME": str(self._folder),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(epmd),
            "RABBITMQ_CONFIG_FILE": str(self._folder / "rabbit.conf"),
            "RABBITMQ_DIST_PORT": str(dist),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "plugins"),
            "RABBITMQ_LOG_BASE": str(self._folder / "log"),
            "RABBITMQ_MNESIA_BASE": str(self._folder / "data"),
            "RABBITMQ_NODENAME": f"hloscope{self._port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
                "+S 1:1 -kernel inet_dist_use_interface {127,0,0,1}"
            ),
        }

    @property
    def url(self) -> str:
        """What a client connects to."""
        return f"amqp://guest:guest@127.0.0.1:{self._port}//"

    def start(self) -> None:
        """Start, also after `kill`, and wait until it takes connections."""
        with (self._folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [str(_SERVER)],
                env=self._environ,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        deadline = time.monotonic() + _WAIT_S
        while not self._answers():
            output = (self._folder / "output").read_text(errors="replace")
            assert self._process.poll() is None, output[-4000:]
            assert time.monotonic() < deadline, output[-4000:]
            time.sleep(0.1)

    def kill(self) -> None:
        """End it as a crash does."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """End it and the port mapper that it started, and remove its folder."""
        self.kill()
        subprocess.run(["epmd", "-kill"], env=self._environ, capture_output=True, check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=1) as connection:
                # Whoever says anything else than the protocol's name is told which it speaks.
                connection.settimeout(5)
                connection.sendall(b"AMQP\x00\x00\x00\x00")
                return connection.recv(4) == b"AMQP"
        except OSError:
            return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
