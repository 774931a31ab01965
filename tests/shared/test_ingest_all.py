"""Every dump and log at hand: read whole, classified whole, and the failure that is true."""

import re
import tarfile
from pathlib import Path

import pytest

from app.ingest import load_dump, read_log
from app.ingest.names import read_file_name
from app.settings import Settings

DUMPS = Path(__file__).resolve().parents[3] / "shared" / "dumps"
ARCHIVES = sorted(DUMPS.glob("*.tar.gz"))
LOGS = sorted(DUMPS.glob("*.log"))

PIPELINER = ("check", "collective_pipeliner.cc", 675, "last_cloned != nullptr", None)
# What INDEX.md says is right: kind, file, line, condition, status; the names a message holds.
FAILURES: dict[str, tuple[str, str | None, int | None, str | None, str | None]] = {
    **dict.fromkeys(
        (
            "crash_s000_full__jax0.4.30",
            "s000n_crash__jax0.4.30",
            "s000n_crash_nopassre__jax0.4.30",
            "s000n_crash_nodblbuf__jax0.4.30",
            "s000n_crash_proto__jax0.4.30",
            "seed1_crash_0.4.30",
            "seed1_crash_0.4.30_plain_dump",
            "seed1_crash_0.4.30_double_buffering_off",
            "seed1_crash_0.4.30_vlog",
        ),
        PIPELINER,
    ),
    "crash_heapsim_moe__jax0.4.34": (
        "check",
        "heap_simulator.cc",
        777,
        "buffer_interval.size == size",
        None,
    ),
    "crash_pipelined_p2p__jax0.4.34": (
        "check",
        "pipelined_p2p_rewriter.cc",
        87,
        "collective_in_comp != collective_in_computation.end()",
        None,
    ),
    "fail_p2p_cycle_pp__jax0.6.2": ("status", None, None, None, "FAILED_PRECONDITION"),
    "fail_cycle_nocallinliner__jax0.10.2": ("status", None, None, None, "FAILED_PRECONDITION"),
    "fail_autotune_cache_deviceless__jax0.4.34": ("status", None, None, None, "INTERNAL"),
    "fail_hlo_bad_target__jax0.10.2": (
        "verifier",
        "hlo_verifier.cc",
        879,
        "p.second < limit",
        "INTERNAL",
    ),
    "fail_ptxas_syntax__jax0.10.2": ("status", None, None, None, "INTERNAL"),
    "fail_big_triton__jax0.10.2": ("status", None, None, None, "RESOURCE_EXHAUSTED"),
    "fail_unknown_custom_call__jax0.12.0": ("status", None, None, None, "NOT_FOUND"),
    "fail_tpu_oom_sort__jax0.12.0.1": ("oom", None, None, None, "RESOURCE_EXHAUSTED"),
}
NAMES = {
    "fail_p2p_cycle_pp__jax0.6.2": "collective-permute.4-bwd-send-done",
    "fail_cycle_nocallinliner__jax0.10.2": "wrapped_subtract",
    "fail_autotune_cache_deviceless__jax0.4.34": "gemm_fusion_dot.9",
    "fail_hlo_bad_target__jax0.10.2": "ppermute.3",
}
_PROTO = re.compile(r"\.hlo\.pb(\.gz)?$")


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def test_archive(archive: Path) -> None:
    with tarfile.open(archive) as tar:
        members = {info.name: info.size for info in tar if info.isreg()}
    contents = load_dump(archive, settings=Settings())
    coverage = contents.coverage
    assert coverage.files == len(members) == sum(coverage.kinds.values())
    assert coverage.bytes == sum(members.values())
    assert coverage.kinds.get("unknown", 0) == 0
    assert coverage.unparsed_lines == 0
    remarks = {remark.partition(":")[0] for remark in coverage.remarks}
    assert remarks <= {"proto", "proto_twin", "proto_assignment"}
    from_protos = [each for each in contents.buffer_assignments if not each.file.endswith(".txt")]
    assert ("proto_assignment" in remarks) is bool(from_protos)
    assert {entry.code for entry in coverage.skipped} <= {"not_yet_read"}
    unread = sum(name.endswith(("-report.pb", "-report.pb.gz")) for name in members)
    assert coverage.skipped_count == unread
    texts = {name for name in members if read_file_name(name).kind == "hlo_text"}
    protos = {name for name in members if _PROTO.search(name)}
    alone = {name for name in protos if _PROTO.sub(".txt", name) not in texts}
    assert remarks - {"proto_assignment"} == {
        word for word, found in (("proto", alone), ("proto_twin", protos - alone)) if found
    }
    assert {d.file for m in contents.modules for d in m.dumps} == texts | alone
    first = contents.modules[0]
    name = archive.name.removesuffix(".tar.gz")
    assert first.role == "user"
    assert not first.name.startswith(("fused_", "wrapped_"))
    died_while_compiling = name.startswith(("crash_", "s000n_crash", "seed1_crash", "fail_"))
    # These died after the last text was written.
    late = ("ptxas", "triton", "custom_call", "tpu_oom")
    assert first.complete is not (died_while_compiling and not any(word in name for word in late))
    for module in contents.modules:
        kinds = [dump.name.kind for dump in module.dumps]
        assert module.complete is (kinds[-1] == "after_optimizations")
        steps = [dump.name.step for dump in module.dumps if dump.name.step is not None]
        assert steps == sorted(set(steps))
        if module.role == "autotuning":
            assert module.name.startswith(("fused_", "wrapped_"))


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
def test_log(log: Path) -> None:
    facts = read_log(log.read_text(), name=log.name)
    found = [(f.kind, f.file, f.line, f.condition, f.status) for f in facts.failures]
    expected = FAILURES.get(log.stem)
    assert found == ([expected] if expected else [])
    if log.stem in NAMES:
        assert facts.names[0] == NAMES[log.stem]
    assert not facts.hung


def test_every_failing_dump_has_its_log() -> None:
    assert FAILURES.keys() <= {log.stem for log in LOGS}


def test_verbose_lines_of_the_pipeliner() -> None:
    facts = read_log((DUMPS / "seed1_crash_0.4.30_vlog.log").read_text(), name="v")
    texts = [move.text for move in facts.verbose if move.file == "collective_pipeliner.cc"]
    assert texts[0] == "Pipelining on direction: forward"
    assert sum(text.startswith("While: %while.") for text in texts) == 6
    assert sum(text.startswith("Skipping all-gather.") for text in texts) == 8


def test_places_of_points_between_passes() -> None:
    """`after_spmd_partitioner` stands where the partitioner's pipeline ends."""
    seen = 0
    for archive in ARCHIVES:
        if "0.10.2" not in archive.name or archive.stat().st_size > 3_000_000:
            continue
        for module in load_dump(archive, settings=Settings()).modules:
            points = [dump.name.point for dump in module.dumps]
            if "after_spmd_partitioner" not in points or len(points) < 10:
                continue
            place = points.index("after_spmd_partitioner")
            before = [dump.name.pipeline for dump in module.dumps[:place]]
            behind = [dump.name.pipeline for dump in module.dumps[place + 1 :]]
            assert any("spmd" in (pipeline or "") for pipeline in before)
            assert not any("spmd" in (pipeline or "") for pipeline in behind)
            seen += 1
    assert seen > 5
