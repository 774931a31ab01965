"""Every form of name that XLA gives the files of a dump, one real name each."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest.names import FileKind, read_file_name
from app.model.dump import DumpName

# What a name says, beside the file itself: only the parts that differ from the defaults.
TEXTS: dict[str, dict[str, object]] = {
    "module_0000.jit_train.before_optimizations.txt": {
        "module_id": 0,
        "module_name": "jit_train",
        "kind": "before_optimizations",
        "point": "before_optimizations",
    },
    "module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt": {
        "module_id": 1,
        "module_name": "jit_f",
        "kind": "after_optimizations",
        "point": "sm_9.0a_gpu_after_optimizations",
    },
    "module_0001.jit_f.sm_9.0_gpu_after_optimizations.txt": {
        "module_id": 1,
        "module_name": "jit_f",
        "kind": "after_optimizations",
        "point": "sm_9.0_gpu_after_optimizations",
    },
    "module_0012.jit_f.gfx942_gpu_after_optimizations.txt": {
        "module_id": 12,
        "module_name": "jit_f",
        "kind": "after_optimizations",
        "point": "gfx942_gpu_after_optimizations",
    },
    "module_0001.jit_f._gpu_after_optimizations.txt": {
        "module_id": 1,
        "module_name": "jit_f",
        "kind": "after_optimizations",
        "point": "_gpu_after_optimizations",
    },
    "module_12345.jit_f.cpu_after_optimizations.txt": {
        "module_id": 12345,
        "module_name": "jit_f",
        "kind": "after_optimizations",
        "point": "cpu_after_optimizations",
    },
    "module_0000.m.after_optimization.txt": {
        "module_id": 0,
        "module_name": "m",
        "kind": "after_optimizations",
        "point": "after_optimization",
    },
    "module_0001.jit_f.after_spmd_partitioner.txt": {
        "module_id": 1,
        "module_name": "jit_f",
        "point": "after_spmd_partitioner",
    },
    "module_0001.jit_f.before_config_assignment.txt": {
        "module_id": 1,
        "module_name": "jit_f",
        "point": "before_config_assignment",
    },
    "module_0000.jit_train.0044.simplification.after_algsimp.before_bitcast_dtypes_expander.txt": {
        "module_id": 0,
        "module_name": "jit_train",
        "kind": "pass",
        "step": 44,
        "pipeline": "simplification",
        "after": "algsimp",
        "before": "bitcast_dtypes_expander",
        "point": "simplification.after_algsimp.before_bitcast_dtypes_expander",
    },
    # The pipeline itself is called `after_layout_assignment`, and so is a pass.
    "module_0002.jit_f.0013.after_layout_assignment.after_pipeline-start.before_pipeline-end.txt": {
        "module_id": 2,
        "module_name": "jit_f",
        "kind": "pass",
        "step": 13,
        "pipeline": "after_layout_assignment",
        "after": "pipeline-start",
        "before": "pipeline-end",
        "point": "after_layout_assignment.after_pipeline-start.before_pipeline-end",
    },
    "module_0000.jit_f.0010.HLO_passes_after_layout_assignment.after_pipeline-start"
    ".before_after_layout_assignment.txt": {
        "module_id": 0,
        "module_name": "jit_f",
        "kind": "pass",
        "step": 10,
        "pipeline": "HLO_passes_after_layout_assignment",
        "after": "pipeline-start",
        "before": "after_layout_assignment",
        "point": "HLO_passes_after_layout_assignment.after_pipeline-start"
        ".before_after_layout_assignment",
    },
    # A fusion that the autotuner compiles; its name ends in a number.
    "module_0056.fused_dynamic_update_slice.9.clone.0000.cublaslt_rewriter_pipeline"
    ".after_cublas-gemm-rewriter.before_pipeline-end.txt": {
        "module_id": 56,
        "module_name": "fused_dynamic_update_slice.9.clone",
        "kind": "pass",
        "step": 0,
        "pipeline": "cublaslt_rewriter_pipeline",
        "after": "cublas-gemm-rewriter",
        "before": "pipeline-end",
        "point": "cublaslt_rewriter_pipeline.after_cublas-gemm-rewriter.before_pipeline-end",
    },
    # The module's name is left out where the whole would pass 255 bytes.
    "module_0001.0044.simplification.after_algsimp.before_tuple-simplifier.txt": {
        "module_id": 1,
        "kind": "pass",
        "step": 44,
        "pipeline": "simplification",
        "after": "algsimp",
        "before": "tuple-simplifier",
        "point": "simplification.after_algsimp.before_tuple-simplifier",
    },
    "module_0001.before_optimizations.txt": {
        "module_id": 1,
        "kind": "before_optimizations",
        "point": "before_optimizations",
    },
    "module_0000.jit_f.0085.copy-insertion.after_adding_copies_to_resolve_interference.txt": {
        "module_id": 0,
        "module_name": "jit_f",
        "kind": "step",
        "step": 85,
        "after": "copy-insertion",
        "detail": "after_adding_copies_to_resolve_interference",
        "point": "copy-insertion.after_adding_copies_to_resolve_interference",
    },
    "module_0000.jit_f.cl_1004524046.0091.tpu-tiling-rewriter.before_tiling_rewriter.txt": {
        "module_id": 0,
        "module_name": "jit_f",
        "kind": "step",
        "step": 91,
        "before": "tpu-tiling-rewriter",
        "detail": "before_tiling_rewriter",
        "point": "tpu-tiling-rewriter.before_tiling_rewriter",
    },
    "module_0004.jit_f.cl_742339475.before_optimizations.txt": {
        "module_id": 4,
        "module_name": "jit_f",
        "kind": "before_optimizations",
        "point": "before_optimizations",
    },
    "module_0000.jit_f.cl_1004524046.0012.After_X64_rewriter,_before_optimizations"
    ".after_pipeline-start.before_dce.txt": {
        "module_id": 0,
        "module_name": "jit_f",
        "kind": "pass",
        "step": 12,
        "pipeline": "After_X64_rewriter,_before_optimizations",
        "after": "pipeline-start",
        "before": "dce",
        "point": "After_X64_rewriter,_before_optimizations.after_pipeline-start.before_dce",
    },
    "module_0000.jit_f.cl_1004524046.after_codegen.txt": {
        "module_id": 0,
        "module_name": "jit_f",
        "kind": "after_optimizations",
        "point": "after_codegen",
    },
    "module_0000.jit_f.cl_1004524046.oom_intermediate_module.txt": {
        "module_id": 0,
        "module_name": "jit_f",
        "point": "oom_intermediate_module",
    },
    "1795996987902739.module_0000.jit_func.before_optimizations.txt": {
        "timestamp": 1795996987902739,
        "module_id": 0,
        "module_name": "jit_func",
        "kind": "before_optimizations",
        "point": "before_optimizations",
    },
    # --xla_dump_hlo_to_subfolder
    "jit_f/node7_4242/module_0001.jit_f.before_optimizations.txt": {
        "folder": "jit_f/node7_4242",
        "module_id": 1,
        "module_name": "jit_f",
        "kind": "before_optimizations",
        "point": "before_optimizations",
    },
    "module_0003.jit__multi_slice.2024.before_optimizations.txt": {
        "module_id": 3,
        "module_name": "jit__multi_slice.2024",
        "kind": "before_optimizations",
        "point": "before_optimizations",
    },
    "module_0003.jit_f-clone.before_optimizations.txt": {
        "module_id": 3,
        "module_name": "jit_f-clone",
        "kind": "before_optimizations",
        "point": "before_optimizations",
    },
}


@pytest.mark.parametrize(("file", "parts"), TEXTS.items(), ids=TEXTS.keys())
def test_hlo_texts(file: str, parts: dict[str, object]) -> None:
    found = read_file_name(file)
    assert found.kind == "hlo_text"
    assert found.name == DumpName(file, **parts)  # pyright: ignore[reportArgumentType]


OTHERS: dict[FileKind, tuple[str, ...]] = {
    "hlo_proto": (
        "module_0000.jit_f.before_optimizations.hlo.pb",
        "1795996987902739.module_0000.jit_f.0000.a.after_b.before_c.hlo.pb.gz",
        "step.hlo.pb",
    ),
    "hlo_graph": (
        "module_0000.jit_f.before_optimizations.dot",
        "module_0000.jit_f.cpu_after_optimizations.top_level.html",
        "module_0000.jit_f.0003.fusion.after_a.before_b.html",
        "fused_add.module_0001.jit_f._fusion.html",
        "fused_add.module_0001.jit_f._fusion.pyz",
        "gpu_command_buffer_0x7f00.dot",
    ),
    "debug_options": ("module_0001.jit_f.debug_options", "module_0000.jit_f.cl_1.debug_options"),
    "buffer_assignment": (
        "module_0001.jit_f.sm_9.0a_gpu_after_optimizations-buffer-assignment.txt",
        "module_0000.jit_f.cl_1.after_optimizations-buffer-assignment.txt",
    ),
    "buffer_values": (
        "module_0001.jit_f.sm_9.0a_gpu_after_optimizations-buffer-assignment-values.txt",
    ),
    "live_range": ("module_0001.jit_f.cpu_after_optimizations-live-range.txt",),
    "memory_report": (
        "module_0001.jit_f.cpu_after_optimizations-memory-usage-report.txt",
        "1795996987902739.module_0000.jit_f.cpu_after_optimizations-memory-usage-report.pb.gz",
    ),
    "module_config": (
        "module_0001.jit_f.config.pbtxt",
        "module_0000.jit_f.cl_1004524046.tpu_comp_env.txt",
        "module_0000.jit_f.cl_1004524046.hlo_module_config.txt",
        "module_0000.jit_f.cl_1004524046.execution_options.txt",
        "module_0000.jit_f.cl_1004524046.flagfile",
    ),
    "target_config": (
        "module_0001.jit_f.gpu_target_config.pbtxt",
        "module_0000.jit_f.cl_1004524046.target_arguments.txt",
    ),
    "autotune_results": ("module_0001.jit_f.autotune_results.pbtxt",),
    "autotuning": (
        "module_0001.jit_f.autotuner_3.fusion.12.before.txt",
        "module_0001.jit_f.autotuner_3.fusion.12.after.txt",
    ),
    "thunk_sequence": (
        "module_0001.jit_f.thunk_sequence.txt",
        "module_0001.jit_f.thunk_sequence_after_thunk_passes.txt",
        "module_0000.jit_f.thunk_schedule",
    ),
    "thunk_metadata": ("module_0001.jit_f.thunk_metadata.txt",),
    "fusion_trace": ("module_0001.wrapped_dot_computation.2.priority_fusion_dump.txt",),
    "llvm_ir": (
        "module_0001.jit_f.ir-no-opt.ll",
        "module_0001.jit_f.constants.ir-with-opt.ll",
        "module_0001.jit_f.101.ir-with-opt.ll",
        "module_0000.jit_f.__compute_module_add.1_kernel_module.ir-no-opt.ll",
    ),
    "ptx": ("module_0001.jit_f.ptx", "module_0001.jit_f.17.ptx"),
    "object_code": ("module_0000.jit_f.o", "module_0000.jit_f.obj-file.add.1_kernel_module.o"),
    "mlir": (
        "module_0000.jit_f/module.mlir",
        "shardy/module_0001.jit_f/03.after_partitioner_passes.mlir",
        "lmhlo.module_0001.jit_f.mlir",
        "jax_ir12_jit_f_compile.mlir",
    ),
    "emitter": (
        "module_0004.jit_f.loop_add_fusion.mlir-trace.txt",
        "module_0004.jit_f.loop_add_fusion.mlir-passes.log",
        "triton_ir.module_0001.jit_f.ttir",
        "module_0001.jit_f.gemm_fusion_dot.3.before_validation.ttir.txt",
        "module_0001.jit_f.gemm_fusion_dot.3.hlo",
        "module_0001.jit_f.cudnn_fusion_x.json",
    ),
    "compile_options": ("module_0000.jit_f.cl_1/compile_options.textproto",),
    "topology": ("module_0000.jit_f/topology.pb",),
    "compiler_metadata": (
        "module_0001.metadata.textproto",
        "module_0000.jit_f.cl_1004524046.transfer_stats.txt",
        "module_0000.jit_f.cl_1004524046.basic_compiler_metadata.txt",
    ),
    "snapshot": (
        "module_0001.jit_f.execution_0003.hlo_snapshot.pb",
        "module_0001.jit_f.execution_0003.hlo_unoptimized_snapshot.txt",
        "module_0000.jit_f.snapshot.12.pb",
    ),
    "log": ("train.log",),
    "unknown": (
        "module_0001.jit_f.something_new.txt",
        "hello.txt",
        "module_0001",
        "module_1.jit_f.before_optimizations.txt",
        "README",
        # Endings alone are no sign of XLA.
        "index.html",
        "config.json",
        "src/main.o",
        "kernel.ptx",
    ),
}


@pytest.mark.parametrize(
    ("kind", "file"), [(kind, file) for kind, files in OTHERS.items() for file in files]
)
def test_other_files(kind: FileKind, file: str) -> None:
    found = read_file_name(file)
    assert found.kind == kind
    assert found.name.file == file
    numbered = re.search(r"(?:^|/|\.)module_(\d{4,})(?:\.[^/]*)?$", file)
    assert found.name.module_id == (int(numbered[1]) if numbered else None)


def test_numbers_that_no_reader_can_hold() -> None:
    for file in (
        f"module_{10**30}.x.before_optimizations.txt",
        "module_0001." + "x" * 255 + ".txt",
    ):
        assert read_file_name(file).kind == "unknown"


PART = st.text("abz019-_,A", min_size=1, max_size=12).filter(
    lambda text: not text.isdigit() and not text.startswith(("after_", "before_"))
)


@given(
    module=st.lists(PART, min_size=0, max_size=4),
    number=st.integers(0, 10**6),
    step=st.integers(0, 10**5),
    names=st.tuples(PART, PART, PART),
    time=st.none() | st.integers(10**15, 10**16),
    changelist=st.none() | st.integers(1, 10**9),
    ending=st.sampled_from((".txt", ".hlo.pb", ".hlo.pb.gz", ".dot", ".html")),
)
def test_names_that_xla_builds_come_apart(
    module: list[str],
    number: int,
    step: int,
    names: tuple[str, str, str],
    time: int | None,
    changelist: int | None,
    ending: str,
) -> None:
    pipeline, after, before = names
    parts = [f"module_{number:04d}", *module]
    if time is not None:
        parts.insert(0, str(time))
    if changelist is not None:
        parts.append(f"cl_{changelist}")
    parts += [f"{step:04d}", pipeline, f"after_{after}", f"before_{before}"]
    found = read_file_name("a/b/" + ".".join(parts) + ending).name
    assert found.module_name == ".".join(module)
    assert (found.module_id, found.step, found.timestamp) == (number, step, time)
    assert (found.pipeline, found.after, found.before) == names
    assert (found.kind, found.folder) == ("pass", "a/b")


@given(st.text(max_size=400))
def test_any_name_gets_an_answer(file: str) -> None:
    assert read_file_name(file).name.file == file
