"""Functions that tests run in the disposable child; not a test module."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.errors import BadArchive
from app.jobs.upload import Upload

Report = Callable[[str, int, int | None], None]


def answer(report: Report, *, value: object) -> object:
    report("reading", 1, 2)
    report("reading", 2, None)
    return {"value": value, "cwd": os.getcwd(), "environment": sorted(os.environ)}


def refuse(report: Report) -> None:
    raise BadArchive("it is cut off", place="a.tar", next_step="Send it again.", code="truncated")


def raise_bug(report: Report) -> None:
    raise KeyError("no such thing")


def eat_memory(report: Report) -> None:
    held = []
    while True:
        held.append(bytearray(1 << 24))


def spin(report: Report) -> None:
    while True:
        pass


def sleep_with_descendant(report: Report, *, file: str) -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(file).write_text(str(sleeper.pid))
    report("sleeping", 0, None)
    time.sleep(600)


def leave_descendant(report: Report, *, file: str) -> str:
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(file).write_text(str(sleeper.pid))
    return "done"


def kill_itself(report: Report) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def open_many_files(report: Report) -> int:
    opened = []
    try:
        while True:
            opened.append(open(os.devnull))
    except OSError:
        return len(opened)


def write_large_file(report: Report) -> int:
    written = 0
    with open("large", "wb", buffering=0) as file:
        try:
            while True:
                written += file.write(b"x" * 65536)
        except OSError:
            return written


def flood_pipe(report: Report) -> None:
    report("x" * (5 << 20), 0, None)
    time.sleep(600)


def talk_nonsense(report: Report) -> str:
    words = b'[1]\n{"progress": 7}\n\xff\n{"refused": {"kind": "os"}}\n'
    words += b'{"progress": ["x", Infinity, null]}\n' + b"[" * 50_000 + b"\n"
    for fd in range(3, 20):
        try:
            os.write(fd, words)
        except OSError:
            continue
    return "fine"


def log_much(report: Report) -> str:
    for number in range(20_000):
        print(f"line {number}", file=sys.stderr)
    return "fine"


def large_result(report: Report) -> str:
    return "x" * (2 << 20)


def see_its_server(report: Report) -> tuple[list[str], int]:
    return sorted(sys.modules), len(os.listdir(f"/proc/{os.getppid()}/task"))


def open_descriptors(report: Report) -> list[int]:
    listed = os.open("/proc/self/fd", os.O_RDONLY)
    return sorted({int(name) for name in os.listdir(listed)} - {listed, listed + 1})


def kill_its_server(report: Report) -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)


def try_to_fork(report: Report) -> list[str]:
    if os.getuid() == 0:
        os.setuid(65534)  # nobody: the kernel does not hold root to the limit
    found: list[str] = []
    try:
        if os.fork() == 0:
            os._exit(0)
        found.append("forked")
    except OSError as error:
        found.append(type(error).__name__)
    try:
        threading.Thread(target=int).start()
        found.append("started")
    except RuntimeError as error:
        found.append(type(error).__name__)
    return found


def lose_once(report: Report, marker: str) -> None:
    if not Path(marker).exists():
        Path(marker).touch()
        kill_its_server(report)


def wait_for(report: Report, file: str) -> None:
    while not Path(file).exists():
        time.sleep(0.02)


_DEEDS: dict[str, Callable[[Report, str], object]] = {
    "crash": lambda *_: os.abort(),
    "spin": lambda report, _: spin(report),
    "sleep": lambda *_: time.sleep(600),
    "hog": lambda report, _: eat_memory(report),
    "refuse": lambda report, _: refuse(report),
    "bug": lambda report, _: raise_bug(report),
    "suicide": lambda *_: os.kill(os.getpid(), signal.SIGKILL),
    "kill its server": lambda report, _: kill_its_server(report),
    "lose once": lose_once,
    "wait for": wait_for,
}


def analyse(report: Report, *, upload: dict[str, Any], bundle: str) -> dict[str, object]:
    """Stands in for the analysis; the archive's bytes say what is to happen."""
    sent = Upload(**upload)
    script = Path(sent.archive).read_text().rstrip() if sent.archive else "fine"
    report("reading", 1, 4)
    script = do(report, script)
    Path(bundle).write_text(f"bundle of {script}")
    texts = [[label, Path(file).read_text()] for label, file in sent.logs]
    return {
        "name": sent.name,
        "logs": texts,
        "question": [sent.flags, sent.release, sent.hung],
        "settings": sent.settings,
    }


def do(report: Report, script: str) -> str:
    deed, _, argument = script.partition(": ")
    if deed in _DEEDS:
        _DEEDS[deed](report, argument)
    return deed


def compare(report: Report, *, module_id: str, answer: str, **_: object) -> None:
    """Stands in for the comparison; the module's id says what is to happen."""
    Path(answer).write_text(f'"{do(report, module_id)}"')
