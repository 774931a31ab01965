"""Which pass made a text out of the one before."""

from app.analysis.passes import changed_by, speaks_for, takes_part
from app.model.dump import DumpName, ModuleHistory, PassDump
from hlo_parser import parse_module

MODULE = parse_module("HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n")
BEFORE = DumpName(file="before", kind="before_optimizations")
AFTER = DumpName(file="after", kind="after_optimizations")
POINT = DumpName(file="point", kind="other", point="after_spmd_partitioner")


def step(number: int | None, pipeline: str, after: str) -> DumpName:
    return DumpName(
        file=f"{number}", kind="pass", step=number, pipeline=pipeline, after=after, before="next"
    )


START = step(0, "p", "pipeline-start")


def passes(*names: DumpName) -> list[tuple[str | None, bool]]:
    dumps = tuple(PassDump(index, name, MODULE, 1) for index, name in enumerate(names))
    history = ModuleHistory("m", "m", "user", dumps, complete=True)
    return [(by.name, by.alone) for by in changed_by(history)]


def test_a_pass_file_is_named_after_the_pass() -> None:
    assert passes(BEFORE, START, step(1, "p", "cse"), step(2, "p", "dce"), AFTER) == [
        (None, True),
        (None, True),
        ("cse", True),
        ("dce", True),
        (None, True),
    ]


def test_what_is_new_at_the_start_of_a_nested_pipeline_was_done_around_it() -> None:
    names = (
        step(0, "spmd-partitioner", "sharding-propagation"),
        step(1, "spmd-cleanup", "pipeline-start"),
        step(2, "spmd-cleanup", "dce"),
        step(3, "spmd-partitioner", "spmd-partitioning"),
    )

    assert [name for name, _ in passes(*names)] == [
        "sharding-propagation",
        "spmd-partitioning",
        "dce",
        "spmd-partitioning",
    ]


def test_a_point_between_passes_does_not_hide_the_pipeline_around() -> None:
    names = (
        START,
        step(1, "around", "one"),
        POINT,
        step(2, "nested", "pipeline-start"),
        step(3, "around", "two"),
    )

    assert passes(*names)[1:] == [("one", True), (None, True), ("two", True), ("two", True)]


def test_a_crash_inside_the_nested_pipeline_leaves_the_pass_unknown() -> None:
    names = (START, step(1, "around", "one"), step(2, "nested", "pipeline-start"))

    assert passes(*names)[2] == (None, True)


def test_the_start_of_the_first_pipeline_is_no_pass() -> None:
    assert passes(BEFORE, START)[1] == (None, True)


def test_missing_texts() -> None:
    assert passes(BEFORE, step(4, "p", "cse"), step(5, "p", "dce"), step(9, "p", "cse")) == [
        (None, True),
        ("cse", False),
        ("dce", True),
        ("cse", False),
    ]
    assert passes(BEFORE, AFTER)[1] == (None, False)
    assert passes(AFTER, AFTER)[1] == (None, True)


def test_numbers_of_a_dump_of_some_passes_prove_no_neighbours() -> None:
    # `--xla_dump_hlo_pass_re=cse|dce`: what runs between the two is not counted.
    assert passes(BEFORE, step(0, "p", "cse"), step(1, "p", "dce")) == [
        (None, True),
        ("cse", False),
        ("dce", False),
    ]


def test_names_without_a_count_are_taken_as_they_come() -> None:
    assert passes(step(None, "p", "cse"), step(None, "p", "dce"))[1] == ("dce", True)


def test_what_passes_are_known_for() -> None:
    assert speaks_for("collective-pipeliner-forward", "pipelined_forward")
    assert speaks_for("loop-double-buffer-transformer", "unrolled")
    assert not speaks_for("dce", "unrolled")
    assert not speaks_for("collective-pipeliner-forward", "peeled")
    assert takes_part("collective-pipeliner-forward", "peeled")
    assert not takes_part("collective-pipeliner-forward", "renamed")
    assert not speaks_for(None, "unrolled")
