"""The parser without the rest of the project: its README's example, its wheel, its types."""

import os
import re
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import hlo_parser

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "hlo_parser"
# A module that is None cannot be imported.
WITHOUT_APP = "import sys\nsys.modules.update(app=None, hloscope=None)\n"
PLACES = "import hlo_parser\nprint(hlo_parser.__file__)\n"
COLLECTIVE = re.compile(r"collective-permute-start \d+ \(\(0, 1\), .*\) /.*ring_matmul\.py:\d+")


def example() -> str:
    """The first piece of Python in the README."""
    found = re.search(
        r"^```python\n(.*?)^```", (PACKAGE / "README.md").read_text("utf-8"), re.M | re.S
    )
    assert found is not None
    return found[1]


def run(*command: str, path: Path) -> str:
    """What a command prints that finds modules in `path`."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(path), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def assert_lists_collectives(printed: str) -> None:
    lines = printed.splitlines()
    assert len(lines) > 1
    for line in lines:
        assert COLLECTIVE.fullmatch(line)


def test_the_example_runs_where_there_is_no_app() -> None:
    assert_lists_collectives(run(sys.executable, "-c", WITHOUT_APP + example(), path=ROOT))


def test_there_is_no_app_in_that_process() -> None:
    code = WITHOUT_APP + "try:\n    import app\nexcept ImportError:\n    print('none')\n"
    assert run(sys.executable, "-c", code, path=ROOT) == "none\n"


def test_its_own_wheel_is_enough(tmp_path: Path) -> None:
    run(
        *(sys.executable, "-m", "build", "--wheel", "--no-isolation"),
        *("--outdir", str(tmp_path / "wheel"), str(PACKAGE)),
        path=tmp_path,
    )
    (wheel,) = (tmp_path / "wheel").glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        needed = message_from_bytes(archive.read(metadata)).get_all("Requires-Dist") or []
    assert sorted(re.split(r"\W", one)[0] for one in needed) == ["lark", "protobuf"]
    sources = {p.relative_to(PACKAGE) for p in PACKAGE.rglob("*") if p.suffix in {".py", ".lark"}}
    held = {p.relative_to(site / "hlo_parser") for p in (site / "hlo_parser").rglob("*.*")}
    assert held == sources | {Path("py.typed")}
    printed = run(sys.executable, "-c", WITHOUT_APP + PLACES + example(), path=site)
    place, _, listed = printed.partition("\n")
    assert Path(place).is_relative_to(site)
    assert_lists_collectives(listed)


@pytest.mark.parametrize("name", hlo_parser.__all__)
def test_public_names_say_what_they_are(name: str) -> None:
    assert getattr(hlo_parser, name).__doc__


def test_every_public_name_has_a_known_type() -> None:
    said = run(sys.executable, "-m", "pyright", "--verifytypes", "hlo_parser", path=ROOT)
    assert "Type completeness score: 100%" in said
