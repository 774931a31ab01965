"""Asks a running server everything its description allows, and much that it does not.

    python tests/web/schemathesis_run.py [OPTIONS OF schemathesis run]

The server is a real one, with a finished report, a share of it and an upload that was begun. The
secret of their owner is sent, so that sharing is asked too. `test_schemathesis.py` runs this with
few examples in the long tier; by hand it may look for more.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from live_server import live_server  # noqa: E402
from samples import load_sample  # noqa: E402

UNLIMITED = {
    "max_requests_per_minute": "1000000",
    "max_uploads_per_hour": "1000000",
    "max_open_jobs": "1000000",
    "upload_idle_s": "3",
}
# A body that fits the description is refused where it is no dump (400, 413, 415). tus wants 412
# where a request does not say its version, and 413 where an upload is too large.
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", "400", "401", "403", "404", "409", "413", "415", "429"]
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "409", "412", "413", "415", "422", "429"]
[checks.missing_required_header]
expected-statuses = ["400", "401", "403", "412", "415", "422"]
[parameters]
"path.report_id" = "{report}"
"path.loop_id" = "{loop}"
"path.handle" = "{handle}"
"path.upload_id" = "{upload}"
"query.wait" = 0
"query.a" = "{report}"
"query.b" = "{report}"
"header.Hloscope-Owner" = "{owner}"
"""
OWNER = "schemathesis" * 3
HOOKS = """
import schemathesis
schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")
"""


def main(options: list[str]) -> int:
    with tempfile.TemporaryDirectory() as name, live_server(Path(name), **UNLIMITED) as base:
        folder = Path(name)
        (folder / "hooks.py").write_text(HOOKS)
        (folder / "schemathesis.toml").write_text(CONFIG.format(**finished_report(base)))
        command = [
            str(Path(sys.executable).with_name("schemathesis")),
            "--config-file",
            str(folder / "schemathesis.toml"),
            "run",
            f"{base}/api/v1/openapi.json",
            "--phases=coverage,fuzzing",
            # The owner may, and then nothing would be left to ask for.
            "--exclude-operation-id=delete_report",
            "--continue-on-failure",
            # Longer than what runs in a child takes on a busy machine.
            "--request-timeout=330",
            *options,
        ]
        hooks = {"SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": name}
        return subprocess.run(command, env=os.environ | hooks).returncode


def finished_report(base: str) -> dict[str, str]:
    sample = load_sample("pipeliner_crash")
    files = {
        "dump": ("dump.tar.gz", sample.archive.read_bytes()),
        "log": ("run.log", sample.log.read_bytes()),
    }
    reports, headers = f"{base}/api/v1/reports", {"hloscope-owner": OWNER}

    def ask(method: str, address: str, **words: Any) -> dict[str, Any]:
        answer = httpx2.request(method, address, headers=headers, timeout=300, **words)
        answer.raise_for_status()
        return answer.json()

    made = ask("POST", f"{reports}?wait=200", files=files)
    here = f"{reports}/{made['id']}"
    ask("POST", f"{here}/shares?wait=200")
    headers |= {"tus-resumable": "1.0.0", "upload-length": "1000"}
    return {
        "report": made["id"],
        "loop": ask("GET", f"{here}/loops")["items"][0]["id"],
        "handle": ask("GET", f"{here}/shares")["items"][0]["handle"],
        "upload": ask("POST", f"{base}/api/v1/uploads")["upload"].rpartition("/")[2],
        "owner": OWNER,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
