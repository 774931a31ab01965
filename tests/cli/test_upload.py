"""`hloscope upload` against a real server: what it prints, writes and ends with."""

import http.server
import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from app.cli.main import main
from app.cli.remote import Remote
from live_server import live_server
from samples import load_sample
from web.asking import HLO, small_dump

TOKEN = "s3cret-of-the-server"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with live_server(tmp_path_factory.mktemp("data"), upload_token=TOKEN) as address:
        yield address


def upload(server: str, *words: str) -> int:
    return main(["upload", "--server", server, "--token", TOKEN, *words])


def test_it_prints_the_address_and_keeps_what_the_server_said(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump.tar.gz"
    dump.write_bytes(small_dump())
    said = tmp_path / "said.json"
    words = ("--label", "nightly", "--commit", "0123abcd", "--expire-days", "3")
    assert upload(server, str(dump), "--wait", "--json", str(said), *words) == 0
    made = json.loads(said.read_text())
    assert capsys.readouterr().out.strip() == made["url"]
    assert made["url"] == f"{server}/r/{made['id']}"
    assert (made["state"], made["label"], made["failed"]) == ("done", "nightly", False)
    assert made["links"]["commit"] == "0123abcd"
    assert len(made["delete_token"]) == 32


def test_a_crash_fails_and_comes_in_every_form(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sample = load_sample("pipeliner_crash")
    forms = ("html", "markdown", "thread", "sarif", "junit", "github", "gitlab")
    targets = [word for form in forms for word in (f"--{form}", str(tmp_path / form))]
    code = upload(server, str(sample.archive), "--log", str(sample.log), "--share", *targets)
    assert code == 1
    told = capsys.readouterr()
    assert re.search(r"^hloscope: .*\(1 error", told.err)
    address = told.out.strip()
    assert "/r/" in address
    # The server is not told its own address, and so puts none into what is made to be pasted.
    assert address not in (tmp_path / "thread").read_text()
    assert json.loads((tmp_path / "sarif").read_text())["version"] == "2.1.0"
    assert (tmp_path / "html").read_text().startswith("<!doctype html>")
    assert "/home/" not in (tmp_path / "html").read_text()
    assert (tmp_path / "github").read_text().startswith("::error")


def test_a_folder_is_packed_and_a_log_alone_is_enough(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / 'a "dump"'
    folder.mkdir()
    (folder / "module_0000.jit_step.before_optimizations.txt").write_text(HLO)
    said = tmp_path / "said.json"
    assert upload(server, str(folder), "--wait", "--json", str(said)) == 0
    made = json.loads(said.read_text())
    assert made["name"] == "a _dump_.tar.gz"
    assert made["summary"]["texts"] == 1
    log = tmp_path / "run.log"
    log.write_text("F0412 10:11:12.345678 4242 some_pass.cc:12] Check failed: a != b\n")
    assert upload(server, "--log", str(log), "--wait", "--fail-on", "note") == 1
    assert "/r/" in capsys.readouterr().out


def test_standard_output_is_one_thing(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump.tar.gz"
    dump.write_bytes(small_dump())
    assert upload(server, str(dump), "--json", "-") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["id"]
    assert captured.err.startswith(f"{server}/r/")


def test_how_it_goes_on_is_told_beside_the_address(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dump = tmp_path / "dump.tar.gz"
    dump.write_bytes(small_dump())
    assert upload(server, str(dump)) == 0
    assert "--wait" in capsys.readouterr().err
    assert upload(server, str(dump), "--share") == 0
    unseen = capsys.readouterr().err
    assert "did not reach its end in this dump (1 note)" in unseen
    [kept] = tmp_path.glob("hloscope-share-*.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    token = json.loads(kept.read_text())["share"]["delete_token"]
    assert kept.name in unseen
    assert token not in unseen
    assert "Bearer TOKEN" in unseen
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert upload(server, str(dump), "--share") == 0
    said = capsys.readouterr()
    share = said.out.strip().rpartition("/")[2]
    assert "curl -X DELETE -H 'Authorization: Bearer " in said.err
    assert f"{server}/api/v1/reports/{share}" in said.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 0),
        (["--wait"], 1),
        (["--fail-on", "error"], 1),
        (["--fail-on", "never"], 0),
        (["--timeout", "300"], 1),
        (["--share"], 1),
        (["--junit", "{folder}/junit.xml"], 1),
    ],
)
def test_whatever_needs_the_end_waits_for_it(
    server: str, tmp_path: Path, words: list[str], code: int
) -> None:
    log = tmp_path / "run.log"
    log.write_text("F0412 10:11:12.345678 4242 some_pass.cc:12] Check failed: a != b\n")
    said = tmp_path / "said.json"
    given = [word.format(folder=tmp_path) for word in words]
    assert upload(server, "--log", str(log), "--json", str(said), *given) == code
    assert (json.loads(said.read_text())["progress"] is None) == bool(words)


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        ([], 2, "nothing to send"),
        (["nowhere.tar"], 3, "cannot read"),
        (["{empty}"], 3, "there is nothing in it"),
        (["{empty}", "--log", "{words}"], 3, "there is nothing in it"),
        (["--log", "{empty}"], 3, "there is nothing in it"),
        (["{words}", "--share"], 3, "neither an archive nor a text"),
        (["{words}", "--share", "--server", "http://127.0.0.1:9"], 4, "cannot be reached"),
        (["{words}", "--wait"], 3, "neither an archive nor a text"),
        (["{words}", "--fail-on", "never"], 3, "neither an archive nor a text"),
        (["{photos}", "--wait", "--fail-on", "never"], 3, "none of the files is XLA's"),
        (["{dump}", "--token", "wrong"], 4, "only with its token"),
        (["{dump}", "--expire-days", "soon"], 4, "no number of days"),
        (["{dump}", "--server", "ftp://x"], 2, "no address"),
        (["{dump}", "--server", "http://127.0.0.1:9"], 4, "cannot be reached"),
        (["{dump}", "--wait", "--timeout", "0"], 5, "not over"),
    ],
)
def test_what_goes_wrong_is_told(
    server: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    code: int,
    complaint: str,
) -> None:
    (tmp_path / "dump.tar.gz").write_bytes(small_dump())
    (tmp_path / "words.txt").write_text("just some words")
    (tmp_path / "empty.txt").touch()
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"\xff\xd8\xff")
    names = {"dump": "dump.tar.gz", "words": "words.txt", "empty": "empty.txt", "photos": "photos"}
    places = {name: tmp_path / file for name, file in names.items()}
    monkeypatch.chdir(tmp_path)
    assert upload(server, *(word.format(**places) for word in words)) == code
    assert complaint in capsys.readouterr().err


