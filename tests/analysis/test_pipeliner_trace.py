"""The pass's verbose lines give its own order of work."""

from dataclasses import replace

from app.analysis.pipeliner_trace import origins_of_fresh_clones, traced_loops
from app.model.dump import PipelinerMove


def gather(name: str, op_name: str, channel: int) -> str:
    return (
        f"\t%{name} = f32[8]{{0}} all-gather(f32[1]{{0}} %x.{channel}), channel_id={channel}, "
        f'replica_groups={{{{0,1}}}}, dimensions={{0}}, metadata={{op_name="{op_name}" '
        f'source_file="f.py" source_line={channel}}}'
    )


def while_line(name: str) -> str:
    return f"While: %{name} = (s32[]) while((s32[]) %t), condition=%c, body=%b"


def lines(*texts: str, file: str = "collective_pipeliner.cc") -> list[PipelinerMove]:
    return [PipelinerMove("run.log", n, file, text) for n, text in enumerate(texts, start=1)]


TRACE = lines(
    "Pipelining on direction: backward",
    while_line("inner"),
    "Bound: 8 Start: 0 Increment: 1",
    "Found Collectives to optimize",
    gather("ag.1", "scan/a", 1),
    "\t-1",
    gather("ag.2", "scan/b", 2),
    while_line("skipped"),
    while_line("outer"),
    gather("ag.3", "outer/x", 3),
    gather("ag.7", "scan/a", 7),
    gather("ag.8", "scan/b", 8),
)


def test_loops_and_what_was_moved_in_them() -> None:
    loops = traced_loops(TRACE)
    assert [(t.loop.instruction.name, t.direction) for t in loops] == [
        ("inner", "backward"),
        ("skipped", "backward"),
        ("outer", "backward"),
    ]
    assert [m.instruction.name for m in loops[2].moved] == ["ag.3", "ag.7", "ag.8"]
    assert loops[2].moved[1].line.line_number == 11


def test_the_outer_list_ends_with_the_clones_of_an_inner_one() -> None:
    (origin,) = origins_of_fresh_clones(traced_loops(TRACE))
    assert origin.loop.instruction.name == "inner"


def test_of_two_inner_loops_the_clones_of_the_first_are_in_front() -> None:
    loops = traced_loops(TRACE)
    inner, outer = loops[0], loops[2]
    other = replace(inner, moved=tuple(replace(t, line=outer.loop.line) for t in inner.moved))
    both = replace(outer, moved=(*outer.moved, *outer.moved[-len(inner.moved) :]))
    assert origins_of_fresh_clones((inner, other, both)) == (inner, other)


def test_other_lists_have_no_origin() -> None:
    assert origins_of_fresh_clones(()) == ()
    assert origins_of_fresh_clones(traced_loops(TRACE[:-1])) == ()


def test_cut_lines_and_other_files_are_left_out() -> None:
    cut = "While: %inner = (s32[], f32[8"
    assert traced_loops(lines("Pipelining on direction: forward", cut)) == ()
    assert traced_loops(lines(while_line("w"), file="while_loop_simplifier.cc")) == ()
