"""Frames of Python that a log shows with a failure, and the exception they led to."""

import pytest

from app.ingest import merge_logs, read_log
from app.ingest.log_frames import symbol_of

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


@pytest.mark.parametrize(
    "wrapper",
    ["jax._src.source_info_util.JaxStackTraceBeforeTransformation: ", "UnfilteredStackTrace: "],
)
def test_an_exception_that_jax_tells_again_is_itself(wrapper: str) -> None:
    log = STACKS["an exception"][0].replace("KeyError", f"{wrapper}KeyError")
    assert read_log(log, name="run.log") == read_log(STACKS["an exception"][0], name="run.log")


MAIN = (
    '  File "/home/me/train.py", line 9 in step\n  File "/home/me/train.py", line 10 in <module>\n'
)
WORKER = '  File "/home/me/w.py", line 3 in work\n  File "/usr/lib/threading.py", line 982 in run\n'
NAMED = "{} 0x00007f01 (most recent call first):\n"
DIED = "Fatal Python error: Segmentation fault\n\n"
RUN = "xla::gpu::HloPass::Run"
TIME_UP = "hloscope run: the time is up; it shows its stacks\n"
ABORTED = "Fatal Python error: Aborted\n\n"


DEAD, OTHER = NAMED.format("Current thread"), "\n" + NAMED.format("Thread")


@pytest.mark.parametrize(
    ("log", "died", "meanwhile"),
    [
        (OTHER + WORKER + OTHER + MAIN, [], [9, 10]),
        (DEAD + WORKER + OTHER + MAIN, [3, 982], [9, 10]),
        (OTHER + WORKER + DEAD + MAIN, [9, 10], []),
        (DEAD + "  <no Python frame>\n" + OTHER + MAIN, [], [9, 10]),
        ("", [], []),
    ],
    ids=["no Python", "a worker", "the main one", "no frame", "nothing told"],
)
def test_which_thread_died(log: str, died: list[int], meanwhile: list[int]) -> None:
    (failure,) = read_log(DIED + log, name="x").failures
    assert [frame.line for frame in failure.frames] == died
    assert [frame.line for frame in failure.meanwhile] == meanwhile


def test_stacks_at_the_end_of_the_time_are_no_death() -> None:
    threads = NAMED.format("Thread") + WORKER + "\n" + NAMED.format("Current thread") + MAIN
    log = f"step 3\n{TIME_UP}[rank0]: " + f"{ABORTED}{threads}".replace("\n", "\n[rank0]: ")
    facts = read_log(f"{log}\n{ABORTED}{NAMED.format('Current thread')}{WORKER}", name="x")
    assert facts.failures == ()
    assert facts.hung
    told = [([frame.line for frame in stack.frames], stack.is_main) for stack in facts.stacks]
    assert told == [([9, 10], True), ([3, 982], False), ([3, 982], True)]
    assert merge_logs([facts, facts]).stacks == (*facts.stacks, *facts.stacks)


def test_a_fault_at_the_end_of_the_time_is_a_death() -> None:
    facts = read_log(f"{TIME_UP}{DIED}{NAMED.format('Current thread')}{MAIN}", name="x")
    assert [failure.signature for failure in facts.failures] == ["signal::SIGSEGV"]
    assert facts.stacks == ()


def test_an_abort_before_the_end_of_the_time_is_a_death() -> None:
    facts = read_log(f"{ABORTED}{NAMED.format('Current thread')}{MAIN}{TIME_UP}", name="x")
    assert [failure.signature for failure in facts.failures] == ["signal::SIGABRT"]
    assert facts.stacks == ()


@pytest.mark.parametrize("bar", [" 12%|#2 | 3/25 [00:01<00:09,  2.2it/s]", "0it [00:00, ?it/s] "])
@pytest.mark.parametrize("death", [DIED + MAIN, "Traceback (most recent call last):\n  x\nE: no\n"])
def test_a_death_behind_a_progress_bar(bar: str, death: str) -> None:
    bare = read_log(death, name="x")
    assert len(bare.failures) == 1
    assert read_log(bar + death, name="x") == bare


@pytest.mark.parametrize(
    ("line", "symbol"),
    [
        ("    @     0x7f0e2365c1d4  xla::HloPass::Run()", "xla::HloPass::Run()"),
        ("    @ xla::HloPass::Run()", "xla::HloPass::Run()"),
        ("#4  0x00007f1c0b0e1c2d in xla::HloPass::Run(long) ()", "xla::HloPass::Run(long) ()"),
        ("_ZN3xla3gpu7HloPass3RunEPNS_9HloModuleE at /lib/extra.so (unknown line)", RUN),
        ("    @ 0x7f0e2365c1d4 _ZNK3xla3gpu7HloPass3RunEv", RUN),
        ("gsignal at /usr/lib/libc.so.6 (unknown line)", "gsignal"),
        ("Compile at /home/u/src/XLA.jl:376", "Compile"),
        ("it stopped at /home/u once", None),
        ("    @property", None),
    ],
)
def test_symbol_of_a_frame(line: str, symbol: str | None) -> None:
    assert symbol_of(line) == symbol


@pytest.mark.parametrize(
    "line",
    [
        "[7575] signal 6 (-6): Aborted",
        "[12] signal 11 (1): Segmentation fault",
        "signal (11.1): Segmentation fault",
    ],
)
def test_deaths_that_julia_tells(line: str) -> None:
    frame = "_ZN3xla9Autotuner8AutotuneEv at /lib/libReactantExtra.so (unknown line)\n"
    (failure,) = read_log(f"{line}\n{frame}", name="run.log").failures
    assert (failure.kind, failure.stack) == ("signal", ("xla::Autotuner::Autotune",))
