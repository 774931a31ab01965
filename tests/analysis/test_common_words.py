"""Words that other programs use, too: what they tell of XLA and JAX, and where nothing."""

import pytest

from app.analysis.failure_class import diagnose
from app.ingest import read_log

RAISED = (
    'Traceback (most recent call last):\n  File "/home/u/t.py", line 5, in <module>\n    main()\n'
)
STEPS = "".join(f"step {number} loss 1.5\n" for number in range(120))


@pytest.mark.parametrize(
    "raised",
    [
        "ValueError: Non-hashable static arguments are used in a jit function: 'numpy.ndarray'",
        "TypeError: jit only takes arrays, got numpy.ndarray of dtype object",
        "TypeError: Cannot interpret value as a JAX array inside jit; use jax.numpy instead",
        "ValueError: eager mode needs jit=False",
        "RuntimeError: DataLoader worker watchdog expired",
        "AttributeError: scheduler has no attribute step",
        "ValueError: scheduler could not be loaded",
        "TypeError: comparator must be callable",
        "KeyError: 'Rendezvous'",
        "ValueError: the checkpoint does not match the reference tree",
        "AssertionError: loss must be inf",
        "ValueError: mask should be nan free",
        "NotImplementedError: jit of scatters is not supported for this type",
        "ValueError: Layout for the batch does not match",
        "ValueError: dimension 0 should be divisible by 8",
        "ValueError: found NaNs in input csv, drop them",
        "ValueError: outputs mismatch between batch sizes",
        "ValueError: TPU system metadata missing",
        "ValueError: the node did not join the cluster in time",
        "ValueError: user has not arrived",
        "RuntimeError: Termination timeout for worker 3",
        "ValueError: conditional has no branch",
        "ValueError: bad branch_index",
        "ValueError: host memory space exhausted",
        "ValueError: compute_on expects string",
        "TypeError: unsupported bytecode version 3",
        "OSError: named symbol not found",
        "IndexError: gathers are out of range",
        "ValueError: peer buffer closed",
        "ConnectionError: failed to connect to all addresses",
        "AssertionError: sorted inputs required",
        "ValueError: overlapping windows must be positive, overlap limit 3",
        "ValueError: fusion outputs are missing",
        "ValueError: FFI call failed for libffi",
        "ValueError: dynamic shape not supported",
        "FloatingPointError: overflow encountered in multiply",
        "RuntimeError: command buffer missing",
        "RuntimeError: needs CuDNN 9",
        "ValueError: model has more parameters (12) than supported",
        "ImportError: cannot import name 'cudnn' from 'torch.backends'",
        "ModuleNotFoundError: No module named 'libtpu'",
        "ImportError: libnvJitLink.so.12: undefined symbol",
        "FileNotFoundError: libdevice.10.bc",
        "AttributeError: 'NoneType' object has no attribute 'fused_root'",
        "KeyError: 'pinned_host'",
    ],
)
def test_an_exception_of_the_program_itself_has_no_class(raised: str) -> None:
    assert diagnose(read_log(f"{RAISED}{raised}\n", name="run.log")) == ()


@pytest.mark.parametrize(
    "text",
    [
        "no NaN found in gradients, 0 errors",
        "No NaNs detected, no errors",
        "Error rate 0.03 (jit 3 ms, numpy 12 ms)",
        "Error rate: 0.03, jit time 3 ms, eager time 12 ms",
        "jax 0.4.30, no errors; jit and numpy agree",
        "max abs err 2e-7, not exceeded",
        "Max absolute error: 1e-7, max relative error 1e-5 : tolerance not exceeded",
        "max abs diff expected < 1e-5, got 1e-7",
        "benchmark jit vs numpy: error 0.0",
        "speedup of jit over numpy cannot be measured",
        "Watchdog timeout set to 600 s; errors abort the run",
        "Rendezvous of 8 processes; none missing",
        "torch.distributed.elastic rendezvous failed",
        "kernel watchdog: hung task",
        "TPU system initialized, 0 errors",
        "the scheduler has failed to allocate nodes",
        "none of the 8 workers is older than 5 minutes; segfault handler ready",
        "jit: 3 ms, eager: nan, error bars missing",
        "the job was stuck in the queue; nccl is not used",
        "no segfaults; XLATfrtCpuClient is up",
        "gather is not supported on this object store",
        "Conditional access denied: conditional has expired",
        "VMware Fusion outputs error",
        "should be -inf but was 0",
        "logits must be inf where masked; mask missing",
        "does not match the reference genome: error",
        "outputs differ from previous run: expected",
        "GEMM size mismatch expected 3",
        "bytecode version mismatch: expected 61 (java.lang.UnsupportedClassVersionError)",
        "t.py:3:0: E0101: Explicit return in __init__ is an error",
        "ERROR: pip's dependency resolver does not take into account all packages: "
        "nvidia-cudnn-cu12 9.1 is incompatible with torch",
        "ERROR: pip failed: could not find nvidia-cublas-cu12",
        "ModuleNotFoundError: No module named 'triton'",
        "ImportError: libcudnn.so.9: cannot open shared object file",
        STEPS + "E0718 09:12:03.123456 24654 chttp2_transport.cc:31] watchdog: keepalive ping "
        "failed, failed to connect to all addresses\n" + STEPS,
    ],
)
def test_what_denies_or_concerns_something_else_has_no_class(text: str) -> None:
    assert diagnose(read_log(text + "\n", name="run.log")) == ()


