"""What is said of two dumps in one sentence, which flags passes betray, how loops are paired."""

from typing import Any

import pytest

from app.analysis.comparison_amounts import pair_loops
from app.analysis.comparison_flags import inferred_flags, stated_flags
from app.analysis.comparison_texts import aligned, common_states, label_of, pass_lists
from app.analysis.comparison_verdict import verdict_on
from app.model.comparison import (
    FlagChange,
    InstructionPlace,
    ModulePair,
    NextPass,
    Parting,
    PassLists,
    Side,
)
from app.model.report import Dump, Environment, Loop, Module, Releases, Source

BACKWARD, FORWARD = "collective-pipeliner-backward", "collective-pipeliner-forward"
GATHER = "xla_gpu_enable_pipelined_all_gather"


def environment(*releases: str, **flags: str) -> Environment:
    return Environment(
        jaxlib=Releases(releases=releases),
        flags=flags,
        flags_from=("debug_options",) if flags else (),
    )


def pair(**parts: Any) -> ModulePair:
    return ModulePair(**{"name": "jit_f", "a": "m0", "b": "m1", "outcome": "equal", **parts})


NEXT = pair(
    outcome="stopped",
    passes=PassLists(
        only_a=(BACKWARD,),
        next=(NextPass(pass_=FORWARD, a=BACKWARD, b=FORWARD, dump_a=3, dump_b=3),),
        stops="a",
    ),
    parting=Parting(last_equal_a=3, last_equal_b=3, dump_b=4, pass_a=BACKWARD, pass_b=FORWARD),
)


def test_what_stands_next_in_line_betrays_a_flag() -> None:
    (flag,) = inferred_flags(environment("0.4.30"), environment("0.4.30"), [NEXT])
    assert (flag.name, flag.a, flag.b, flag.stated) == (GATHER, "true", "false", False)
    assert BACKWARD in flag.why


def test_a_pass_that_changes_one_of_two_equal_graphs_betrays_a_flag() -> None:
    parting = Parting(last_equal_a=3, last_equal_b=3, dump_b=4, pass_b=BACKWARD)
    (flag,) = inferred_flags(
        environment("0.4.30"), environment("0.4.30"), [pair(outcome="differ", parting=parting)]
    )
    assert (flag.name, flag.a, flag.b) == (GATHER, "false", "true")


def test_names_in_files_of_one_side_alone_prove_nothing() -> None:
    alone = pair(outcome="differ", passes=PassLists(only_a=(BACKWARD,)), parting=Parting())
    assert inferred_flags(environment("0.4.30"), environment("0.4.30"), [alone]) == ()


def test_pipelines_of_two_releases_betray_no_flag() -> None:
    assert inferred_flags(environment("0.4.30"), environment("0.10.2"), [NEXT]) == ()
    assert inferred_flags(environment(), environment(), [NEXT]) == ()


def test_stated_flags_need_no_inference_and_leave_dumping_out() -> None:
    a = environment("0.10.2", xla_a="1", xla_dump_to="/x")
    b = environment("0.10.2", xla_b="2", xla_dump_to="/y")
    assert inferred_flags(a, b, [NEXT]) == ()
    assert [(f.name, f.a, f.b) for f in stated_flags(a, b)] == [
        ("xla_a", "1", None),
        ("xla_b", None, "2"),
    ]


def test_a_flag_that_two_releases_spell_otherwise_does_not_differ() -> None:
    old = environment("0.10.2", **{GATHER: "true"})
    new = environment(
        "0.12.0", xla_gpu_pipeline_all_gather="COLLECTIVE_PIPELINING_MODE_ON", xla_a="1"
    )
    assert [f.name for f in stated_flags(old, new)] == ["xla_a"]
    off = environment("0.12.0", xla_gpu_pipeline_all_gather="off")
    assert [(f.name, f.a, f.b) for f in stated_flags(old, off)] == [(GATHER, "true", "false")]
    assert [(f.name, f.a, f.b) for f in stated_flags(off, environment("0.12.0", xla_b=""))] == [
        ("xla_b", None, ""),
        ("xla_gpu_pipeline_all_gather", "off", None),
    ]


LINE = Source(file="/w/step.py", line=7)
PLACE = InstructionPlace(
    computation="main", instruction="dot.1", opcode="dot", shape="f32[]", source=LINE
)
ONE = (FlagChange(name="xla_a", a="1", b=None),)


