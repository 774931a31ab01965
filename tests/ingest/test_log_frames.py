"""Frames of Python that a log shows with a failure, and the exception they led to."""

import pytest

from app.ingest import read_log

STACKS = {
    "a death": (
        "Fatal Python error: Aborted\n\nThread 0x00007f01 (most recent call first):\n"
        '  File "/home/me/other.py", line 9 in run\n\n'
        "Current thread 0x00007f02 (most recent call first):\n"
        '  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at\n'
        '  File "/home/me/train.py", line 4 in <module>\n',
        [("/usr/lib/python3.11/ctypes/__init__.py", 519, 7), ("/home/me/train.py", 4, 8)],
    ),
    "an exception": (
        "Traceback (most recent call last):\n"
        '  File "/home/me/train.py", line 6, in <module>\n    print(f(x))\n'
        '  File "/home/me/train.py", line 4, in f\n    if x: return x\n'
        "KeyError: 'lr'\n",
        [("/home/me/train.py", 4, 4), ("/home/me/train.py", 6, 2)],
    ),
    "a traceback within the message": (
        "Traceback (most recent call last):\n"
        '  File "/home/me/train.py", line 7, in <module>\n'
        "jax.errors.JaxRuntimeError: INTERNAL: CpuCallback error: Traceback (most recent call "
        "last):"
        '\n  File "/home/me/train.py", line 2, in cb\nValueError: boom\n',
        [("/home/me/train.py", 2, 4), ("/home/me/train.py", 7, 2)],
    ),
}


@pytest.mark.parametrize(("log", "frames"), STACKS.values(), ids=STACKS.keys())
def test_frames_of_python_are_of_the_thread_concerned_innermost_first(
    log: str, frames: list[tuple[str, int, int]]
) -> None:
    (failure,) = read_log(log, name="run.log").failures
    assert [(f.file, f.line, f.log_line) for f in failure.frames] == frames


def test_an_exception_keeps_its_class() -> None:
    (failure,) = read_log(STACKS["an exception"][0], name="run.log").failures
    assert failure.text == "KeyError: 'lr'"
