"""Which loops a text holds, how they nest and what they carry."""

import pytest

from analysis.loop_texts import CARRY, body, computation, condition, entry, loops_of, module
from app.analysis.loops import LoopFinder, find_loops
from hlo_parser import parse_module

SQUARE = "y = f32[8] multiply(x, x)"
INNER_LOOP = f"inner = {CARRY} while(p), condition=inner_condition, body=inner_body"
INNER = (body("inner_body", SQUARE, out="y"), condition("inner_condition", bound=7))


def calling(name: str, *lines: str) -> str:
    return computation(name, f"p = {CARRY} parameter(0)", *lines)


def test_a_loop_and_what_it_carries() -> None:
    (loop,) = find_loops(parse_module(module(body("body", SQUARE, out="y"), condition(), entry())))

    assert (loop.name, loop.body.name, loop.condition.name) == ("loop", "body", "condition")
    assert (loop.parent, loop.depth, loop.carry) == (None, 0, 3)
    assert loop.invariant == {2}


def test_no_loop() -> None:
    assert loops_of(module(computation("ENTRY main", "ROOT x = f32[] parameter(0)"))) == {}


def test_compact_operands_need_no_get_tuple_element() -> None:
    text = module(
        computation(
            "body",
            f"%p = {CARRY} parameter(0)",
            "%one = s32[] constant(1)",
            "%next = s32[] add(%p#0, %one)",
            "%y = f32[8] multiply(%p#1, %p#2)",
            f"ROOT %t = {CARRY} tuple(%next, %y, %p#2)",
        ),
        computation(
            "condition",
            f"%p = {CARRY} parameter(0)",
            "%bound = s32[] constant(4)",
            "ROOT %less = pred[] compare(%p#0, %bound), direction=LT",
        ),
        entry(),
    )
    loop = loops_of(text)["loop"]

    assert loop.invariant == {2}
    assert loop.trip_count == 4


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(
            (
                calling("middle", f"ROOT {INNER_LOOP}"),
                f"c = {CARRY} call(p), to_apply=middle",
            ),
            id="call",
        ),
        pytest.param(
            (
                calling("middle", f"ROOT {INNER_LOOP}"),
                "flag = pred[] constant(true)",
                f"c = {CARRY} conditional(flag, p, p), true_computation=middle, "
                "false_computation=other",
            ),
            id="conditional",
        ),
        pytest.param(
            (
                calling("middle", f"ROOT {INNER_LOOP}"),
                f"s = (({CARRY}), {CARRY}, u32[]) async-start(p), calls=middle",
                f"c = {CARRY} async-done(s)",
            ),
            id="async-start",
        ),
        pytest.param((calling("middle", "ROOT q = s32[] constant(0)"), INNER_LOOP), id="direct"),
    ],
)
def test_a_loop_inside_a_loop_whatever_stands_between(way: tuple[str, ...]) -> None:
    middle, *work = way
    other = calling("other", f"ROOT copy = {CARRY} copy(p)")
    loops = loops_of(module(*INNER, other, middle, body("body", *work), condition(), entry()))

    assert [(loop.name, loop.parent, loop.depth) for loop in loops.values()] == [
        ("loop", None, 0),
        ("inner", "loop", 1),
    ]
    assert (loops["loop"].trip_count, loops["inner"].trip_count) == (4, None)


def test_outermost_first_then_text_order() -> None:
    text = module(
        *INNER,
        body("body", INNER_LOOP),
        condition(),
        body("late_body"),
        condition("late_condition"),
        entry(
            f"late = {CARRY} while(loop), condition=late_condition, body=late_body",
            "ROOT out = f32[8] get-tuple-element(late), index=1",
        ),
    )

    assert list(loops_of(text)) == ["loop", "late", "inner"]


def test_a_body_shared_by_two_loops_makes_two_loops() -> None:
    text = module(
        body(),
        condition(),
        entry(
            f"again = {CARRY} while(loop), condition=condition, body=body",
            "ROOT out = f32[8] get-tuple-element(again), index=1",
        ),
    )
    loops = loops_of(text)

    assert loops["loop"].body is loops["again"].body
    # The second starts where the first one ended.
    assert (loops["loop"].trip_count, loops["again"].trip_count) == (4, None)


def test_what_nothing_reaches_is_left_out() -> None:
    dead = calling("dead", f"ROOT {INNER_LOOP}")

    assert list(loops_of(module(*INNER, dead, body(), condition(), entry()))) == ["loop"]


@pytest.mark.parametrize("calls", ["condition=condition, body=gone", "condition=gone, body=body"])
def test_a_while_whose_parts_are_missing_is_no_loop(calls: str) -> None:
    assert loops_of(module(body(), condition(), entry(calls=calls))) == {}


def test_a_body_that_runs_itself_ends() -> None:
    own = f"own = {CARRY} while(p), condition=condition, body=body"
    loops = loops_of(module(body("body", own), condition(), entry()))

    assert [(loop.name, loop.parent) for loop in loops.values()] == [
        ("loop", None),
        ("own", "loop"),
    ]


def test_a_body_that_runs_the_entry_ends() -> None:
    again = "again = f32[8] call(x, w), to_apply=main"

    assert list(loops_of(module(body("body", again), condition(), entry()))) == ["loop"]


def test_a_loop_over_one_value_that_is_no_tuple() -> None:
    text = module(
        computation(
            "body",
            "i = s32[] parameter(0)",
            "two = s32[] constant(2)",
            "ROOT next = s32[] add(i, two)",
        ),
        computation(
            "condition",
            "i = s32[] parameter(0)",
            "bound = s32[] constant(9)",
            "ROOT less = pred[] compare(i, bound), direction=LT",
        ),
        computation(
            "ENTRY main",
            "start = s32[] constant(0)",
            "ROOT loop = s32[] while(start), condition=condition, body=body",
        ),
    )
    loop = loops_of(text)["loop"]

    assert (loop.carry, loop.trip_count) == (1, 5)


def test_ten_thousand_loops_inside_each_other() -> None:
    depth = 10_000
    bodies = [
        computation(
            f"body{n}",
            "p = (s32[]) parameter(0)",
            f"ROOT loop{n} = (s32[]) while(p), condition=always, body=body{n + 1}",
        )
        for n in range(depth)
    ]
    text = module(
        computation("always", "p = (s32[]) parameter(0)", "ROOT yes = pred[] constant(true)"),
        computation(f"body{depth}", "ROOT p = (s32[]) parameter(0)"),
        *bodies,
        computation(
            "ENTRY main",
            "p = (s32[]) parameter(0)",
            "ROOT loop = (s32[]) while(p), condition=always, body=body0",
        ),
    )
    loops = loops_of(text)

    assert len(loops) == depth + 1
    assert max(loop.depth for loop in loops.values()) == depth


def test_places_say_through_what_a_loop_is_reached() -> None:
    middle = calling("middle", f"ROOT {INNER_LOOP}")
    text = module(
        *INNER,
        middle,
        body("body", f"c = {CARRY} call(p), to_apply=middle"),
        condition(),
        entry(),
    )
    outer, inner = LoopFinder().find(parse_module(text))

    assert (outer.parent, outer.through) == (None, ())
    assert (inner.parent, inner.through) == (0, ("call",))
