"""Trip counts: stated, proven, and left unknown where nothing is proven."""

from itertools import product

import pytest

from analysis.loop_texts import CARRY, body, computation, condition, entry, loops_of, module
from app.analysis.trip_counts import Direction, count_iterations
from app.model.facts import WhileLoop

DIRECTIONS: tuple[Direction, ...] = ("LT", "LE", "GT", "GE", "EQ", "NE")


def the_loop(*computations: str) -> WhileLoop:
    return loops_of(module(*computations))["loop"]


def run(init: int, step: int, bound: int, direction: Direction) -> int | None:
    """Runs a loop with a 4-bit counter; None when it wraps around or never ends."""
    holds = {
        "LT": lambda v: v < bound, "LE": lambda v: v <= bound, "GT": lambda v: v > bound,
        "GE": lambda v: v >= bound, "EQ": lambda v: v == bound, "NE": lambda v: v != bound,
    }[direction]  # fmt: skip
    count = 0
    while holds(init):
        init += step
        count += 1
        if not -8 <= init <= 7 or step == 0:
            return None
    return count


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_loop_with_a_small_counter(direction: Direction) -> None:
    for init, step, bound in product(range(-8, 8), range(-7, 8), range(-8, 8)):
        counted = count_iterations(init, step, bound, direction, (-8, 7))

        assert counted == run(init, step, bound, direction), (init, step, bound)


@pytest.mark.parametrize(
    ("init", "step", "bound", "direction", "trips"),
    [
        (0, 1, 4, "LT", 4),
        (1, 2, 11, "LT", 5),
        (0, 1, 4, "LE", 5),
        (9, -3, 0, "GT", 3),
        (0, 2, 8, "NE", 4),
        (5, 1, 4, "LT", 0),
        (0, 2, 7, "NE", None),
        (0, -1, 4, "LT", None),
        (0, 1, 2147483647, "LE", None),
    ],
)
def test_proven_from_the_graph(
    init: int, step: int, bound: int, direction: str, trips: int | None
) -> None:
    loop = the_loop(body(step=step), condition(bound=bound, direction=direction), entry(init=init))

    assert loop.trip_count == trips
    assert loop.trip_count_how == (None if trips is None else "condition")
    induction = loop.induction
    assert induction is not None
    assert (induction.index, induction.init, induction.step, induction.bound) == (
        0,
        init,
        step,
        bound,
    )


@pytest.mark.parametrize(
    "config",
    [
        'backend_config={"known_trip_count":{"n":"11"}}',
        'backend_config="{\\"known_trip_count\\":{\\"n\\":\\"11\\"}}"',
        'backend_config={"known_trip_count":{"n":11}}',
    ],
)
def test_stated_comes_before_proven(config: str) -> None:
    loop = the_loop(body(), condition(bound=4), entry(more=f", {config}"))

    assert (loop.trip_count, loop.trip_count_how) == (11, "backend_config")


def test_stated_counter_where_the_condition_says_nothing() -> None:
    always = computation(
        "condition", f"p = {CARRY} parameter(0)", "ROOT yes = pred[] constant(true)"
    )
    config = (
        '{"known_trip_count":{"n":"5"},"known_init_step":{"init":"1","step":"2"},'
        '"known_induction_variable":{"tuple_index":"0"}}'
    )
    loop = the_loop(body(), always, entry(more=f", backend_config={config}"))

    induction = loop.induction
    assert induction is not None
    assert (induction.index, induction.init, induction.step, induction.bound) == (0, 1, 2, None)
    assert loop.trip_count == 5


@pytest.mark.parametrize(
    "config",
    [
        '{"known_trip_count":{"n":"many"}}',
        '{"known_trip_count":{"n":true}}',
        '{"known_trip_count":"11"}',
        '{"known_trip_count":{"n":"' + "9" * 5000 + '"}}',
        '"free text"',
    ],
)
def test_odd_configs_state_nothing(config: str) -> None:
    loop = the_loop(body(), condition(bound=4), entry(more=f", backend_config={config}"))

    assert (loop.trip_count, loop.trip_count_how) == (4, "condition")


