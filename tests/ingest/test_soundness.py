"""References that lead nowhere or in a circle, and shapes that cannot be: kept, read and said."""

import time

import pytest

from app.model.dump import DumpContents
from ingest.archives import FIRST, load, remarks, tar_of

PARAMETER = "  p = f32[] parameter(0)\n"


def read(*entry: str, before: str = "") -> DumpContents:
    """A module whose entry has a parameter and the lines."""
    lines = "".join(f"  {line}\n" for line in entry)
    text = f"HloModule m\n\n{before}ENTRY e {{\n{PARAMETER}{lines}}}\n"
    return load(tar_of({FIRST: text.encode()}))


def body(name: str, callee: str) -> str:
    return f"{name} {{\n{PARAMETER}  ROOT a = f32[] call(p), to_apply={callee}\n}}\n\n"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ROOT a = f32[] add(a, p)", "cycle"),
        ("ROOT a = f32[] add(p, q)", "undefined"),
        ("ROOT a = f32[] call(p), to_apply=nothing", "undefined"),
        ("ROOT a = f32[99999999999,99999999999] broadcast(p), dimensions={}", "absurd_shape"),
        (f"ROOT a = f32[{'9' * 40}] broadcast(p), dimensions={{}}", "absurd_shape"),
        ("ROOT a = (f32[1], s8[9223372036854775807]) custom-call(p)", "absurd_shape"),
        ("ROOT p = f32[] add(p, p)", "twice_defined"),
        ("ROOT a = f99[4]{0} add(p, p)", "unknown_type"),
        ("ROOT a = (f32[], (s32[2], quux[3])) custom-call(p)", "unknown_type"),
    ],
)
def test_a_fault_is_said_and_the_text_is_kept(line: str, code: str) -> None:
    contents = read(line)
    assert remarks(contents) == [code]
    assert contents.coverage.unparsed_lines == 0
    assert contents.modules[0].dumps[0].module.instruction_count == 2


def test_a_longer_circle_is_found_once() -> None:
    assert remarks(
        read("a = f32[] add(b, p)", "b = f32[] negate(c)", "ROOT c = f32[] negate(a)")
    ) == ["cycle"]


def test_computations_that_call_each_other() -> None:
    contents = read("ROOT a = f32[] call(p), to_apply=c", before=body("c", "d") + body("d", "c"))
    assert remarks(contents) == ["cycle"]


def test_what_is_sound_has_no_remark() -> None:
    for entry in (
        ("ROOT a = f32[?,4] custom-call(p)",),
        ("ROOT a = f32[<=9] custom-call(p)",),
        ("ROOT a = f32[9,9]{1,0} broadcast(p), dimensions={}",),
        # Operands may come later in a text that no compiler wrote.
        ("ROOT a = f32[] negate(b)", "b = f32[] negate(p)"),
    ):
        assert remarks(read(*entry)) == []


def test_what_a_line_that_is_not_understood_defines_is_not_called_missing() -> None:
    contents = read("q = f32[ !!", "ROOT a = f32[] add(p, q)")
    assert contents.coverage.unparsed_lines == 1
    assert remarks(contents) == []


def test_what_no_such_line_can_define_is_missing() -> None:
    unclosed = f"HloModule m\n\nENTRY e {{\n{PARAMETER}  ROOT a = f32[] add(p, zz)\n"
    contents = load(tar_of({FIRST: unclosed.encode()}))
    assert contents.coverage.unparsed_lines == 1
    assert remarks(contents) == ["undefined"]
    assert remarks(read("q = f32[ !!", "ROOT a = f32[] add(p, zz)")) == ["undefined"]


def test_long_chains_and_large_circles_take_no_time() -> None:
    count = 20_000
    chain = [f"a{n} = f32[] negate(a{n + 1})" for n in range(count)]
    started = time.process_time()
    assert remarks(read(*chain, f"a{count} = f32[] negate(p)")) == []
    assert remarks(read(*chain, f"a{count} = f32[] negate(a0)")) == ["cycle"]
    assert time.process_time() - started < 20


def test_names_beside_lines_that_are_not_understood_are_looked_up_at_once() -> None:
    gaps = tuple(f"odd.{number} = = f32[]" for number in range(4_000))
    uses = tuple(f"use.{number} = f32[] negate(no.{number})" for number in range(4_000))
    start = time.process_time()
    contents = read(*gaps, *uses, "whole = f32[] negate(odd.7)", "ROOT part = f32[] negate(odd)")
    assert time.process_time() - start < 10
    (told,) = [each for each in contents.coverage.remarks if "nowhere defined" in each]
    # Neither `odd.7`, which a line may define, nor more than once what is a part of its name.
    assert told.startswith("undefined: 4001 names")
