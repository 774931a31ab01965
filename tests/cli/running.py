"""Starts `hloscope run` around a program and tells what came of it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str
    report: dict[str, Any] | None


def ran(tmp_path: Path, program: str, *options: str, environ: dict[str, str] | None = None) -> Ran:
    script = tmp_path / "train.py"
    script.write_text(program)
    report = tmp_path / "report.json"
    done = subprocess.run(
        [*hloscope("--json", str(report), *options), "--", sys.executable, str(script)],
        env=surroundings(tmp_path, environ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = json.loads(report.read_text()) if report.exists() else None
    return Ran(done.returncode, done.stdout, done.stderr, found)


def hloscope(*options: str) -> list[str]:
    return [sys.executable, str(ROOT / "hloscope.py"), "run", *options]


def surroundings(tmp_path: Path, environ: dict[str, str] | None = None) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "PYTHONFAULTHANDLER")}
    return kept | {"TMPDIR": str(tmp_path), "JAX_PLATFORMS": "cpu"} | (environ or {})


def left_behind(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob("hloscope-run-*"))


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
