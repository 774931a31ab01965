"""Damaged logs, side files and whole dumps: nothing comes out but our own errors, and soon enough.

A part each: logs, which are analysed alone; files beside the texts of a dump (buffer assignments,
live ranges, memory reports, debug options, targets, protos), each read with one honest text; and
dumps of which several files are damaged, analysed with a damaged log. `tests/fuzz.py` runs it. The
n-th case of a part follows from the seed alone.
"""

import io
import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from app.errors import AppError
from app.ingest import load_dump
from app.ingest.names import read_file_name
from app.report.verdict import verdict_of
from app.service import Log, Question, examine
from app.settings import Settings
from ingest.archives import FIRST, HLO, tar_of
from parser.dump_texts import archives_in, dump_files, is_hlo
from parser.fuzz import damaged

SMALL = replace(Settings(), max_member_bytes=4 << 20, max_line_bytes=1 << 16)
LARGEST_FILE = 60_000
LARGEST_DUMP = 600_000
MOST_MEMBERS = 120
# What a case may cost: a start, and so much for each byte that is read.
START_S = 3.0
PER_BYTE_S = 60e-6
READ_KINDS = frozenset(
    (
        "hlo_proto",
        "snapshot",
        "debug_options",
        "target_config",
        "buffer_assignment",
        "buffer_values",
        "live_range",
        "memory_report",
        "program",
        "unknown",
    )
)
Dump = tuple[tuple[str, bytes], ...]
Made = tuple[bytes, Callable[[], object]]
"""What was damaged, and what has it read."""


class FileFuzzer:
    """The material, and what was found so far."""

    def __init__(self, dumps: Sequence[Path], logs: Sequence[Path]) -> None:
        self.logs = [log.read_bytes()[-LARGEST_FILE:] for log in logs]
        self.sides: list[tuple[str, bytes]] = []
        self.dumps: list[Dump] = []
        for dump in dumps:
            files = tuple(dump_files(dump))
            self.sides += [each for each in files if _is_side(*each)]
            if len(files) <= MOST_MEMBERS and sum(len(d) for _, d in files) <= LARGEST_DUMP:
                self.dumps.append(files)
        self.counts: Counter[str] = Counter()
        self.findings: list[str] = []
        self.slowest = 0.0

    def round(self, number: int, seconds: float) -> None:
        """One round: a third of the time for each part."""
        start = time.monotonic()
        parts = {"logs": self.log, "sides": self.side, "dumps": self.dump}
        for position, (part, make) in enumerate(parts.items(), 1):
            chance = random.Random(f"{number} {part}")
            while time.monotonic() < start + seconds * position / len(parts):
                self.case(part, make(chance))

    def log(self, chance: random.Random) -> Made:
        """A damaged log, analysed alone."""
        log = _broken(chance.choice(self.logs), chance)
        return log, lambda: _analysed(None, log)

    def side(self, chance: random.Random) -> Made:
        """A damaged file beside an honest text."""
        name, data = chance.choice(self.sides)
        data = _broken(data, chance)
        # Of the module of the text, so that the two are put together.
        own = name.rpartition("/")[2]
        archive = tar_of({FIRST: HLO.encode(), own: data})
        return data, lambda: load_dump(
            None, stream=io.BytesIO(archive), name="d.tar", settings=SMALL
        )

    def dump(self, chance: random.Random) -> Made:
        """A dump with damaged files, mostly with a damaged log."""
        files = dict(chance.choice(self.dumps))
        for name in chance.sample(sorted(files), min(len(files), chance.choice((1, 2, 5)))):
            files[name] = _broken(files[name], chance)
        log = _broken(chance.choice(self.logs), chance) if chance.random() < 0.5 else b""
        archive = tar_of(files)
        return archive, lambda: _analysed(archive, log)

    def case(self, part: str, made: Made) -> None:
        """Read what was made, and note an exception or too long a time."""
        data, check = made
        self.counts[part] += 1
        where = f"{part} {self.counts[part]}"
        start = time.process_time()
        try:
            check()
        except AppError as error:
            str(error).encode()
        except Exception:
            self.findings.append(f"{where}: {data[-400:]!r}\n{traceback.format_exc(limit=-6)}")
        took = time.process_time() - start
        allowed = START_S + PER_BYTE_S * len(data)
        self.slowest = max(self.slowest, took / allowed)
        if took > allowed:
            self.findings.append(f"{where}: {took:.2f} s for {len(data)} bytes: {data[:400]!r}")


def materials(root: Path, more: Path | None = None) -> tuple[list[Path], list[Path]]:
    """The samples' dumps and logs, and those of a folder."""
    places = [root / "sample_dumps"] if more is None else [root / "sample_dumps", more]
    dumps = [path for place in places for path in archives_in(place)]
    logs = [path for place in places for path in sorted(place.glob("**/*.log"))]
    return dumps, logs


def _is_side(name: str, data: bytes) -> bool:
    kind = read_file_name(name).kind
    return kind in READ_KINDS and 0 < len(data) <= LARGEST_FILE and not is_hlo(data)


def _broken(data: bytes, chance: random.Random) -> bytes:
    return damaged(data, chance, tokens=chance.random() < 0.6)


def _analysed(archive: bytes | None, log: bytes) -> None:
    text = log.decode("utf-8", "surrogateescape")
    logs = (Log("run.log", text),) if log or archive is None else ()
    with TemporaryDirectory() as folder:
        source = None
        if archive is not None:
            source = Path(folder, "d.tar")
            source.write_bytes(archive)
        report = examine(source, SMALL, question=Question(logs=logs)).report
    verdict_of(report)
    msgspec.json.encode(report)


def round_of(fuzzer: FileFuzzer, number: int, seconds: float) -> list[str]:
    """One round; its line for a log, and what was found."""
    fuzzer.counts.clear()
    fuzzer.findings.clear()
    fuzzer.slowest = 0.0
    fuzzer.round(number, seconds)
    counts = "  ".join(f"{part} {count}" for part, count in sorted(fuzzer.counts.items()))
    share = f"share {fuzzer.slowest:.2f}  findings {len(fuzzer.findings)}"
    return [f"seed {number}: {counts}  {share}", *fuzzer.findings[:5]]
