"""What the passes of a dump imply about the flags of its run, where those are not known. Pure.

A text from after a pass shows that something had put the pass into the pipeline; which flags do
that is told by XLA's source. Often several do, so the one that is tried is a guess among those
named; and a release may add the pass for reasons that are no flag of XLA (a profile, the effort
that a program asks for). A pass that is not seen shows nothing: it may have changed nothing.
"""

from collections.abc import Iterable

from app.knowledge.flags import flag_known_in
from app.knowledge.pass_flags import flags_that_add
from app.model.dump import DumpName
from app.model.experiments import InferredFlag
from app.model.report import Failure

# This flag adds all of these passes, beside their own (xla/service/gpu/gpu_compiler.cc,
# AddCollectivePipelinerPasses and RunPostSchedulingPipelines, 0.4.30).
_OF_ALL = "xla_gpu_enable_pipelined_collectives"
_PIPELINED = frozenset(
    {"collective-pipeliner-backward", "collective-pipeliner-forward", "pipelined-p2p-rewriter"}
)
# Its flag is on unless it is switched off.
_USUAL = frozenset({"triton-gemm-rewriter"})


def inferred_flags(
    names: Iterable[DumpName], failure: Failure | None, release: str
) -> tuple[InferredFlag, ...]:
    """For each pass that flags add, the likeliest that `release` has, and what else would do."""
    seen = {name.after: f"the dump has a text from after {name.after}" for name in names}
    if failure is not None and failure.pass_ and failure.confidence in ("certain", "likely"):
        why = f"the failure is in {failure.pass_} ({failure.confidence})"
        seen.setdefault(failure.pass_, why)
    found: dict[str, InferredFlag] = {}
    for name in sorted(name for name in seen if name and name not in _USUAL):
        flags = (*flags_that_add(name), *((_OF_ALL,) if name in _PIPELINED else ()))
        known = [flag for flag in flags if flag_known_in(flag, release)]
        if known:
            first, *others = known
            inferred = InferredFlag(flag=first, why=seen[name], others=tuple(others))
            found.setdefault(first, inferred)
    return tuple(found.values())


def untimed_flags(release: str) -> dict[str, str]:
    """Flags that let a release compile where no device can time kernels."""
    wanted = {"xla_gpu_autotune_level": "0", "xla_gpu_enable_triton_gemm": "false"}
    return {name: value for name, value in wanted.items() if flag_known_in(name, release)}
