"""One loop through the passes: what each kind of event needs, and what must not make one."""

import re

from analysis.histories import history_of
from analysis.loop_texts import CARRY, body, computation, condition, entry, module
from app.analysis.loop_history import follow_loops
from app.model.dump import DumpName, ModuleHistory, PassDump
from app.model.facts import LoopHistory
from hlo_parser import parse_module

WORK = (
    "y = f32[8] multiply(x, w)",
    "z = f32[8] exponential(y)",
    "v = f32[8] subtract(z, x)",
)
PLAIN = module(body("body", *WORK, out="v"), condition(), entry())


def follow(*texts: str, passes: tuple[str, ...] = ()) -> dict[str, LoopHistory]:
    """Loops by the name they begin with; text N was made by `passes[N]`."""
    history = history_of(*texts)
    if passes:
        history = named(history, *passes)
    loops = follow_loops(history)
    return {loop.occurrences[loop.first_dump].name: loop for loop in loops}


def named(history: ModuleHistory, *passes: str, step: int = 1) -> ModuleHistory:
    dumps = tuple(
        PassDump(
            dump.index,
            DumpName(file=dump.file, kind="pass", step=n * step, pipeline="p", after=after),
            dump.module,
            dump.byte_size,
        )
        for n, (dump, after) in enumerate(zip(history.dumps, passes, strict=True))
    )
    return ModuleHistory(history.id, history.name, history.role, dumps, history.complete)


def told(loop: LoopHistory, dump: int = 1) -> dict[str, str]:
    """What happened to the loop at a text, with the detail."""
    return {event.kind: event.detail for event in loop.events if event.dump == dump}


def test_the_first_text_makes_the_loops() -> None:
    (loop,) = follow(PLAIN).values()

    assert [(e.dump, e.kind) for e in loop.events] == [(0, "created")]
    assert (loop.id, loop.module_id) == ("module_0000.m/loop", "module_0000.m")
    assert loop.last.trip_count == 4


def test_nothing_changed_is_no_event() -> None:
    loop = follow(PLAIN, PLAIN)["loop"]

    assert told(loop) == {}
    assert list(loop.occurrences) == [0, 1]


def test_stated_trip_count_fusions_and_clones_of_the_body_are_no_events() -> None:
    stated = PLAIN.replace(
        "body=body\n", 'body=body, backend_config={"known_trip_count":{"n":"4"}}\n'
    )
    fused = stated.replace(
        "  y = f32[8] multiply(x, w)\n  z = f32[8] exponential(y)\n",
        "  z = f32[8] fusion(x, w), kind=kLoop, calls=fused\n",
    ).replace(
        "HloModule m\n",
        "HloModule m\n\nfused {\n  a = f32[8] parameter(0)\n  b = f32[8] parameter(1)\n"
        "  y = f32[8] multiply(a, b)\n  ROOT z = f32[8] exponential(y)\n}\n",
    )
    cloned = fused.replace("body {", "body.clone {").replace("body=body", "body=body.clone")
    loop = follow(PLAIN, stated, fused, cloned)["loop"]

    assert [event.kind for event in loop.events] == ["created"]
    assert set(loop.occurrences) == {0, 1, 2, 3}


def test_renamed() -> None:
    loop = follow(PLAIN, PLAIN.replace("loop", "loop.1"))["loop"]

    assert told(loop) == {"renamed": "loop -> loop.1"}


def test_a_name_alone_is_no_evidence() -> None:
    """Two loops swap their names; each is found again by what it does."""
    squares = body("other_body", "y = f32[8] sine(x)", "z = f32[8] tanh(y)", out="z")
    text = module(
        body("body", *WORK, out="v"),
        squares,
        condition(),
        condition("other_condition", bound=9),
        entry(
            f"other = {CARRY} while(loop), condition=other_condition, body=other_body",
            "ROOT out = f32[8] get-tuple-element(other), index=1",
        ),
    )
    swapped = (
        text.replace("loop", "third").replace("other = ", "loop = ").replace("third", "other")
    ).replace("(other), index=1", "(loop), index=1")
    renumbered = swapped.replace("y = f32[8]", "yy = f32[8]").replace("(y", "(yy")
    loops = follow(text, renumbered)

    assert told(loops["loop"]) == {"renamed": "loop -> other"}
    assert told(loops["other"]) == {"renamed": "other -> loop"}


def test_moved_when_a_call_is_inlined() -> None:
    in_call = module(
        body("body", *WORK, out="v"),
        condition(),
        computation(
            "called",
            f"init = {CARRY} parameter(0)",
            f"ROOT loop = {CARRY} while(init), condition=condition, body=body",
        ),
        entry().replace(
            "while(init), condition=condition, body=body", "call(init), to_apply=called"
        ),
    )
    loop = follow(in_call, PLAIN)["loop"]

    assert told(loop) == {"moved": "from called to main"}


