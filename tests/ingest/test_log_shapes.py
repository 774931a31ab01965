"""Every shape of failure that XLA prints, by release; one small log each."""

import re
from dataclasses import dataclass, field

import pytest

from app.ingest import read_log
from app.model.dump import CheckFailure

TSL = "2024-07-01 12:57:35.488299: F external/xla/xla/"
ABSL = "F0718 09:12:03.123456   24654 "
EARLY = "F0000 00:00:1795996601.195595   24654 "


@dataclass(frozen=True)
class Shape:
    """A log and what must be known of its only failure; parts left out must be None or empty."""

    log: str
    kind: str
    signature: str
    file: str | None = None
    line: int | None = None
    condition: str | None = None
    values: str | None = None
    status: str | None = None
    context: str | None = None
    failed_after: str | None = None
    stack: tuple[str, ...] = ()
    at: int = 1
    names: tuple[str, ...] = field(default=())


CHECKS = {
    "TSL": Shape(
        TSL + "service/collective_pipeliner.cc:675] Check failed: last_cloned != nullptr (0 vs. "
        "nullptr)",
        "check",
        "check:collective_pipeliner.cc:last_cloned != nullptr",
        "collective_pipeliner.cc",
        675,
        "last_cloned != nullptr",
        "0 vs. nullptr",
    ),
    "null by its other name": Shape(
        ABSL
        + "collective_pipeliner.cc:837] Check failed: last_cloned != nullptr (NULL vs. nullptr) ",
        "check",
        "check:collective_pipeliner.cc:last_cloned != nullptr",
        "collective_pipeliner.cc",
        837,
        "last_cloned != nullptr",
        "NULL vs. nullptr",
    ),
    "absl before its start, with a tail and a stack": Shape(
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
        + EARLY
        + "hlo_computation.cc:188] Check failed: param_no >= 0 && param_no < parameter_count \n"
        "ERROR: invalid parameter number. Expected [0, 1), got 1\n"
        "*** Check failure stack trace: ***\n"
        "    @     0x7f81694b0634  absl::lts_20260107::log_internal::LogMessage::SendToLog()\n"
        "    @     0x7f8168bf96ef  xla::HloComputation::HloComputation()\n"
        "    @     0x7f8170701111  (unknown)\n"
        "Fatal Python error: Aborted\n",
        "check",
        "check:hlo_computation.cc:param_no >= 0 && param_no < parameter_count",
        "hlo_computation.cc",
        188,
        "param_no >= 0 && param_no < parameter_count",
        stack=(
            "absl::lts_20260107::log_internal::LogMessage::SendToLog()",
            "xla::HloComputation::HloComputation()",
        ),
        at=2,
    ),
    "a message behind the condition": Shape(
        EARLY.replace("1795996601.195595   24654", "1786847906.773812 3801585")
        + "layout_assignment.cc:526] Check failed: !IsCublasLtGemm(*instruction) "
        "Gemm rewriting should run after layout assignment",
        "check",
        "check:layout_assignment.cc:!IsCublasLtGemm(*instruction)",
        "layout_assignment.cc",
        526,
        "!IsCublasLtGemm(*instruction)",
    ),
    "no header but the file": Shape(
        "hlo_sharding.cc:1004] Check failed: !IsManual()",
        "check",
        "check:hlo_sharding.cc:!IsManual()",
        "hlo_sharding.cc",
        1004,
        "!IsManual()",
    ),
    "the place behind the message": Shape(
        "Check failed: fusion_util::IsFusibleUnalignedDUS(user, target_) (fusion_emitter.cc:8881)",
        "check",
        "check:fusion_emitter.cc:fusion_util::IsFusibleUnalignedDUS(user, target_)",
        "fusion_emitter.cc",
        8881,
        "fusion_util::IsFusibleUnalignedDUS(user, target_)",
    ),
    "2022, in TensorFlow's tree": Shape(
        "2022-03-01 10:00:00.000001: F external/org_tensorflow/tensorflow/compiler/xla/service/"
        "hlo_instruction.cc:2090] Check failed: PRED == operand(0)->shape().element_type() (1 vs. "
        "4)",
        "check",
        "check:hlo_instruction.cc:PRED == operand(0)->shape().element_type()",
        "hlo_instruction.cc",
        2090,
        "PRED == operand(0)->shape().element_type()",
        "1 vs. 4",
    ),
    "2026, in a third-party tree": Shape(
        "F external/xla++third_party_ext+xla/xla/shape.h:213] Check failed: has_layout() f32[2]",
        "check",
        "check:shape.h:has_layout()",
        "shape.h",
        213,
        "has_layout()",
    ),
    "white space of a wrapped condition": Shape(
        "F external/xla/xla/service/spmd/custom_call_handler.cc:405] Check failed: "
        "ShapeUtil::Compatible( input->shape(),   MakePartitionedShape(hlo->shape(), "
        "hlo->sharding()))",
        "check",
        "check:custom_call_handler.cc:ShapeUtil::Compatible( input->shape(), "
        "MakePartitionedShape(hlo->shape(), hlo->sharding()))",
        "custom_call_handler.cc",
        405,
        "ShapeUtil::Compatible( input->shape(), MakePartitionedShape(hlo->shape(), "
        "hlo->sharding()))",
    ),
    "a status that is not OK": Shape(
        ABSL
        + "pjrt_client.cc:31] Check failed: status is OK (INTERNAL: the device 3 is gone) Oops",
        "check",
        "check:pjrt_client.cc:status is OK INTERNAL: the device # is gone",
        "pjrt_client.cc",
        31,
        "status is OK",
        "INTERNAL: the device 3 is gone",
        "INTERNAL",
    ),
    "OkStatus compared": Shape(
        TSL + "x/unlisted.cc:9] Check failed: ::absl::OkStatus() == (Run(a, b)) "
        "(OK vs. INTERNAL: no) more",
        "check",
        "check:unlisted.cc:::absl::OkStatus() == (Run(a, b)) OK vs. INTERNAL: no",
        "unlisted.cc",
        9,
        "::absl::OkStatus() == (Run(a, b))",
        "OK vs. INTERNAL: no",
        "INTERNAL",
    ),
    "cut off": Shape(
        "2024-07-01 12:57:35.488299: F external/xla/xla/service/unlisted.cc:675] Check failed: "
        "last_clo",
        "check",
        "check:unlisted.cc:last_clo",
        "unlisted.cc",
        675,
        "last_clo",
    ),
}

