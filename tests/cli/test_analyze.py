"""`hloscope analyze` as a person and as CI use it: outputs, exit codes, refusals."""

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from app.cli.main import main
from samples import load_sample

CRASH = load_sample("pipeliner_crash")
HLO = """HloModule jit_f

ENTRY main {
  x = f32[4]{0} parameter(0)
  ROOT y = f32[4]{0} negate(x)
}
"""
FAILED = "F0701 12:57:35.488299 4711 no_such_pass.cc:12] Check failed: users.empty()\n"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "module_0001.jit_f.cpu_after_optimizations.txt").write_text(HLO)
    return folder


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run.log"
    path.write_text(FAILED)
    return path


def test_the_crash_in_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["analyze", str(CRASH.archive), "--log", str(CRASH.log), "--json", "-"])
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert code == 1
    assert report["failure"]["pass"] == "collective-pipeliner-backward"
    culprits = [(c["instruction"], c["source"]["line"]) for c in report["findings"][0]["culprits"]]
    assert culprits == [("while.17", 55), ("all-gather.20", 38), ("all-gather.29", 25)]
    assert "while.17" in printed.err


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "nodir" / "page.html"
    assert main(["analyze", "no-such-dump", "--html", str(page)]) == 2
    assert f"{page}: cannot write: No such file or directory" in capsys.readouterr().err


def test_an_output_that_fails_keeps_neither_report_nor_other_outputs_back(
    dump: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    assert main(["analyze", str(dump), "--json", "/dev/full", "--html", str(page)]) == 2
    printed = capsys.readouterr()
    assert "/dev/full: cannot write: No space left on device" in printed.err
    assert "jit_f" in printed.out
    assert "jit_f" in page.read_text("utf-8")


def test_the_terminal_shows_the_code_around_the_line_and_the_page_what_passes_changed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    main(["analyze", str(CRASH.archive), "--log", str(CRASH.log), "--html", str(page)])
    text = page.read_text("utf-8")
    assert text.count('<details class="event-diff">') >= 1
    assert page.stat().st_size < 3_000_000
    printed = capsys.readouterr().out
    (line,) = [text for text in printed.splitlines() if ">    55 |" in text]
    assert "fori_loop" in line


def test_files_are_written(dump: Path, log: Path, tmp_path: Path) -> None:
    files = {kind: tmp_path / f"report.{kind}" for kind in ("json", "html", "markdown")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    assert main(["analyze", str(dump), "--log", str(log), *options]) == 1
    assert json.loads(files["json"].read_bytes())["schema_version"] == 1
    assert files["html"].read_text("utf-8").startswith("<!doctype html>")
    assert "users.empty()" in files["markdown"].read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "code"),
    [([], 1), (["--fail-on", "note"], 1), (["--fail-on", "never"], 0)],
)
def test_the_threshold_decides_the_exit_code(
    dump: Path, log: Path, options: list[str], code: int
) -> None:
    assert main(["analyze", str(dump), "--log", str(log), *options]) == code


def test_a_healthy_dump_exits_with_0(dump: Path) -> None:
    assert main(["analyze", str(dump), "--fail-on", "note"]) == 0


def test_a_log_alone(log: Path) -> None:
    assert main(["analyze", "--log", str(log)]) == 1


def test_an_archive_without_a_file_of_xla_exits_with_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(tmp_path / "photo.jpg", "photo.jpg")
    for place in ("a.tar", "."):
        assert main(["analyze", str(tmp_path / place)]) == 3
        assert "Looked for module_NNNN.NAME.*.txt" in capsys.readouterr().err