def test_not_moved_when_the_computation_around_is_only_cloned() -> None:
    loop = follow(PLAIN, PLAIN.replace("main", "main.clone"))["loop"]

    assert told(loop) == {}


def test_carry_changed() -> None:
    without = PLAIN.replace("(s32[], f32[8], f32[8])", "(s32[], f32[8])")
    without = without.replace("tuple(next, v, w)", "tuple(next, v)")
    without = without.replace("get-tuple-element(p), index=2", "constant({...})")
    without = without.replace("tuple(start, x, w)", "tuple(start, x)")
    loop = follow(PLAIN, without)["loop"]

    assert told(loop) == {"carry_changed": "carried elements 3 -> 2"}


def test_simplified_when_a_constant_is_sunk_into_the_body() -> None:
    sunk = PLAIN.replace(
        "w = f32[8] get-tuple-element(p), index=2",
        "w.0 = f32[8] get-tuple-element(p), index=2\n  w = f32[8] constant({...})",
    ).replace("tuple(next, v, w)", "tuple(next, v, w.0)")
    loop = follow(PLAIN, sunk)["loop"]

    assert told(loop) == {"simplified": "constants in the body replace element 2"}


def two_counters(second: str) -> str:
    carry = "(s32[], s32[], f32[8])"
    return module(
        computation(
            "body",
            f"%p = {carry} parameter(0)",
            "%one = s32[] constant(1)",
            "%next = s32[] add(%p#0, %one)",
            "%second = s32[] add(%p#1, %one)",
            "%y = f32[8] sine(%p#2)",
            f"ROOT %t = {carry} tuple(%next, {second}, %y)",
        ),
        condition(carry=carry),
        computation(
            "ENTRY main",
            "x = f32[8] parameter(0)",
            "zero = s32[] constant(0)",
            f"init = {carry} tuple(zero, zero, x)",
            f"ROOT loop = {carry} while(init), condition=condition, body=body",
        ),
    )


def test_simplified_when_counters_are_merged() -> None:
    loop = follow(two_counters("%second"), two_counters("%p#1"))["loop"]

    assert told(loop) == {"simplified": "no longer changing: element 1"}


def test_an_element_that_becomes_visible_as_unchanged_is_not_simplified() -> None:
    """Behind a call it was handed on all along; inlining only shows it."""
    direct = two_counters("%p#1")
    hidden = direct.replace(
        "%second = s32[] add(%p#1, %one)", "%second = s32[] call(%p#1), to_apply=same"
    )
    hidden = hidden.replace("tuple(%next, %p#1, %y)", "tuple(%next, %second, %y)")
    hidden = hidden.replace(
        "HloModule m\n", "HloModule m\n\nsame {\n  ROOT a = s32[] parameter(0)\n}\n"
    )

    assert told(follow(hidden, direct)["loop"]) == {}


def repeated(times: int) -> list[str]:
    """The work of several iterations; results of the last are `y`, `z` and `v` with its number."""
    return [re.sub(r"\b([yzv])\b", rf"\g<1>{n}", line) for n in range(times) for line in WORK]


# ---- iterations peeled and copied ----------------------------------------------------------------

DOUBLED = (
    *WORK,
    "y2 = f32[8] multiply(v, w)",
    "z2 = f32[8] exponential(y2)",
    "v2 = f32[8] subtract(z2, v)",
)
PEELED = (
    "y = f32[8] multiply(x, w)",
    "z = f32[8] exponential(y)",
    "v = f32[8] subtract(z, x)",
    "ROOT out = f32[8] get-tuple-element(loop), index=1",
)


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


# ---- copies --------------------------------------------------------------------------------------


def with_copy(*more: str) -> str:
    return module(
        body("body", *WORK, out="v"),
        condition(),
        *more,
        entry(
            f"loop.copy = {CARRY} while(loop), condition=condition, body=body",
            "ROOT out = f32[8] get-tuple-element(loop.copy), index=1",
        ),
    )


def test_a_copy_is_created_and_names_its_original() -> None:
    loops = follow(PLAIN, with_copy())

    assert told(loops["loop"]) == {}
    assert told(loops["loop.copy"]) == {"created": "copy of module_0000.m/loop"}
    assert loops["loop.copy"].origin == "module_0000.m/loop"


def test_a_loop_like_no_other_has_no_original() -> None:
    other = module(
        body("body", *WORK, out="v"),
        condition(),
        computation("odd_body", "ROOT p = (u8[], pred[]) parameter(0)"),
        computation("odd", "p = (u8[], pred[]) parameter(0)", "ROOT c = pred[] constant(false)"),
        entry(
            "a = u8[] constant(0)",
            "b = pred[] constant(true)",
            "q = (u8[], pred[]) tuple(a, b)",
            "strange = (u8[], pred[]) while(q), condition=odd, body=odd_body",
            "ROOT out = f32[8] get-tuple-element(loop), index=1",
        ),
    )
    strange = follow(PLAIN, other)["strange"]

    assert told(strange) == {"created": "made by the compiler"}
    assert strange.origin is None


