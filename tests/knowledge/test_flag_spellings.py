"""One flag under two names, and one value in two words, is one flag everywhere."""

import pytest

from app import knowledge
from app.knowledge.tables import read_rows

OLD, NEW = "xla_gpu_enable_pipelined_all_gather", "xla_gpu_pipeline_all_gather"
DUMPED = "COLLECTIVE_PIPELINING_MODE_ON"


@pytest.mark.parametrize(
    ("flags", "value"),
    [
        ({OLD: "true"}, "true"),
        ({NEW: DUMPED}, "true"),
        ({NEW: "on"}, "true"),
        ({NEW: "ON"}, "true"),
        ({NEW: "off"}, "false"),
        ({NEW: "default"}, "default"),
        ({NEW: "explicit"}, "explicit"),
        ({NEW: "sideways"}, "sideways"),
        ({NEW: "on", OLD: "false"}, "false"),
        ({}, None),
    ],
)
def test_both_spellings_are_one_setting(flags: dict[str, str], value: str | None) -> None:
    assert knowledge.setting(flags, OLD) == knowledge.setting(flags, NEW) == value


@pytest.mark.parametrize(
    ("name", "dumped", "given"),
    [
        ("xla_gpu_enable_command_buffer", "CUBLAS,FUSION", "fusion,cublas"),
        ("xla_gpu_disable_async_collectives", "ALLREDUCE", "allreduce"),
        ("xla_cpu_experimental_xnn_fusion_type", "LIBRARY_FUSION_TYPE_DOT", "dot"),
        ("xla_gpu_enable_command_buffer", "", ""),
        ("xla_gpu_enable_command_buffer", "FUSION, CUBLAS", "cublas,fusion"),
        ("xla_gpu_enable_command_buffer", "FUSION,FUSION,", " fusion "),
    ],
)
def test_a_list_of_words_is_one_setting_in_any_order(name: str, dumped: str, given: str) -> None:
    assert knowledge.setting({name: dumped}, name) == knowledge.setting({name: given}, name)
    assert knowledge.flag_as_set({name: dumped}, name) == f"--{name}={dumped}"
    assert knowledge.setting({name: "fusion"}, name) != knowledge.setting({name: "while"}, name)


def test_what_is_shown_has_the_name_that_was_set_and_the_word_that_xla_flags_takes() -> None:
    assert knowledge.flag_as_set({NEW: DUMPED}, OLD) == f"--{NEW}=on"
    assert knowledge.flag_as_set({NEW: DUMPED}, "xla_dump_to") is None


def test_what_is_set_anew_stands_under_one_name() -> None:
    assert knowledge.overlaid({NEW: DUMPED, "xla_a": "1"}, {OLD: "false"}) == {
        "xla_a": "1",
        OLD: "false",
    }
    assert knowledge.overlaid({}, {NEW: "on", OLD: "false"}) == {OLD: "false"}


@pytest.mark.parametrize(
    ("release", "flag", "spelt"),
    [
        ("0.10.2", (NEW, DUMPED), (OLD, "true")),
        ("0.10.2", (NEW, "COLLECTIVE_PIPELINING_MODE_OFF"), (OLD, "false")),
        ("0.10.2", (NEW, "explicit"), (NEW, "explicit")),
        ("0.12.0", (NEW, DUMPED), (NEW, "on")),
        ("0.11.1", (OLD, "true"), (OLD, "true")),
        ("0.10.2", ("xla_gpu_detect_nan", "DETECTION_MODE_FAIL"), ("xla_gpu_detect_nan", "fail")),
        ("0.4.14", ("xla_gpu_cuda_graph_level", "0"), ("xla_gpu_graph_level", "0")),
        ("0.4.13", ("xla_gpu_graph_level", "0"), ("xla_gpu_cuda_graph_level", "0")),
        ("0.10.2", ("xla_a", "B"), ("xla_a", "B")),
    ],
)
def test_a_release_is_given_its_own_spelling(
    release: str, flag: tuple[str, str], spelt: tuple[str, str]
) -> None:
    assert knowledge.spelt_for(release, *flag) == spelt


def test_advice_is_in_the_newest_spelling_that_all_releases_have() -> None:
    assert knowledge.newest_spelling(f"{OLD}=true", ["0.11.1", "0.12.0"]) == f"{NEW}=on"
    assert knowledge.newest_spelling(f"{OLD}=false", ["0.12.0"]) == f"{NEW}=off"
    assert knowledge.newest_spelling(f"{OLD}=true", ["0.10.2", "0.11.1"]) == f"{OLD}=true"
    assert knowledge.newest_spelling("xla_a=true", ["0.12.0"]) == "xla_a=true"


def test_pairs_hold_in_either_spelling() -> None:
    scheduled = {"xla_gpu_enable_latency_hiding_scheduler": "true"}
    doubled = {**scheduled, "xla_gpu_enable_while_loop_double_buffering": "true"}
    (pair,) = knowledge.pairs_at_odds({**doubled, NEW: DUMPED})
    assert pair.flags[0] == f"--{NEW}=on"
    assert not list(knowledge.pairs_at_odds({**scheduled, NEW: DUMPED}))
    assert not list(knowledge.pairs_at_odds({**doubled, NEW: "off"}))


def test_rows_name_flags_of_releases_once() -> None:
    rows = list(read_rows("flag_spellings.tsv"))
    assert len({flag for flag, *_ in rows}) == len(rows)
    for flag, older, _, _, source in rows:
        span = knowledge.flag_releases(flag)
        assert span is not None, flag
        assert source
        if older:
            before = knowledge.flag_releases(older)
            assert before is not None, older
            assert knowledge.release_key(before.first) < knowledge.release_key(span.first)
