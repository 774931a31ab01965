"""The answers to real dumps: right culprits where there are any, silence where there are none."""

from dataclasses import dataclass
from functools import cache

import pytest

from app.model.report import Finding, Report
from app.service import Log, Question, analyze
from app.settings import Settings
from conftest import SHARED

DUMPS = SHARED / "dumps"
NAMES = sorted(path.name.removesuffix(".tar.gz") for path in DUMPS.glob("*.tar.gz"))

LAST_CLONED: dict[str, list[tuple[str, int]]] = {
    "seed1_crash_0.4.30": [("while.17", 55), ("all-gather.20", 38), ("all-gather.29", 25)],
    "seed1_crash_0.4.30_double_buffering_off": [
        ("while.17", 55),
        ("all-gather.20", 38),
        ("all-gather.29", 25),
    ],
    "s000n_crash__jax0.4.30": [
        ("while.12", 78),
        ("all-gather.5", 59),
        ("all-gather.6", 59),
        ("all-gather", 59),
    ],
    "crash_s000_full__jax0.4.30": [
        ("while.12", 77),
        ("all-gather.9", 58),
        ("all-gather.10", 58),
        ("all-gather.11", 58),
        ("all-gather.12", 58),
        ("all-gather", 58),
    ],
    "seed1_crash_0.4.30_vlog": [("while.17", 55), ("all-gather.29", 25)],
    "seed1_crash_0.4.30_plain_dump": [("while.1688", 55), ("while.1451", 39), ("while.1552", 39)],
    "s000n_crash_nopassre__jax0.4.30": [("while.565", 78), ("while.467", 59), ("while.497", 59)],
}
LAST_CLONED["s000n_crash_nodblbuf__jax0.4.30"] = LAST_CLONED["s000n_crash__jax0.4.30"]
LAST_CLONED["s000n_crash_proto__jax0.4.30"] = LAST_CLONED["s000n_crash__jax0.4.30"]
CONFIDENCE = {
    "seed1_crash_0.4.30_vlog": "certain",
    "seed1_crash_0.4.30_plain_dump": "possible",
    "s000n_crash_nopassre__jax0.4.30": "possible",
}
INNOCENT = {
    "seed1_crash_0.4.30": {f"all-gather.{n}" for n in range(16, 20)},
    "s000n_crash__jax0.4.30": {"all-gather.4"},
    "crash_s000_full__jax0.4.30": {"all-gather.8"},
}
# Programs that compiled but are not healthy: the line that the warning must name first.
WARNED = {
    "own_ring_p2p__jax0.10.2": ("P2P001", "ring_matmul.py", 21),
    "own_uneven_psum__jax0.10.2": ("HNG001", "uneven_psum.py", 14),
    "s001_collective_matmul_memcpyp2p__jax0.10.2": ("P2P001", "s001_collective_matmul.py", 49),
    "s001_collective_matmul_memcpyp2p__jax0.12.0": ("P2P001", "s001_collective_matmul.py", 49),
    "s004_cond_psum_devvarying__jax0.10.2": ("HNG001", "s004_cond_map.py", 25),
    "s004_cond_psum_devvarying__jax0.12.0": ("HNG001", "s004_cond_map.py", 25),
    "s004_pmap_top__jax0.4.30": ("HNG001", "s004_pmap_top.py", 13),
    "seed1_ok_0.4.31_doubled": ("DBL001", "prog1.py", 55),
}


# Healthy programs with a cost that deserves a warning: twelve layers written by a loop in Python.
COSTLY = {"big_gpt_noscan__jax0.10.2": ["SLO002"]}
MOST_WARNINGS = 2


@dataclass(frozen=True)
class Answer:
    rule: str
    class_: str
    pass_: str | None
    confidence: str
    culprits: list[tuple[str, int | None]]
    advice: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    says: tuple[str, ...] = ()


