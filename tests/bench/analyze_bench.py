"""Time and memory of whole analyses, beside what `tar` needs to unpack the same archives.

    python tests/bench/analyze_bench.py [DUMP.tar.gz ...]

Each dump is analysed in a fresh process, from the archive to the report's JSON, and unpacked by
`tar` into a throw-away folder; wall-clock seconds, the fewest of several runs. Memory is the peak
of the analysing process. By default the samples that are gzipped, and one large dump where the
shared ones are at hand.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ("pipeliner_crash", "ring_local_p2p")
SHARED = ("s000_fsdp_gradacc__jax0.10.2", "big_gpt_noscan__jax0.10.2")
REPEATS = 3
HEADINGS = (
    "dump",
    "unpacked MB",
    "HLO lines",
    "analyze s",
    "tar s",
    "ratio",
    "peak MiB",
    "JSON MB",
)

# Runs in the child: analyses one archive and says how long it took and what it needed.
CHILD = """
import json, resource, sys, time
import hloscope
from app.model.codec import report_to_json
start = time.perf_counter()
report = hloscope.analyze(sys.argv[1])
size = len(report_to_json(report))
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
coverage = report.coverage
print(json.dumps([seconds, peak, size, coverage.bytes, coverage.lines]))
"""


def analyse(dump: Path) -> tuple[float, float, int, int, int]:
    """Seconds, peak MiB, bytes of JSON, bytes unpacked and HLO lines of one analysis."""
    command = [sys.executable, "-c", CHILD, str(dump)]
    return tuple(json.loads(subprocess.check_output(command, cwd=ROOT)))


def unpack(dump: Path) -> float:
    """Seconds that `tar xzf` takes."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        subprocess.run(["tar", "xzf", dump, "-C", folder], check=True)
        return time.perf_counter() - start


def row(dump: Path) -> tuple[str, ...]:
    """The cells of one dump."""
    runs = [analyse(dump) for _ in range(REPEATS)]
    seconds = min(run[0] for run in runs)
    tar = min(unpack(dump) for _ in range(REPEATS))
    _, peak, size, unpacked, lines = runs[0]
    return (
        dump.name if dump.name != "dump.tar.gz" else dump.parent.name,
        f"{unpacked / 1e6:.1f}",
        f"{lines:,}",
        f"{seconds:.2f}",
        f"{tar:.2f}",
        f"{seconds / tar:.1f}",
        f"{peak:.0f}",
        f"{size / 1e6:.2f}",
    )


def default_dumps() -> list[Path]:
    """The gzipped samples, and large dumps where they are at hand."""
    dumps = [ROOT / "sample_dumps" / name / "dump.tar.gz" for name in SAMPLES]
    dumps += [ROOT.parent / "shared" / "dumps" / f"{name}.tar.gz" for name in SHARED]
    return [dump for dump in dumps if dump.exists()]


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dumps", nargs="*", type=Path)
    dumps: list[Path] = parser.parse_args().dumps or default_dumps()
    rows = [HEADINGS, *(row(dump.resolve()) for dump in dumps)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        first, *others = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        print("  ".join([first.strip().ljust(widths[0]), *others]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
