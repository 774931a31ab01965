"""What makes a compile that did not end long: copies that a loop in Python wrote."""

from pathlib import Path

from app.service import Log, Question, analyze
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


def test_a_run_that_stood_elsewhere_is_not_laid_on_copies(tmp_path: Path) -> None:
    dump = tmp_path / "dump"
    dump.mkdir()
    name = "module_0014.jit_train.before_optimizations.txt"
    (dump / name).write_text(unrolled(), "utf-8")
    text = (
        "hloscope run: the time is up; what has a handler for it shows its stacks (SIGABRT)\n"
        "Fatal Python error: Aborted\n\n"
        "Current thread 0x00007fdd1b854b80 (most recent call first):\n"
        '  File "/usr/lib/python3.11/threading.py", line 327 in wait\n'
        '  File "/usr/lib/python3.11/queue.py", line 171 in get\n'
        '  File "/home/me/job/data.py", line 9 in next_batch\n'
        '  File "/home/me/job/train.py", line 40 in <module>\n'
    )
    report = analyze(dump, Settings(), question=Question(logs=(Log("run.log", text),)))
    first = report.findings[0]
    assert (first.rule, first.title.startswith("The run hung at data.py:9")) == ("HNG003", True)
    assert first.culprits[0].source is not None
    assert first.culprits[0].source.file.endswith("data.py")
    assert "scan" not in first.message + "".join(one.text for one in first.workarounds)
