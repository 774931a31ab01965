"""Places inferred from what stands around an instruction, and how many instructions have one."""

import pytest

from analysis.histories import history_of
from app.analysis.loop_history import follow_loops
from app.analysis.source_repair import SourceRepairer, source_coverage
from app.model.dump import ModuleHistory
from app.model.source import SourceCoverage
from hlo_parser import Module


def at(line: int) -> str:
    return f', metadata={{source_file="t.py" source_line={line}}}'


TEXT = f"""HloModule m

%add (a: f32[], b: f32[]) -> f32[] {{
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}}

%inside (i: f32[8]) -> f32[8] {{
  %i = f32[8]{{0}} parameter(0)
  %square = f32[8]{{0}} multiply(%i, %i)
  ROOT %stays = f32[8]{{0}} negate(%square){at(9)}
}}

%bare (k: f32[8]) -> f32[8] {{
  %k = f32[8]{{0}} parameter(0)
  ROOT %root = f32[8]{{0}} sine(%k){at(11)}
}}

%called (c: f32[8]) -> f32[8] {{
  %c = f32[8]{{0}} parameter(0)
  ROOT %plain = f32[8]{{0}} tanh(%c)
}}

ENTRY %main (x: f32[8]) -> (f32[8], f32[], f32[8]) {{
  %x = f32[8]{{0}} parameter(0)
  %exp = f32[8]{{0}} exponential(%x){at(4)}
  %moved = f32[8]{{0}} copy(%exp)
  %narrow = bf16[8]{{0}} convert(%moved)
  %wide = f32[8]{{0}} convert(%narrow)
  %two = f32[] constant(2)
  %twos = f32[8]{{0}} broadcast(%two), dimensions={{}}
  %scaled = f32[8]{{0}} multiply(%exp, %twos){at(5)}
  %zero = f32[] constant(0)
  %shared = f32[] constant(3)
  %one = f32[8]{{0}} broadcast(%shared), dimensions={{}}{at(5)}
  %other = f32[8]{{0}} broadcast(%shared), dimensions={{}}{at(6)}
  %total = f32[] reduce(%scaled, %zero), dimensions={{0}}, to_apply=%add{at(7)}
  %fused = f32[8]{{0}} fusion(%wide), kind=kLoop, calls=%inside{at(8)}
  %named = f32[8]{{0}} fusion(%fused), kind=kLoop, calls=%bare
  %call = f32[8]{{0}} call(%named), to_apply=%called{at(12)}
  %sum2 = f32[8]{{0}} add(%one, %other)
  ROOT %out = (f32[8]{{0}}, f32[], f32[8]{{0}}) tuple(%call, %total, %sum2)
}}
"""


def place(history: ModuleHistory, name: str, position: int = 0) -> tuple[int, str] | None:
    """Line and reason of the only instruction of that name."""
    repairer = SourceRepairer(history, follow_loops(history))
    (found,) = [
        repairer.of(position, computation, instruction)
        for computation in history.dumps[position].module.computations
        if (instruction := computation.get(name)) is not None
    ]
    return None if found is None else (found.source.line, found.how)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("exp", (4, "stated")),
        ("moved", (4, "operand")),
        ("wide", (4, "operand")),
        ("two", (5, "users")),
        ("twos", (5, "users")),
        ("zero", (7, "users")),
        # Made for two lines, so of neither.
        ("shared", None),
        # What computes anew is not of the line of its operand.
        ("sum2", None),
        ("out", None),
        ("x", None),
        ("square", (8, "caller")),
        ("stays", (9, "stated")),
        ("sum", (7, "caller")),
        ("named", (11, "callees")),
        # A function that is called has lines of its own.
        ("plain", None),
    ],
)
def test_how_a_place_is_known(name: str, found: tuple[int, str] | None) -> None:
    assert place(history_of(TEXT), name) == found


def test_an_earlier_text_goes_before_what_stands_around() -> None:
    dropped = TEXT.replace(at(8), "").replace(at(5), "")
    history = history_of(TEXT, dropped)
    assert place(history, "fused", 1) == (8, "earlier_text")
    assert place(history, "scaled", 1) == (5, "earlier_text")
    assert place(history, "twos", 1) == (5, "users")


def test_reductions_of_two_lines_tell_no_line() -> None:
    again = f"%again = f32[] reduce(%exp, %zero), dimensions={{0}}, to_apply=%add{at(13)}\n  %fused"
    assert place(history_of(TEXT.replace("%fused", again, 1)), "sum") is None


def test_coverage_counts_every_instruction_once() -> None:
    history = history_of(TEXT, TEXT.replace(at(8), ""))
    first, last = source_coverage(history, SourceRepairer(history, follow_loops(history)))
    assert first == SourceCoverage(
        dump=0,
        instructions=28,
        stated=9,
        inferred={"callees": 1, "caller": 6, "operand": 3, "users": 3},
        none=6,
        none_opcodes={"parameter": 2, "add": 1, "constant": 1, "tanh": 1, "tuple": 1},
    )
    assert (last.dump, last.stated, last.inferred["earlier_text"]) == (1, 8, 1)
    assert last.instructions == last.stated + sum(last.inferred.values()) + last.none


def test_one_text_is_counted_once() -> None:
    assert len(source_coverage(history_of(TEXT))) == 1


def chained(length: int) -> Module:
    lines = "\n".join(f"  %c{n} = f32[8]{{0}} copy(%c{n - 1})" for n in range(1, length))
    text = (
        "HloModule m\n\nENTRY %main (x: f32[8]) -> f32[8] {\n"
        f"  %x = f32[8]{{0}} parameter(0)\n  %c0 = f32[8]{{0}} negate(%x){at(1)}\n{lines}\n"
        f"  ROOT %out = f32[8]{{0}} sine(%c{length - 1})\n}}\n"
    )
    return history_of(text).last.module


def test_long_chains_are_left_after_a_few_steps() -> None:
    module = chained(200)
    history = history_of(b"".join(module.pieces).decode())
    assert place(history, "c8") == (1, "operand")
    assert place(history, "c9") is None
