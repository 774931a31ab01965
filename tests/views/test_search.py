"""Search in one dump: which part matches, exact counts, limits."""

import time

import msgspec
import pytest

from app.errors import UsageError
from app.views.search import MAX_HITS, Field, search_instructions
from views.modules import SMALL, chain


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("dot.1", {"dot.1": ("name",)}),
        ("%dot.1", {"dot.1": ("name",)}),
        ("DOT", {"dot.1": ("name", "opcode", "op_name")}),
        ("reduce", {"reduce.2": ("name", "opcode")}),
        ("dense/dot", {"dot.1": ("op_name",)}),
        ("layers.py", {"dot.1": ("source",)}),
        ("layers.py:7", {"dot.1": ("source",)}),
        ("layers.py:70", {}),
        # The outer frame of the dot is the line of the exponential.
        ("train.py:40", {"dot.1": ("source",), "late": ("source",)}),
        ("train.py:4", {}),
        ("train.py:\u00b2", {}),
        ("nothing", {}),
    ],
)
def test_fields(query: str, expected: dict[str, tuple[Field, ...]]) -> None:
    answer = search_instructions(SMALL, query)
    assert {hit.instruction: hit.fields for hit in answer.hits} == expected
    assert answer.total == len(answer.hits)
    assert answer.cut is None


def test_chosen_fields() -> None:
    answer = search_instructions(SMALL, "dot", fields=("opcode", "source"))
    assert answer.by_field == {"opcode": 1, "source": 0}
    assert answer.hits[0].fields == ("opcode",)


def test_hit() -> None:
    (hit,) = search_instructions(SMALL, "dot.1").hits
    assert hit.computation == "main"
    assert hit.line == SMALL.first_line(SMALL.entry) + 3
    assert hit.op_name == "jit(step)/dense/dot_general"
    assert hit.source == "/job/layers.py:7"
    assert hit.text.startswith("%dot.1 = f32[8,8]{1,0} dot(%x, %w)")


@pytest.mark.parametrize("query", ["", "  ", "%", "x" * 501])
def test_nothing_to_look_for(query: str) -> None:
    with pytest.raises(UsageError):
        search_instructions(SMALL, query)


def test_long_module() -> None:
    module = chain(50_000)
    before = time.perf_counter()
    answer = search_instructions(module, "negate")
    assert time.perf_counter() - before < 10
    assert (answer.total, len(answer.hits)) == (49_999, MAX_HITS)
    assert answer.cut is not None
    assert answer.cut.total == 49_999
    assert len(msgspec.json.encode(answer)) < 500_000
    by_line = search_instructions(module, "f.py:13", limit=5)
    assert (by_line.total, len(by_line.hits)) == (1_000, 5)
