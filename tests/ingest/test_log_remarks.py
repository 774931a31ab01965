"""What is no failure though it sounds like one, and the bare lines that tell one all the same."""

import pytest

from app.ingest import read_log

HARMLESS = [
    "E1130 00:05:32.059665   17754 cuda_dnn.cc:503] There was an error before creating cudnn "
    "handle "
    "(302): Error loading CUDA libraries. GPU will not be used. : Error loading CUDA libraries.",
    "2026-11-30 00:34:24.621272: E external/xla/xla/stream_executor/cuda/cuda_platform.cc:51] "
    "failed "
    "call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)",
    "2024-01-01 00:00:00.000001: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] "
    "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN",
    "E0531 10:54:04.832741 2609008 spmd_partitioner.cc:569] [spmd] Involuntary full "
    "rematerialization."
    " The compiler was not able to go from sharding {devices=[2]<=[2]} to {replicated}.",
    "I1130 00:14:32.869816    2081 latency_hiding_scheduler.cc:4325] LatencyHidingScheduler "
    "current "
    "memory usage: 7012392 bytes. Current limit: 60075097426",
    "W external/xla/xla/tsl/framework/bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of "
    "memory "
    "trying to allocate 95.40GiB",
    "Jax plugin configuration error: Exception when calling jax_plugins.xla_cuda12.initialize()\n"
    "Traceback (most recent call last):\n"
    '  File "/v/jax/_src/xla_bridge.py", line 508, in discover_pjrt_plugins\n    x()\n'
    "jax.errors.JaxRuntimeError: ALREADY_EXISTS: PJRT_Api already exists for device type cuda\n"
    "I1129 23:59:29.490841   29503 pjrt_client.cc:579] PjRt-IFRT device count: total=1",
    "KeyboardInterrupt",
    'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nKeyboardInterrupt',
    "step 12: loss INTERNAL 0.3\nAborted runs: 0\nChecking failed: no\n",
]


@pytest.mark.parametrize("log", HARMLESS)
def test_no_failure(log: str) -> None:
    facts = read_log(log, name="x")
    assert facts.failures == ()
    assert not facts.hung


def test_a_pass_that_a_pipeline_names_alone_or_within_a_line() -> None:
    for text in ("Failed after fusion-wrapper", "INTERNAL: it is odd. Failed after fusion-wrapper"):
        (failure,) = read_log(text + "\n", name="x").failures
        assert (failure.kind, failure.failed_after) == ("verifier", "fusion-wrapper")
    (failure,) = read_log("... Failed after no-such-pass\n", name="x").failures
    assert (failure.kind, failure.failed_after) == ("verifier", "no-such-pass")
    assert read_log("Failed after retries\n", name="x").failures == ()


@pytest.mark.parametrize(
    "line",
    [
        "Failed after long-timeout",
        "Failed after check-quota.2",
        "Thread 7 Crashed, restarting worker",
        "Thread 7 Crashed",
        "SIGSEGV handler installed",
        "SIGABRT is blocked while we save",
        "Autotuning failed for the first time, trying again",
    ],
)
def test_what_a_program_says_that_goes_on_begins_no_failure(line: str) -> None:
    log = f"step 1\n{line}\nretried, fine\ndone\n"
    assert read_log(log, name="x").failures == ()


@pytest.mark.parametrize(
    "line",
    [
        "Thread 0 Crashed:: Dispatch queue: com.apple.main-thread",
        "Thread 12 Crashed:",
        "SIGSEGV",
        "SIGSEGV: segmentation violation",
        "SIGBUS (7)",
        "SIGSEGV in miopen::kernels[abi:cxx11]() on first convolution",
        "SIGABRT received at 0x7f2a",
        "SIGFPE, core dumped",
    ],
)
def test_a_death_that_a_line_tells(line: str) -> None:
    (failure,) = read_log(f"step 1\n{line}\n", name="x").failures
    assert failure.kind == "signal"
