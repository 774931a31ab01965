"""Bytes of a log become text; what is no log is refused."""

import random
from pathlib import Path

import pytest

from app.errors import NotADump
from app.ingest import read_log, read_log_file
from app.ingest.log_text import log_text
from ingest.test_log_blocks import CHECK


def test_text_in_whatever_encoding() -> None:
    assert log_text(b"line\n", "run.log") == "line\n"
    assert log_text(b"caf\xe9\n", "run.log") == "caf\\xe9\n"
    assert log_text("naïve\n".encode("utf-16"), "run.log") == "naïve\n"
    assert log_text(b"", "run.log") == ""


def test_a_stray_nul_byte_is_no_reason() -> None:
    assert "end" in log_text(b"x" * 1000 + b"\0" + b"end", "run.log")


@pytest.mark.parametrize(
    "data", [b"\x1f\x8b\x08" + bytes(50), b"PK\x03\x04 zip", b"\x28\xb5\x2f\xfd", bytes(300)]
)
def test_archives_and_binary_data_are_refused(data: bytes) -> None:
    with pytest.raises(NotADump) as refusal:
        log_text(data, "run.log")
    assert refusal.value.code == "not_a_log"
    assert refusal.value.place == "run.log"


@pytest.mark.parametrize("size", [200, 5_000, 100_000])
def test_noise_is_refused(size: int) -> None:
    with pytest.raises(NotADump) as refusal:
        log_text(random.Random(size).randbytes(size), "run.log")
    assert refusal.value.code == "not_a_log"


@pytest.mark.parametrize(
    "data",
    [
        "\x1b[31mred\x1b[0m\x07 step\b\b\r\n" * 100,
        "\x1b]0;title\x07" * 100,
        "Ошибка памяти 日本語\n" * 100,
        "^A\x01\n",
    ],
)
def test_what_a_terminal_or_a_reader_of_any_language_is_told_is_a_log(data: str) -> None:
    assert log_text(data.encode(), "run.log") == data
    assert log_text(data.encode("koi8-r", "replace"), "run.log")


MODULE = "HloModule jit_f, is_scheduled=true\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n"


@pytest.mark.parametrize("text", [MODULE, "\n" + MODULE, "\ufeff" + MODULE])
def test_a_module_is_no_log(text: str, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    log.write_text(text, "utf-8")
    for read in (
        lambda: read_log_file(log, name="run.log"),
        lambda: read_log(text, name="run.log"),
        lambda: read_log(text.splitlines(keepends=True), name="run.log"),
    ):
        with pytest.raises(NotADump) as refusal:
            read()
        assert refusal.value.code == "not_a_log"
        assert "HLO text" in str(refusal.value)
        assert "dump" in refusal.value.next_step


def test_a_log_may_begin_with_a_module_that_was_printed() -> None:
    (failure,) = read_log(f"{MODULE}{CHECK}\n", name="run.log").failures
    assert failure.kind == "check"
