"""Time and memory of whole analyses, beside what jaxlib and `tar` need for the same dumps.

    python tests/bench/analyze_bench.py [DUMP.tar.gz ...]

Each dump is analysed in a fresh process, from the archive to the report's JSON and bundle; in
the same run jaxlib's parser reads the HLO texts it accepts, from memory, and `tar` unpacks the
archive into a throw-away folder. Processor seconds, the fewest of several runs, in turns. Memory
is the peak of the analysing process. By default the samples that are gzipped, and large dumps
where the shared ones are at hand.

    python tests/bench/analyze_bench.py --copies 1,2,4,8 DUMP.tar.gz

analyses archives that hold every module of the dump so many times, the copies under other module
numbers, and tells how the cost grows: the distinct text stays the same.
"""

import argparse
import io
import json
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from parse_bench import jaxlib, table

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from parser.dump_texts import hlo_texts  # noqa: E402 -- the path is set above

SAMPLES = ("pipeliner_crash", "ring_local_p2p")
SHARED = ("s000_fsdp_gradacc__jax0.10.2", "big_gpt_noscan__jax0.10.2")
REPEATS = 2
HEADINGS = (
    "dump", "unpacked MB", "HLO lines", "analyze s", "jaxlib s", "ratio", "tar s", "peak MiB",
    "JSON MB",
)  # fmt: skip

_MODULE = re.compile(r"(?<=module_)\d{4,18}")

# Runs in the child: analyses one archive and says how long it took and what it needed.
CHILD = """
import json, sys, tempfile, time
from pathlib import Path
from app.bundle import write_bundle
from app.model.codec import report_to_json
from app.service import examine
from app.settings import Settings
start = time.process_time()
analysis = examine(Path(sys.argv[1]), Settings())
size = len(report_to_json(analysis.report))
with tempfile.TemporaryDirectory() as folder:
    write_bundle(Path(folder, "bundle"), analysis.report, analysis.contents)
seconds = time.process_time() - start
# Not ru_maxrss: a child begins with its parent's.
status = Path("/proc/self/status").read_text(encoding="ascii")
peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
coverage = analysis.report.coverage
print(json.dumps([seconds, peak, size, coverage.bytes, coverage.lines]))
"""


def analyse(dump: Path) -> tuple[float, float, int, int, int]:
    """Seconds, peak MiB, bytes of JSON, bytes unpacked and HLO lines of one analysis."""
    command = [sys.executable, "-c", CHILD, str(dump)]
    return tuple(json.loads(subprocess.check_output(command, cwd=ROOT)))


def unpack(dump: Path) -> float:
    """Processor seconds that `tar xzf` and its gzip take."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["tar", "xzf", dump, "-C", folder], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(dump: Path, python: str) -> tuple[str, ...]:
    """The cells of one dump."""
    runs: list[tuple[float, float, int, int, int]] = []
    parsing: list[float] = []
    with jaxlib(python, [text for _, text in hlo_texts(dump)]) as theirs:
        for _ in range(REPEATS):
            runs.append(analyse(dump))
            parsing.append(theirs.seconds(theirs.accepted))
    seconds = min(run[0] for run in runs)
    _, peak, size, unpacked, lines = runs[0]
    return (
        dump.name if dump.name != "dump.tar.gz" else dump.parent.name,
        f"{unpacked / 1e6:.1f}",
        f"{lines:,}",
        f"{seconds:.2f}",
        f"{min(parsing):.2f}",
        f"{seconds / min(parsing):.2f}",
        f"{min(unpack(dump) for _ in range(REPEATS)):.2f}",
        f"{peak:.0f}",
        f"{size / 1e6:.2f}",
    )


def copied(dump: Path, copies: int, target: Path) -> None:
    """Write an archive with every file of the dump so many times, under other module numbers."""
    with tarfile.open(dump) as source, tarfile.open(target, "w:gz", compresslevel=1) as archive:
        for member in source:
            content = source.extractfile(member)
            if content is None:
                continue
            data = content.read()
            for copy in range(copies if _MODULE.search(member.name) else 1):
                made = tarfile.TarInfo(_MODULE.sub(lambda m: _moved(m[0], copy), member.name))  # noqa: B023 -- called at once
                made.size, made.mtime = len(data), member.mtime
                archive.addfile(made, io.BytesIO(data))


def _moved(number: str, copy: int) -> str:
    return f"{int(number) + 5000 * copy:0{len(number)}d}"


def growth(dump: Path, counts: list[int], python: str) -> list[tuple[str, ...]]:
    """Rows for archives that hold the dump several times."""
    with tempfile.TemporaryDirectory() as folder:
        rows: list[tuple[str, ...]] = []
        for count in counts:
            target = Path(folder, f"{count} x {dump.name}")
            copied(dump, count, target)
            rows.append(row(target, python))
    return rows


def default_dumps() -> list[Path]:
    """The gzipped samples, and large dumps where they are at hand."""
    dumps = [ROOT / "sample_dumps" / name / "dump.tar.gz" for name in SAMPLES]
    dumps += [ROOT.parent / "shared" / "dumps" / f"{name}.tar.gz" for name in SHARED]
    return [dump for dump in dumps if dump.exists()]


def main() -> int:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dumps", nargs="*", type=Path)
    parser.add_argument("--oracle-python", default=sys.executable, help="a Python with a jaxlib")
    parser.add_argument("--copies", help="numbers of copies, as 1,2,4,8")
    parser.add_argument("--figures", type=Path, help="append the table to this file, too")
    options = parser.parse_args()
    rows: list[tuple[str, ...]] = [HEADINGS]
    for dump in options.dumps or default_dumps():
        if options.copies:
            counts = [int(word) for word in options.copies.split(",")]
            rows += growth(dump.resolve(), counts, options.oracle_python)
        else:
            rows.append(row(dump.resolve(), options.oracle_python))
    print(text := table(rows))
    if options.figures is not None:
        with options.figures.open("a", encoding="utf-8") as figures:
            figures.write(f"{text}\n\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