def test_two_loops_of_one_name_get_two_ids() -> None:
    gone = module(computation("ENTRY main", "ROOT x = f32[8] parameter(0)"))
    loops = follow_loops(history_of(PLAIN, gone, PLAIN))

    assert [loop.id for loop in loops] == ["module_0000.m/loop", "module_0000.m/loop#2"]


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


# ---- texts that are missing ----------------------------------------------------------------------


def test_with_texts_missing_a_pass_is_named_only_for_what_it_is_there_for() -> None:
    odd = module(body("body", *WORK, out="v"), condition(bound=5), entry())
    twice = module(
        body("body", *DOUBLED, out="v2", step=2), condition(bound=5), entry(*PEELED, init=1)
    ).replace("loop", "loop.1")
    history = named(history_of(odd, twice), "start", "loop-double-buffer-transformer", step=7)
    (loop,) = follow_loops(history)

    assert {event.kind: event.pass_name for event in loop.events if event.dump} == {
        "double_buffered": "loop-double-buffer-transformer",
        "peeled": "loop-double-buffer-transformer",
        "trip_count_changed": "loop-double-buffer-transformer",
        "renamed": None,
    }


def test_first_and_last_text_alone() -> None:
    """A dump without passes: the loop was rewritten, and is still the one of that JAX name."""
    name = 'metadata={op_name="jit(f)/while/body/%s" source_file="f.py" source_line=3}'
    first = PLAIN
    for opcode in ("multiply(x, w)", "exponential(y)", "subtract(z, x)"):
        first = first.replace(opcode, f"{opcode}, {name % opcode.split('(')[0]}")
    last = module(
        computation(
            "fused",
            "a = bf16[2,4] parameter(0)",
            f"y = bf16[2,4] multiply(a, a), {name % 'multiply'}",
            f"z = bf16[2,4] exponential(y), {name % 'exponential'}",
            f"ROOT v = bf16[2,4] subtract(z, a), {name % 'subtract'}",
        ),
        computation(
            "wide.body",
            "%p = (s32[], bf16[2,4]) parameter(0)",
            "%one = s32[] constant(1)",
            "%next = s32[] add(%p#0, %one)",
            "%v = bf16[2,4] fusion(%p#1), kind=kLoop, calls=fused",
            "ROOT %t = (s32[], bf16[2,4]) tuple(%next, %v)",
        ),
        condition("wide.condition", carry="(s32[], bf16[2,4])"),
        computation(
            "ENTRY main",
            "%x = bf16[2,4] parameter(0)",
            "%zero = s32[] constant(0)",
            "%init = (s32[], bf16[2,4]) tuple(%zero, %x)",
            "%while.9 = (s32[], bf16[2,4]) while(%init), condition=wide.condition, body=wide.body",
            "ROOT %out = bf16[2,4] copy(%while.9#1)",
        ),
    )
    names = (
        DumpName(file="first.txt", kind="before_optimizations"),
        DumpName(file="last.txt", kind="after_optimizations"),
    )
    dumps = tuple(
        PassDump(index, name, parse_module(text), len(text))
        for index, (name, text) in enumerate(zip(names, (first, last), strict=True))
    )
    (loop,) = follow_loops(ModuleHistory("m", "m", "user", dumps, complete=True))

    assert {event.kind: event.pass_name for event in loop.events} == {
        "created": None,
        "carry_changed": None,
        "renamed": None,
    }


def test_a_loop_that_is_not_found_again_says_that_texts_are_missing() -> None:
    gone = module(computation("ENTRY main", "ROOT x = f32[8] parameter(0)"))
    history = named(history_of(PLAIN, gone), "start", "dce", step=5)
    (loop,) = follow_loops(history)

    assert told(loop) == {"removed": "not found again; texts between are missing"}
    assert loop.events[-1].pass_name is None


def test_hundreds_of_loops_in_two_texts() -> None:
    count = 400
    names = [f"while.{n}" for n in range(count)]
    chain = [
        f"{name} = {CARRY} while({before}), condition=condition, body=body"
        for before, name in zip(("loop", *names), names, strict=False)
    ]
    text = module(
        body("body", *WORK, out="v"),
        condition(),
        entry(*chain, f"ROOT out = f32[8] get-tuple-element({names[-1]}), index=1"),
    )
    loops = follow_loops(
        history_of(text, text.replace("body {", "body.1 {").replace("body=body", "body=body.1"))
    )

    assert len(loops) == count + 1
    assert all(told(loop) == {} and loop.last_dump == 1 for loop in loops)
