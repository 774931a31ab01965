"""Time and memory of reading long logs, one kind of log after the other.

    python tests/bench/log_bench.py [MEGABYTES]

Each log is written to a throw-away folder and analysed in a fresh process, without a dump; its row
is printed at once. Processor seconds; memory is the peak of the analysing process, whose start
alone is told first. `log_bench.txt` beside this file has the figures of one run.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from ingest.endless_logs import KINDS, pieces_of  # noqa: E402 -- the path is set above

HEADINGS: tuple[str, ...] = ("log", "MB", "analyze s", "MB/s", "peak MiB", "failures", "remarks")
WIDTHS = (11, 5, 10, 6, 9, 9, 10)

CHILD = """
import json, sys, time
from pathlib import Path
from app.service import Log, Question, examine
from app.settings import Settings
path = Path(sys.argv[1])
start = time.process_time()
report = None
if path.stat().st_size:
    report = examine(None, Settings(), question=Question(logs=(Log("run.log", file=path),))).report
seconds = time.process_time() - start
# Not ru_maxrss: a child begins with its parent's.
status = Path("/proc/self/status").read_text(encoding="ascii")
peak = int(status.partition("VmHWM:")[2].split()[0]) >> 10
failed = report is not None and report.failure is not None
print(json.dumps([seconds, peak, int(failed), len(report.coverage.remarks) if report else 0]))
"""


def measured(log: Path) -> tuple[float, int, int, int]:
    """Seconds and peak MiB of one analysis, whether it found a failure, and remarks it made."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(log)], cwd=ROOT, check=True, capture_output=True
    )
    seconds, peak, failures, remarks = json.loads(done.stdout)
    return seconds, peak, failures, remarks


def row_of(kind: str, megabytes: int, folder: Path) -> tuple[str, ...]:
    """One row of the table."""
    log = folder / "run.log"
    with log.open("wb") as file:
        if megabytes:
            file.writelines(pieces_of(kind, megabytes * 1_000_000))
    size = log.stat().st_size / 1e6
    seconds, peak, failures, remarks = measured(log)
    speed = f"{size / seconds:.0f}" if size else "-"
    return kind, f"{size:.0f}", f"{seconds:.1f}", speed, str(peak), str(failures), str(remarks)


def show(row: tuple[str, ...]) -> None:
    """Print a row, now."""
    print("  ".join(cell.rjust(width) for cell, width in zip(row, WIDTHS, strict=True)), flush=True)


def main() -> None:
    """Print the table."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    show(HEADINGS)
    with tempfile.TemporaryDirectory() as folder:
        show(row_of("nothing", 0, Path(folder)))
        for kind in KINDS:
            show(row_of(kind, megabytes, Path(folder)))


if __name__ == "__main__":
    main()
