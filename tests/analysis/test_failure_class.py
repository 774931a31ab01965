"""The class of a failure from the lines of a log, in the wordings of several releases."""

import pytest

from app.analysis.failure_class import diagnose
from app.ingest import read_log
from app.knowledge import failure_classes, failure_signs

TSL = "2024-03-08 23:54:07.022991: {} external/xla/xla/service/"
ABSL = "{}0000 00:00:1786847906.773812 3801585 "
F, E, W = (TSL.format(letter) for letter in "FEW")
PYTHON = "jaxlib.xla_extension.XlaRuntimeError: "

MESSAGES: dict[str, tuple[str, ...]] = {
    "collective-pipeliner": (
        "collective_pipeliner.cc:1102 data->is_replaced",
        F + "collective_pipeliner.cc:465] Check failed: last_cloned != nullptr (NULL vs. nullptr)",
        F + "collective_pipeliner.cc:700] Check failed: loop_computation != nullptr",
        F + "gpu/transforms/pipelined_p2p_rewriter.cc:87] Check failed: it != map.end() ",
    ),
    "loop-unroll": (
        F + "while_loop_unroller.cc:310] Check failed: ind_var_idx >= 0",
        F + "gpu/double_buffer_loop_unrolling.cc:98] Check failed: trip_count > 0",
        "Fatal Python error: Segmentation fault\n"
        "    @     0x7f81694b0634  xla::WhileLoopUnroller::UnrollInternal()",
    ),
    "lhs-scheduler": (
        "INTERNAL: The scheduler did not place all instructions",
        PYTHON + "UNKNOWN: Scheduling group 7 cannot be kept together",
        F + "gpu/gpu_hlo_schedule.cc:401] Check failed: (config.all_gather_overlap_limit <= "
        "config.parallel_collective_overlap_limit) ",
        F + "latency_hiding_scheduler.cc:2210] Check failed: n->IsScheduled()",
        "terminate called after throwing an instance of 'std::out_of_range'\n  what():  map::at",
        ABSL.format("I") + "hlo_pass_pipeline.cc:181]   HLO pass latency-hiding-scheduler\n"
        "Segmentation fault (core dumped)",
    ),
    "spmd-check": (
        "error: failed to legalize operation 'sdy.f' that was explicitly marked illegal",
        "loc(\"my_sharding\"): error: failed to legalize operation 'stablehlo.custom_call' "
        "that was explicitly marked illegal",
        "INTERNAL: The shapes do not fit. Failed after spmd-partitioning",
        "... Failed after spmd-partitioning",
        "INVALID_ARGUMENT: Sharding annotations do not fit a tuple of 4",
        "ValueError: an output was given the sharding of {'a': 8}, which implies "
        "that the global size of its dimension 0 should be divisible by 8",
        PYTHON + "INVALID_ARGUMENT: Tile assignment dimensions are not those of the input rank",
        F + "spmd/spmd_partitioner.cc:412] Check failed: sharding.TileAgnosticDeviceAssignment()",
        "E  " + PYTHON + "INTERNAL: RET_CHECK failure (external/xla/xla/service/spmd/"
        "dot_handler.cc:101) lhs_rank == rhs_rank",
        PYTHON + "INTERNAL: during context [hlo verifier]: Binary op with incompatible shapes: "
        "f32[2] and f32[3].\n%add.3 = f32[2]{0} add(%a, %b)\n\nFailed after spmd-partitioning",
        "F external/xla/xla/hlo/ir/hlo_sharding.cc:512] Check failed: IsTuple()",
        "F0000 00:00:1709131242.311197 1 hlo_instruction.h:1725] Check failed: has_sharding() ",
        "Fatal Python error: Aborted\n    @  0x7ffff7  xla::spmd::PartitionedHlo::Reshard()",
    ),
    "shard-map-manual": (
        "NotImplementedError: No replication rule for f",
        "INVALID_ARGUMENT: Custom emitter for a_target not found",
        "NotImplementedError: Mosaic kernels cannot be automatically partitioned. Please wrap it.",
        PYTHON + "UNIMPLEMENTED: PartitionId instruction is not supported for SPMD partitioning "
        "since the meaning is ambiguous -- whether the instruction is replicated or the data is.",
        "INVALID_ARGUMENT: Custom emitter for CustomSPMDPartitioning not found",
    ),
    "spmd-involuntary-remat": (
        "W0601 10:54:04.832741 26 spmd_partitioner.cc:650] [SPMD] Involuntary full "
        "rematerialization. The compiler cannot go from sharding {devices=[2,1]<=[2]} to "
        "{devices=[1,2]<=[2]} efficiently for HLO operation %copy.1 = f32[8,8]{1,0} copy(%x).",
    ),
    "spmd-miscompile": (
        "jax.errors.JaxRuntimeError: UNKNOWN: error: 'sdy.reduce_scatter' op reduction axis \"x\" "
        "overlaps with operand dimension sharding or replicated axes",
    ),
    "layout": (
        PYTHON
        + "INVALID_ARGUMENT: layout minor_to_major field contains 0 elements, but shape is rank "
        "2: {}; shape: dimensions: 10 dimensions: 64 is_dynamic_dimension: false",
        "AssertionError: Unexpected XLA layout override: (XLA) a != b (User input layout)",
        PYTHON + "INVALID_ARGUMENT: Layout passed in is not that of the array: (major_to_minor=1)",
        F + "layout_assignment.cc:1420] Check failed: layout.minor_to_major_size() == rank",
        "INTERNAL: RET_CHECK failure (xla/service/layout_normalization.cc:431) "
        "ShapeUtil::ReshapeIsBitcast(s, operand->shape())",
        "INTERNAL: RET_CHECK failure (xla/service/cpu/ir_emitter.cc:701) "
        "LayoutUtil::IsMonotonicWithDim0Major(operand->shape().layout())",
        ABSL.format("F") + "shape.h:411] Check failed: has_layout() f32[3]",
    ),
    "algsimp-numerics": (
        "AssertionError: jitted 0., un-jitted 1.",
        "ValueError: Found NaN in gradients under jit",
        "CPU and XLA outputs differ beyond what is tolerated\nMaximum absolute error: 2e-05",
        "E   AssertionError: \nE   Arrays are not equal\nE   nan location mismatch",
        "x=89  jit: [1.]   eager: [nan]",
        "AssertionError: \nNot equal to tolerance rtol=1e-05, atol=0",
        'Traceback (most recent call last):\n  File "t.py", line 3, in <module>\n'
        "AssertionError: \nNot equal to tolerance rtol=1e-05, atol=0\n\nMismatched elements: 1 / 8",
        "F xla/hlo/transforms/simplifiers/algebraic_simplifier.cc:210] Check failed: user_count",
    ),
    "fusion": (
        PYTHON + "INTERNAL: Fusion fusion.3 has 140 operands, more than a kernel takes",
        "Segmentation fault\n#3 xla::gpu::LoopFusion::EmitEntry",
        "RuntimeError: Internal: The outputs of a reduction fusion are inconsistent fusion outputs",
        "*** Check failure stack trace: ***\n    @     0x557c  absl::LogMessage::Flush()\n"
        "    @     0x557c  xla::ApplyIndexingOp::fold()\n    @  0x557c  mlir::Op<>::foldHook<>()",
        "python3: xla/service/gpu/fusions/loop.cc:117: void f(): Assertion `n < 3' failed.\n"
        "Aborted (core dumped)",
        F + "gpu/model/gpu_performance_model_base.cc:150] Check failed: common_utilization <= "
        "producer_output_utilization (1.4 vs. 1.4)",
        ABSL.format("F") + "hlo_instructions.cc:2415] Check failed: fused_root->IsFusible() "
        "%sort.3 = f32[8]{0} sort(%p), dimensions={0}, to_apply=%less",
        F + "gpu/priority_fusion.cc:77] Check failed: !ops.empty()",
    ),
    "triton-autotune": (
        PYTHON + "INTERNAL: Autotuner could not find a backend",
        PYTHON + "INTERNAL: None of the candidate configs of the fusion compiled",
        "LLVM ERROR: Failed to compute the parent layout of a slice",
        "LLVM ERROR: mma16816 cannot be used here",
        "triton_fusion_numerics_verifier.cc:270: The buffer does not match",
        "I external/xla/xla/service/hlo_pass_pipeline.cc:181]   HLO pass autotune-fusion-emitters\n"
        "double free or corruption (!prev)",
        "jax.errors.JaxRuntimeError: UNKNOWN: <unknown>:0: error: loc(\"a.3\"): 'scf.for' op is "
        "not what its region yields",
        "jax.errors.JaxRuntimeError: UNKNOWN: <unknown>:0: error: does not fit\n"
        '%7 = "xtile.extract"(%arg1, %1) : (memref<1x23xf32>) -> tensor<1x1xf32>',
        F + "gpu/autotuning/gemm_fusion_autotuner.cc:1041] Non-OK-status: has_executable.status()\n"
        "Status: FAILED_PRECONDITION: Can not propagate dim orders and requirements.",
        PYTHON + "INTERNAL: Autotuning failed for HLO: %gemm = f32[8]{0} custom-call(%a, %b), "
        'custom_call_target="__cublas$gemm" with error: NOT_FOUND: No valid config found!',
        PYTHON + "INTERNAL: Expect autotune result cache hit for deviceless compilation (HLO: %x)",
        F + "gpu/nvptx_compiler.cc:614] Check failed: options.is_autotuning_compilation ",
        E + "gpu/buffer_comparator.cc:156] Difference at 3: 8.1 vs 7.1\n" + E + "gpu/autotuning/"
        "gemm_fusion_autotuner.cc:1138] Results do not match the reference. This is likely a bug.",
        "Segmentation fault (core dumped)\n#0  0x00007fa1 in mlir::triton::gpu::foo (op=0x1)",
    ),
    "ptxas-backend": (
        PYTHON + "INTERNAL: a function failed to launch on the GPU",
        "No compilation provider is available. Neither ptxas/nvlink nor nvjtlink were found.",
        PYTHON + "RESOURCE_EXHAUSTED: Requires 9 bytes of shared memory, there are 8",
        "ptxas /tmp/a, line 9; fatal   : Unsupported .version 8.4; current version is '8.2'",
        PYTHON + "INTERNAL: ptxas exited with non-zero error code 139, output: ",
        PYTHON + "RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 9, available: 8",
        ABSL.format("E") + "gpu_compiler.cc:2608] LLVM Fatal Error while compiling target binary "
        "for module: jit_f Reason: Cannot select: 0x1",
        PYTHON + "INTERNAL: CUDA error: Failed to launch CUDA kernel: fusion_3 with block "
        "dimensions: 128x1x1: CUDA_ERROR_LAUNCH_FAILED",
        PYTHON + "INTERNAL: Failed to load PTX text as a module: CUDA_ERROR_INVALID_PTX",
        PYTHON + "INTERNAL: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
    ),
    "gemm-rewriter": (
        " ** On entry to GEMM_EX  parameter number 7 had an illegal value",
        "rocBLAS error: Could not initialize Tensile host:\n_Map_base::at\n\nAborted (core dumped)",
        PYTHON + "INTERNAL: Failed to execute XLA Runtime executable: run time error: custom call "
        "'xla.gpu.gemm' failed: Failed to run cuBLAS gemm",
        "2022-12-03 10:29:49.497205: E external/org_tensorflow/tensorflow/compiler/xla/"
        "stream_executor/cuda/cuda_blas.cc:219] failed to create cublas handle: cublas error",
        F + "gpu/transforms/gemm_rewriter.cc:99] Check failed: alpha.has_value()",
    ),
    "cudnn": (
        "in external/xla/xla/stream_executor/cuda/cuda_dnn.cc(10398): 'graph_.build(handle)'",
        "SIGSEGV in miopen::kernels[abi:cxx11]() on first convolution",
        PYTHON
        + "INTERNAL: RET_CHECK failure (xla/service/gpu/gpu_compiler.cc:627) dnn != nullptr ",
        PYTHON + "INTERNAL: No reference output found!",
        PYTHON + "UNKNOWN: Failed to determine best cudnn convolution algorithm for:\n%c = f32[]",
        PYTHON + "FAILED_PRECONDITION: DNN library initialization failed. Look above.",
        "E0326 13:26:41.794419 4 cuda_dnn.cc:535] Could not create cudnn handle: CUDNN_STATUS_X",
        PYTHON + "INTERNAL: All algorithms tried for %cudnn-conv = f32[] failed.",
    ),
    "oom-buffers": (
        "BufferAssignment OOM Debugging.",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8.00 GiB for it",
        PYTHON + "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 70368744177664 bytes.",
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 64.00GiB "
        "(68719476736B) on device ordinal 0",
        W + "hlo_rematerialization.cc:2946] Can't reduce memory use below 30.00GiB (1 bytes) by "
        "rematerialization; only reduced to 40.00GiB (2 bytes), down from 41.00GiB (3 bytes)",
        "2024-01-01 00:00:00.000001: W external/tsl/tsl/framework/bfc_allocator.cc:497] Allocator "
        "(GPU_0_bfc) ran out of memory trying to allocate 4.00GiB (rounded to 4294967296)",
        PYTHON
        + "INTERNAL: Failed to load in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        F + "heap_simulator/heap_simulator.cc:777] Check failed: buffer_interval.size == size "
        "(1 vs. 4)",
    ),
    "tpu-memory-space": (
        "Compilation failure: Aborting: it is unlikely to have enough memory. Requires 3.47E.",
        PYTHON + "RESOURCE_EXHAUSTED: It is unlikely to have enough device memory. Requires 35G.",
        PYTHON + "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory "
        "space vmem while allocating on stack for %fusion.1 = f32[8]{0} fusion(%p). Exceeded vmem",
        "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM.",
        PYTHON + "RESOURCE_EXHAUSTED: Attempting to allocate 4.00G. That was not possible. There "
        "are 1.51G free.; (0x0x0_HBM0)",
        "INTERNAL: Scoped allocation with size 18.00M and limit 16.00M exceeded scoped vmem limit",
    ),
    "tpu-backend": (
        "*** SIGABRT (@0x1), see go/stacktraces#s15 received by PID 7 (TID 8) on cpu 1; stack: "
        "***\nPC: @     0x7fac  (unknown)  (unknown)\n    @     0x7fad        976  (unknown)",
        "Exception in device=TPU:5: Aborted: the session is not found.",
        E + "tpu_hal.cc:249] Failed to initialize TPU system: no mmap",
        "*** SIGABRT received by PID 545434 (TID 545434) on cpu 25; stack trace: ***\n"
        "PC: @     0x7fcf5129603b  (unknown)  raise\n"
        "    @     0x7fcf42732dbc       1328  TpuCompiler_RunHloPasses",
        "F0319 23:26:38.216995 18 llo_decomposer.cc:893] Unexpected opcode: some-opcode",
        "INTERNAL: Core halted unexpectedly: INTERNAL: Accelerator device halted prematurely",
        PYTHON + "INTERNAL: Mosaic failed to compile TPU kernel: unsupported shape cast",
        "FAILED_PRECONDITION: The program continuator has halted unexpectedly.",
        "F0120 12:29:23.305308 3 fusion_emitter.cc:1] Check failed: fusion_util::IsX(user)",
    ),
    "conditional": (
        "INVALID_ARGUMENT: Arguments of a conditional do not fit: branch_index is f32[]",
        "F external/xla/xla/hlo/ir/hlo_instruction.cc:3001] Check failed: PRED == "
        "operand(0)->shape().element_type() (1 vs. 4)",
        F + "conditional_code_motion.cc:400] Check failed: branch != nullptr",
    ),
    "hang-rendezvous": (
        "All 8 threads joined the rendezvous, however the leader has not marked it as done. It "
        "can be deadlocked inside the rendezvous callback.",
        "Acquire clique: devices=4:[1,2,3,5]; local_participants=4",
        PYTHON + "ABORTED: execution watchdog: the executable did not end within 30s",
        "UNAVAILABLE: failed to connect to all addresses; last error: refused",
        "Megascale detects a hang but cannot tell why.",
        PYTHON + "DEADLINE_EXCEEDED: GetKeyValue() timed out with key: cuda:some_id",
        PYTHON + "DEADLINE_EXCEEDED: no answer within 600 s",
        "E external/xla/xla/service/rendezvous.cc:91] [id=3] This thread has been waiting for "
        "`first call` for 10 seconds and may be stuck. Expected 8 threads to join the rendezvous, "
        "but only 7 of them arrived on time.",
        "F external/xla/xla/service/rendezvous.cc:99] [id=3] Termination timeout for `first call` "
        "of 40 seconds exceeded. Exiting to ensure a consistent program state. Expected 8 threads",
        E + "collective_ops_utils.h:306] This thread has been waiting for 5000ms for and may be "
        "stuck: participant 1 waiting for all participants to arrive at rendezvous RendezvousKey{}",
        "DEADLINE_EXCEEDED: Barrier timed out. Id: pjit_step::0. # of tasks that reached: 3/4.",
        PYTHON + "UNKNOWN: Gloo all-reduce failed: [external/gloo/gloo/transport/tcp/pair.cc:5] x",
    ),
    "p2p-race": (
        PYTHON + "INTERNAL: collective permute: no peer buffer: cudaIpcOpen failed",
        PYTHON + "INTERNAL: Failed to execute XLA Runtime executable: run time error: custom call "
        "'xla.gpu.collective_permute' failed: external/xla/xla/service/gpu/nccl_utils.cc:12: NCCL "
        "operation ncclGroupEnd() failed: unhandled system error",
    ),
    "command-buffer": (
        PYTHON + "UNIMPLEMENTED: CommandBufferCmd for a nested loop",
        "INTERNAL: Command buffer has to have a graph executable to be updated",
        "E1127 02:49:41.806995 1032605 gpu_command_buffer.cc:140] Failed to destroy GPU graph: "
        "CUDA error: Failed to destroy CUDA graph: CUDA_ERROR_INVALID_VALUE: invalid argument",
        PYTHON + "INTERNAL: Failed to launch HIP graph: HIP_ERROR_InvalidValue",
        PYTHON + "INTERNAL: custom call 'xla.gpu.graph.launch' failed: Failed to update gpu graph",
    ),
    "host-offload": (
        PYTHON + "INTERNAL: Copy-start has no host memory space color",
        PYTHON + "UNIMPLEMENTED: compute_on is not supported for while",
        "ValueError: memory kinds differ: device here, pinned_host there",
        F + "host_offload_utils.cc:225] Check failed: found_computation",
        "INVALID_ARGUMENT: E1200: CompileTimeHostOffloadOutputLocationMismatch: Tensor which is "
        "moved to host (starting from %t) is returned from the entry computation but the layout",
        'INVALID_ARGUMENT: Tensor moved to host (from "a") was used by an instruction ("b") '
        "not acceptable during pure memory offload",
        PYTHON + "INTERNAL: during context [end-of-post-layout_assignment]: Expected "
        "instruction to have shape equal to (s32[], f32[4]{0:S(5)}), actual is (s32[], f32[4]{0})",
    ),
    "scatter-sort": (
        "UNIMPLEMENTED: Scatter with many operands is not supported",
        PYTHON + "FAILED_PRECONDITION: Unsupported number of sorted inputs: 33",
        "sort.h:47: libc++ Hardening assertion !less(a, b) failed: no strict weak ordering\n"
        "Fatal Python error: Aborted",
        F.replace("xla/service/", "") + "tf_logging.cc:11] Check failed: a == b (264 vs. 1056)\n"
        "*** Begin stack trace ***\n\ttorch_xla::CreateScatter(xla::XlaOp)\n"
        "*** End stack trace ***",
        "INVALID_ARGUMENT: during context [hlo verifier]: Reduction function's accumulator shape "
        "at index 0 differs from the init_value shape: s32[] vs s64[], for instruction "
        "%scatter = s64[8]{0} scatter(%a, %b)\n\nFailed after permutation_sort_simplifier",
        F + "scatter_expander.cc:120] Check failed: rank > 0",
    ),
    "hlo-verifier": (
        "failed to legalize operation 'mhlo.f'",
        "a.mlir:7:1: error: failed to legalize operation 'chlo.f' that was marked illegal",
        PYTHON + "INVALID_ARGUMENT: Binary op add with incompatible shapes: f32[3] and f32[4].",
        "RuntimeError: Failed precondition: From /job:tpu_worker/replica:0/task:0:\n  (0) Failed "
        "precondition: Expected comparison type FLOAT or TOTALORDER.",
        "Failed after cse",
        PYTHON + "UNKNOWN: -:0:0: error: unknown vhlo type code: 33",
        "collective_ops_utils.cc:499 0 <= replica_id && replica_id < replica_count 1 1",
        "error: 'builtin.module' op -:16:12: error: INVALID_ARGUMENT: body and init differ",
        "Segmentation fault (core dumped)\n#0  0x00007fa1 in mlir::stablehlo::foldAdd (op=0x1)",
        "  (0) Internal: Expected instruction to have shape equal to f32[4], actual shape is f32[5]"
        "\n%t.7 = f32[5]{0} slice(%a)\n\nFailed after pipeline-start",
        "INTERNAL: during context [pre-optimization]: Expected instruction to have shape equal to "
        "f32[4]{0}, actual shape is f32[5]{0}:\n%r = f32[5]{0} add(%x, %y)\n\nFailed after algsimp",
        "INTERNAL: RET_CHECK failure (xla/service/hlo_verifier.cc:879) p.second < limit",
        "INTERNAL: RET_CHECK failure (xla/service/copy_insertion.cc:427) param != root",
        ABSL.format("F") + "hlo_instructions.h:2240] Check failed: window_ != nullptr",
        ABSL.format("F") + "hlo_computation.cc:1022] Check failed: instruction_count() == n (1)",
        "FAILED_PRECONDITION: A cycle is detected while visiting instruction %x = f32[] add(%x)",
    ),
    "cpu-backend": (
        "Thread 0 Crashed:: Dispatch queue: com.apple.main-thread\n"
        "1   libjax_common.dylib  \t0x000000011781f204 dnnl::impl::cpu::im2col<float>() + 15",
        "* thread #1, queue = 'a', stop reason = EXC_BAD_ACCESS (code=1, address=0x0)\n"
        "  * frame #0: 0x0000000104be39bb libjax.dylib`xla::cpu::Run() + 11",
        "LLVM ERROR: Cannot select: intrinsic %llvm.aarch64.neon.x",
        "#4  0x00007f12 in xla::cpu::ThunkExecutor::Execute () from libjax_common.so",
        "Fatal Python error: Segmentation fault\n"
        "    @     0x7f81694b0634  xla::cpu::ConvolutionThunk::Execute()",
        ABSL.format("F") + "ynn_emitter.cc:456] Check failed: reduce->instruction_count() == 3",
        PYTHON + "INTERNAL: Failed to materialize symbols: { (xla_jit_dylib_0, { fusion_1 }) }",
        "UNKNOWN: MPI: Communicator requested from a thread that is not the one",
    ),
    "constant-folding": (
        E + "hlo_constant_folding.cc:230] Constant folding of %iota.4 took 18s",
        "    frame #15: 0x000000015ad22a50 xla_ext.so`xla::HloEvaluator::HandleWhile(x) + 7",
        "E external/xla/xla/service/slow_operation_alarm.cc:133] Constant folding an "
        "instruction is taking > 4s:\n\n  pad.1 (displaying the full instruction incurs overhead)",
        "Fatal Python error: Segmentation fault\n  @  0x7f  xla::HloEvaluator::HandleSort()",
    ),
    "slow-compile": (
        "E external/xla/xla/service/slow_operation_alarm.cc:73] \n****\n[Compiling module jit_f] "
        "Very slow compile? If you want to file a bug, run with envvar XLA_FLAGS=\n****\n"
        "E external/xla/xla/service/slow_operation_alarm.cc:140] The operation took 2m3.4s",
        "W hlo_pass_fix.h:57] Unexpectedly high number of iterations in HLO passes 'algsimp' "
        "exiting fixed point loop.",
    ),
    "custom-call": (
        PYTHON + "INTERNAL: XLA FFI GPU callback failed: Traceback",
        "TypeError: register_custom_call_target(): incompatible function arguments.",
        PYTHON + "INVALID_ARGUMENT: Failed to serialize StableHLO;\n\nDetailed error from MLIR: "
        "t.py:3:1: error: failed to legalize operation 'stablehlo.custom_call'",
        PYTHON + "UNIMPLEMENTED: No registered implementation for untyped custom call to f",
        "NOT_FOUND: No FFI handler registered for f on a platform CUDA (canonical cuda)",
        PYTHON + "INTERNAL: CustomCall failed: CpuCallback error: ValueError",
        PYTHON + "INTERNAL: jaxlib/gpu/solver_handle_pool.cc:37: operation "
        "gpusolverDnCreate(&handle) failed: cuSolver internal error",
    ),
    "nccl-error": (
        PYTHON + "INTERNAL: external/xla/xla/service/gpu/nccl_api.cc:395: NCCL operation "
        "ncclGroupEnd() failed: unhandled cuda error (run with NCCL_DEBUG=INFO for details). Last "
        "NCCL warning(error) log entry (may be unrelated) 'Cuda failure 2 'out of memory''.",
        "INTERNAL: NCCL operation ncclCommInitRankConfig() failed: invalid usage",
        "INTERNAL: RET_CHECK failure (xla/backends/gpu/runtime/ragged_all_to_all_thunk.cc:5) "
        "peer_access_enabled Peer access must be enabled",
    ),
    "dynamic-shape": (
        "INVALID_ARGUMENT: Fail to proof the equality of two dimensions at compile time: %a vs %b",
        F + "dynamic_dimension_inference.cc:200] Check failed: size != nullptr",
        "tensorflow.python.framework.errors_impl.InvalidArgumentError: Input 1 to node `a/b` with "
        "op Range must be a compile-time constant.",
        "InvalidArgumentError: Argument to function must be a compile-time constant, but x",
        "tensorflow.python.framework.errors_impl.InvalidArgumentError: no broadcast of f32[2,<=7]",
    ),
}
CASES = [(class_, text) for class_, texts in MESSAGES.items() for text in texts]


