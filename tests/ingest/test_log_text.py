"""Bytes of a log become text; what is no log is refused."""

import pytest

from app.errors import NotADump
from app.ingest.log_text import log_text


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
