"""Asks a running server everything its description allows, and much that it does not.

    python tests/web/schemathesis_run.py [OPTIONS OF schemathesis run]

Not a test module: schemathesis (4.32 was used) is not among the packages of the tests. Give the
command by SCHEMATHESIS where it is not on PATH. The server is a real one, with a finished report.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

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
            *os.environ.get("SCHEMATHESIS", "schemathesis").split(),
            "--config-file",
            str(folder / "schemathesis.toml"),
            "run",
            f"{base}/api/v1/openapi.json",
            "--phases=examples,coverage,fuzzing",
            # The owner may, and then nothing would be left to ask for.
            "--exclude-operation-id=delete_report",
            "--continue-on-failure",
            # Longer than the longest `wait`.
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
    address, headers = f"{base}/api/v1/reports?wait=120", {"hloscope-owner": OWNER}
    made = httpx2.post(address, files=files, headers=headers, timeout=150).json()
    loops = httpx2.get(f"{base}/api/v1/reports/{made['id']}/loops").json()
    return {"report": made["id"], "loop": loops["items"][0]["id"], "owner": OWNER}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
