"""A real server in a process of its own, for tests of what speaks to one over the network."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SERVE = "import sys; from app.cli.main import main; sys.exit(main(['serve', '--port', '0']))"


@contextmanager
def live_server(data: Path, **settings: str) -> Iterator[str]:
    """The address of a server over the folder `data`, which is stopped at the end."""
    variables = {f"HLOSCOPE_{name.upper()}": value for name, value in settings.items()}
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE],
        cwd=ROOT,
        env=os.environ | {"HLOSCOPE_DATA_DIR": str(data), "HLOSCOPE_JOB_WORKERS": "1"} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        printed = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", printed)
        if found is None:
            pytest.fail(f"the server printed no address:\n{printed}{process.stdout.read()}")
        yield found[0]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