STATUSES = {
    "RET_CHECK by its error line alone": Shape(
        "E1130 00:20:25.370553   12637 status_macros.cc:58] INTERNAL: RET_CHECK failure "
        "(external/xla/xla/service/spmd/spmd_partitioner.cc:3779) hlo->has_sharding() Side-effect "
        "HLO must have sharding: %rng.2 = u64[2]{0} rng-get-and-update-state(), delta=1\n"
        "*** Begin stack trace ***\n"
        "\ttsl::CurrentStackTrace()\n\txla::spmd::SpmdPartitioner::Preprocess\n\t\n"
        "*** End stack trace ***\n",
        "ret_check",
        "ret_check:spmd_partitioner.cc:hlo->has_sharding()",
        "spmd_partitioner.cc",
        3779,
        "hlo->has_sharding()",
        status="INTERNAL",
        stack=("tsl::CurrentStackTrace()", "xla::spmd::SpmdPartitioner::Preprocess"),
        names=("rng.2",),
    ),
    "RET_CHECK of 2022": Shape(
        "RuntimeError: Internal: RET_CHECK failure "
        "(external/org_tensorflow/tensorflow/compiler/xla/"
        "service/gpu/unlisted.cc:12) a.size() == 2 found 3",
        "ret_check",
        "ret_check:unlisted.cc:a.size() == 2",
        "unlisted.cc",
        12,
        "a.size() == 2",
        status="INTERNAL",
    ),
    "verifier, raised": Shape(
        "Traceback (most recent call last):\n"
        '  File "a.py", line 3, in f\n    g()\n    ^^^\n'
        "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: during context [pre-optimization]: "
        "Expected "
        "instruction to have shape equal to f32[4]{0}, actual shape is f32[5]{0}:\n"
        "%r = f32[5]{0} add(f32[5]{0} %a, f32[5]{0} %b.1)\n\nFailed after spmd-partitioning\n",
        "verifier",
        "verifier::INTERNAL: Expected instruction to have shape equal to [], actual shape is []:",
        status="INTERNAL",
        context="pre-optimization",
        failed_after="spmd-partitioning",
        at=5,
        names=("r", "a", "b.1"),
    ),
    "verifier through a RET_CHECK": Shape(
        "jax.errors.JaxRuntimeError: INTERNAL: during context [hlo verifier]: RET_CHECK failure "
        "(external/xla/xla/service/hlo_verifier.cc:879) p.second < limit Target 99 in it: "
        "%ppermute.3 = f32[1]{0} collective-permute(%tanh.3)\n\t\n\nFailed after pipeline-start",
        "verifier",
        "verifier:hlo_verifier.cc:p.second < limit",
        "hlo_verifier.cc",
        879,
        "p.second < limit",
        status="INTERNAL",
        context="hlo verifier",
        failed_after="pipeline-start",
        names=("ppermute.3", "tanh.3"),
    ),
    "Non-OK-status": Shape(
        "2024-07-01 12:57:35.488299: F external/xla/xla/service/gpu/autotuning/"
        "gemm_fusion_autotuner.cc:1099] Non-OK-status: executable.status()\n"
        "Status: INTERNAL: ptxas exited with non-zero error code 139, output: \n"
        "- Failure occurred when compiling fusion gemm_fusion_dot.610 with config "
        "'{block_m:128}'\n",
        "status",
        "status:gemm_fusion_autotuner.cc:executable.status() INTERNAL: ptxas exited with "
        "non-zero error code #, output:",
        "gemm_fusion_autotuner.cc",
        1099,
        "executable.status()",
        status="INTERNAL",
        names=("gemm_fusion_dot.610",),
    ),
    "status on one line": Shape(
        "2023-07-01 12:57:35.488299: F tensorflow/compiler/xla/pjrt/a.cc:12] Non-OK-status: "
        "Run(&x) status: NOT_FOUND: no such thing",
        "status",
        "status:a.cc:Run(&x) NOT_FOUND: no such thing",
        "a.cc",
        12,
        "Run(&x)",
        status="NOT_FOUND",
    ),
    "LOG(FATAL)": Shape(
        EARLY + "hlo_parser.cc:4134] S32 is not PRED type",
        "fatal",
        "fatal:hlo_parser.cc:S# is not PRED type",
        "hlo_parser.cc",
        4134,
    ),
    "LLVM": Shape(
        "2024-07-01 12:57:35.488299: E external/xla/xla/service/gpu/gpu_compiler.cc:2608] LLVM "
        "Fatal "
        "Error while compiling target binary for module: jit_f Reason: Cannot select: x",
        "fatal",
        "fatal:gpu_compiler.cc:LLVM Fatal Error while compiling target binary for module: % "
        "Reason: "
        "Cannot select: x",
        "gpu_compiler.cc",
        2608,
    ),
    "a C++ exception": Shape(
        "terminate called after throwing an instance of 'std::out_of_range'\n  what():  "
        "vector::at\n",
        "fatal",
        "fatal::terminate called after throwing an instance of '…' vector::at",
    ),
    "a C++ exception around a status": Shape(
        "terminate called after throwing an instance of 'absl::lts_20230802::BadStatusOrAccess'\n"
        "  what():  Bad StatusOr access: UNKNOWN: MPI: Communicator requested from thread 3\n",
        "status",
        "status::UNKNOWN: MPI: Communicator requested from thread #",
        status="UNKNOWN",
    ),
    "a cycle, wrapped": Shape(
        "RuntimeError: Bad StatusOr access: FAILED_PRECONDITION: A cycle is detected while "
        "visiting "
        "instruction %cp.4-bwd-send-done = token[] send-done(%cp.4-bwd-send), channel_id=1\n\n"
        "Directed cycle:\n  cp.4-fwd-recv-done\n cp.4-bwd-send-done\n cp.4-fwd-recv-done\n",
        "status",
        "status::FAILED_PRECONDITION: A cycle is detected while visiting instruction %",
        status="FAILED_PRECONDITION",
        names=("cp.4-bwd-send-done", "cp.4-bwd-send", "cp.4-fwd-recv-done"),
    ),
    "ptxas": Shape(
        "jax.errors.JaxRuntimeError: INTERNAL: ptxas exited with non-zero error code 65280, "
        "output: "
        "ptxas error   : Entry function 'input_reduce_fusion' uses too much shared data (0xc180 "
        "bytes, 0xc000 max)\nptxas fatal   : Ptx assembly aborted due to errors\n",
        "status",
        "status::INTERNAL: ptxas exited with non-zero error code #, output: ptxas error : Entry "
        "function '…' uses too much shared data (# bytes, # max)",
        status="INTERNAL",
        names=("input_reduce_fusion",),
    ),
    "out of memory on a GPU": Shape(
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
        "allocate 70368744177664 bytes.\nBufferAssignment OOM Debugging.\n",
        "oom",
        "oom::RESOURCE_EXHAUSTED: Out of memory while trying to allocate # bytes.",
        status="RESOURCE_EXHAUSTED",
    ),
    "the same in 2026": Shape(
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate "
        "64.00GiB with allocator GPU_0_bfc on device 0.",
        "oom",
        "oom::RESOURCE_EXHAUSTED: Out of memory while trying to allocate # with allocator "
        "GPU_#_bfc "
        "on device #.",
        status="RESOURCE_EXHAUSTED",
    ),
    "out of memory on a TPU": Shape(
        "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. "
        "Ran "
        "out of memory in memory space vmem while allocating on stack for %fusion.3. Used 1.00M.",
        "oom",
        "oom::RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory "
        "space "
        "vmem while allocating on stack for % Used #.",
        status="RESOURCE_EXHAUSTED",
        names=("fusion.3",),
    ),
    "with an error code": Shape(
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of "
        "memory "
        "on HBM (96.25G). HLO module: jit_too_big.\nSee https://openxla.org/xla/errors/error_1000",
        "oom",
        "oom::RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM (#). HLO "
        "module: %.",
        status="RESOURCE_EXHAUSTED",
    ),
    "exhausted, but not of memory": Shape(
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Shared memory size limit exceeded: "
        "requested "
        "1835008, available: 232448, context: []",
        "status",
        "status::RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested #, available: #, "
        "context: []",
        status="RESOURCE_EXHAUSTED",
    ),
    "NCCL in 2023": Shape(
        "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: "
        "external/xla/xla/service/gpu/nccl_utils.cc:"
        "297: NCCL operation ncclGroupEnd() failed: unhandled system error",
        "nccl",
        "nccl:nccl_utils.cc:NCCL operation ncclGroupEnd() failed: unhandled system error",
        "nccl_utils.cc",
        297,
        status="INTERNAL",
    ),
    "NCCL since 2025": Shape(
        "jax.errors.JaxRuntimeError: INTERNAL: NCCL operation ncclCommInitRank failed: unhandled "
        "cuda "
        "error (run with NCCL_DEBUG=INFO for details). Last NCCL warning(error) log entry (may be "
        "unrelated) 'Cuda failure 2 'out of memory''.",
        "nccl",
        "nccl::INTERNAL: NCCL operation ncclCommInitRank failed: unhandled cuda error",
        status="INTERNAL",
    ),
    "the runtime of 2023": Shape(
        "E0127 03:41:58.168505 64850 pjrt_stream_executor_client.cc:2766] Execution of replica 0 "
        "failed: INTERNAL: Failed to execute XLA Runtime executable: run time error: custom call "
        "'xla.gpu.custom_call' failed: No resources.; current tracing scope: custom-call.371; "
        "current "
        "profiling annotation: XlaModule:#hlo_module=jit_f,program_id=190#.",
        "status",
        "status::INTERNAL: custom call '…' failed: No resources.; current tracing scope: %; "
        "current "
        "profiling annotation: XlaModule:#hlo_module=%,program_id=##.",
        status="INTERNAL",
        names=("custom-call.371",),
    ),
    "cuDNN's place": Shape(
        "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: No valid engine configs for Matmul_MUL_\n"
        "in external/xla/xla/stream_executor/cuda/cuda_dnn.cc(10398): 'graph_.create()'",
        "status",
        "status:cuda_dnn.cc:No valid engine configs for Matmul_MUL_",
        "cuda_dnn.cc",
        10398,
        status="INTERNAL",
    ),
    "a Python exception": Shape(
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g(1)\n'
        "ValueError: Incompatible shapes for broadcasting: (2,) and (3,)\n",
        "python",
        "python::ValueError: Incompatible shapes for broadcasting: (#,) and (#,)",
        at=4,
    ),
}

