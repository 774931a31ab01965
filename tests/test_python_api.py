"""What a program gets from `import hloscope`, and the example of docs/python.md as it stands."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hloscope
from app.errors import NotADump
from samples import SAMPLE_DUMPS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "python.md"
TEXT = """HloModule jit_f

ENTRY main {
  x = f32[4]{0} parameter(0)
  ROOT y = f32[4]{0} negate(x)
}
"""


def example() -> str:
    (found,) = re.findall(r"```python\n(# test_step\.py\n.*?)```", PAGE.read_text(), re.S)
    return found


def run_example(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_step.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_step.py"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=250,
    )


def test_the_documented_test_passes_with_real_jax(tmp_path: Path) -> None:
    done = run_example(tmp_path, example())
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_fails_where_an_all_gather_comes_into_the_loop(tmp_path: Path) -> None:
    text = example()
    sharded_weights = text.replace("jnp.ones((3, 64, 64)), sharded()", "jnp.ones((3, 64, 64)), W")
    assert sharded_weights != text
    done = run_example(tmp_path, sharded_weights.replace("W)", "sharded(None, 'data', None))"))
    assert done.returncode == 1
    assert "assert 1 == 0" in done.stdout, done.stdout


def test_a_block_in_which_nothing_was_dumped_says_so() -> None:
    with hloscope.capture() as dump:
        assert dump.compiler_options["xla_dump_to"] == str(dump.folder)
    with pytest.raises(NotADump, match=re.escape("compiler_options=dump.compiler_options")):
        _ = dump.report
    assert not dump.folder.exists()


def test_the_report_stays_and_a_folder_of_ones_own_too(tmp_path: Path) -> None:
    with hloscope.capture() as dump:
        (dump.folder / "module_0000.jit_f.before_optimizations.txt").write_text(TEXT)
        assert len(dump.report.modules) == 1
    assert [module.name for module in dump.report.modules] == ["jit_f"]
    assert not dump.folder.exists()
    kept = tmp_path / "a" / "b"
    with hloscope.capture(kept) as dump:
        (dump.folder / "module_0000.jit_f.before_optimizations.txt").write_text(TEXT)
    assert dump.report.modules
    assert len(list(kept.iterdir())) == 1


def capture_and_raise() -> None:
    with hloscope.capture() as dump:
        (dump.folder / "module_0000.jit_f.before_optimizations.txt").write_text(TEXT)
        raise LookupError


def test_what_the_block_raises_comes_through() -> None:
    with pytest.raises(LookupError):
        capture_and_raise()


def test_dumps_are_compared() -> None:
    archive = SAMPLE_DUMPS / "pipeliner_crash_plain_dump" / "dump.tar.gz"
    found = hloscope.compare(archive, archive).comparison
    assert {pair.outcome for pair in found.modules} == {"equal"}
