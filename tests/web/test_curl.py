"""The commands that the README shows for curl, run as they stand there against a real server."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from live_server import ROOT, live_server
from samples import load_sample


def shown_script() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (script,) = (block for block in blocks if block.startswith("HOST="))
    return script


def test_what_the_readme_shows_for_curl_works(tmp_path: Path) -> None:
    assert shutil.which("curl"), "curl is missing (on Debian: apt-get install curl)"
    work = tmp_path / "work"
    work.mkdir()
    shutil.copy(load_sample("pipeliner_crash").archive, work / "dump.tar.gz")
    with live_server(tmp_path / "data") as base:
        follow(base, work)


def follow(base: str, work: Path) -> None:
    script = re.sub(r"^HOST=.*$", f"HOST={base}", shown_script(), flags=re.MULTILINE)
    ended = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=work,
        env={"PATH": os.environ["PATH"], "HOME": str(work)},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == ""
    state = json.loads((work / "state.json").read_text())
    assert (state["state"], state["failed"] is None) == ("done", False)
    assert json.loads((work / "findings.json").read_text())["total"] > 0
    assert json.loads((work / "findings.sarif").read_text())["version"] == "2.1.0"
    assert (work / "summary.md").read_text().startswith("### ")
    share = json.loads((work / "share.json").read_text())
    assert share["redaction"]["redact"] is True
    assert "<!doctype html>" in (work / "share.html").read_text()
    made = json.loads((work / "made.json").read_text())
    for report_id in (made["id"], share["id"]):
        gone = subprocess.run(
            ["curl", "-sS", f"{base}/api/v1/reports/{report_id}"], capture_output=True, text=True
        )
        assert json.loads(gone.stdout)["error"]["code"] == "not_found"
