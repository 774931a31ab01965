"""Time and memory of reading long logs, one kind of log after the other.

    python tests/bench/log_bench.py [MEGABYTES]

Each log is written to a throw-away folder and analysed in a fresh process, without a dump.
Processor seconds; memory is the peak of the analysing process, whose start alone is told first.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from parse_bench import table

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from ingest.endless_logs import KINDS, pieces_of  # noqa: E402 -- the path is set above

HEADINGS: tuple[str, ...] = ("log", "MB", "analyze s", "MB/s", "peak MiB", "failures", "lines kept")

CHILD = """
import json, sys, time
from pathlib import Path
from app.ingest import read_log_file
from app.service import Log, Question, analyze
from app.settings import Settings
path = Path(sys.argv[1])
start = time.process_time()
if path.stat().st_size:
    analyze(None, Settings(), question=Question(logs=(Log("run.log", file=path),)))
seconds = time.process_time() - start
# Not ru_maxrss: a child begins with its parent's.
status = Path("/proc/self/status").read_text(encoding="ascii")
peak = int(status.partition("VmHWM:")[2].split()[0]) >> 10
facts = read_log_file(path, name="run.log")
print(json.dumps([seconds, peak, len(facts.failures), len(facts.verbose)]))
"""


def measured(log: Path) -> tuple[float, int, int, int]:
    """Seconds and peak MiB of one analysis, failures and other lines that are kept."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(log)], cwd=ROOT, check=True, capture_output=True
    )
    seconds, peak, failures, kept = json.loads(done.stdout)
    return seconds, peak, failures, kept


def row_of(kind: str, megabytes: int, folder: Path) -> tuple[str, ...]:
    """One row of the table."""
    log = folder / "run.log"
    with log.open("wb") as file:
        if megabytes:
            file.writelines(pieces_of(kind, megabytes * 1_000_000))
    size = log.stat().st_size / 1e6
    seconds, peak, failures, kept = measured(log)
    speed = f"{size / seconds:.0f}" if size else "-"
    return kind, f"{size:.0f}", f"{seconds:.1f}", speed, str(peak), str(failures), str(kept)


def main() -> None:
    """Print the table."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        rows = [row_of("nothing", 0, Path(folder))]
        rows += [row_of(kind, megabytes, Path(folder)) for kind in KINDS]
    print(table([HEADINGS, *rows]))


if __name__ == "__main__":
    main()