RENDEZVOUS = "This thread has been waiting for "
HANGS = {
    "2022": Shape(
        "2022-07-01 12:57:35.488299: E external/org_tensorflow/tensorflow/compiler/xla/service/"
        f"collective_ops_utils.h:66] {RENDEZVOUS}5000ms for and may be stuck: participant X "
        "waiting "
        "for all participants to arrive at rendezvous RendezvousKey{run_id=RunId: 1}",
        "rendezvous",
        f"rendezvous:collective_ops_utils.h:{RENDEZVOUS}#ms for and may be stuck: participant X "
        "waiting for all participants to arrive at rendezvous RendezvousKey{run_id=RunId: #}",
        "collective_ops_utils.h",
        66,
    ),
    "2024": Shape(
        f"E0213 12:41:17.931882 59040 rendezvous.cc:98] {RENDEZVOUS}`rendezvous of "
        "collective-permute;"
        " run_id=15; op id:1` for 20 seconds and may be stuck. Expected 8 threads to join.",
        "rendezvous",
        f"rendezvous:rendezvous.cc:{RENDEZVOUS}'…' for # seconds and may be stuck. Expected # "
        "threads "
        "to join.",
        "rendezvous.cc",
        98,
    ),
    "the end of the wait": Shape(
        "F0213 12:41:17.931882 59040 rendezvous.cc:127] [id=3] Termination timeout for `Acquire "
        "clique: devices=4:[1,2]` of 40 seconds exceeded. Exiting.",
        "rendezvous",
        "rendezvous:rendezvous.cc:[id=#] Termination timeout for '…' of # seconds exceeded. "
        "Exiting.",
        "rendezvous.cc",
        127,
    ),
}

