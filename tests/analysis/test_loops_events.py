"""Iterations peeled, copied and unrolled, collectives pipelined: what each event needs."""

from analysis.loop_texts import (
    DOUBLED,
    PEELED,
    PLAIN,
    WORK,
    body,
    computation,
    condition,
    entry,
    follow,
    module,
    repeated,
    told,
)

# ---- iterations peeled and copied ----------------------------------------------------------------


def test_double_buffered() -> None:
    twice = module(body("body", *DOUBLED, out="v2", step=2), condition(), entry())
    loop = follow(PLAIN, twice)["loop"]

    assert told(loop) == {
        "double_buffered": "the body's work stands 2 times in the new body",
        "trip_count_changed": "4 -> 2",
    }


def test_double_buffered_with_an_odd_trip_count_peels_the_first_iteration() -> None:
    odd = module(body("body", *WORK, out="v"), condition(bound=5), entry())
    twice = module(
        body("body", *DOUBLED, out="v2", step=2), condition(bound=5), entry(*PEELED, init=1)
    )
    loop = follow(odd, twice)["loop"]

    assert told(loop) == {
        "double_buffered": "the body's work stands 2 times in the new body",
        "peeled": "first iteration in front of the loop",
        "trip_count_changed": "5 -> 2",
    }


def test_last_iteration_peeled() -> None:
    fewer = module(body("body", *WORK, out="v"), condition(bound=3), entry(*PEELED))

    assert told(follow(PLAIN, fewer)["loop"]) == {
        "peeled": "last iteration behind the loop",
        "trip_count_changed": "4 -> 3",
    }


def test_fewer_trips_without_the_work_beside_the_loop_are_not_peeled() -> None:
    fewer = module(body("body", *WORK, out="v"), condition(bound=3), entry())

    assert told(follow(PLAIN, fewer)["loop"]) == {"trip_count_changed": "4 -> 3"}


def test_more_work_with_the_same_counter_is_not_copied() -> None:
    more = module(body("body", *DOUBLED, out="v2"), condition(), entry())

    assert told(follow(PLAIN, more)["loop"]) == {}


def test_the_pass_name_tells_unrolling_by_two_from_double_buffering() -> None:
    twice = module(body("body", *DOUBLED, out="v2", step=2), condition(), entry())
    loop = follow(PLAIN, twice, passes=("start", "while-loop-unroller"))["loop"]

    assert set(told(loop)) == {"unrolled", "trip_count_changed"}
    assert {event.pass_name for event in loop.events if event.dump == 1} == {"while-loop-unroller"}


def test_unrolled_to_a_loop_of_one_trip() -> None:
    work = repeated(4)
    once = module(body("body", *work, out="v3", step=4), condition(), entry())

    assert set(told(follow(PLAIN, once)["loop"])) == {"fully_unrolled", "trip_count_changed"}


def unrolled(times: int) -> str:
    work = repeated(times)
    return module(
        computation(
            "ENTRY main",
            "x = f32[8] parameter(0)",
            "w = f32[8] parameter(1)",
            "one = s32[] constant(1)",
            *[f"c{n} = s32[] add(one, one)" for n in range(times)],
            *work,
            f"ROOT out = f32[8] copy(v{times - 1})",
        )
    )


def test_fully_unrolled() -> None:
    loop = follow(PLAIN, unrolled(4))["loop"]

    assert told(loop) == {"fully_unrolled": "the body's work now stands 4 times in its place"}
    assert loop.last_dump == 0


def test_removed_when_the_work_does_not_stand_there_as_often() -> None:
    assert set(told(follow(PLAIN, unrolled(1))["loop"])) == {"removed"}


def test_a_loop_that_never_runs_is_removed() -> None:
    never = module(body("body", *WORK, out="v"), condition(bound=0), entry())

    assert told(follow(never, unrolled(1))["loop"]) == {"removed": "never ran"}


def test_a_loop_of_one_trip_is_replaced_by_its_body() -> None:
    once = module(body("body", *WORK, out="v"), condition(bound=1), entry())

    assert told(follow(once, unrolled(1))["loop"]) == {
        "removed": "ran once; its body now stands in its place"
    }


