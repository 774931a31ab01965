"""What the newest texts changed, and what passes work on."""

import pytest

from analysis.histories import history_of
from app.analysis.newest_changes import newest_changes, opcodes_of_pass

FIRST = """HloModule m

ENTRY main {
  x = f32[4]{0} parameter(0)
  a = f32[4]{0} negate(x)
  ROOT b = f32[4]{0} negate(a)
}
"""
MORE = FIRST.replace(
    "  ROOT b = f32[4]{0} negate(a)",
    "  e = f32[4]{0} exponential(a)\n  ROOT b = f32[4]{0} negate(e)",
)


def test_texts_that_add_nothing_are_no_changes() -> None:
    history = history_of(FIRST, MORE, MORE, FIRST)
    changes = newest_changes(history)
    assert [change.dump.index for change in changes] == [3, 1]
    assert [change.counts for change in changes] == [
        (("exponential", 1, 0),),
        (("exponential", 0, 1),),
    ]
    assert [[i.name for _, i in change.fresh] for change in changes] == [[], ["e"]]


def test_a_single_text_has_no_changes() -> None:
    assert newest_changes(history_of(FIRST)) == ()


def test_as_many_as_are_asked_for() -> None:
    history = history_of(*(FIRST, MORE) * 8)
    assert [change.dump.index for change in newest_changes(history, 2)] == [15, 14]


@pytest.mark.parametrize(
    ("name", "opcodes"),
    [
        ("all-gather-optimizer", ("all-gather",)),
        ("reduce-scatter-creator", ("reduce-scatter",)),
        ("gemm-fusion-autotuner", ("fusion",)),
        ("select_and_scatter_expander", ("select-and-scatter",)),
        ("while-loop-all-reduce-code-motion", ("all-reduce", "while")),
        ("dynamic-index-splitter", ()),
        ("algsimp", ()),
        ("cudnn_pad_for_convolutions", ("convolution",)),
        ("simplify-fp-conversions", ("convert",)),
        ("command-buffer-conversion", ()),
        ("async-to-sync-converter", ()),
        ("dot_dimension_sorter", ("dot",)),
        ("latency-hiding-scheduler-preparation", ("send", "recv")),
    ],
)
def test_the_name_of_a_pass_says_what_it_works_on(name: str, opcodes: tuple[str, ...]) -> None:
    assert opcodes_of_pass(name) == opcodes