def test_a_copy_is_not_made_where_its_token_cannot_be_kept(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = tmp_path / "dump.tar.gz"
    dump.write_bytes(small_dump())
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert upload(server, str(dump), "--share") == 2
    told = capsys.readouterr()
    assert not told.out
    assert "--json" in told.err


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """Sends whoever asks to another address."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(302)
        self.send_header("Location", "http://127.0.0.1:9/stolen")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


class Forgetful(http.server.BaseHTTPRequestHandler):
    """Takes an upload and hangs up without an answer, once."""

    keys: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.keys.append(self.headers["idempotency-key"])
        if len(self.keys) == 1:
            self.close_connection = True
            return
        data = json.dumps({"id": "x", "url": "/r/x", "delete_token": "t"}).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


class SignIn(http.server.BaseHTTPRequestHandler):
    """Answers everything well, as a proxy does that wants to know who asks."""

    body = b"<!doctype html><title>Sign in</title>"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class SomeJson(SignIn):
    """Answers with JSON of its own."""

    body = b'{"id": 7}'


@contextmanager
def answering(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server that answers so."""
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{running.server_port}"
        finally:
            running.shutdown()
            thread.join()


def test_an_upload_whose_answer_is_lost_is_sent_again_with_its_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    with answering(Forgetful) as address:
        assert Remote(address).send({}, [b"dump"], 4, "text/plain")["id"] == "x"
    assert len(Forgetful.keys) == 2
    assert len(set(Forgetful.keys)) == 1
    assert len(Forgetful.keys[0]) == 32


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (Elsewhere, "the server answered 302"),
        (SignIn, "what answers there is no hloscope server"),
        (SomeJson, "what answers there is no hloscope server"),
    ],
)
def test_a_stranger_gets_no_token(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    handler: type[http.server.BaseHTTPRequestHandler],
    words: str,
) -> None:
    (tmp_path / "dump.tar.gz").write_bytes(small_dump())
    with answering(handler) as address:
        assert upload(address, str(tmp_path / "dump.tar.gz")) == 4
    assert words in capsys.readouterr().err
