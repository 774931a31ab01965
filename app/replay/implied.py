"""What the passes of a dump imply about the flags of its run, where those are not known. Pure.

A text from after a pass, or a failure in it, shows that the pass was on; which flag switches it on
is told by XLA's source. A pass that is not seen shows nothing: it may have changed nothing.
"""

from collections.abc import Iterable

from app.knowledge.flags import flag_known_in
from app.model.dump import DumpName
from app.model.report import Failure

# xla/service/gpu/gpu_compiler.cc, OptimizeHloModule and RunCollectiveOptimizationPasses, 0.4.30.
_FLAGS = {
    "collective-pipeliner-backward": "xla_gpu_enable_pipelined_all_gather",
    "collective-pipeliner-forward": "xla_gpu_enable_pipelined_all_reduce",
    "loop-double-buffer-transformer": "xla_gpu_enable_while_loop_double_buffering",
    "double-buffer-loop-unrolling": "xla_gpu_enable_while_loop_double_buffering",
    "latency-hiding-scheduler": "xla_gpu_enable_latency_hiding_scheduler",
    "pipelined-p2p-rewriter": "xla_gpu_enable_pipelined_p2p",
    "p2p-schedule-preparation": "xla_gpu_enable_pipelined_p2p",
}


def implied_flags(
    names: Iterable[DumpName], failure: Failure | None, release: str
) -> dict[str, str]:
    """Flags that must have been on, as far as `release` has them."""
    passes = {name.after for name in names if name.after}
    if failure is not None and failure.pass_ and failure.confidence in ("certain", "likely"):
        passes.add(failure.pass_)
    flags = {_FLAGS[name]: "true" for name in sorted(passes) if name in _FLAGS}
    return {name: value for name, value in flags.items() if flag_known_in(name, release)}


def untimed_flags(release: str) -> dict[str, str]:
    """Flags that let a release compile where no device can time kernels."""
    wanted = {"xla_gpu_autotune_level": "0", "xla_gpu_enable_triton_gemm": "false"}
    return {name: value for name, value in wanted.items() if flag_known_in(name, release)}
