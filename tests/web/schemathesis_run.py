"""Asks a running server everything its description allows, and much that it does not.

    python tests/web/schemathesis_run.py [--seconds N] [--seed N] [OPERATION ...]

The server is a real one, with a finished report, a share of it and an upload that was begun. The
secret of their owner is sent, so that sharing is asked too. Each operation has a run of its own,
which ends when its seconds are over: the cases that its description gives come first, the same
every time, then random ones of the seed. `test_schemathesis.py` runs this in the long tier; by
hand it may look for longer.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
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


SECONDS = 15
# What has begun when the time is up may still end, on a busy machine too.
GRACE_S = 180


def operations() -> list[str]:
    """The ids of all; what takes away that which the others ask for stands last."""
    described = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    ids = [each["operationId"] for path in described["paths"].values() for each in path.values()]
    takes = ("delete_", "revoke_")
    return sorted(ids, key=lambda name: (name == "delete_report", name.startswith(takes), name))


class Asker:
    """Asks the server at `base`, one operation at a time; `folder` is for what this takes."""

    def __init__(self, base: str, folder: Path) -> None:
        self._folder = folder
        self._base = base
        (folder / "hooks.py").write_text(HOOKS)
        (folder / "schemathesis.toml").write_text(CONFIG.format(**finished_report(base)))

    def ask(self, operation: str, *, seconds: int = SECONDS, seed: int = 1) -> tuple[int, str]:
        """The exit code, 0 where all was well, and what was said.

        Raises:
            subprocess.TimeoutExpired: it does not end.
        """
        command = [
            str(Path(sys.executable).with_name("schemathesis")),
            "--config-file",
            str(self._folder / "schemathesis.toml"),
            "run",
            f"{self._base}/api/v1/openapi.json",
            f"--include-operation-id={operation}",
            "--phases=coverage,fuzzing",
            f"--max-time={seconds}",
            f"--seed={seed}",
            "--continue-on-failure",
            f"--request-timeout={GRACE_S // 2}",
            "--no-color",
        ]
        ended = subprocess.run(
            command,
            env=os.environ | {"SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(self._folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds + GRACE_S,
        )
        return ended.returncode, ended.stdout


@contextmanager
def asker(folder: Path) -> Generator[Asker]:
    """An asker of a server that runs as long as the context."""
    with live_server(folder, **UNLIMITED) as base:
        yield Asker(base, folder)


def cases_in(said: str) -> int:
    """How many cases were tried."""
    found = re.search(r"([\d,]+) generated", said)
    return int(found[1].replace(",", "")) if found else 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("operations", nargs="*", metavar="OPERATION")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="for each")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as name, asker(Path(name)) as server:
        for operation in arguments.operations or operations():
            started = time.monotonic()
            code, said = server.ask(operation, seconds=arguments.seconds, seed=arguments.seed)
            took = time.monotonic() - started
            print(f"{operation}: {cases_in(said):,} cases, {took:.0f} s, {code}", flush=True)
            if code:
                failed.append(operation)
                print(said, flush=True)
    print(f"failed: {', '.join(failed) or 'none'}")
    return int(bool(failed))


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
    sys.exit(main())
