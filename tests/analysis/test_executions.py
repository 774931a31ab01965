"""How often computations run in one execution."""

import pytest

from analysis.histories import history_of
from app.analysis.collectives import find_collectives
from app.analysis.executions import RunCounter, Runs, known_trips
from app.analysis.loop_history import follow_loops
from app.model.work import LARGEST_COUNT
from hlo_parser import Module, parse_module

STATED = 'backend_config={{"known_trip_count":{{"n":"{}"}}}}'
TWO_LOOPS = """HloModule m, num_partitions=4

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

%never (n: f32[8]) -> f32[8] {
  ROOT %n = f32[8]{0} parameter(0)
}

%leaf (l: f32[8]) -> f32[8] {
  %l = f32[8]{0} parameter(0)
  ROOT %ar = f32[8]{0} all-reduce(%l), channel_id=1, replica_groups={}, to_apply=%add
}

%other (o: f32[8]) -> f32[8] {
  ROOT %o = f32[8]{0} parameter(0)
}

%inner_cond (q: f32[8]) -> pred[] {
  %q = f32[8]{0} parameter(0)
  ROOT %t = pred[] constant(true)
}

%inner (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %one = f32[8]{0} call(%p), to_apply=%leaf
  ROOT %two = f32[8]{0} call(%one), to_apply=%leaf
}

%outer (r: f32[8]) -> f32[8] {
  %r = f32[8]{0} parameter(0)
  %w = f32[8]{0} while(%r), condition=%inner_cond, body=%inner, T5
  %k = s32[] constant(0)
  ROOT %c = f32[8]{0} conditional(%k, %w, %w), branch_computations={%leaf, %other}
}

ENTRY %main (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %v = f32[8]{0} while(%x), condition=%inner_cond, body=%outer, T3
}
""".replace("T3", STATED.format(3)).replace("T5", STATED.format(5))


def runs_in(text: str, **trips: int | None) -> dict[str, Runs]:
    module = parse_module(text)
    return counted(module, {name: trips.get(name) for name in ("v", "w")})


def counted(module: Module, trips: dict[str, int | None]) -> dict[str, Runs]:
    places = {
        (computation.name, instruction.name): trips.get(instruction.name)
        for computation in module.computations
        for instruction in computation.instructions
        if instruction.opcode == "while"
    }
    counter = RunCounter(module, places)
    return {computation.name: counter.of(computation) for computation in module.computations}


def test_trips_are_multiplied_and_calls_added() -> None:
    runs = runs_in(TWO_LOOPS, v=3, w=5)
    assert runs["outer"] == Runs(3)
    assert runs["inner"] == Runs(15)
    assert runs["inner_cond"] == Runs(4 + 3 * 6)
    assert runs["other"] == Runs(3, is_conditional=True)
    assert runs["leaf"] == Runs(2 * 15 + 3, is_conditional=True)
    # What is applied to each element is no run of its own, and nothing reaches the other.
    assert runs["add"] == runs["never"] == Runs(0)


def test_a_loop_of_unknown_trips_makes_the_number_unknown() -> None:
    runs = runs_in(TWO_LOOPS, v=3)
    assert runs["outer"] == Runs(3)
    assert runs["inner"] == Runs(None)
    assert runs["leaf"].count is None
    assert runs_in(TWO_LOOPS, v=0)["inner"] == Runs(0)


def test_collectives_say_how_often_and_how_much() -> None:
    history = history_of(TWO_LOOPS)
    (found,) = find_collectives(history, follow_loops(history))
    assert (found.executions, found.conditional) == (33, True)
    assert (found.bytes, found.total_bytes) == (48, 33 * 48)


def test_a_text_that_lost_its_trips_runs_as_before() -> None:
    history = history_of(TWO_LOOPS, TWO_LOOPS.replace(f", {STATED.format(3)}", ""))
    loops = follow_loops(history)
    assert known_trips(loops, 1) == {("main", "v"): 3, ("outer", "w"): 5}


def test_counts_stay_within_what_json_takes() -> None:
    assert runs_in(TWO_LOOPS, v=1 << 62, w=1 << 62)["inner"] == Runs(LARGEST_COUNT)


def test_calls_in_a_circle_end() -> None:
    text = TWO_LOOPS.replace(
        "ROOT %n = f32[8]{0} parameter(0)",
        "%n = f32[8]{0} parameter(0)\n  ROOT %again = f32[8]{0} call(%n), to_apply=%never",
    )
    assert runs_in(text, v=3, w=5)["never"] == Runs(0)


@pytest.mark.parametrize("depth", [20_000])
def test_calls_may_be_nested_deeply(depth: int) -> None:
    parts = ["HloModule m\n", "%c0 (p: f32[]) -> f32[] {\n  ROOT %p = f32[] parameter(0)\n}\n"]
    parts += [
        f"%c{n} (p: f32[]) -> f32[] {{\n  %p = f32[] parameter(0)\n"
        f"  ROOT %r = f32[] call(%p), to_apply=%c{n - 1}\n}}\n"
        for n in range(1, depth)
    ]
    parts[-1] = "ENTRY " + parts[-1]
    module = parse_module("\n".join(parts))
    first = module.get("c0")
    assert first is not None
    assert RunCounter(module, {}).of(first) == Runs(1)