def test_counter_and_condition_that_became_fusions() -> None:
    loop = the_loop(
        computation(
            "less",
            "a = s32[] parameter(0)",
            "bound = s32[] constant(6)",
            "ROOT c = pred[] compare(a, bound), direction=LT",
        ),
        computation(
            "condition",
            f"p = {CARRY} parameter(0)",
            "i = s32[] get-tuple-element(p), index=0",
            "f = pred[] fusion(i), kind=kLoop, calls=less",
            "ROOT b = pred[] bitcast(f)",
        ),
        computation(
            "plus",
            "a = s32[] parameter(0)",
            "one = s32[] constant(1)",
            "sum = s32[] add(a, one)",
            "ROOT both = (s32[], s32[]) tuple(one, sum)",
        ),
        computation(
            "body",
            f"p = {CARRY} parameter(0)",
            "i = s32[] get-tuple-element(p), index=0",
            "x = f32[8] get-tuple-element(p), index=1",
            "f = (s32[], s32[]) fusion(i), kind=kLoop, calls=plus",
            "next = s32[] get-tuple-element(f), index=1",
            "kept = s32[] copy(next)",
            f"ROOT t = {CARRY} tuple(kept, x, x)",
        ),
        entry(),
    )

    assert loop.trip_count == 6


def test_step_and_bound_that_are_carried_along() -> None:
    carry = "(s32[], s32[], s32[])"
    loop = the_loop(
        computation(
            "body",
            f"%p = {carry} parameter(0)",
            "%next = s32[] add(%p#0, %p#1)",
            f"ROOT %t = {carry} tuple(%next, %p#1, %p#2)",
        ),
        computation(
            "condition",
            f"%p = {carry} parameter(0)",
            "ROOT %more = pred[] compare(%p#2, %p#0), direction=GT",
        ),
        computation(
            "ENTRY main",
            "zero = s32[] constant(0)",
            "three = s32[] constant(3)",
            "ten = s32[] constant(10)",
            f"init = {carry} tuple(zero, three, ten)",
            f"ROOT loop = {carry} while(init), condition=condition, body=body",
        ),
    )

    assert loop.trip_count == 4


def test_negated_comparison() -> None:
    loop = the_loop(
        body(),
        computation(
            "condition",
            f"p = {CARRY} parameter(0)",
            "i = s32[] get-tuple-element(p), index=0",
            "bound = s32[] constant(4)",
            "done = pred[] compare(i, bound), direction=GE",
            "ROOT more = pred[] not(done)",
        ),
        entry(),
    )

    assert loop.trip_count == 4


def test_start_from_the_only_caller() -> None:
    text = module(
        body(),
        condition(bound=9),
        computation(
            "inside",
            "a = s32[] parameter(0)",
            "x = f32[8] parameter(1)",
            "one = s32[] constant(1)",
            "start = s32[] add(a, one)",
            f"init = {CARRY} tuple(start, x, x)",
            f"ROOT loop = {CARRY} while(init), condition=condition, body=body",
        ),
        computation(
            "ENTRY main",
            "x = f32[8] parameter(0)",
            "two = s32[] constant(2)",
            f"ROOT c = {CARRY} call(two, x), to_apply=inside",
        ),
    )

    assert loops_of(text)["loop"].trip_count == 6


def nested(inner_start: str) -> str:
    """A loop whose inner loop starts at `inner_start`, a value of the outer body."""
    carry = "(s32[], s32[], f32[8])"
    return module(
        computation(
            "inner_body",
            f"%p = {CARRY} parameter(0)",
            "%one = s32[] constant(1)",
            "%next = s32[] add(%p#0, %one)",
            f"ROOT %t = {CARRY} tuple(%next, %p#1, %p#2)",
        ),
        condition("inner_condition", bound=10),
        computation(
            "body",
            f"%p = {carry} parameter(0)",
            "%one = s32[] constant(1)",
            "%next = s32[] add(%p#0, %one)",
            f"%init = {CARRY} tuple({inner_start}, %p#2, %p#2)",
            f"%inner = {CARRY} while(%init), condition=inner_condition, body=inner_body",
            f"ROOT %t = {carry} tuple(%next, %p#1, %inner#1)",
        ),
        condition(carry=carry),
        computation(
            "ENTRY main",
            "x = f32[8] parameter(0)",
            "zero = s32[] constant(0)",
            "seven = s32[] constant(7)",
            f"init = {carry} tuple(zero, seven, x)",
            f"ROOT loop = {carry} while(init), condition=condition, body=body",
        ),
    )


