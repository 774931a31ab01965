"""Speed and memory of one whole analysis of the largest sample; fails only on a large drop.

Prints one figure a line. A busy machine of two cores did 85,000 lines a second; the floor is far
below, so that only a lost order of magnitude fails.
"""

import resource
import sys
import time

import hloscope
from app.model.codec import report_to_json
from samples import load_sample

SAMPLE = "fsdp_pipelined"
FLOOR_LINES_PER_S = 5_000


def main() -> int:
    """Analyse once, print, and return 1 below the floor."""
    sample = load_sample(SAMPLE)
    before = time.perf_counter()
    report = hloscope.analyze(sample.archive, log=sample.log)
    seconds = time.perf_counter() - before
    coverage = report.coverage
    rate = coverage.lines / seconds
    figures = {
        "sample": SAMPLE,
        "archive": f"{sample.archive.stat().st_size / 1e6:.2f} MB",
        "unpacked": f"{coverage.bytes / 1e6:.1f} MB in {coverage.files} files",
        "HLO lines": f"{coverage.lines}",
        "time": f"{seconds:.2f} s",
        "speed": f"{rate:.0f} lines/s, {coverage.bytes / 1e6 / seconds:.1f} MB/s",
        "peak memory": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB",
        "report": f"{len(report_to_json(report)) / 1e6:.2f} MB of JSON",
    }
    for name, value in figures.items():
        print(f"{name:12} {value}")
    if rate < FLOOR_LINES_PER_S:
        print(f"slower than {FLOOR_LINES_PER_S} lines/s", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
