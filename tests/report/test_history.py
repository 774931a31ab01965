"""The page of an instruction's past: whom it names as its maker, and where it names nobody."""

import re

import msgspec
import pytest

from app.model.report import Dump, Module
from app.report.history import HistoryPlace, history_page
from app.views.instruction_history import InstructionHistory, Stage, StageKind
from report import builders

SPMD = ("0001", "spmd-partitioner", "sharding-propagation")
CLEANUP = ("0002", "spmd-cleanup", "pipeline-start")
PARTITIONED = ("0009", "spmd-partitioner", "spmd-partitioning")
START = ("0000", "p", "pipeline-start")


def lead(
    texts: list[tuple[str, str, str]],
    at: int,
    kind: StageKind = "made",
    *,
    alike: tuple[str, ...] = (),
    copied_at: int | None = None,
) -> str:
    """What is said first of an instruction of text `at`, the texts as step, pipeline and pass."""
    dumps = tuple(
        Dump(
            index=index,
            file=f"module_0000.m.{step}.{pipeline}.after_{after}.before_z.txt",
            bytes=1,
            pipeline=pipeline,
            after=after,
        )
        for index, (step, pipeline, after) in enumerate(texts)
    )
    module = Module(id="module_0000.m", name="m", dumps=dumps)
    report = msgspec.structs.replace(builders.crash_report(), modules=(module,))
    made = Stage(
        dump=at, kind=kind, after="x", opcode="add", computation="main", line=3, alike=alike
    )
    copied = msgspec.structs.replace(made, dump=copied_at or 0, kind="copied", before="y")
    stages = (made,) if copied_at is None else (copied, made)
    found = InstructionHistory(instruction="x", opcode="add", stages=stages, ending="made")
    place = HistoryPlace("/r/1", module, at, "main", "x")
    page = history_page(report, place, found)
    told = re.search(r'<p class="lead">(.*?)</p>', page, re.S)
    assert told is not None
    return told[1]


@pytest.mark.parametrize(
    ("texts", "at", "words"),
    [
        pytest.param([START, SPMD], 1, "Made by 0001 sharding-propagation.", id="a pass"),
        pytest.param(
            [START, SPMD, CLEANUP, PARTITIONED],
            2,
            "Made by 0002 spmd-partitioning, seen at the start of spmd-cleanup.",
            id="the pass that runs a pipeline",
        ),
        pytest.param(
            [START, SPMD, CLEANUP],
            2,
            "First seen in the text 0002 start of spmd-cleanup; which pass made it is not known.",
            id="a pass whose text was never written",
        ),
        pytest.param(
            [START, SPMD, PARTITIONED],
            2,
            "First seen in the text 0009 spmd-partitioning; texts before it are missing.",
            id="a hole",
        ),
    ],
)
def test_a_pass_is_said_to_have_made_it_only_where_it_did(
    texts: list[tuple[str, str, str]], at: int, words: str
) -> None:
    assert lead(texts, at).endswith(words)


def test_what_may_have_been_there_is_not_said_to_be_made() -> None:
    words = lead([START, SPMD], 1, "first_seen")
    assert "Made by" not in words
    assert "First seen under this name after 0001 sharding-propagation" in words


@pytest.mark.parametrize(
    ("alike", "words"),
    [
        (("a", "b"), ", maybe as a copy of a or b."),
        (("a", "b", "c", "d", "e"), ", maybe as a copy of a, b, c or 2 more."),
    ],
)
def test_what_it_may_be_a_copy_of_is_said_to_be_no_more_than_that(
    alike: tuple[str, ...], words: str
) -> None:
    assert lead([START, SPMD], 1, alike=alike).endswith(f"0001 sharding-propagation{words}")


def test_the_pass_that_copied_it_stands_behind_the_one_that_made_it() -> None:
    words = lead([START, SPMD, ("0002", "p", "collective-pipeliner-backward")], 1, copied_at=2)
    assert "Made by 0001 sharding-propagation, copied by 0002 collective" in words
