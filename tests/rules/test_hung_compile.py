"""What makes a compile that did not end long: copies that a loop in Python wrote."""

from pathlib import Path

from app.service import Question, analyze
from app.settings import Settings

STEPS = 400
STEP = (
    "  m{n}.1 = f32[8,8]{{1,0}} multiply({h}, w), metadata={{{at}}}\n"
    "  d{n}.2 = f32[8,8]{{1,0}} dot(m{n}.1, w), lhs_contracting_dims={{1}}, "
    "rhs_contracting_dims={{0}}, metadata={{{at}}}\n"
    "  t{n}.3 = f32[8,8]{{1,0}} tanh(d{n}.2), metadata={{{at}}}\n"
    "  a{n}.4 = f32[8,8]{{1,0}} add(t{n}.3, m{n}.1), metadata={{{at}}}\n"
    "  s{n}.5 = f32[8,8]{{1,0}} subtract(a{n}.4, w), metadata={{{at}}}\n"
    "  h{n}.6 = f32[8,8]{{1,0}} negate(s{n}.5), metadata={{{at}}}\n"
)
AT = 'op_name="jit(train)/dot_general" source_file="rnn.py" source_line=7'


def unrolled() -> str:
    steps = [STEP.format(n=n, h=f"h{n - 1}.6" if n else "x", at=AT) for n in range(STEPS)]
    return (
        "HloModule jit_train\n\nENTRY main {\n  x = f32[8,8]{1,0} parameter(0)\n"
        f"  w = f32[8,8]{{1,0}} parameter(1)\n{''.join(steps)}"
        f"  ROOT y = f32[8,8]{{1,0}} copy(h{STEPS - 1}.6)\n}}\n"
    )


def test_copies_are_the_first_culprit_of_a_compile_that_hung(tmp_path: Path) -> None:
    name = "module_0014.jit_train.before_optimizations.txt"
    (tmp_path / name).write_text(unrolled(), "utf-8")
    report = analyze(tmp_path, Settings(), question=Question(hung=True))
    first = report.findings[0]
    assert (first.rule, first.class_) == ("HNG003", "slow-compile")
    assert first.culprits[0].role == "first copy"
    assert first.culprits[0].source is not None
    assert (first.culprits[0].source.file, first.culprits[0].source.line) == ("rnn.py", 7)
    assert f"{STEPS} copies of the same 6 instructions (d0.2 (rnn.py:7))" in first.message
    assert "jax.lax.scan" in first.workarounds[0].text