# Runs that failed: class, pass, the first culprits with their lines, and what to try.
FAILING = {
    "crash_heapsim_moe__jax0.4.34": Answer(
        "OOM001",
        "oom-buffers",
        None,
        "possible",
        [("while.2.0", 30), ("while.3.0", 30), ("cublas-lt-matmul.2.0", 14)],
        ("--xla_gpu_enable_cublaslt=false", "--xla_gpu_enable_while_loop_double_buffering=false"),
        says=("8388608 vs. 33554432",),
    ),
    "crash_pipelined_p2p__jax0.4.34": Answer(
        "PIP002",
        "collective-pipeliner",
        "pipelined-p2p-rewriter",
        "possible",
        [("while.13.0", 32), ("while.15.0", 32)],
        ("--xla_gpu_enable_pipelined_p2p=false", "0.6.2"),
    ),
    "fail_p2p_cycle_pp__jax0.6.2": Answer(
        "VER001",
        "hlo-verifier",
        "latency-hiding-scheduler-preparation",
        "likely",
        [
            ("collective-permute.4-bwd-send-done", 30),
            ("collective-permute.4-fwd-recv-done", 30),
        ],
        ("--xla_gpu_enable_pipelined_p2p=false", "--xla_gpu_collective_permute_decomposer"),
        (
            "--xla_gpu_enable_pipelined_p2p=true",
            "--xla_gpu_collective_permute_decomposer_threshold=0",
        ),
    ),
    "fail_cycle_nocallinliner__jax0.10.2": Answer(
        "VER001",
        "hlo-verifier",
        "scheduling",
        "likely",
        [("wrapped_subtract", 6)],
        ("without --xla_disable_hlo_passes=call-inliner",),
        ("--xla_disable_hlo_passes=call-inliner",),
    ),
    "fail_autotune_cache_deviceless__jax0.4.34": Answer(
        "TRI001",
        "triton-autotune",
        "gemm-fusion-autotuner",
        "likely",
        [("gemm_fusion_dot.9", 12)],
        ("--xla_gpu_enable_triton_gemm=false", "--xla_gpu_load_autotune_results_from"),
    ),
    "fail_hlo_bad_target__jax0.10.2": Answer(
        "VER001",
        "hlo-verifier",
        None,
        "likely",
        [("ppermute.3", 43)],
        says=("Target 99", "before the first pass"),
    ),
    "fail_ptxas_syntax__jax0.10.2": Answer(
        "PTX001",
        "ptxas-backend",
        None,
        "possible",
        [("constant.349.0", 8), ("fusion", 8)],
        ("without --xla_disable_hlo_passes=sanitize-constant-names",),
        ("--xla_disable_hlo_passes=sanitize-constant-names",),
    ),
    "fail_big_triton__jax0.10.2": Answer(
        "PTX001",
        "ptxas-backend",
        None,
        "possible",
        [("pallas_call.3", 33)],
        ("smaller blocks",),
        says=("1835008", "232448"),
    ),
    "fail_unknown_custom_call__jax0.12.0": Answer(
        "CUS001",
        "custom-call",
        None,
        "likely",
        [("ffi_call.2", 17)],
        ("register_ffi_target",),
    ),
    "fail_tpu_oom_sort__jax0.12.0.1": Answer(
        "TPU001",
        "tpu-memory-space",
        None,
        "certain",
        [("copy.11", 43), ("copy.5", 43), ("copy.8", None)],
        says=("96.25G", "15.75G"),
    ),
}


@cache
def report_of(name: str) -> Report:
    log = DUMPS / f"{name}.log"
    logs = (Log(log.name, log.read_text("utf-8")),) if log.is_file() else ()
    return analyze(DUMPS / f"{name}.tar.gz", Settings(), question=Question(logs=logs))


def grave(report: Report) -> list[Finding]:
    return [f for f in report.findings if f.severity != "note" and f.confidence != "ruled_out"]


def told(finding: Finding) -> list[tuple[str | None, int | None]]:
    return [(c.instruction, c.source.line if c.source else None) for c in finding.culprits]


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_understood(name: str) -> None:
    coverage = report_of(name).coverage
    assert coverage.unparsed_lines == 0
    assert {s.code for s in coverage.skipped} <= {"not_yet_read"}


@pytest.mark.parametrize("name", LAST_CLONED)
def test_the_last_cloned_check(name: str) -> None:
    report = report_of(name)
    (finding,) = grave(report)
    assert (finding.rule, finding.severity) == ("PIP001", "error")
    assert finding.confidence == CONFIDENCE.get(name, "likely")
    assert told(finding) == LAST_CLONED[name]
    assert report.environment.jaxlib.releases == ("0.4.29", "0.4.30")
    assert report.failure is not None
    assert report.failure.pass_ == "collective-pipeliner-backward"
    assert any("Double buffering" in item.hypothesis for item in finding.ruled_out)
    assert len(finding.workarounds) >= 3
    spared = {c.instruction for c in finding.culprits} & INNOCENT.get(name, set())
    assert spared == set()


@pytest.mark.parametrize("name", WARNED)
def test_a_compiled_program_that_is_not_healthy(name: str) -> None:
    (finding,) = grave(report_of(name))
    source = finding.culprits[0].source
    assert source is not None
    found = (finding.rule, source.file.rpartition("/")[2], source.line)
    assert (finding.severity, *found) == ("warning", *WARNED[name])


@pytest.mark.parametrize("name", FAILING)
def test_a_failure_gets_its_class_its_pass_and_its_lines(name: str) -> None:
    report = report_of(name)
    expected = FAILING[name]
    assert report.failure is not None
    assert report.failure.pass_ == expected.pass_
    (finding,) = (f for f in grave(report) if f.severity == "error")
    assert (finding.rule, finding.class_) == (expected.rule, expected.class_)
    assert (finding.severity, finding.confidence) == ("error", expected.confidence)
    assert told(finding)[: len(expected.culprits)] == expected.culprits
    advice = " ".join(f"{w.text} {' '.join(w.flags)}" for w in finding.workarounds)
    for words in expected.advice:
        assert words in advice
    assert set(expected.flags) <= set(finding.flags)
    assert all(words in finding.message for words in expected.says)


@pytest.mark.parametrize(
    "name", [n for n in NAMES if n not in LAST_CLONED and n not in WARNED and n not in FAILING]
)
def test_others_are_left_in_peace(name: str) -> None:
    report = report_of(name)
    assert report.failure is None
    found = [f.rule for f in grave(report)]
    assert found == COSTLY.get(name, [])
    assert len(found) <= MOST_WARNINGS
    assert not any(f.severity == "error" for f in report.findings)


def test_the_log_alone() -> None:
    log = Log("run.log", (DUMPS / "seed1_crash_0.4.30.log").read_text("utf-8"))
    report = analyze(None, Settings(), question=Question(logs=(log,)))
    (finding,) = report.findings
    assert finding.rule == "PIP001"
    assert finding.culprits == ()
    assert finding.unknown
    assert len(finding.workarounds) >= 3
