"""Speed and memory of hlo_parser beside XLA's own parser, on the same texts, in one run.

    python tests/bench/parse_bench.py [--oracle-python PYTHON] [--figures FILE] [DUMP ...]

For each dump, both sides read the texts that jaxlib accepts, held in memory, each in one warm
process and in turns; hlo_parser with one interner a dump and garbage collection off, as the
application reads dumps. Rates are megabytes of text in a second of processor time; the fewest
seconds of several runs count. Where the installed jaxlib refuses the texts of a release, name a
Python that has the right one. What the columns mean stands below the table.
"""

import argparse
import gc
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from read_archive import modules_of_archive

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from hlo_parser import Instruction, Interner, parse_module  # noqa: E402 -- the path is set above
from hlo_parser.grammar import GrammarError, read_instruction  # noqa: E402
from parser.dump_texts import hlo_texts  # noqa: E402

REPEATS = 5
# One text alone takes milliseconds: enough runs in a row that both sides are warm, before the
# dump fills both memories.
ONE_REPEATS = 20
LARGE_MB = 100
LARK_MB = 0.25
SAMPLES = ("pipeliner_crash/dump.tar.gz", "fsdp_pipelined/dump.tar.zst")
SHARED = ("s000_fsdp_gradacc__jax0.10.2.tar.gz", "big_gpt_noscan__jax0.10.2.tar.gz")
LEGEND = f"""
MB/s: text per second of processor time, the best of {REPEATS} runs (jaxlib: fewer on large dumps);
in brackets the ratio to jaxlib, which reads the same texts in the same run.
texts     texts read, of them distinct, and how many more this jaxlib refuses
Lark      the grammar alone on every n-th instruction line, {LARK_MB} MB of them; nothing shared
cut, all  texts to modules, those too that this jaxlib refuses
cut       texts to modules, the same that jaxlib reads
lines     cut, then name, opcode, shape, operands and called computations of each instruction
          of each text reached, also where texts share it
typed     cut, then each attribute of each instruction typed, operand paths and sizes too;
          instructions of equal text are one object and hold their values
archive   a stream from the packed file to modules, all texts, refused ones too
one file  the largest text alone, nothing known before: as `cut`, as `lines`, as `typed`
peak      most memory of a fresh process reading the archive, texts dropped"""


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds of one run."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


