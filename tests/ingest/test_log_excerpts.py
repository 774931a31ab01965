"""A few lines that someone cut out of a log, without what stood around them."""

from pathlib import Path
from time import process_time

import pytest

from app.ingest import read_log, read_log_file

CUT = "ptxas /tmp/a, line 9; fatal   : Unsupported .version 8.4; current version is '8.2'"
CHECK = "F external/xla/xla/service/layout_assignment.cc:742] Check failed: a == b (1 vs. 2)"


def told(text: str) -> list[tuple[int, str]]:
    return [(line.line_number, line.text) for line in read_log(text, name="x").verbose]


def test_a_line_that_complains_is_told_however_it_is_read(tmp_path: Path) -> None:
    text = f"$ python train.py\n{CUT}\nbye\n"
    file = tmp_path / "x"
    file.write_text(text, "utf-8")
    facts = read_log(text, name="x")
    assert [(line.line_number, line.text, line.severity) for line in facts.verbose] == [
        (2, CUT, "")
    ]
    assert read_log_file(file, name="x") == facts
    assert read_log(text.splitlines(keepends=True), name="x") == facts
    assert read_log(f"[rank3]: {CUT}\n", name="x").verbose[0].text == CUT


@pytest.mark.parametrize(
    "line",
    [
        "epoch 3: loss 0.25, using cuDNN 9.1 and NCCL 2.18",
        "UserWarning: the cuDNN found is not supported",
        "INFO: cublas could not be found",
        "cublas handle not found, using default",
        "eager: 3.21 ms, jit: 0.41 ms",
        "no triton found, falling back to xla",
        "host:1:2 [0] NCCL INFO NET/Plugin: Failed to find a symbol",
        "Retrying after connection error: failed to connect to all addresses",
        "max abs err against the reference: 1e-6 (ok)",
        "no NaN found in gradients, 0 errors",
        "No NaNs detected, no errors",
        "max abs diff 2e-7, not exceeded",
        "ran without errors",
        "ERROR: pip's dependency resolver: nvidia-cudnn-cu12 9.1 is incompatible with torch",
    ],
)
def test_chatter_is_no_complaint(line: str) -> None:
    assert told(f"{line}\n") == []


def test_only_a_short_text_without_a_failure_is_an_excerpt() -> None:
    assert told(f"{CUT}\n") == [(1, CUT)]
    assert told(f"{CUT}\n{CHECK}\n") == []
    assert told(f"{CUT}\n" + "step\n" * 100) == []
    assert told(f"{CUT}\n" + "x" * 10_000 + "\n") == []
    warned = "W external/xla/xla/service/hlo_pass_fix.h:58] Unexpectedly high number"
    assert [text for _, text in told(f"{CUT}\n{warned}\n")] == [CUT, "Unexpectedly high number"]


@pytest.mark.parametrize(
    "line",
    [
        "double free or corruption (!prev)",
        "corrupted size vs. prev_size while consolidating",
        "free(): invalid next size (fast)",
        "malloc(): unaligned tcache chunk detected",
        "*** stack smashing detected ***: terminated",
    ],
)
def test_what_the_c_library_says_of_its_heap_is_a_death(line: str) -> None:
    (failure,) = read_log(f"step 1\n{line}\nFatal Python error: Aborted\n", name="x").failures
    assert (failure.kind, failure.signature) == ("signal", "signal::SIGABRT")
    assert failure.line_number == 2


def test_an_exception_with_a_status_needs_no_traceback() -> None:
    for code in ("Internal", "INTERNAL", "Invalid argument"):
        (failure,) = read_log(f"RuntimeError: {code}: odd\n", name="x").failures
        assert failure.status in {"INTERNAL", "INVALID_ARGUMENT"}


def test_a_back_end_that_is_not_there_is_no_complaint() -> None:
    line = "Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so"
    assert read_log(f"xla_bridge: {line}\n", name="x").verbose == ()
    assert read_log(f"RuntimeError: {line}\n", name="x").verbose != ()


def test_of_endless_exceptions_without_a_traceback_the_first_are_read() -> None:
    lines = "".join(f"RuntimeError: INTERNAL: no {number}\n" for number in range(10_120))
    facts = read_log(lines, name="x")
    assert len(facts.failures) == 1
    assert "log_left_out: 20 exceptions without a traceback in x are not read" in facts.remarks


@pytest.mark.parametrize(
    ("line", "signal"),
    [
        ("zsh: segmentation fault  python train.py", "SIGSEGV"),
        ("zsh: abort      python train.py", "SIGABRT"),
        ("zsh: illegal hardware instruction  python train.py", "SIGILL"),
        ("zsh: killed     python train.py", "SIGKILL"),
        ("zsh: segmentation fault  ipython", "SIGSEGV"),
        ("zsh: segmentation fault  ./train.sh", "SIGSEGV"),
        ("zsh: abort      accelerate launch x", "SIGABRT"),
        ("[1]    4242 segmentation fault  python train.py", "SIGSEGV"),
        ("[1]    4242 bus error  python train.py", "SIGBUS"),
        ("[1]    4242 floating point exception  python train.py", "SIGFPE"),
        ("[1]    4242 abort", "SIGABRT"),
        ("[1]    4242 killed", "SIGKILL"),
        ("[1]  + 4242 IOT instruction (core dumped)  python train.py", "SIGABRT"),
    ],
)
def test_what_zsh_says_of_a_death_is_a_death(line: str, signal: str, tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text(f"step 1\n{line}\n", "utf-8")
    (failure,) = read_log_file(file, name="x").failures
    assert (failure.kind, failure.signature, failure.line_number) == (
        "signal",
        f"signal::{signal}",
        2,
    )


@pytest.mark.parametrize(
    "line", ["zsh: command not found: nvcc", "[1] 4242", "[1] 7 aborts so far"]
)
def test_what_else_zsh_says_is_no_death(line: str) -> None:
    assert read_log(f"{line}\n", name="x").failures == ()


def test_a_coded_error_of_xla_begins_a_failure(tmp_path: Path) -> None:
    file = tmp_path / "x"
    text = "step 1\n" * 50 + "E2001: CompileTimeMosaicUnsupportedRhsType: no such matmul\n"
    file.write_text(text, "utf-8")
    (failure,) = read_log_file(file, name="x").failures
    assert (failure.kind, failure.line_number) == ("status", 51)
    assert read_log(text, name="x").failures == (failure,)


def test_values_take_no_longer_than_their_line() -> None:
    def seconds(digits: int) -> float:
        text = f"a: {'1' * digits}x\n"
        began = process_time()
        for _ in range(20):
            read_log(text, name="x")
        return process_time() - began

    seconds(100)
    # Four times the digits took sixteen times as long.
    assert min(seconds(8_000) for _ in range(3)) < 8 * min(seconds(2_000) for _ in range(3))
