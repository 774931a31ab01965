"""Speed and memory of hlo_parser beside XLA's own parser, on the same texts in one process.

    python tests/bench/parse_bench.py [DUMP ...]

For each dump: the texts that jaxlib's parser accepts are read by it and by hlo_parser (one
interner a dump, garbage collection off, as the application reads dumps), cut into instructions
and then once more with every attribute typed. Then the whole archive is read, stream to modules,
and unpacked by `tar`. Rates are megabytes of text in a second of processor time; the fewest
seconds of several runs count.
"""

import argparse
import gc
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jaxlib._hlo import hlo_module_from_text
from read_archive import modules_of_archive

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from hlo_parser import Instruction, Interner, parse_module  # noqa: E402 -- the path is set above
from parser.dump_texts import hlo_texts  # noqa: E402

REPEATS = 3
LARGE_MB = 100
SAMPLES = ("pipeliner_crash/dump.tar.gz", "fsdp_pipelined/dump.tar.zst")
SHARED = ("s000_fsdp_gradacc__jax0.10.2.tar.gz", "big_gpt_noscan__jax0.10.2.tar.gz")


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured on one dump; rates in MB/s, times in seconds, memory in MiB."""

    name: str
    megabytes: float
    texts: int
    distinct: int
    refused: int
    jaxlib: float | None
    lines: float
    typed: float
    archive_s: float
    tar_s: float | None
    peak_mib: int


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The fewest seconds of processor time in some runs."""
    times: list[float] = []
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


@contextmanager
def silent_stderr() -> Iterator[None]:
    """Keep jaxlib's warnings, written from C++, off the terminal."""
    saved = os.dup(2)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def accepted(texts: list[bytes]) -> list[bytes]:
    """The texts that jaxlib's parser takes."""
    taken: list[bytes] = []
    for text in texts:
        try:
            hlo_module_from_text(text.decode())
        except (ValueError, RuntimeError):
            continue
        taken.append(text)
    return taken


def read_all(texts: list[bytes]) -> Interner:
    """Read texts as the application does, dropping each module."""
    interner = Interner()
    for text in texts:
        parse_module(text, interner=interner)
    return interner


def type_everything(made: Instruction) -> None:
    """Ask an instruction for every value it makes when asked."""
    values = (
        made.operands,
        made.operand_paths,
        made.attributes,
        made.callees,
        made.control_predecessors,
        made.metadata,
        made.backend_config,
        made.frontend_attributes,
        made.replica_groups,
        made.source_target_pairs,
        made.dimensions,
        made.channel_id,
        made.literal,
        made.shape.byte_size,
        made.shape.dimensions,
        made.shape.elements,
    )
    assert len(values) == 16


def read_and_type(texts: list[bytes]) -> None:
    """Read texts and make every lazy value of every distinct instruction and computation."""
    interner = read_all(texts)
    for made in interner.lines.instructions.values():
        type_everything(made)
    for block in interner.blocks.values():
        assert block.computation.users is not None


def unpack(archive: Path) -> float:
    """Processor seconds that `tar` takes to unpack a gzip archive, its own and gzip's."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["tar", "xzf", str(archive), "-C", folder], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def peak_memory(archive: Path) -> int:
    """MiB that a fresh process needs at most to read the dump as a stream."""
    command = [sys.executable, str(Path(__file__).with_name("read_archive.py")), str(archive)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(dump: Path) -> Figures:
    """All figures of one dump."""
    everything = [text for _, text in hlo_texts(dump)]
    with silent_stderr():
        texts = accepted(everything)
        strings = [text.decode() for text in texts]
        # A release newer than jaxlib's may be refused whole; then ours alone is measured.
        texts = texts or everything
        megabytes = sum(map(len, texts)) / 1e6
        repeats = 1 if megabytes > LARGE_MB else REPEATS
        theirs = seconds(lambda: [hlo_module_from_text(text) and None for text in strings], repeats)
    return Figures(
        name=dump.parent.name if dump.name.startswith("dump.") else dump.name.partition(".tar")[0],
        megabytes=megabytes,
        texts=len(texts),
        distinct=len(set(texts)),
        refused=len(everything) - len(strings),
        jaxlib=megabytes / theirs if strings else None,
        lines=megabytes / seconds(lambda: read_all(texts), REPEATS),
        typed=megabytes / seconds(lambda: read_and_type(texts), REPEATS),
        archive_s=seconds(lambda: modules_of_archive(dump), REPEATS),
        tar_s=unpack(dump) if dump.suffix == ".gz" else None,
        peak_mib=peak_memory(dump),
    )


HEADINGS = (
    "dump", "MB", "texts", "distinct", "refused", "jaxlib", "lines", "ratio", "typed", "ratio",
    "archive s", "tar xzf s", "peak MiB",
)  # fmt: skip


def row(figures: Figures) -> tuple[str, ...]:
    """The cells of a dump's row."""
    return (
        figures.name,
        f"{figures.megabytes:.1f}",
        str(figures.texts),
        str(figures.distinct),
        str(figures.refused),
        "-" if figures.jaxlib is None else f"{figures.jaxlib:.1f}",
        f"{figures.lines:.0f}",
        "-" if figures.jaxlib is None else f"{figures.lines / figures.jaxlib:.1f}x",
        f"{figures.typed:.0f}",
        "-" if figures.jaxlib is None else f"{figures.typed / figures.jaxlib:.1f}x",
        f"{figures.archive_s:.2f}",
        "-" if figures.tar_s is None else f"{figures.tar_s:.2f}",
        str(figures.peak_mib),
    )


def default_dumps() -> list[Path]:
    """Samples, and larger dumps where the folder beside the checkout has them."""
    dumps = [ROOT / "sample_dumps" / name for name in SAMPLES]
    dumps += [ROOT.parent / "shared" / "dumps" / name for name in SHARED]
    return [dump for dump in dumps if dump.exists()]


def main() -> int:
    """Measure and print the table; 2 when there is nothing to measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dumps", nargs="*", type=Path)
    dumps: list[Path] = parser.parse_args().dumps or default_dumps()
    gc.disable()
    rows = [HEADINGS, *(row(measure(dump)) for dump in dumps)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        first, *others = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        print("  ".join([first.strip().ljust(widths[0]), *others]))
    print("\njaxlib, lines, typed: MB of text per second of processor time; ratio: to jaxlib")
    return 0 if dumps else 2


if __name__ == "__main__":
    raise SystemExit(main())