@pytest.mark.parametrize(("class_", "text"), CASES, ids=[f"{c}-{t[:60]}" for c, t in CASES])
def test_class(class_: str, text: str) -> None:
    found = diagnose(read_log(text + "\n", name="run.log"))
    assert [d.class_ for d in found][:1] == [class_]


def test_every_class_has_a_case() -> None:
    assert set(MESSAGES) == set(failure_classes())


def test_signs_are_told_in_words() -> None:
    places = ("warns", "says", "common", "pass", "file", "frame", "core", "hints", "flag", "state")
    for sign in (sign for place in places for sign in failure_signs(place)):
        assert sign.tells
        assert sign.words.search("") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "step 100 loss 1.25",
        "failed to legalize operation 'tax.return' of the town",
        "No replication rule for table users, skipped",
        "step 100 of 200: x1[<=7] and y2[i <= 3] hold; n must be a compile-time constant",
        "ValueError: the window[<=7] must be a compile-time constant",
        "Traceback (most recent call last):\n  File 'x'\nKeyError: 'params'",
        "I external/xla/xla/service/dump.cc:544] HloModule dump enabled with path prefix: , suffix",
        "I1130 00:14:52.0 2643 latency_hiding_scheduler.cc:4596] current memory usage: 8388608",
        "E0000 00:00:1.1 2 cuda_dnn.cc:503] There was an error before creating cudnn handle (302)",
    ],
)
def test_nothing_is_diagnosed_where_nothing_failed(text: str) -> None:
    assert diagnose(read_log(text + "\n", name="run.log")) == ()


