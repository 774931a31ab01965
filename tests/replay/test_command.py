"""`hloscope replay` on a sample of the project, with a toolchain that answers by its flags."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from app.cli.main import main
from app.replay.toolchains import installed
from app.settings import settings_from_environment
from hlo_parser import parse_module
from replay.fake_toolchain import CHECK, dies, make_toolchain

SAMPLE = Path(__file__).parents[2] / "sample_dumps" / "pipeliner_crash"
PLAIN = SAMPLE.with_name("pipeliner_crash_plain_dump")
FLAGS = " ".join(tomllib.loads((SAMPLE / "manifest.toml").read_text())["run"]["flags"])
# Released after the stand-in's last release: no C compiler is asked for.
RELEASE = "0.4.34"
ANSWERS = f"""
off = flags.get('xla_disable_hlo_passes', '').split(',')
if flags.get('xla_dump_to'):
    dump = pathlib.Path(flags['xla_dump_to'])
    dump.mkdir()
    (dump / 'module_0000.m.0001.p.after_slow-pass.before_dce.txt').write_text('')
is_on = flags.get('xla_gpu_enable_pipelined_all_gather') == 'true'
if is_on and 'collective-pipeliner-backward' not in off:
    {dies(CHECK)}
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "replay" / "toolchains" / RELEASE
    (folder / "bin").mkdir(parents=True)
    make_toolchain(folder / "bin", ANSWERS)
    (folder / "ready").touch()
    monkeypatch.setenv("HLOSCOPE_REPLAY_DIR", str(tmp_path / "replay"))
    return tmp_path


def replay(*more: str, sample: Path = SAMPLE) -> int:
    dump, log = str(sample / "dump.tar.gz"), str(sample / "run.log")
    return main(["replay", dump, "--log", log, "--release", RELEASE, "--flags", FLAGS, *more])


def test_installed_releases_are_listed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "--list"]) == 0
    assert capsys.readouterr().out == f"{RELEASE}\n"


def test_a_failure_comes_back(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay() == 1
    shown = capsys.readouterr()
    assert shown.out.startswith("same signature")
    assert (
        "certain: the same file and condition, which 0.4.34 checks at one place alone" in shown.out
    )
    assert "1 x 8 devices, GPU" in shown.err


def test_without_flags_it_is_said_that_these_are_the_defaults(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(SAMPLE / "dump.tar.gz"), "--release", RELEASE]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("the default flags, with no kernel timed: --xla_gpu_autotune_level")
    assert "\ncompiles (" in shown.out
    assert "the defaults are tried" in shown.err


def test_the_report_with_all_that_was_tried_is_written(root: Path) -> None:
    page, thread = root / "page.html", root / "thread.md"
    limits = ("--budget", "30", "--out", str(root / "small.hlo"))
    assert (
        replay("--prove", "--reduce", "--html", str(page), "--markdown", str(thread), *limits) == 1
    )
    for text in (page.read_text(), thread.read_text()):
        assert "What recompiling showed" in text
        assert "small module with the same failure" in text
    parse_module((root / "small.hlo").read_bytes(), strict=True)


@pytest.mark.parametrize("asked", [(), ("--prove",), ("--bisect", "flags"), ("--reduce",)])
def test_a_budget_that_is_too_small_is_told(
    root: Path, capsys: pytest.CaptureFixture[str], asked: tuple[str, ...]
) -> None:
    page = root / "report.md"
    assert replay(*asked, "--budget", "0.000001", "--markdown", str(page)) == 5
    assert "the time was up before this was tried" in capsys.readouterr().err
    assert "the time was up before this was tried" in page.read_text()


def test_a_target_that_is_not_there_is_told(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay("--target", str(root / "none.pbtxt")) == 3
    assert f"{root / 'none.pbtxt'}: cannot read: No such file" in capsys.readouterr().err


def test_flags_are_bisected(root: Path) -> None:
    assert replay("--bisect", "flags", "--json", str(root / "found.json")) == 1
    found = json.loads((root / "found.json").read_bytes())
    assert found["cures"] == ["--xla_gpu_enable_pipelined_all_gather=false"]
    assert found["needed"]["items"] == ["--xla_gpu_enable_pipelined_all_gather=true"]
    assert found["untried"] == []


def test_passes_of_a_dump_with_one_text_are_learnt(root: Path) -> None:
    found = root / "found.json"
    assert replay("--bisect", "passes", "--json", str(found), sample=PLAIN) == 1
    answer = json.loads(found.read_bytes())
    assert answer["cures"] == ["collective-pipeliner-backward"]
    assert "slow-pass" in answer["irrelevant"]


def test_the_release_that_compiles_is_not_taken_for_that_of_the_run(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay("--prove", "--json", str(root / "report.json")) == 1
    report = json.loads((root / "report.json").read_bytes())
    assert report["replay"]["release"] == RELEASE
    fitting = report["environment"]["jaxlib"]["releases"]
    assert fitting
    assert RELEASE not in fitting
    assert "as does each release that fits the run" in capsys.readouterr().out


def test_workarounds_are_proved(root: Path) -> None:
    assert replay("--prove", "--json", str(root / "report.json")) == 1
    report = json.loads((root / "report.json").read_bytes())
    tried = [w for f in report["findings"] for w in f["workarounds"] if w["flags"]]
    verdicts = {" ".join(w["flags"]): w["verified"] for w in tried}
    assert verdicts["--xla_gpu_enable_pipelined_all_gather=false"] is True


def test_releases_are_told(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = root / "found.json"
    assert replay("--bisect", "releases", "--json", str(found)) == 1
    # As wide as the terminal is, it may be broken anywhere.
    shown = " ".join(capsys.readouterr().out.split())
    answer = json.loads(found.read_bytes())
    assert answer["releases"]["first_bad_of_tried"] == RELEASE
    for words in (
        f"First bad of the releases tried: {RELEASE}; none older that was tried compiles.",
        f"First good of the releases tried after {RELEASE}: none.",
    ):
        assert words in shown
        assert words in answer["words"]


def test_log_and_dump_are_kept(root: Path) -> None:
    assert replay("--keep", str(root / "kept")) == 1
    assert "last_cloned" in (root / "kept" / "replay.log").read_text()
    assert list((root / "kept" / "dump").iterdir())


def test_a_release_that_is_not_installed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(SAMPLE / "dump.tar.gz"), "--release", "0.4.35"]) == 2
    assert "hloscope replay --install 0.4.35" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.skipif(
    "0.4.30" not in installed(settings_from_environment().replay_dir.expanduser()),
    reason="compiles with jaxlib 0.4.30, which `hloscope replay --install 0.4.30` brings",
)
def test_the_real_failure_comes_back_and_is_cured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump, log = str(SAMPLE / "dump.tar.gz"), str(SAMPLE / "run.log")
    common = ["replay", dump, "--log", log, "--release", "0.4.30"]
    assert main([*common, "--flags", FLAGS]) == 1
    assert re.match(r"same signature .*\n.*collective_pipeliner\.cc:675", capsys.readouterr().out)
    without = f"{FLAGS} --xla_gpu_enable_pipelined_all_gather=false"
    assert main([*common, "--flags", without]) == 0