# ---- pipelined collectives -----------------------------------------------------------------------


def pipelined(carry: str, lines: tuple[str, ...], start: str, bound: int, *around: str) -> str:
    init, *rest = around
    return module(
        computation(
            "sum", "a = f32[] parameter(0)", "b = f32[] parameter(1)", "ROOT c = f32[] add(a, b)"
        ),
        computation("body", f"%p = {carry} parameter(0)", "%one = s32[] constant(1)", *lines),
        condition(bound=bound, carry=carry),
        computation(
            "ENTRY main",
            "%x = f32[8] parameter(0)",
            "%w = f32[4] parameter(1)",
            f"%start = s32[] constant({start})",
            *(init.splitlines() if init else ()),
            f"%loop = {carry} while(%init), condition=condition, body=body",
            *rest,
        ),
    )


GATHER = pipelined(
    "(s32[], f32[8], f32[4])",
    (
        "%next = s32[] add(%p#0, %one)",
        "%mine = f32[1] dynamic-slice(%p#2, %p#0), dynamic_slice_sizes={1}",
        "%all = f32[8] all-gather(%mine), dimensions={0}",
        "%y = f32[8] multiply(%p#1, %all)",
        "ROOT %t = (s32[], f32[8], f32[4]) tuple(%next, %y, %p#2)",
    ),
    "0",
    4,
    "%init = (s32[], f32[8], f32[4]) tuple(%start, %x, %w)",
    "ROOT %out = f32[8] copy(%loop#1)",
)
GATHERED_AHEAD = pipelined(
    "(s32[], f32[8], f32[4], f32[8], s32[])",
    (
        "%next = s32[] add(%p#0, %one)",
        "%y = f32[8] multiply(%p#1, %p#3)",
        "%mine = f32[1] dynamic-slice(%p#2, %p#4), dynamic_slice_sizes={1}",
        "%all = f32[8] all-gather(%mine), dimensions={0}",
        "%later = s32[] add(%next, %one)",
        "ROOT %t = (s32[], f32[8], f32[4], f32[8], s32[]) tuple(%next, %y, %p#2, %all, %later)",
    ),
    "0",
    3,
    "%first = s32[] constant(1)\n"
    "%mine = f32[1] dynamic-slice(%w, %start), dynamic_slice_sizes={1}\n"
    "%all = f32[8] all-gather(%mine), dimensions={0}\n"
    "%init = (s32[], f32[8], f32[4], f32[8], s32[]) tuple(%start, %x, %w, %all, %first)",
    "%last = f32[8] multiply(%loop#1, %loop#3)",
    "ROOT %out = f32[8] copy(%last)",
)


def test_pipelined_backward() -> None:
    assert told(follow(GATHER, GATHERED_AHEAD)["loop"]) == {
        "pipelined_backward": "1 collective is now done for the iteration after",
        "peeled": "last iteration behind the loop",
        "trip_count_changed": "4 -> 3",
        "carry_changed": "carried elements 3 -> 5",
    }


