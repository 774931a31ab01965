"""Source places: stated, found again in earlier texts, inferred, or none."""

import pytest

from analysis.histories import history_of
from analysis.loop_texts import CARRY, body, computation, condition, entry, module
from app.analysis.loop_history import follow_loops
from app.analysis.sources import op_name_of, repaired_source, source_from_callees, source_of
from app.model.report import Frame
from hlo_parser import Instruction, Module, parse_module

TABLES = """
FileNames
1 "train.py"

FunctionNames
1 "main"
2 "layer"

FileLocations
1 {file_name_id=1 function_name_id=1 line=40 end_line=40 column=5 end_column=9}
2 {file_name_id=1 function_name_id=2 line=7 end_line=7 column=3 end_column=9}
3 {file_name_id=1 function_name_id=2 line=8 end_line=8 column=3 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
3 {file_location_id=3 parent_frame_id=2}
"""


def at(line: int, name: str = "") -> str:
    op = f'op_name="{name}" ' if name else ""
    return f', metadata={{{op}source_file="train.py" source_line={line}}}'


def framed(*computations: str) -> str:
    return module(*computations).replace("HloModule m\n", f"HloModule m\n{TABLES}")


def find(parsed: Module, name: str) -> Instruction:
    for each in parsed.computations:
        instruction = each.get(name)
        if instruction is not None:
            return instruction
    raise AssertionError(name)


def line_inside(text: str) -> int | None:
    parsed = parse_module(text)
    source = source_from_callees(parsed, find(parsed, "loop"))
    return None if source is None else source.line


def test_stated_inline() -> None:
    parsed = parse_module(module(body(), condition(), entry(more=at(3))))
    source = source_of(parsed, find(parsed, "loop"))

    assert source is not None
    assert (source.file, source.line) == ("train.py", 3)


def test_stated_through_the_frame_table_with_the_calls_around() -> None:
    parsed = parse_module(framed(body(), condition(), entry(more=", metadata={stack_frame_id=2}")))
    source = source_of(parsed, find(parsed, "loop"))

    assert source is not None
    assert (source.line, source.function) == (7, "layer")
    assert source.frames == (
        Frame(file="train.py", line=7, function="layer"),
        Frame(file="train.py", line=40, function="main"),
    )


def test_none_where_nothing_is_stated() -> None:
    parsed = parse_module(module(body(), condition(), entry()))

    assert source_of(parsed, find(parsed, "loop")) is None
    assert source_from_callees(parsed, find(parsed, "loop")) is None
    assert op_name_of(parsed, find(parsed, "loop")) is None


# ---- inferred from what is called ----------------------------------------------------------------


def test_the_comparison_of_the_condition_has_the_line_of_the_loop() -> None:
    marked = condition().replace("direction=LT", "direction=LT" + at(40))

    assert line_inside(module(body("body", "y = f32[8] sine(x)" + at(7)), marked, entry())) == 40


def test_the_step_of_the_counter_has_the_line_of_the_loop() -> None:
    stepping = body("body", "y = f32[8] sine(x)" + at(7)).replace(
        "add(i, step)", "add(i, step)" + at(40)
    )

    assert line_inside(module(stepping, condition(), entry())) == 40


def test_else_the_commonest_line_of_the_body() -> None:
    work = [f"y{n} = f32[8] sine(x)" + at(line) for n, line in enumerate((9, 7, 7))]

    assert line_inside(module(body("body", *work), condition(), entry())) == 7


def test_else_the_call_that_all_of_the_body_was_traced_in() -> None:
    work = [f"y{n} = f32[8] sine(x), metadata={{stack_frame_id={frame}}}"
            for n, frame in enumerate((2, 2, 3))]  # fmt: skip

    assert line_inside(framed(body("body", *work), condition(), entry())) == 40


def test_a_condition_of_the_user_does_not_name_the_loop() -> None:
    """`lax.while_loop`: the comparison stands at a line that nothing of the body is inside of."""
    work = [f"y{n} = f32[8] sine(x), metadata={{stack_frame_id={frame}}}"
            for n, frame in enumerate((2, 3))]  # fmt: skip
    users = condition().replace("direction=LT", "direction=LT" + at(99))

    assert line_inside(framed(body("body", *work), users, entry())) == 40