SIGNALS = {
    "told by Python": Shape(
        "Fatal Python error: Segmentation fault\n\n"
        "Current thread 0x00007f39c41f4b80 (most recent call first):\n"
        '  File "/v/jax/_src/compiler.py", line 267 in backend_compile\n'
        '  File "/home/me/train.py", line 45 in <module>\n',
        "signal",
        "signal::SIGSEGV",
        stack=(
            "backend_compile (/v/jax/_src/compiler.py:267)",
            "<module> (/home/me/train.py:45)",
        ),
    ),
    "told by a handler": Shape(
        "*** SIGSEGV received by PID 1234 (TID 0x7f) on cpu 3; stack trace: ***\n"
        "PC: @     0x7f0000000001  (unknown)  xla::WhileLoopUnroller::Run()\n"
        "    @     0x7f0000000002       1234  xla::HloPassPipeline::RunHelper()\n"
        "    @ ... and at least 3 more frames\n"
        "Segmentation fault (core dumped)\n",
        "signal",
        "signal::SIGSEGV xla::WhileLoopUnroller::Run",
        stack=("xla::WhileLoopUnroller::Run()", "xla::HloPassPipeline::RunHelper()"),
    ),
    "told by a debugger": Shape(
        'Thread 62 "tf_XLAEigen" received signal SIGSEGV, Segmentation fault.\n'
        "#0  0x00007fffe4 in slinky::optimize_dims<void> () from /lib/x.so\n",
        "signal",
        "signal::SIGSEGV",
        stack=("slinky::optimize_dims<void> () from /lib/x.so",),
    ),
    "the stack of a check whose line was lost": Shape(
        "*** Check failure stack trace: ***\n"
        "    @     0x7f0000000001  absl::log_internal::LogMessage::Flush()\n"
        "    @     0x7f0000000002  xla::Shape::mutable_layout()\n",
        "signal",
        "signal::xla::Shape::mutable_layout",
        stack=("absl::log_internal::LogMessage::Flush()", "xla::Shape::mutable_layout()"),
    ),
    "told by the shell": Shape(
        "train.sh: line 3: 12345 Killed                  python train.py\n",
        "signal",
        "signal::SIGKILL",
    ),
}