def test_a_planted_line_is_counted_and_refused_only_strictly(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = dump.iterdir()
    file.write_text(HLO.replace("  ROOT", "  what is this !!\n  ROOT"))
    assert main(["analyze", str(dump), "--json", "-"]) == 0
    coverage = json.loads(capsys.readouterr().out)["coverage"]
    assert coverage["unparsed_lines"] == 1
    assert coverage["unparsed"][0]["line"] == 5
    assert main(["analyze", str(dump), "--strict"]) == 3
    assert f"{file.name}:5" in capsys.readouterr().err


def test_a_form_that_xla_never_had_is_told(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = dump.iterdir()
    file.write_text(HLO.replace("negate(x)", "negate(x), sparkle={1,2}"))
    assert main(["analyze", str(dump), "--json", "-"]) == 0
    (remark,) = json.loads(capsys.readouterr().out)["coverage"]["remarks"]
    assert remark.startswith("unknown_attribute: 1 ")
    assert "sparkle of negate" in remark
    assert main(["analyze", str(dump), "--strict"]) == 3
    file.write_text(HLO.replace("negate(x)", "frobnicate(x)"))
    assert main(["analyze", str(dump), "--strict"]) == 3
    assert "frobnicate" in capsys.readouterr().err


def test_flags_from_a_file(dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "flags").write_text("--xla_gpu_autotune_level=0 --xla_dump_hlo_as_text\n")
    main(["analyze", str(dump), "--flags", f"@{tmp_path / 'flags'}", "--json", "-"])
    environment = json.loads(capsys.readouterr().out)["environment"]
    assert environment["flags"]["xla_gpu_autotune_level"] == "0"


def test_standard_input(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(dump, "dump")

    class Stdin:
        buffer = io.BytesIO(packed.getvalue())

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert main(["analyze", "-"]) == 0


@pytest.mark.parametrize("given", [b"", b"this is not hlo\n", b"PK\x03\x04"])
def test_what_is_refused_of_standard_input_goes_by_its_name(
    given: bytes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Stdin:
        buffer = io.BytesIO(given)

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert main(["analyze", "-"]) == 3
    assert capsys.readouterr().err.startswith("hloscope: stdin: ")


BAD = {
    "empty": b"",
    "prose.txt": b"this is not hlo\n",
    "noise": bytes(range(256)) * 40,
    "cut.tar.gz": CRASH.archive.read_bytes()[:300],
}


@pytest.mark.parametrize("name", [*BAD, "nowhere", "folder"])
def test_what_cannot_be_read_is_refused_in_words(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    if name in BAD:
        path.write_bytes(BAD[name])
    elif name == "folder":
        path.mkdir()
    assert main(["analyze", str(path)]) == 3
    complaint = capsys.readouterr().err
    assert name in complaint
    assert "Traceback" not in complaint


def test_an_archive_that_breaks_off_keeps_its_whole_members(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(CRASH.archive.read_bytes()[:100_000])
    assert main(["analyze", str(cut), "--json", "-"]) == 0
    coverage = json.loads(capsys.readouterr().out)["coverage"]
    assert coverage["hlo_files"] > 0
    assert "truncated" in {skipped["code"] for skipped in coverage["skipped"]}
    assert main(["analyze", str(cut), "--fail-on", "warning"]) == 1


def test_an_archive_given_as_the_log_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "--log", str(CRASH.archive)]) == 3
    assert "was given as the log" in capsys.readouterr().err


def test_a_log_of_another_run_blames_nothing_in_this_dump(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["analyze", str(dump), "--log", str(CRASH.log), "--json", "-"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["failure"]["module"] is None
    assert report["findings"][0]["culprits"] == []
    assert any("another run" in text for text in report["findings"][0]["unknown"])


@pytest.mark.parametrize(
    "words", [[], ["x", "--json", "-", "--html", "-"], ["x", "--release", "banana"]]
)
def test_wrong_use_exits_with_2(words: list[str]) -> None:
    assert main(["analyze", *words]) == 2


def test_a_misspelt_setting_exits_with_2(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLOSCOPE_MAX_UPLAOD_BYTES", "1")
    assert main(["analyze", str(dump)]) == 2


def test_a_reader_that_leaves_is_no_finding() -> None:
    command = [sys.executable, "-m", "hloscope", "analyze", str(CRASH.archive)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
