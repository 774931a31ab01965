"""One loop through the passes: found again whatever its name, its place and what was made of it."""

from analysis.histories import history_of
from analysis.loop_texts import (
    CARRY,
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
    named,
    told,
)
from app.analysis.loop_history import follow_loops
from app.model.dump import DumpName, ModuleHistory, PassDump
from hlo_parser import parse_module


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
    assert told(loops["loop.copy"]) == {"created": "copy of the loop loop"}
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
