"""`hloscope run` at a terminal: interruptions, stopping and going on, in the background too."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.running import hloscope, surroundings


def test_an_interruption_goes_to_the_program(tmp_path: Path) -> None:
    program = (
        "import time\n"
        "try:\n    print('up', flush=True)\n    time.sleep(60)\n"
        "except KeyboardInterrupt:\n    print('saved', flush=True)\n    raise SystemExit(9)\n"
    )
    script = tmp_path / "train.py"
    script.write_text(program)
    with subprocess.Popen(
        [*hloscope(), "--", sys.executable, str(script)],
        env=surroundings(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "up\n"
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (9, "saved\n")
    assert "interrupted" in err
    assert "--hung" in err


def test_a_terminal_stays_a_terminal(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import sys\nprint(sys.stdout.isatty(), sys.stderr.isatty())\n")
    outer, inner = pty.openpty()
    with subprocess.Popen(
        [*hloscope(), "--", sys.executable, str(script)],
        env=surroundings(tmp_path),
        stdout=inner,
        stderr=subprocess.PIPE,
    ) as running:
        os.close(inner)
        printed = b""
        deadline = time.monotonic() + 60
        while b"\n" not in printed and time.monotonic() < deadline:
            printed += os.read(outer, 4096)
        running.communicate(timeout=60)
    os.close(outer)
    assert printed == b"True False\r\n"


class Terminal:
    """A shell at a terminal: keys go in, what it shows comes out."""

    def __init__(self, environ: dict[str, str]) -> None:
        pid, self._fd = pty.fork()
        if pid == 0:
            environ |= {"PS1": "$ ", "TERM": "dumb", "PROMPT_COMMAND": ""}
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-bi"], environ)
        self._pid = pid
        self.shown = ""

    def press(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def wait_for(self, words: str) -> None:
        """Until `words` are shown after what was waited for before."""
        deadline = time.monotonic() + 60
        while words not in self.shown:
            assert select.select([self._fd], [], [], deadline - time.monotonic())[0], self.shown
            self.shown += os.read(self._fd, 4096).decode()
        self.shown = self.shown.partition(words)[2]

    def close(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._fd)


ASKING = """
import sys
print("up", flush=True)
for line in sys.stdin:
    print("read", line.strip()[::-1], flush=True)
    if line == "end\\n":
        raise SystemExit(7)
"""


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    (tmp_path / "asking.py").write_text(ASKING)
    shell = Terminal(surroundings(tmp_path))
    shell.press(f"{' '.join(hloscope())} -- {sys.executable} {tmp_path}/asking.py; echo code=$?\n")
    shell.wait_for("\r\nup")
    yield shell
    shell.close()


def test_a_program_is_stopped_and_goes_on(terminal: Terminal) -> None:
    terminal.press("first\n")
    terminal.wait_for("read tsrif")
    for _ in range(2):
        terminal.press("\x1a")
        terminal.wait_for("Stopped")
        terminal.press("echo shell=$((6 * 7))\n")
        terminal.wait_for("shell=42")
        terminal.press("fg\n")
        terminal.press("second\n")
        terminal.wait_for("read dnoces")
    terminal.press("end\n")
    terminal.wait_for("exit code 7")


def test_a_program_goes_on_in_the_background_until_it_reads(terminal: Terminal) -> None:
    terminal.press("\x1a")
    terminal.wait_for("Stopped")
    terminal.press("bg\n")
    terminal.wait_for("Stopped")
    terminal.press("fg\n")
    terminal.press("third\n")
    terminal.wait_for("read driht")
    terminal.press("\x03")
    terminal.wait_for("interrupted")


def test_time_spent_stopped_does_not_count(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import os, signal, time\n"
        "print(os.getppid(), flush=True)\nos.kill(0, signal.SIGTSTP)\nprint('on', flush=True)\n"
    )
    # In a group of its own, as a shell would start it; its parent lets it go on.
    with subprocess.Popen(
        [*hloscope("--timeout", "3"), "--", sys.executable, str(script)],
        env=surroundings(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    ) as running:
        _, status = os.waitpid(running.pid, os.WUNTRACED)
        assert os.WSTOPSIG(status) == signal.SIGTSTP
        time.sleep(4)
        running.send_signal(signal.SIGCONT)
        out, _ = running.communicate(timeout=60)
    assert (running.returncode, out.splitlines()[1:]) == (0, [b"on"])
