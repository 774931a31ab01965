"""What all rules about a class of failures must keep: signs, flags and passes that exist."""

import re
from importlib import import_module
from typing import get_args

import pytest

from app import knowledge
from app.knowledge import failure_classes, failure_signs
from app.knowledge.failure_signs import SignPlace
from app.rules.frame import Rule, load_rules
from app.rules.telling import Story
from app.service import Log, Question, analyze
from app.settings import Settings

PLACES: tuple[SignPlace, ...] = get_args(SignPlace)
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


# The classes of failures, and the rules that confirm each on the graphs: the instructions, loops
# and lines that a message names are looked up in the dump, and else suspects are listed.
RULES_OF_CLASS = {
    "algsimp-numerics": {"MIS001", "NUM001"},
    "collective-pipeliner": {"PIP001", "PIP002", "PIP003"},
    "command-buffer": {"CMD001"},
    "conditional": {"CND001"},
    "constant-folding": {"CFD001", "CFD002"},
    "cpu-backend": {"CPU001", "MIS001"},
    "cudnn": {"DNN001"},
    "custom-call": {"CUS001"},
    "dynamic-shape": {"DYN001"},
    "fusion": {"FUS001"},
    "gemm-rewriter": {"GEM001", "GEM002", "MIS001"},
    "hang-rendezvous": {"HNG001", "HNG002", "HNG003"},
    "hlo-verifier": {"VER001"},
    "host-offload": {"HOF001"},
    "layout": {"LAY001"},
    "lhs-scheduler": {"LHS001"},
    "loop-unroll": {"UNR001"},
    "nccl-error": {"NCL001"},
    "oom-buffers": {"OOM001", "OOM002"},
    "p2p-race": {"P2P001", "P2P002"},
    "ptxas-backend": {"PTX001"},
    "scatter-sort": {"SRT001"},
    "shard-map-manual": {"SPM002"},
    "slow-compile": {"SLO001", "SLO002"},
    "spmd-check": {"SPM001"},
    "spmd-involuntary-remat": {"RMT001", "RSH001"},
    "spmd-miscompile": {"MIS001", "SPM003"},
    "tpu-backend": {"TPU002"},
    "tpu-memory-space": {"TPU001"},
    "triton-autotune": {"TRI001"},
}


def test_the_thirty_classes_have_rules() -> None:
    assert set(RULES_OF_CLASS) == set(failure_classes())
    assert len(RULES_OF_CLASS) == 30


def test_the_table_names_rules_of_the_class() -> None:
    # MIS001 speaks of the class of each form that it finds.
    class_of = {rule.code: rule.class_ for rule in load_rules()}
    for class_, codes in RULES_OF_CLASS.items():
        assert {class_of[code] for code in codes - {"MIS001"}} <= {class_}
        assert "MIS001" in class_of


def test_a_message_that_only_has_a_topic_is_told_as_a_guess() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/home/u/t.py", line 5, in <module>\n    f()\n'
        "jax.errors.JaxRuntimeError: INTERNAL: No such mesh: @inner\n"
    )
    report = analyze(None, Settings(), question=Question(logs=(Log("run.log", text),)))
    (found,) = report.findings
    assert (found.class_, found.severity, found.confidence) == ("spmd-check", "error", "possible")
    assert found.title == "The run died of an error about shardings and meshes"
    assert [c.source and (c.source.file, c.source.line) for c in found.culprits] == [
        ("/home/u/t.py", 5)
    ]
    assert "the class of the failure: nothing states it" in " ".join(found.unknown)


def test_a_run_that_wrote_a_dump_is_asked_for_it() -> None:
    text = "XLA_FLAGS=--xla_dump_to=/tmp/d python t.py\nINTERNAL: cublasLtMatmul failed\n"
    report = analyze(None, Settings(), question=Question(logs=(Log("run.log", text),)))
    assert "the module: add the dump that the run wrote to /tmp/d" in report.findings[0].unknown


@pytest.mark.parametrize("flag", ["--xla_dump_to=-", "--xla_dump_to"])
def test_a_run_that_wrote_to_no_folder_is_asked_to_be_run_again(flag: str) -> None:
    logs = (Log("run.log", "INTERNAL: cublasLtMatmul failed\n"),)
    report = analyze(None, Settings(), question=Question(logs=logs, flags=flag))
    (wanted,) = (each for each in report.findings[0].unknown if each.startswith("the module: "))
    assert wanted.startswith("the module: rerun with --xla_dump_to=DIR ")


@pytest.mark.parametrize("raised", ["memory_kind must be device", "minor_to_major has 3 numbers"])
def test_an_exception_of_the_program_itself_is_no_more_than_possible(raised: str) -> None:
    text = (
        'Traceback (most recent call last):\n  File "/home/u/t.py", line 5, in <module>\n    f()\n'
        f"ValueError: {raised} in %copy.3\n"
    )
    report = analyze(None, Settings(), question=Question(logs=(Log("run.log", text),)))
    assert report.findings[0].confidence == "possible"