def test_attributes_of_a_printed_instruction_decide_nothing() -> None:
    text = (
        "INTERNAL: during context [hlo verifier]: Wrong shape:\n"
        '%g = f32[4]{0} custom-call(%a), custom_call_target="__cublas$gemm", sharding={manual}\n\n'
        "Failed after cse"
    )
    (found,) = diagnose(read_log(text, name="run.log"))
    assert found.class_ == "hlo-verifier"


def test_warnings_stand_beside_the_failure() -> None:
    text = "\n".join(
        (
            W + "spmd/spmd_partitioner.cc:600] [SPMD] Involuntary full rematerialization. The",
            W + "spmd/spmd_partitioner.cc:600] [SPMD] Involuntary full rematerialization. The",
            PYTHON + "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17 bytes.",
        )
    )
    death, warning = diagnose(read_log(text, name="run.log"))
    assert (death.class_, death.failure is not None) == ("oom-buffers", True)
    assert (warning.class_, warning.failure, len(warning.lines)) == (
        "spmd-involuntary-remat",
        None,
        2,
    )


def test_an_error_right_above_a_failure_without_a_class_points_to_one() -> None:
    complaint = E + "hlo_rematerialization.cc:3005] Can't reduce memory use below 12.5GiB"
    death = PYTHON + "INTERNAL: something is not as it was"
    (found,) = diagnose(read_log(f"{complaint}\n{death}\n", name="run.log"))
    assert (found.class_, found.strength) == ("oom-buffers", "pointed")
    assert found.failure is not None
    between = "step 1\n" * 9
    (far,) = diagnose(read_log(f"{complaint}\n{between}{death}\n", name="run.log"))
    assert far.failure is None
    (warning,) = diagnose(read_log(f"{complaint.replace(': E', ': W')}\n{death}", name="run.log"))
    assert warning.failure is None


def test_a_silent_death_is_a_guess_only() -> None:
    (found,) = diagnose(read_log("Segmentation fault (core dumped)\n", name="run.log"))
    assert found.strength == "guessed"
    assert diagnose(read_log("Killed\n", name="run.log")) == ()
