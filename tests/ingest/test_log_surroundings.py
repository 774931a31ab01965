"""What a log says by the way of where a run took place."""

import pytest

from app.analysis.environment import environment_of
from app.ingest import read_log

SERVICE = "I0000 00:00:1.2 3 service.cc:178] XLA service 0x5d7f initialized for platform {} (this"


@pytest.mark.parametrize(
    ("platforms", "backend"),
    [(("Host",), "CPU"), (("Host", "CUDA"), "GPU"), (("ROCM",), "GPU"), (("Other",), None)],
)
def test_the_platforms_that_xla_starts_for_tell_the_back_end(
    platforms: tuple[str, ...], backend: str | None
) -> None:
    text = "step 1\n" * 9 + "".join(f"{SERVICE.format(name)}\n" for name in platforms)
    log = read_log(text, name="x")
    assert log.platforms == platforms
    assert environment_of(None, log, flags={}, release=None).backend == backend


def test_flags_tell_more_than_platforms() -> None:
    log = read_log(f"{SERVICE.format('Host')}\nXLA_FLAGS=--xla_gpu_autotune_level=0\n", name="x")
    assert environment_of(None, log, flags={}, release=None).backend == "GPU"


def test_a_pass_whose_line_was_copied_without_its_severity() -> None:
    log = read_log("hlo_pass_pipeline.cc:181]   HLO pass cse\nSegmentation fault\n", name="x")
    assert log.passes == ("cse",)


def test_what_is_kept_has_bounds() -> None:
    lines = [f"jaxlib==0.4.{n}" for n in range(900)] + [SERVICE.format(f"P{n}") for n in range(900)]
    log = read_log("\n".join(lines), name="x")
    assert (len(log.releases), len(log.platforms)) == (100, 100)
