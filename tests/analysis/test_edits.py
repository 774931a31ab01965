"""One edit, all names changed and all lines shuffled: the diff names the edit and nothing else."""

import random
from collections.abc import Iterator

import pytest

from analysis.edits import KINDS, edited, found_instead
from analysis.hidden_names import hidden
from analysis.interchangeable import Interchangeable
from app.analysis.diff import diff_modules
from app.ingest.load import load_dump
from app.settings import Settings
from hlo_parser import Module, parse_module
from samples import load_sample

CASES_OF_A_KIND = 5


@pytest.fixture(scope="module")
def texts() -> list[Module]:
    """Texts of a real history, far apart and not too large."""
    contents = load_dump(load_sample("ring_local_p2p").archive, settings=Settings())
    return [
        dump.module
        for history in contents.modules
        for dump in history.dumps[::9]
        if 40 <= dump.module.instruction_count <= 1_000
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_and_nothing_else(kind: str, texts: list[Module]) -> None:
    numbers = random.Random(kind)
    found = list(_edits(kind, texts, numbers))
    assert len(found) == CASES_OF_A_KIND
    assert [wrong for wrong in found if wrong] == []


def _edits(kind: str, texts: list[Module], numbers: random.Random) -> Iterator[list[str]]:
    done = 0
    for _ in range(20 * CASES_OF_A_KIND):
        module = numbers.choice(texts)
        edit = edited(module, kind, numbers)
        if edit is not None:
            yield found_instead(module, edit, numbers)
            done += 1
        if done == CASES_OF_A_KIND:
            return


def test_another_order_and_other_names_are_no_difference(texts: list[Module]) -> None:
    for module in texts:
        found = diff_modules(module, hidden(module, random.Random(1)).module)
        assert all(
            not (c.added or c.removed or c.changed) and c.before and c.after
            for c in found.computations
        )


TWINS = """HloModule m

ENTRY %main {
  %p = f32[4]{0} parameter(0)
  %q = f32[4]{0} parameter(1)
  %a = f32[4]{0} negate(%p)
  %b = f32[4]{0} negate(%p)
  %c = f32[4]{0} add(%a, %q)
  %d = f32[4]{0} multiply(%b, %q)
  ROOT %t = (f32[4]{0}, f32[4]{0}) tuple(%c, %d)
}
"""


def test_twins_that_swapped_names_are_no_difference() -> None:
    swapped = TWINS.replace("add(%a,", "add(%b,").replace("multiply(%b,", "multiply(%a,")
    (found,) = diff_modules(parse_module(TWINS), parse_module(swapped)).computations
    assert (found.added, found.removed, found.changed) == ((), (), ())
    assert set(found.renamed) == {("a", "b"), ("b", "a")}


def test_what_the_judge_takes_for_twins() -> None:
    module = parse_module(TWINS.replace("multiply(%b, %q)", "add(%b, %q)"))
    judge = Interchangeable(module)
    assert not judge.twins(("main", "a"), ("main", "b"))
    assert judge.merges(("main", "a"), ("main", "b"))
    alone = parse_module(TWINS.replace("tuple(%c, %d)", "tuple(%c, %c)"))
    assert not Interchangeable(alone).twins(("main", "a"), ("main", "b"))
    same = parse_module(
        "HloModule m\n\nENTRY %e {\n  %p = f32[] parameter(0)\n"
        "  %a = f32[] negate(%p)\n  %b = f32[] negate(%p)\n  ROOT %s = f32[] copy(%p)\n}\n"
    )
    assert Interchangeable(same).twins(("e", "a"), ("e", "b"))