def test_inner_loop_that_starts_at_an_invariant_of_the_outer_one() -> None:
    assert loops_of(nested("%p#1"))["inner"].trip_count == 3


def test_inner_loop_that_starts_at_the_outer_counter_is_unknown() -> None:
    inner = loops_of(nested("%p#0"))["inner"]

    assert inner.trip_count is None
    assert inner.induction is not None
    assert (inner.induction.init, inner.induction.step) == (None, 1)


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(
            (
                "bound = s32[] constant(4)",
                "less = pred[] compare(i, bound), direction=LT",
                "flag = pred[] constant(true)",
                "ROOT both = pred[] and(less, flag)",
            ),
            id="conjunction",
        ),
        pytest.param(
            (
                "x = f32[8] get-tuple-element(p), index=1",
                "zero = f32[] constant(0)",
                "sum = f32[] reduce(x, zero), dimensions={0}, to_apply=main",
                "ROOT less = pred[] compare(sum, zero), direction=LT",
            ),
            id="float",
        ),
        pytest.param(("ROOT less = pred[] compare(i, gone), direction=LT",), id="missing operand"),
        pytest.param(("ROOT less = pred[] compare(i, i), direction=LT",), id="with itself"),
        pytest.param(("ROOT less = pred[] compare(i, i), direction=ODD",), id="odd direction"),
        pytest.param(("ROOT less = pred[] fusion(i), kind=kLoop, calls=gone",), id="no callee"),
        pytest.param(("ROOT less = pred[] copy(less)",), id="itself"),
    ],
)
def test_conditions_that_prove_nothing(lines: tuple[str, ...]) -> None:
    odd = computation(
        "condition",
        f"p = {CARRY} parameter(0)",
        "i = s32[] get-tuple-element(p), index=0",
        *lines,
    )

    assert the_loop(body(), odd, entry()).trip_count is None


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("odd = s32[] multiply(i, i)", id="square"),
        pytest.param('odd = s32[] custom-call(i), custom_call_target="step"', id="custom-call"),
        pytest.param("odd = s32[] add(i, odd)", id="cycle"),
        pytest.param("odd = s32[] call(i), to_apply=body", id="recursion"),
    ],
)
def test_steps_that_prove_nothing(line: str) -> None:
    strange = body("body", line).replace("tuple(next,", "tuple(odd,")

    assert the_loop(strange, condition(), entry()).trip_count is None


def test_a_conversion_that_may_lose_the_value_proves_nothing() -> None:
    lines = (
        "small = s8[] convert(i)",
        "wide = s32[] convert(small)",
        "odd = s32[] add(wide, step)",
    )
    narrowed = body("body", *lines).replace("tuple(next,", "tuple(odd,")

    assert the_loop(narrowed, condition(), entry()).trip_count is None


def test_sums_that_double_each_other_end() -> None:
    doubling = [f"d{n + 1} = s32[] add(d{n}, d{n})" for n in range(50)]
    work = ("d0 = s32[] add(i, step)", *doubling)
    strange = body("body", *work).replace("tuple(next,", "tuple(d50,")

    assert the_loop(strange, condition(), entry()).trip_count is None


def test_an_entry_that_calls_itself_ends() -> None:
    recursive = entry(
        "more = f32[8] call(x, w), to_apply=main",
        "ROOT out = f32[8] get-tuple-element(loop), index=1",
    ).replace("start = s32[] constant(0)", "start = s32[] parameter(2)")

    assert the_loop(body(), condition(), recursive).trip_count is None
