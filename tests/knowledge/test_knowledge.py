"""The packaged tables answer as XLA's sources do."""

import hashlib

import pytest

from app import knowledge
from app.knowledge.tables import read_rows


@pytest.mark.parametrize(
    ("line", "releases"),
    [
        (675, ("0.4.29", "0.4.30")),
        (837, ("0.10.2", "0.11.0", "0.11.1")),
        (809, ("0.7.1", "0.8.0")),
        (465, ("0.4.14",)),
        (1, ()),
    ],
)
def test_line_of_a_check_tells_the_release(line: int, releases: tuple[str, ...]) -> None:
    found = knowledge.releases_of_check("collective_pipeliner.cc", "last_cloned != nullptr", line)
    assert found == releases


def test_check_without_a_line() -> None:
    found = knowledge.releases_of_check("collective_pipeliner.cc", "last_cloned != nullptr")
    assert found == knowledge.ALL_RELEASES[knowledge.ALL_RELEASES.index("0.4.14") :]
    assert knowledge.releases_of_check("collective_pipeliner.cc", "no such thing") == ()
    assert knowledge.releases_of_check("no_such_file.cc", "last_cloned != nullptr") == ()


def test_lines_of_a_check_in_every_release() -> None:
    lines = knowledge.check_site_lines(
        "hlo_instruction.cc", "PRED == operand(0)->shape().element_type()"
    )
    assert all(numbers == tuple(sorted(numbers)) for numbers in lines.values())
    assert any(len(numbers) == 2 for numbers in lines.values())
    assert list(lines) == [release for release in knowledge.ALL_RELEASES if release in lines]


def test_digest_is_of_the_folded_condition() -> None:
    plain = "last_cloned != nullptr"
    digest = hashlib.sha1(plain.encode()).hexdigest()[:12]
    assert knowledge.condition_digest(plain) == digest
    assert knowledge.condition_digest("  last_cloned\n    !=  nullptr ") == digest
    assert knowledge.condition_digest("last_cloned == nullptr") != digest


@pytest.mark.parametrize(
    ("file", "text", "condition"),
    [
        (
            "layout_assignment.cc",
            "!IsCublasLtGemm(*instruction) Gemm rewriting should run after layout assignment",
            "!IsCublasLtGemm(*instruction)",
        ),
        (
            "heap_simulator.cc",
            "buffer_interval.size == size (8388608 vs. 33554432)",
            "buffer_interval.size == size",
        ),
        ("heap_simulator.cc", "nothing that is checked there", None),
        ("no_such_file.cc", "a == b", None),
        ("heap_simulator.cc", "", None),
    ],
)
def test_condition_at_the_start_of_a_text(file: str, text: str, condition: str | None) -> None:
    assert knowledge.find_condition(file, text) == condition


def test_releases_are_those_of_the_table_in_order() -> None:
    used: set[str] = set()
    for _, _, _, spans in read_rows("check_sites.tsv.xz"):
        used.update(end for span in spans.split(" ") for end in span.partition("=")[0].split(".."))
    assert used <= set(knowledge.ALL_RELEASES)
    assert len(knowledge.ALL_RELEASES) == 44
    assert sorted(knowledge.ALL_RELEASES, key=knowledge.release_key) == [*knowledge.ALL_RELEASES]


@pytest.mark.parametrize(
    ("release", "key"),
    [
        ("0.4.30", (0, 4, 30)),
        ("0.12.0.1", (0, 12, 0, 1)),
        ("0.10.0rc1", (0, 10, 0)),
        (" 0.4.31.dev20240701", (0, 4, 31)),
        ("nightly", ()),
    ],
)
def test_release_key(release: str, key: tuple[int, ...]) -> None:
    assert knowledge.release_key(release) == key


def test_flags() -> None:
    span = knowledge.flag_releases("--xla_gpu_enable_triton_softmax_fusion")
    assert span == knowledge.FlagSpan("0.4.13", "0.7.1", ("0.5.1", "0.5.3"))
    assert span is not None
    assert "0.5.1" not in span.releases
    known = {
        ("xla_gpu_enable_triton_softmax_fusion", "0.4.12"): False,
        ("xla_gpu_enable_triton_softmax_fusion", "0.5.0"): True,
        ("xla_gpu_enable_triton_softmax_fusion", "0.5.3"): False,
        ("xla_gpu_enable_triton_softmax_fusion", "0.4.37"): None,
        ("xla_no_such_flag", "0.5.0"): False,
        ("xla_tpu_no_such_flag", "0.5.0"): None,
        ("xla_gpu_graph_level", "0.10.2"): False,
    }
    assert {key: knowledge.flag_known_in(*key) for key in known} == known
    assert knowledge.flag_releases("xla_no_such_flag") is None


def test_passes() -> None:
    assert knowledge.pass_releases("collective-pipeliner-backward") == knowledge.PassSpan(
        "0.4.30", "0.12.0"
    )
    assert knowledge.pass_releases("no-such-pass") is None