SHAPES = CHECKS | STATUSES | HANGS | SIGNALS


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_shape(shape: Shape) -> None:
    facts = read_log(shape.log, name="run.log")
    (failure,) = facts.failures
    assert failure == CheckFailure(
        kind=shape.kind,
        text=failure.text,
        signature=shape.signature,
        log="run.log",
        line_number=shape.at,
        file=shape.file,
        line=shape.line,
        condition=shape.condition,
        values=shape.values,
        status=shape.status,
        context=shape.context,
        failed_after=shape.failed_after,
        stack=shape.stack,
        frames=failure.frames,
        exception=failure.exception,
    )
    told = re.search(r"(?:^|\.|\s)(\w+(?:Error|Exception)): ", shape.log)
    assert failure.exception == (told and told[1])
    assert facts.names == shape.names
    assert failure.text.strip()
    assert "external/xla/xla/service/collective_pipeliner" not in failure.text


def test_text_is_the_message_without_prefixes() -> None:
    log = CHECKS["absl before its start, with a tail and a stack"].log
    assert read_log(log, name="x").failures[0].text == (
        "Check failed: param_no >= 0 && param_no < parameter_count \n"
        "ERROR: invalid parameter number. Expected [0, 1), got 1"
    )


def test_text_is_cut() -> None:
    log = EARLY + "a.cc:1] Check failed: ok " + "x" * 10_000
    assert len(read_log(log, name="x").failures[0].text) == 4000


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "F0718 09:12:03.123456 1 a.cc:1] Check failed: a == b (1 vs. 2) in %fusion.3",
            "2024-07-01 12:57:35.488299: F x/y/a.cc:77] Check failed: a == b (5 vs. 8) in %fusion",
        ),
        (
            "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: cannot do %a.1 = f32[2]{0} add(%b), "
            "x=1",
            "jax.errors.JaxRuntimeError: INTERNAL: cannot do %while.7 = s32[] get(%q)",
        ),
        (
            "jax.errors.JaxRuntimeError: INTERNAL: /tmp/a/b.ptx line 3 at 0x7f01 of fusion.12",
            "jax.errors.JaxRuntimeError: INTERNAL: /var/q.ptx line 99 at 0xffff of copy.1.clone",
        ),
    ],
)
def test_signature_is_stable(first: str, second: str) -> None:
    one, two = (read_log(log, name="x").failures[0].signature for log in (first, second))
    assert one == two
