"""The built wheel works on its own: templates and static files are found inside it."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from samples import load_sample

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT))
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean environment with the wheel and, by path, the packages that it depends on."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(home), "platbase": str(home)}))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # A path added by a .pth file comes after the wheel; .pth files found there are not followed,
    # so the checkout stays out of reach.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return home / "bin" / "python"


def run(*command: str, cwd: Path | None = None) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def test_the_wheel_holds_all_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "app",
        "hlo_parser",
        "hloscope.py",
    }
    for folder in ("templates", "static"):
        ours = {
            f"app/{path.relative_to(ROOT)}" for path in (ROOT / folder).rglob("*") if path.is_file()
        }
        assert ours
        assert ours <= set(names)
    assert any(name.startswith("hlo_parser/") and name.endswith(".lark") for name in names)
    assert not any("__pycache__" in name or "/tests/" in name for name in names)


def test_the_wheel_imports_itself(installed: Path, tmp_path: Path) -> None:
    code = "import app, hloscope, hlo_parser; print(app.__file__, hloscope.__file__)"
    places = run(str(installed), "-c", code, cwd=tmp_path).split()
    assert all(place.startswith(str(installed.parent.parent)) for place in places)


def test_the_wheel_renders_a_report(installed: Path, tmp_path: Path) -> None:
    sample = load_sample("psum_under_cond")
    main = "import sys, hloscope; sys.exit(hloscope.main())"
    words = ["analyze", str(sample.archive), "--log", str(sample.log), "--html", "out.html"]
    printed = run(str(installed), "-c", main, *words, cwd=tmp_path)
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "<style" in page
    for said in ("uneven_psum.py", "psum"):
        assert said in page
    assert "uneven_psum.py:14" in printed