@pytest.mark.parametrize(
    ("pairs", "flags", "said"),
    [
        ([], (), "no module in common"),
        ([pair()], (), "jit_f has the same graphs after every pass and the same flags."),
        ([pair()], ONE, "only a flag differs: xla_a (1 in a, not set in b)."),
        ([pair(), pair(name="jit_g")], (), "All 2 modules have the same graphs"),
        ([pair(), pair(name="jit_g", b=None)], (), "1 of the user's modules is there on one side"),
        ([pair(outcome="equal_in_the_end")], (), "goes through different texts and ends in"),
        ([pair(outcome="unknown")], (), "Only figures can be compared"),
        ([pair(outcome="differ", parting=Parting(b=PLACE))], (), "first at dot.1 (step.py:7)."),
        (
            [
                pair(
                    outcome="differ",
                    parting=Parting(last_equal_a=1, dump_a=2, dump_b=2, pass_a="x", pass_b="x"),
                )
            ],
            (),
            "jit_f parts in x.",
        ),
        (
            [
                pair(
                    outcome="differ",
                    parting=Parting(last_equal_a=1, dump_a=2, dump_b=2, pass_a="x", pass_b="y"),
                ),
                pair(outcome="differ", parting=Parting()),
            ],
            ONE,
            "a runs x and b y; the flag differs: xla_a (1 in a, not set in b); 1 more module",
        ),
        ([NEXT], (), f"until a ends, with {BACKWARD} next in line, where b went on to {FORWARD}."),
    ],
)
def test_the_verdict_is_one_sentence(
    pairs: list[ModulePair], flags: tuple[FlagChange, ...], said: str
) -> None:
    side = Side(name="d", jaxlib=Releases(releases=("0.10.2",)), flags_from=("debug_options",))
    verdict = verdict_on(side, side, pairs, flags)
    assert said in verdict
    assert verdict.endswith(".")


def dump(index: int, after: str | None, before: str | None = None, file: str = "") -> Dump:
    return Dump(index=index, file=file, bytes=1, pipeline="p", after=after, before=before)


def module(*dumps: Dump) -> Module:
    return Module(id="m", name="m", dumps=dumps)


def test_texts_are_aligned_by_the_pass_that_wrote_them() -> None:
    a = [dump(0, "x"), dump(1, "y"), dump(2, "z")]
    b = [dump(0, "x"), dump(1, "z"), dump(2, None, file="d/m.sm_9.0_gpu_after_optimizations.txt")]
    assert list(aligned(a, b)) == [(0, 0), (2, 1)]
    assert label_of(b[2]) == "after_optimizations"


def test_very_many_equal_labels_are_aligned_as_far_as_they_agree() -> None:
    a = [dump(k, "dce") for k in range(400)]
    b = [*a[:300], dump(300, "cse"), *a[301:]]
    assert list(aligned(a, b)) == [(k, k) for k in range(300)]


def test_the_other_side_is_read_as_far_as_one_came() -> None:
    a = module(dump(0, "x", "y"))
    b = module(dump(0, "x", "z"), dump(1, "z", "w"), dump(2, "w", "pipeline-end"))
    found = pass_lists(a, b, stops="a")
    assert (found.only_a, found.only_b) == (("y",), ("z",))
    assert [(step.pass_, step.a, step.b) for step in found.next] == [("x", "y", "z")]
    assert pass_lists(a, b, stops=None).only_b == ("z", "w")


def test_the_last_graph_in_common_is_taken_where_one_pass_wrote_both() -> None:
    found = common_states(["p", "q", "q", "r"], ["p", "q", "s"], [(0, 0), (1, 1), (2, 2)])
    assert (found.last_a, found.last_b, found.equal_texts) == (1, 1, 3)
    assert not found.is_whole
    assert common_states(["p"], ["q"], [(0, 0)]).last_a is None
    assert common_states(["p", "p", "q"], ["p", "q", "q"], []).is_whole


def loop(name: str, line: int, **parts: Any) -> Loop:
    place = Source(file=f"/{name}/step.py", line=line)
    return Loop(**{"id": name, "module": "m", "name": name, "source": place, **parts})


def test_loops_are_paired_by_line_in_whatever_folder() -> None:
    a = [loop("w1", 5, trip_count=4), loop("w2", 9), loop("w3", 5, trip_count=8)]
    b = [loop("v1", 5, trip_count=8), loop("v2", 5, trip_count=2), loop("v3", 30)]
    found = {(p.a, p.b): p.what for p in pair_loops(a, b)}
    assert found == {
        ("w1", "v2"): ("trip_count",),
        ("w2", None): ("missing",),
        ("w3", "v1"): (),
        (None, "v3"): ("missing",),
    }
