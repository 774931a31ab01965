"""`parse`, `diff`, `rules`, `explain`."""

import gzip
import io
import json
from pathlib import Path

import pytest

from app.cli.main import main
from app.rules.frame import load_rules
from parser.proto_builder import instruction, one, parameter

HLO = """HloModule m

ENTRY main {
  x = f32[4]{0} parameter(0)
  ROOT y = f32[4]{0} negate(x)
}
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "m.txt"
    path.write_text(HLO)
    return path


def test_parse_says_what_a_text_holds(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", str(text)]) == 0
    assert "1 computations, 2 instructions, entry main" in capsys.readouterr().out


def test_parse_as_json(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", str(text), "--json", "-"]) == 0
    (module,) = json.loads(capsys.readouterr().out)
    (computation,) = module["computations"]
    assert [i["name"] for i in computation["instructions"]] == ["x", "y"]
    assert computation["instructions"][1]["line"] == 5


def test_parse_refuses_with_line_and_caret(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text.write_text(HLO.replace("negate(x)", "negate(z)"))
    assert main(["parse", "--strict", str(text)]) == 3
    complaint = capsys.readouterr().err
    assert "line 5" in complaint
    assert "^" in complaint


def test_diff_names_what_changed(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.txt"
    other.write_text(HLO.replace("negate", "abs"))
    assert main(["diff", str(text), str(text)]) == 0
    assert "0 differ" in capsys.readouterr().out
    assert main(["diff", str(text), str(other)]) == 0
    assert "y" in capsys.readouterr().out


def test_diff_reads_standard_input(
    text: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(HLO.encode())))
    assert main(["diff", "-", str(text)]) == 0
    assert "0 differ" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["m.hlo.pb", "m.hlo.pb.gz", "m"])
def test_a_module_may_be_a_proto(
    name: str, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proto = tmp_path / name
    data = one(parameter(1, "x", 0), instruction(2, "y", "negate", 1), name=b"m")
    proto.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert main(["parse", "--strict", str(proto)]) == 0
    assert "module m, 1 computations, 2 instructions" in capsys.readouterr().out
    assert main(["diff", str(proto), str(text)]) == 0
    assert "negate" in capsys.readouterr().out


def test_a_text_with_a_byte_that_stands_in_no_text_is_read_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = HLO.encode() + b"// \0\n"
    for name in ("m.hlo", "m.dat", "m"):
        (tmp_path / name).write_bytes(data)
        assert main(["parse", str(tmp_path / name)]) == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"// a comment\n\n" + data)))
    assert main(["parse", "-"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["m.hlo.gz", "m.gz", "m"])
def test_of_a_packed_text_it_is_told_that_it_must_be_unpacked(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = tmp_path / name
    packed.write_bytes(gzip.compress(HLO.encode()))
    assert main(["parse", str(packed)]) == 3
    assert "unpack" in capsys.readouterr().err


def test_a_proto_that_is_none_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proto = tmp_path / "m.hlo.pb"
    proto.write_text(HLO)
    assert main(["parse", str(proto)]) == 3
    assert f"{proto}: " in capsys.readouterr().err
    assert main(["diff", str(proto), str(proto)]) == 3


def test_diff_refuses_what_is_no_module(text: Path, tmp_path: Path) -> None:
    prose = tmp_path / "prose.txt"
    prose.write_text("nothing")
    assert main(["diff", str(text), str(prose)]) == 3
    assert main(["diff", str(text), str(tmp_path / "nowhere")]) == 3


def test_rules_are_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    listed = capsys.readouterr().out
    for rule in load_rules():
        assert rule.code in listed
        assert main(["explain", rule.code.lower()]) == 0
        assert "## What it finds" in capsys.readouterr().out
    assert main(["explain", "XYZ999"]) == 2
