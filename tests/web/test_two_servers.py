"""Two server processes on one PostgreSQL and one bucket: either answers for the other."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from app.cli.remote import Remote
from live_server import live_server
from web.asking import small_dump

TUS = {"Tus-Resumable": "1.0.0"}


def ask(method: str, address: str, data: bytes | None = None, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(address, data=data, headers=TUS | named, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.headers, answer.read()


def test_what_one_takes_the_other_has(tmp_path: Path, postgres: Any, bucket_server: Any) -> None:
    places = {"database_url": postgres.new_database(), "blobs_url": bucket_server.new_place()}
    with live_server(tmp_path / "a", **places) as a, live_server(tmp_path / "b", **places) as b:
        dump = small_dump()
        made = Remote(a).send({"name": "dump.tar.gz"}, [dump], len(dump), "application/gzip")
        state = Remote(b).state(made["id"], fail_on="error", within_s=100)
        assert state["state"] == "done"
        assert json.loads(Remote(b).form(made["id"], "json", {}))["modules"]
        check_parts_by_turns(a, b, dump)
        ask(
            "DELETE",
            f"{b}/api/v1/reports/{made['id']}",
            Authorization=f"Bearer {made['delete_token']}",
        )
        with pytest.raises(urllib.error.HTTPError) as caught:
            ask("GET", f"{a}/api/v1/reports/{made['id']}")
        assert caught.value.code == 404
        caught.value.close()


def check_parts_by_turns(a: str, b: str, dump: bytes) -> None:
    _, said = ask("POST", f"{a}/api/v1/uploads", b"", Upload_Length=str(len(dump)))
    made = json.loads(said)
    half = len(dump) // 2
    for server, at, part in ((a, 0, dump[:half]), (b, half, dump[half:])):
        address = server + made["upload"]
        assert ask("HEAD", address)[0]["upload-offset"] == str(at)
        kind = "application/offset+octet-stream"
        ask("PATCH", address, part, Upload_Offset=str(at), Content_Type=kind)
    state = Remote(a).state(made["id"], fail_on="error", within_s=100)
    assert state["state"] == "done"