class Jaxlib:
    """XLA's parser in a process of its own, with the texts it accepts."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self._child = child
        answer: tuple[str, list[int]] = json.loads(self._line())
        self.release, self.accepted = answer

    def _line(self) -> str:
        assert self._child.stdout is not None
        return self._child.stdout.readline()

    def seconds(self, chosen: list[int]) -> float:
        """Processor seconds it takes to read the texts of these numbers once."""
        assert self._child.stdin is not None
        print(*chosen, file=self._child.stdin, flush=True)
        return float(self._line())


@contextmanager
def jaxlib(python: str, texts: list[bytes]) -> Iterator[Jaxlib]:
    """A process that holds the texts."""
    script = str(Path(__file__).with_name("jaxlib_child.py"))
    with tempfile.TemporaryDirectory() as folder:
        pack = Path(folder, "texts")
        pack.write_bytes(b"".join(b"%d\n%b" % (len(text), text) for text in texts))
        with subprocess.Popen(
            [python, script, str(pack)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            yield Jaxlib(child)


def read_all(texts: list[bytes]) -> Interner:
    """Read texts as the application does, dropping each module."""
    interner = Interner()
    for text in texts:
        parse_module(text, interner=interner)
    return interner


def read_and_reach(texts: list[bytes]) -> None:
    """Read texts; reach five values of every instruction of every one."""
    interner = Interner()
    for text in texts:
        for computation in parse_module(text, interner=interner).computations:
            for made in computation.instructions:
                _ = made.name, made.opcode, made.shape, made.operands, made.callees


def type_everything(made: Instruction) -> None:
    """Ask an instruction for every value it makes when asked."""
    shape, attributes = made.shape, made.attribute_list
    _ = made.operands, made.operand_paths, made.callees, made.literal
    _ = made.tuple_index, made.parameter_number
    _ = attributes.raw, attributes.control_predecessors, attributes.metadata
    _ = attributes.backend_config, attributes.frontend_attributes, attributes.replica_groups
    _ = attributes.source_target_pairs, attributes.dimensions, attributes.channel_id
    _ = attributes.custom_call_target
    _ = shape.byte_size, shape.dimensions, shape.elements


def read_and_type(texts: list[bytes]) -> None:
    """Read texts and make every lazy value of every instruction."""
    interner = read_all(texts)
    for made in interner.lines.instructions.values():
        type_everything(made)


def lark_rate(texts: list[bytes]) -> float:
    """MB/s of the grammar alone on a sample of the instruction lines, each read anew."""
    lines = [
        made.text
        for text in texts
        for computation in parse_module(text).computations
        for made in computation.instructions
    ]
    step = max(1, round(sum(map(len, lines)) / (LARK_MB * 1e6)))
    sample = lines[::step]

    def read() -> None:
        for line in sample:
            try:
                read_instruction(line)
            except GrammarError as error:
                raise AssertionError(line) from error

    return sum(len(line.encode()) + 3 for line in sample) / 1e6 / seconds(read)


def peak_memory(archive: Path) -> int:
    """MiB that a fresh process needs at most to read the dump as a stream."""
    command = [sys.executable, str(Path(__file__).with_name("read_archive.py")), str(archive)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@dataclass(slots=True)
class Times:
    """Processor seconds by column, of every run."""

    runs: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def add(self, name: str, taken: float) -> None:
        """Keep one run."""
        self.runs.setdefault(name, []).append(taken)

    def rate(self, name: str, megabytes: float) -> float:
        """MB/s of the fastest run."""
        return megabytes / min(self.runs[name])


def measure(dump: Path, python: str) -> tuple[str, ...]:
    """The cells of a dump's row."""
    everything = [text for _, text in hlo_texts(dump)]
    times = Times()
    with jaxlib(python, everything) as theirs:
        chosen = theirs.accepted or list(range(len(everything)))
        texts = [everything[index] for index in chosen]
        largest = max(chosen, key=lambda index: len(everything[index]))
        one = [everything[largest]]
        megabytes = sum(map(len, texts)) / 1e6
        for _ in range(ONE_REPEATS):
            times.add("one, cut", seconds(lambda: read_all(one)))
            times.add("one, lines", seconds(lambda: read_and_reach(one)))
            times.add("one, typed", seconds(lambda: read_and_type(one)))
        for _ in range(ONE_REPEATS if theirs.accepted else 0):
            times.add("jaxlib, one", theirs.seconds([largest]))
        for turn in range(REPEATS):
            times.add("cut, all", seconds(lambda: read_all(everything)))
            times.add("cut", seconds(lambda: read_all(texts)))
            times.add("lines", seconds(lambda: read_and_reach(texts)))
            times.add("typed", seconds(lambda: read_and_type(texts)))
            times.add("archive", seconds(lambda: modules_of_archive(dump)))
            if theirs.accepted and (turn < 2 or megabytes < LARGE_MB):
                times.add("jaxlib", theirs.seconds(chosen))
        release, accepted = theirs.release, bool(theirs.accepted)

    def cell(name: str, megabytes: float, oracle: str = "jaxlib", base: float = 0) -> str:
        rate = times.rate(name, megabytes)
        if not accepted:
            return f"{rate:.0f} (-)"
        return f"{rate:.0f} ({rate / times.rate(oracle, base or megabytes):.1f}x)"

    one_mb = len(one[0]) / 1e6
    all_mb = sum(map(len, everything)) / 1e6
    refused = len(everything) - len(texts) if accepted else len(everything)
    return (
        dump.parent.name if dump.name.startswith("dump.") else dump.name.partition(".tar")[0],
        release,
        f"{megabytes:.1f}",
        f"{len(texts)}, {len(set(texts))}, +{refused}",
        f"{lark_rate(texts[:: max(1, len(texts) // 8)]):.2f}",
        f"{times.rate('jaxlib', megabytes):.1f}" if accepted else "-",
        cell("cut, all", all_mb, base=megabytes),
        cell("cut", megabytes),
        cell("lines", megabytes),
        cell("typed", megabytes),
        cell("archive", all_mb, base=megabytes),
        f"{one_mb:.1f}",
        cell("one, cut", one_mb, "jaxlib, one"),
        cell("one, lines", one_mb, "jaxlib, one"),
        cell("one, typed", one_mb, "jaxlib, one"),
        str(peak_memory(dump)),
    )


HEADINGS = (
    "dump", "jaxlib", "MB", "texts", "Lark", "jaxlib MB/s", "cut, all", "cut", "lines", "typed",
    "archive", "one file MB", "cut", "lines", "typed", "peak MiB",
)  # fmt: skip


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows under one another, the first column to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        for cells in rows
    )


def machine() -> str:
    """What the figures were measured on."""
    information = Path("/proc/cpuinfo")
    models = information.read_text().partition("model name")[2] if information.exists() else ""
    model = models.partition(":")[2].partition("\n")[0].strip() or platform.processor()
    return f"{model}, one core; Python {platform.python_version()}, {platform.system()}"


def default_dumps() -> list[Path]:
    """Samples, and larger dumps where the folder beside the checkout has them."""
    dumps = [ROOT / "sample_dumps" / name for name in SAMPLES]
    dumps += [ROOT.parent / "shared" / "dumps" / name for name in SHARED]
    return [dump for dump in dumps if dump.exists()]


def main() -> int:
    """Measure and print the table; 2 when there is nothing to measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dumps", nargs="*", type=Path)
    parser.add_argument("--oracle-python", default=sys.executable, help="a Python with a jaxlib")
    parser.add_argument("--figures", type=Path, help="append the table to this file, too")
    options = parser.parse_args()
    dumps: list[Path] = options.dumps or default_dumps()
    gc.disable()
    rows = [HEADINGS, *(measure(dump, options.oracle_python) for dump in dumps)]
    print(text := f"{machine()}\n\n{table(rows)}\n{LEGEND}")
    if options.figures is not None:
        with options.figures.open("a", encoding="utf-8") as figures:
            figures.write(f"{text}\n\n")
    return 0 if dumps else 2


if __name__ == "__main__":
    raise SystemExit(main())
