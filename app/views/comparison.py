"""A comparison of two dumps with the differences of the texts where modules part."""

from app.analysis.comparison import Analysed
from app.analysis.comparison_texts import Texts
from app.analysis.diff import Differ
from app.model.comparison import Comparison, ModulePair
from app.model.report import Struct
from app.views.pass_diff import PassDiff, diff_view

MOST_DIFFS = 3
"""Differences of texts in one answer: those of the first modules that part."""


class PartingDiff(Struct, frozen=True, kw_only=True):
    """What differs between text `dump_a` of module `a` and text `dump_b` of module `b`.

    `pair` is the place of the two in the comparison's `modules`.
    """

    pair: int
    a: str
    b: str
    dump_a: int
    dump_b: int
    diff: PassDiff


class ComparisonView(Struct, frozen=True, kw_only=True):
    """A comparison, and the differences of the first modules that part."""

    comparison: Comparison
    diffs: tuple[PartingDiff, ...] = ()


def comparison_view(comparison: Comparison, a: Analysed, b: Analysed) -> ComparisonView:
    """The comparison of these two dumps with its differences; none without texts."""
    if a.texts is None or b.texts is None:
        return ComparisonView(comparison=comparison)
    differ = Differ()
    parted = [k for k, pair in enumerate(comparison.modules) if pair.parting is not None]
    return ComparisonView(
        comparison=comparison,
        diffs=tuple(
            _diff(k, comparison.modules[k], a.texts, b.texts, differ) for k in parted[:MOST_DIFFS]
        ),
    )


def _diff(number: int, pair: ModulePair, a: Texts, b: Texts, differ: Differ) -> PartingDiff:
    parting = pair.parting
    assert parting is not None
    assert pair.a is not None
    assert pair.b is not None
    dump_a = parting.last_equal_a if parting.dump_a is None else parting.dump_a
    dump_b = parting.last_equal_b if parting.dump_b is None else parting.dump_b
    before, after = a.module(pair.a, dump_a or 0), b.module(pair.b, dump_b or 0)
    return PartingDiff(
        pair=number,
        a=pair.a,
        b=pair.b,
        dump_a=dump_a or 0,
        dump_b=dump_b or 0,
        diff=diff_view(before, after, differ.diff(before, after)),
    )
