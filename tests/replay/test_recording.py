"""What a reduction tells whoever looks into it."""

import msgspec
import pytest

from app.model.experiments import Experiment
from app.replay.compiling import slice_of
from app.replay.experiments import Result, Variant
from app.replay.outcome import Attempt, Kind
from app.replay.recording import experiment_of, reduced_module
from app.replay.reduction import Reduction
from app.replay.subject import Subject

FOUND = Reduction("HloModule m\n", 100, 10, is_minimal=True)


def commands(subject: Subject) -> tuple[str, ...]:
    return reduced_module(FOUND, name="my small.hlo", release="0.4.30", subject=subject).commands


@pytest.mark.parametrize("kind", list(Kind))
def test_every_outcome_is_one_of_the_report(kind: Kind) -> None:
    result = Result(Variant("v", {}, Subject(b"", "text")), Attempt(kind))
    made = experiment_of("flags", result, release="0.4.30", flags={})
    assert made.outcome == kind.value
    assert msgspec.convert(msgspec.to_builtins(made), Experiment) == made


def test_commands_for_several_gpus_start_the_runner_of_several() -> None:
    flags = {"xla_gpu_autotune_level": "0", "xla_no_such_flag": "1", "xla_dump_to": "/d"}
    compiled, run = commands(Subject(b"", "text", partitions=8, flags=flags))
    assert compiled.startswith("hlo-opt --platform=CUDA --stage=hlo --xla_gpu_target_config")
    assert compiled.endswith("--xla_gpu_autotune_level=0 'my small.hlo'")
    assert run.startswith("hlo_runner_main --device_type=gpu --use_spmd_partitioning=true")
    assert "--num_partitions=8" in run
    assert "xla_dump_to" not in compiled + run


def test_commands_for_one_gpu_and_for_cpus_run_the_module() -> None:
    assert commands(Subject(b"", "text"))[1].startswith("run_hlo_module --platform=CUDA")
    assert commands(Subject(b"", "text", backend="CPU"))[0].startswith("hlo-opt --platform=cpu")
    assert commands(Subject(b"", "text", backend="TPU")) == ()


@pytest.mark.parametrize(
    ("devices", "name"), [(1, "v5e:2x2"), (4, "v5e:2x2"), (6, "v5e:2x4"), (16, "v5e:4x4")]
)
def test_a_slice_has_as_many_chips_as_are_needed(devices: int, name: str) -> None:
    assert slice_of(devices) == name