@pytest.mark.parametrize(
    ("file", "condition", "passes"),
    [
        ("collective_pipeliner.cc", "last_cloned != nullptr", ("collective-pipeliner-backward",)),
        (
            "collective_pipeliner.cc",
            None,
            (
                "collective-pipeliner-forward",
                "collective-pipeliner-backward",
                "collective-pipeliner-forwardsink",
            ),
        ),
        ("pipelined_p2p_rewriter.cc", None, ("pipelined-p2p-rewriter",)),
        ("all_gather_combiner.cc", "x", ("all-gather-combiner", "gpu-all-gather-combiner")),
        ("algebraic_simplifier.cc", None, ("algsimp",)),
        ("hlo_verifier.cc", None, ()),
        ("heap_simulator.cc", "buffer_interval.size == size", ()),
        ("shape_util.cc", None, ()),
        ("no_such_file.cc", None, ()),
    ],
)
def test_pass_of_a_file(file: str, condition: str | None, passes: tuple[str, ...]) -> None:
    assert knowledge.passes_of_file(file, condition) == passes


def test_hand_written_rows_name_files_and_passes_that_exist() -> None:
    files = {row[0] for row in read_rows("check_sites.tsv.xz")}
    for file, condition, passes, source in read_rows("passes_of_files.tsv"):
        assert file in files or source, file
        assert source
        if condition:
            assert knowledge.check_site_lines(file, condition), condition
        # Names that are built at run time stand in no source and may be in no dump.
        built = {"collective-pipeliner-forwardsink"}
        assert all(knowledge.pass_releases(name) for name in passes.split() if name not in built), (
            file
        )


def test_fixes() -> None:
    fix = knowledge.fix_of("openxla/xla#14332")
    assert fix is not None
    assert (fix.fixed_in, fix.commit) == ("0.4.31", "89089aa569")
    known, unknown = knowledge.upstream("openxla/xla#14332", "openxla/xla#1")
    assert (known.ref, known.fixed_in, known.affects) == (fix.ref, fix.fixed_in, fix.affects)
    assert (unknown.ref, unknown.fixed_in) == ("openxla/xla#1", None)
    for entry in knowledge.fixes().values():
        release = entry.fixed_in.rpartition(" ")[2]
        assert release in knowledge.ALL_RELEASES
        assert entry.source
        assert "#" in entry.ref


def test_the_nearest_flag() -> None:
    near = knowledge.nearest_flag("xla_gpu_enable_tritn_gemm")
    assert near == "xla_gpu_enable_triton_gemm"
    assert knowledge.nearest_flag("xla_nothing_like_that_at_all") is None


@pytest.mark.parametrize(
    ("flags", "count"),
    [
        ({"xla_gpu_enable_pipelined_all_gather": "true"}, 1),
        ({"xla_gpu_enable_pipelined_all_gather": "false"}, 0),
        (
            {
                "xla_gpu_enable_pipelined_all_gather": "1",
                "xla_gpu_enable_latency_hiding_scheduler": "1",
            },
            0,
        ),
        ({"xla_disable_hlo_passes": "dce,call-inliner"}, 1),
        ({"xla_gpu_graph_level": "0", "xla_gpu_enable_command_buffer": "FUSION"}, 1),
        ({"xla_gpu_graph_level": "0", "xla_gpu_enable_command_buffer": ""}, 0),
    ],
)
def test_settings_at_odds(flags: dict[str, str], count: int) -> None:
    found = list(knowledge.pairs_at_odds(flags))
    assert len(found) == count
    assert all(flag in {f"--{k}={v}" for k, v in flags.items()} for p in found for flag in p.flags)


def test_flags_of_pairs_are_known() -> None:
    for given, other, _, _ in read_rows("flag_pairs.tsv"):
        for word in filter(None, (given, other)):
            assert knowledge.flag_releases(word.lstrip("!").partition("=")[0]) is not None


def test_passes_tell_of_the_flags_that_add_them() -> None:
    assert knowledge.flags_that_add("collective-pipeliner-backward") == (
        "xla_gpu_enable_pipelined_all_gather",
    )
    assert knowledge.flags_that_add("dce") == ()
    for name, flags, source in read_rows("passes_of_flags.tsv"):
        assert knowledge.pass_releases(name), name
        assert all(knowledge.flag_releases(flag) for flag in flags.split())
        assert source


def test_what_passes_are_for() -> None:
    purpose = knowledge.purpose_of_pass("collective-pipeliner")
    assert purpose is not None
    assert knowledge.purpose_of_pass("collective-pipeliner-backward") == purpose
    assert knowledge.purpose_of_pass("gpu_scatter_expander") == "writes scatters as loops"
    assert knowledge.purpose_of_pass("no-such-pass") is None
    known = {row[0].replace("_", "-") for row in read_rows("passes_by_release.tsv.xz")}
    bare = known | {name.removeprefix("gpu-").removeprefix("tpu-") for name in known}
    # A pipeline that the scheduler is told by, and a pass whose directions alone are listed.
    assert {name for name, _ in read_rows("passes_for_what.tsv")} - bare == {
        "collective-pipeliner",
        "scheduling",
    }
    for _, words in read_rows("passes_for_what.tsv"):
        assert words[0].islower(), words
        assert not words.endswith("."), words
