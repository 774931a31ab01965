"""`hloscope admin tokens`: one is made and shown once, listed without its secret, taken back."""

import re
import time
from pathlib import Path

import pytest

from app.cli.main import main
from app.store import Store, is_token


@pytest.fixture
def data(tmp_path: Path) -> str:
    Store(tmp_path / "data").close()
    return str(tmp_path / "data")


def test_a_token_lives_and_is_taken_back(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    tokens = ["admin", "tokens", "--data", data]
    assert main([*tokens, "create", "nightly CI", "--scope", "upload", "--days", "7"]) == 0
    printed = capsys.readouterr()
    secret = printed.out.strip()
    assert is_token(secret)
    assert secret not in printed.err
    (handle,) = re.findall(r"^([0-9a-f]{12}): upload; ends ", printed.err)
    assert main([*tokens, "list"]) == 0
    listed = capsys.readouterr().out
    assert f"{handle}  nightly CI: upload; ends " in listed
    assert "never used" in listed
    assert secret not in listed
    assert main([*tokens, "revoke", handle]) == 0
    assert main([*tokens, "revoke", handle]) == 2
    assert main([*tokens, "list"]) == 0
    assert "taken back" in capsys.readouterr().out
    with Store(Path(data)) as store:
        assert store.tokens.find(secret, now=time.time()) is None


def test_a_server_that_runs_takes_a_token_made_meanwhile(data: str) -> None:
    with Store(Path(data)) as store:
        assert main(["admin", "tokens", "--data", data, "create", "me", "--days", "0"]) == 0
        (row,) = store.tokens.all()
        assert (row.scopes, row.expires) == ({"read", "upload"}, None)


@pytest.mark.parametrize(
    "words",
    [["create"], ["create", "x\ny"], ["create", "x" * 201], ["create", "x", "--days", "-1"]],
)
def test_wrong_use_is_told(data: str, words: list[str]) -> None:
    assert main(["admin", "tokens", "--data", data, *words]) == 2
    with Store(Path(data)) as store:
        assert store.tokens.all() == ()
