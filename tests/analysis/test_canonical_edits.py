"""Digests over real texts: another name and order make no difference, any one edit does."""

import random
from functools import cache

import pytest

from analysis.edits import KINDS, Edit, edited
from analysis.hidden_names import hidden
from app.analysis.canonical import Canonicalizer, module_digest
from app.analysis.canonical_difference import first_difference
from app.ingest.load import load_dump
from app.settings import Settings
from hlo_parser import Module
from samples import load_sample

SAMPLES = ("ring_local_p2p", "psum_under_cond", "pmap_of_cond")


@cache
def texts() -> tuple[Module, ...]:
    """Texts of three samples that are no schedules, every fifth of each module."""
    return tuple(
        dump.module
        for name in SAMPLES
        for history in load_dump(load_sample(name).archive, settings=Settings()).modules
        for dump in history.dumps[::5]
        if not dump.module.header.is_scheduled
    )


def test_other_names_and_another_order_are_the_same_graph() -> None:
    numbers = random.Random(1)
    assert len(texts()) > 20
    for module in texts():
        assert module_digest(hidden(module, numbers).module) == module_digest(module)


def is_dead(module: Module, computation: str) -> bool:
    """Whether the entry does not reach it, as passes leave some behind."""
    reached = [module.entry.name]
    for name in reached:
        here = module.get(name)
        assert here is not None
        called = (c.name for i in here.instructions for _, c in module.callees(i))
        reached += [found for found in dict.fromkeys(called) if found not in reached]
    return computation not in reached


def makes_no_difference(module: Module, edit: Edit) -> bool:
    """Whether it changes dead code, the number of a channel, or what an element says of itself.

    XLA could not have made the latter: the tuple says what its elements are.
    """
    if any(is_dead(module, computation) for computation, _ in {*edit.changed, *edit.removed}):
        return True
    for (computation, name), what in edit.changed.items():
        before, after = (m.get(computation) for m in (module, edit.module))
        assert before is not None
        assert after is not None
        one, other = before.get(name), after.get(name)
        if one is None or other is None:
            continue
        is_element = one.opcode == "get-tuple-element"
        if is_element and what & {"shape", "layout", "attributes"}:
            return True
        if one.channel_id != other.channel_id:
            return True
    return False


@pytest.mark.parametrize("kind", KINDS)
def test_every_edit_makes_another_graph_and_is_found(kind: str) -> None:
    numbers = random.Random(kind)
    made = 0
    for module in texts():
        edit = edited(module, kind, numbers)
        if edit is None or makes_no_difference(module, edit):
            continue
        made += 1
        canonicalizer = Canonicalizer()
        before = canonicalizer.of_module(module)
        after = canonicalizer.of_module(hidden(edit.module, numbers).module)
        assert before.digest != after.digest
        found = first_difference(before, after)
        assert found is not None
        assert found.before or found.after
        places = {*edit.added, *edit.removed, *edit.changed, *edit.copies}
        assert found.before_computation in {computation for computation, _ in places}
    assert made