def test_a_fusion_has_the_place_of_its_root() -> None:
    text = module(
        computation(
            "fused",
            "a = f32[8] parameter(0)",
            "b = f32[8] sine(a)" + at(5),
            "ROOT c = f32[8] cosine(b)" + at(6),
        ),
        computation(
            "ENTRY main",
            "x = f32[8] parameter(0)",
            "ROOT loop = f32[8] fusion(x), kind=kLoop, calls=fused",
        ),
    )

    assert line_inside(text) == 6


def test_the_name_of_a_loop_from_its_condition() -> None:
    marked = condition().replace("direction=LT", "direction=LT" + at(4, "jit(f)/while/cond/lt"))
    parsed = parse_module(module(body(), marked, entry()))

    assert op_name_of(parsed, find(parsed, "loop")) == "jit(f)/while"


# ---- repaired ------------------------------------------------------------------------------------

SINE = "y = f32[8] sine(x)"


def repaired(name: str, *texts: str) -> tuple[int, int, bool] | None:
    history = history_of(*texts)
    last = history.last
    for each in last.module.computations:
        instruction = each.get(name)
        if instruction is not None:
            found = repaired_source(history, last.index, each, instruction, follow_loops(history))
            return None if found is None else (found[0].line, found[1], found[2])
    raise AssertionError(name)


def one_body(*work: str, more: str = "", loop: str = "loop") -> str:
    return module(body("body", *work), condition(), entry(more=more, loop=loop))


def test_a_place_of_its_own_comes_first() -> None:
    assert repaired("y", one_body(SINE + at(3)), one_body(SINE + at(7))) == (7, 1, True)


def test_from_the_nearest_earlier_text() -> None:
    texts = one_body(SINE + at(3)), one_body(SINE + at(5)), one_body(SINE), one_body(SINE)

    assert repaired("y", *texts) == (5, 1, True)


@pytest.mark.parametrize(
    "between",
    [
        pytest.param(one_body("z = f32[8] sine(x)"), id="gone in between"),
        pytest.param(one_body("y = f32[8] cosine(x)"), id="another operation"),
        pytest.param(one_body("y = f32[4] sine(x)"), id="another shape"),
    ],
)
def test_a_name_that_means_something_else_is_not_followed(between: str) -> None:
    assert repaired("y", one_body(SINE + at(3)), between, one_body(SINE)) is None


def test_a_loop_keeps_its_place_through_new_names() -> None:
    texts = (
        one_body(SINE, more=at(40)),
        one_body(SINE, more=at(40), loop="loop.1"),
        one_body(SINE, loop="loop.2"),
    )

    assert repaired("loop.2", *texts) == (40, 0, True)


def test_a_loop_that_never_had_a_place_is_inferred() -> None:
    assert repaired("loop", one_body(SINE + at(7))) == (7, 0, False)


def test_a_copied_loop_has_the_place_of_its_original() -> None:
    copied = module(
        body("body", SINE),
        condition(),
        entry(
            f"again = {CARRY} while(loop), condition=condition, body=body",
            "ROOT out = f32[8] get-tuple-element(again), index=1",
        ),
    )
    history = history_of(one_body(SINE, more=at(40, "jit(f)/while")), copied)
    again = next(loop for loop in follow_loops(history) if loop.first_dump == 1)

    assert again.source is not None
    assert (again.source.line, again.source_from, again.op_name) == (40, 0, "jit(f)/while")


# ---- what the loop was written as ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("work", "compared", "construct"),
    [
        pytest.param(("y = f32[1] dynamic-slice(x, i)" + at(40),), 40, "scan", id="scan"),
        pytest.param(("y = f32[1] dynamic-slice(x, i)" + at(7),), 40, None, id="user's slice"),
        pytest.param(("w = s32[] add(i, step)" + at(40),), 40, "fori_loop", id="fori_loop"),
        pytest.param(("w = s32[] add(i, step)",), 40, "fori_loop", id="fori_loop, place lost"),
        pytest.param(("w = s32[] add(i, step)" + at(7),), 40, None, id="user's counter"),
        pytest.param((SINE + at(7),), 41, "while_loop", id="while_loop"),
        pytest.param((SINE + at(7),), 40, None, id="nothing tells"),
    ],
)
def test_construct(work: tuple[str, ...], compared: int, construct: str | None) -> None:
    written = body("body", *work).replace("w = f32[8] get", "v = f32[8] get")
    written = written.replace("next = s32[] add(i, step)", "next = s32[] add(i, step)" + at(40))
    compares = condition().replace("direction=LT", "direction=LT" + at(compared))
    (loop,) = follow_loops(history_of(module(written, compares, entry(more=at(40)))))

    assert loop.construct == construct
