"""What our parser understood is what XLA's own parser (jaxlib) understood."""

from collections import Counter

import pytest

from hlo_parser import Interner, parse_module
from parser.dump_texts import hlo_texts
from parser.oracle import Oracle, as_printed, facts_of_module
from samples import Sample, load_samples

EVERY = 5


def agreement(sample: Sample, step: int) -> Counter[str]:
    """Compare every `step`-th text of a sample; counts of texts accepted, refused and crashed."""
    counts: Counter[str] = Counter()
    interner = Interner()
    with Oracle() as oracle:
        for index, (name, text) in enumerate(hlo_texts(sample.archive)):
            if index % step:
                continue
            facts = oracle.read(text)
            if isinstance(facts, str):
                counts["crashed" if facts == "crashed" else "refused"] += 1
                continue
            counts["accepted"] += 1
            ours = facts_of_module(parse_module(text, interner=interner))
            assert ours == as_printed(facts, ours), name
    return counts


@pytest.mark.parametrize("sample", load_samples(), ids=lambda sample: sample.name)
def test_texts_of_the_samples(sample: Sample):
    counts = agreement(sample, EVERY)
    assert counts["accepted"] > 0
    assert counts["refused"] == counts["crashed"] == 0


@pytest.mark.long
@pytest.mark.parametrize("sample", load_samples(), ids=lambda sample: sample.name)
def test_all_texts_of_the_samples(sample: Sample):
    counts = agreement(sample, 1)
    assert counts["refused"] == counts["crashed"] == 0


ASYNC = """\
HloModule m

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT sum = f32[] add(x, y)
}

ENTRY e {
  p = f32[4]{0} parameter(0)
  s = ((f32[4]{0}), f32[2]{0}) reduce-scatter-start(p), replica_groups={{0,1}}, dimensions={0}, to_apply=add
  u = ((f32[4]{0}), f32[2]{0}) reduce-scatter-update(s)
  ROOT d = f32[2]{0} reduce-scatter-done(u), control-predecessors={p}
}
"""  # noqa: E501 -- one line, as XLA prints it


def test_the_judge_sees_a_difference_and_survives_a_crash():
    with Oracle() as oracle:
        facts = oracle.read(ASYNC.encode())
        assert not isinstance(facts, str)
        ours = facts_of_module(parse_module(ASYNC))
        assert ours == as_printed(facts, ours)
        for old, new in [
            ("add(x, y)", "add(y, x)"),
            ("scatter-done", "sum-done"),
            ("={p}", "={s}"),
        ]:
            other = facts_of_module(parse_module(ASYNC.replace(old, new)))
            assert other != as_printed(facts, other)
        # A gap in the parameter numbers aborts XLA (hlo_computation.cc).
        assert (
            oracle.read(b"HloModule m\nENTRY e {\n  ROOT p = f32[] parameter(1)\n}\n") == "crashed"
        )
        assert isinstance(oracle.read(b"HloModule m\nENTRY e {\n  ROOT p = f32[] no(1)\n}\n"), str)
        assert not isinstance(oracle.read(ASYNC.encode()), str)
