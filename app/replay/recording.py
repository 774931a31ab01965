"""Compiles and searches in the words of a report. Pure."""

import shlex
from collections.abc import Mapping

from app.model.experiments import Effects, Experiment, Outcome, Question, ReducedModule
from app.replay.compiling import flag_words, flags_for
from app.replay.experiments import Flags, Result
from app.replay.outcome import Attempt, Kind
from app.replay.reduction import Reduction
from app.replay.subject import Subject
from app.replay.toolchains import Toolchain

_OUTCOMES: Mapping[Kind, Outcome] = {
    Kind.COMPILES: "compiles",
    Kind.SAME: "same signature",
    Kind.ANOTHER: "another failure",
    Kind.TIME: "time-out",
    Kind.MEMORY: "out of memory",
    Kind.DISK: "out of disk",
    Kind.REFUSED: "refused",
    Kind.INTERRUPTED: "interrupted",
}
BASELINE = "as the run had it"
DEFAULTS = "the default flags, with no kernel timed"
IMPLIED = "the flags that the passes of the dump imply"


def experiment_of(
    question: Question,
    result: Result,
    *,
    release: str,
    flags: Flags,
    effects: Effects | None = None,
) -> Experiment:
    """One variant as a report keeps it; `flags` are those of the run."""
    attempt = result.attempt or Attempt(Kind.REFUSED)
    return Experiment(
        question=question,
        name=result.variant.name,
        release=release,
        outcome=_OUTCOMES[attempt.kind] if result.attempt else "not tried",
        words=attempt.words,
        seconds=attempt.seconds,
        flags=changed_words(flags, result.variant.flags),
        dropped=attempt.dropped,
        effects=effects,
    )


def target_words(tool: Toolchain, subject: Subject) -> str:
    """What kind of device a subject is compiled for."""
    if subject.backend == "CPU":
        return "CPUs"
    if subject.backend == "TPU":
        return "TPU v5e chips"
    if tool.adapter.needs_driver:
        return "a stand-in of H100s"
    return subject.target_name or ("a GPU as told" if subject.target else "H100s")


def changed_words(flags: Flags, other: Flags) -> tuple[str, ...]:
    """What `other` sets that `flags` do not, then what it leaves out."""
    changed = {name: value for name, value in other.items() if flags.get(name) != value}
    gone = (f"without --{name}" for name in flags if name not in other)
    return (*flag_words(changed), *gone)


def reduced_module(found: Reduction, *, name: str, release: str, subject: Subject) -> ReducedModule:
    """A reduction with the commands of XLA's own tools for whoever looks into it."""
    return ReducedModule(
        name=name,
        text=found.text,
        instructions_before=found.before,
        instructions_after=found.after,
        is_minimal=found.is_minimal,
        commands=_commands(name, release, subject),
    )


def _commands(name: str, release: str, subject: Subject) -> tuple[str, ...]:
    """As xla/docs/tools.md writes them. A GPU's target config stands in XLA's tree under specs."""
    flags = flag_words(flags_for(release, subject.flags)[0])
    if subject.backend == "TPU":
        return ()  # none of these tools compiles for one
    if subject.backend == "CPU":
        opt = ("hlo-opt", "--platform=cpu", "--stage=hlo")
        run = ("run_hlo_module", "--platform=cpu", "--reference_platform=")
    else:
        config = "--xla_gpu_target_config_filename=h100_sxm.txtpb"
        opt = ("hlo-opt", "--platform=CUDA", "--stage=hlo", config)
        run = ("run_hlo_module", "--platform=CUDA", "--reference_platform=")
    if subject.devices > 1 and subject.backend == "GPU":
        run = (
            "hlo_runner_main",
            "--device_type=gpu",
            f"--use_spmd_partitioning={str(subject.partitions > 1).lower()}",
            f"--num_replicas={subject.replicas}",
            f"--num_partitions={subject.partitions}",
        )
    return shlex.join((*opt, *flags, name)), shlex.join((*run, *flags, name))