REDUCE = pipelined(
    "(s32[], f32[8], f32[4])",
    (
        "%next = s32[] add(%p#0, %one)",
        "%g = f32[8] multiply(%p#1, %p#1)",
        "%all = f32[8] all-reduce(%g), to_apply=sum",
        "%part = f32[1] slice(%all), slice={[0:1]}",
        "%acc = f32[4] dynamic-update-slice(%p#2, %part, %p#0)",
        "ROOT %t = (s32[], f32[8], f32[4]) tuple(%next, %p#1, %acc)",
    ),
    "0",
    4,
    "%init = (s32[], f32[8], f32[4]) tuple(%start, %x, %w)",
    "ROOT %out = f32[4] copy(%loop#2)",
)
REDUCED_LATER = pipelined(
    "(s32[], f32[8], f32[4], f32[8], s32[])",
    (
        "%next = s32[] add(%p#0, %one)",
        "%all = f32[8] all-reduce(%p#3), to_apply=sum",
        "%part = f32[1] slice(%all), slice={[0:1]}",
        "%acc = f32[4] dynamic-update-slice(%p#2, %part, %p#4)",
        "%g = f32[8] multiply(%p#1, %p#1)",
        "ROOT %t = (s32[], f32[8], f32[4], f32[8], s32[]) tuple(%next, %p#1, %acc, %g, %p#0)",
    ),
    "1",
    4,
    "%zero = s32[] constant(0)\n%g = f32[8] multiply(%x, %x)\n"
    "%init = (s32[], f32[8], f32[4], f32[8], s32[]) tuple(%start, %x, %w, %g, %zero)",
    "%all = f32[8] all-reduce(%loop#3), to_apply=sum",
    "%part = f32[1] slice(%all), slice={[0:1]}",
    "%acc = f32[4] dynamic-update-slice(%loop#2, %part, %loop#4)",
    "ROOT %out = f32[4] copy(%acc)",
)
REDUCED_BEHIND = pipelined(
    "(s32[], f32[8], f32[4], f32[4,8])",
    (
        "%next = s32[] add(%p#0, %one)",
        "%g = f32[8] multiply(%p#1, %p#1)",
        "%row = f32[1,8] reshape(%g)",
        "%zero = s32[] constant(0)",
        "%rows = f32[4,8] dynamic-update-slice(%p#3, %row, %p#0, %zero)",
        "ROOT %t = (s32[], f32[8], f32[4], f32[4,8]) tuple(%next, %p#1, %p#2, %rows)",
    ),
    "0",
    4,
    "%rows = f32[4,8] constant({...})\n"
    "%init = (s32[], f32[8], f32[4], f32[4,8]) tuple(%start, %x, %w, %rows)",
    "%all = f32[4,8] all-reduce(%loop#3), to_apply=sum",
    "ROOT %out = f32[4,8] copy(%all)",
)


def test_pipelined_forward() -> None:
    assert told(follow(REDUCE, REDUCED_LATER)["loop"]) == {
        "pipelined_forward": "1 collective is now done for the iteration before",
        "peeled": "first iteration in front of the loop",
        "trip_count_changed": "4 -> 3",
        "carry_changed": "carried elements 3 -> 5",
    }


def test_pipelined_forward_sink() -> None:
    passes = ("start", "collective-pipeliner-forward-sink")
    loop = follow(REDUCE, REDUCED_BEHIND, passes=passes)["loop"]

    assert set(told(loop)) == {"pipelined_forward_sink", "carry_changed"}


def test_a_collective_behind_the_loop_by_another_pass_is_not_pipelined() -> None:
    passes = ("start", "while-loop-all-reduce-code-motion")
    loop = follow(REDUCE, REDUCED_BEHIND, passes=passes)["loop"]

    assert set(told(loop)) == {"carry_changed"}


# ---- hostile texts -------------------------------------------------------------------------------


def test_calls_that_double_each_other() -> None:
    """Work that stands 2^2000 times in a body is counted, not written out."""
    levels = [
        computation(
            f"c{n}",
            "a = f32[8] parameter(0)",
            f"b = f32[8] call(a), to_apply=c{n + 1}",
            f"ROOT c = f32[8] call(b), to_apply=c{n + 1}",
        )
        for n in range(2_000)
    ]
    last = computation("c2000", "a = f32[8] parameter(0)", "ROOT b = f32[8] sine(a)")
    once = module(last, body("body", "y = f32[8] sine(x)", out="y"), condition(), entry())
    many = module(
        last,
        *levels,
        body("body", "y = f32[8] call(x), to_apply=c0", out="y"),
        condition(),
        entry(),
    )

    assert told(follow(once, many)["loop"]) == {}
    assert told(follow(many, once)["loop"]) == {}


def test_calls_that_lead_back() -> None:
    back = computation("back", "a = f32[8] parameter(0)", "ROOT b = f32[8] call(a), to_apply=forth")
    forth = computation(
        "forth",
        "a = f32[8] parameter(0)",
        "b = f32[8] sine(a)",
        "ROOT c = f32[8] call(b), to_apply=back",
    )
    loop = body("body", "y = f32[8] call(x), to_apply=forth", out="y")
    text = module(back, forth, loop, condition(), entry())

    assert told(follow(text, text.replace("sine", "cosine"))["loop"]) == {}
