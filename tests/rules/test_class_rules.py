"""What all rules about a class of failures must keep: signs, flags and passes that exist."""

import re
from importlib import import_module

import pytest

from app import knowledge
from app.knowledge import failure_classes, failure_signs
from app.rules.frame import Rule, load_rules
from app.rules.telling import Story

PLACES = ("warns", "says", "pass", "file", "frame", "core", "state")
SIGNS = {(s.class_, s.sign) for place in PLACES for s in failure_signs(place)}


def stories_of(rule: Rule) -> dict[str, Story]:
    stem = f"{rule.code.lower()}_{rule.slug.replace('-', '_')}"
    return getattr(import_module(f"app.rules.{stem}"), "STORIES", {})


TOLD = [(rule, stories) for rule in load_rules() if (stories := stories_of(rule))]


def test_every_class_has_a_rule_that_tells_it() -> None:
    assert {rule.class_ for rule, _ in TOLD} == set(failure_classes())


@pytest.mark.parametrize(("rule", "stories"), TOLD, ids=[rule.code for rule, _ in TOLD])
def test_stories_are_about_signs_of_the_class(rule: Rule, stories: dict[str, Story]) -> None:
    assert "" in stories
    assert {(rule.class_, sign) for sign in stories if sign} <= SIGNS


@pytest.mark.parametrize(("rule", "stories"), TOLD, ids=[rule.code for rule, _ in TOLD])
def test_flags_and_passes_exist(rule: Rule, stories: dict[str, Story]) -> None:
    for story in stories.values():
        for item in story.tries:
            name, _, value = item.flag.lstrip("-").partition("=")
            if name == "xla_disable_hlo_passes":
                assert knowledge.pass_releases(value) is not None, value
            elif name:
                assert knowledge.flag_releases(name) is not None, name
        for name in story.flags:
            assert knowledge.flag_releases(name) is not None, name
        for ref in story.refs:
            assert re.fullmatch(r"[\w.\-]+/[\w.\-]+#\d+", ref), ref