@pytest.mark.parametrize(
    "said",
    [
        'op_name="jit(f)/dot" source_file="/opt/jax/_src/numpy/lax_numpy.py"',
        'loc("jit(f)/dot"("/opt/jax/_src/numpy/lax_numpy.py":1:2))',
        "in jit(f)/reference/dot",
        "comparator",
        "branch_index",
        "f32[2]{0:S(3)}",
    ],
)
def test_the_file_of_a_check_outweighs_common_words(said: str) -> None:
    header = (
        "F0718 09:12:03.123456   24654 layout_assignment.cc:742] Check failed: a == b (1 vs. 2) "
    )
    (found,) = diagnose(read_log(f"{header}{said}\n", name="run.log"))
    assert (found.class_, found.strength) == ("layout", "pointed")


def test_only_memory_of_the_host_is_offloaded_to() -> None:
    check = "dynamic_slice_fusion_rewriter.cc:742] Check failed: a == b (f32[2]{0:S(1)} vs. f32[2])"
    (found,) = diagnose(read_log(f"F0718 09:12:03.123456 24654 {check}\n", name="run.log"))
    assert found.class_ == "fusion"


@pytest.mark.parametrize("space", ["S(1)", "S(10)", "S(99)", "S(12345)"])
def test_a_number_that_is_not_the_host_s_is_no_memory_of_the_host(space: str) -> None:
    check = f"layout_assignment.cc:742] Check failed: a == b (f32[2]{{0:{space}}} vs. f32[2]{{0}})"
    (found,) = diagnose(read_log(f"F0718 09:12:03.123456 24654 {check}\n", name="run.log"))
    assert (found.class_, found.strength) == ("layout", "pointed")
    raised = f"{RAISED}ValueError: group {space} is empty\n"
    assert diagnose(read_log(raised, name="run.log")) == ()


def test_memory_of_the_host_that_what_did_not_compile_reads_is_only_pointed_to() -> None:
    def found(said: str, space: int = 5) -> list[tuple[str, str]]:
        text = (
            f"jax.errors.JaxRuntimeError: INTERNAL: {said}, while compiling %fusion.3 = f32[8]{{0}}"
            f" fusion(f32[8]{{0:S({space})}} %p), kind=kLoop\n"
        )
        return [(d.class_, d.strength) for d in diagnose(read_log(text, name="run.log"))]

    assert found("Failed to legalize operation") == [("host-offload", "pointed")]
    assert found("Failed to legalize operation", 1) == []
    assert found("No layouts known") == [("layout", "guessed")]
    copied = "Performing sub-chunk copy is not supported in async dynamic slice"
    assert found(copied, 1) == [("host-offload", "stated")]


def test_what_is_remarked_below_a_bare_death_is_only_pointed_to() -> None:
    def found(text: str) -> list[tuple[str, str]]:
        return [(d.class_, d.strength) for d in diagnose(read_log(text, name="run.log"))]

    remark = "the run uses float-normalization and layout-assignment by default\n"
    assert found(f"Segmentation fault (core dumped)\n{remark}") == [("layout", "pointed")]
    memory = "terminate called after throwing an instance of 'std::bad_alloc'\n"
    assert found(memory) == [("oom-buffers", "stated")]


def test_a_host_of_a_device_is_a_machine() -> None:
    header = "E0718 09:12:03.123456 24654 pool.cc:31] "
    away = f"{header}INTERNAL: cannot reach device_host 10.0.0.2\n"
    assert diagnose(read_log(away, name="run.log")) == ()
    raised = "NotImplementedError: scan within compute_on('device_host') is not supported\n"
    assert diagnose(read_log(raised, name="run.log"))[0].class_ == "host-offload"


def test_a_warning_long_before_a_death_states_nothing() -> None:
    died = STEPS + "Fatal Python error: Segmentation fault\n"
    header = "W0718 09:12:03.123456 24654 "
    store = header + "tcp_store.cc:31] rendezvous store is slow\n"
    (found,) = diagnose(read_log(store + died, name="run.log"))
    assert found.strength == "guessed"
    cudnn = header + "cuda_dnn.cc:31] CUDNN_STATUS_ALLOC_FAILED\n"
    (found,) = diagnose(read_log(cudnn + died, name="run.log"))
    assert (found.class_, found.strength) == ("cudnn", "pointed")


def test_common_words_tell_a_class_where_jax_raised_them() -> None:
    place = '  File "/usr/lib/python3/site-packages/jax/_src/lax.py", line 7, in sort\n    raise\n'
    raised = "TypeError: comparator must be callable\n"
    (found,) = diagnose(read_log(RAISED + place + raised, name="run.log"))
    assert (found.class_, found.strength) == ("scatter-sort", "stated")


@pytest.mark.parametrize(
    "text",
    [
        "x jit: [1.0, 2] eager: [nan, 2] mismatch",
        "eager=0.5 but jitted=0.75, which is wrong",
    ],
)
def test_two_results_that_differ_tell_a_class(text: str) -> None:
    (found,) = diagnose(read_log(text + "\n", name="run.log"))
    assert (found.class_, found.strength) == ("algsimp-numerics", "stated")


def test_libraries_that_others_use_too_are_pointed_to() -> None:
    raised = f"{RAISED}RuntimeError: {{}}NCCL error: unhandled system error\n"
    (found,) = diagnose(read_log(raised.format(""), name="run.log"))
    assert (found.class_, found.strength) == ("nccl-error", "pointed")
    (found,) = diagnose(read_log(raised.format("INTERNAL: "), name="run.log"))
    assert (found.class_, found.strength) == ("nccl-error", "stated")


def test_memory_that_python_ran_out_of_is_pointed_to() -> None:
    (found,) = diagnose(read_log(f"{RAISED}MemoryError\n", name="run.log"))
    assert (found.class_, found.strength) == ("oom-buffers", "pointed")
    assert found.tells.startswith("Python ran out")
