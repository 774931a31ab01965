"""Damaged archives for as long as wanted: nothing comes out but our own errors, nothing takes long.

    python tests/ingest/fuzz.py [--rounds 15] [--seconds 60] [--seed 1] [--log FILE] [DUMP ...]

Each round has a seed of its own. A case takes an honest archive (small ones made here, and the
dumps given), breaks it in a few places before or after it is compressed, and has it read under
small budgets, from a seekable file or through a pipe. A line a round goes to the log, with whatever
was found; the exit code is 1 when that is anything. The n-th case of a seed follows from the seed
alone, whatever the speed of the machine.
"""

import argparse
import gzip
import io
import lzma
import platform
import random
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from backports import zstd

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from app.errors import InputError  # noqa: E402 -- the path is set above
from app.ingest import load_dump  # noqa: E402
from app.settings import Settings  # noqa: E402
from ingest.archives import END, HLO, WHOLE, header, pax, pax_record, tar_of, zip_of  # noqa: E402

SMALL = replace(
    Settings(),
    max_upload_bytes=16 << 20,
    max_unpacked_bytes=24 << 20,
    max_member_bytes=4 << 20,
    max_members=400,
    max_header_bytes=1 << 16,
    max_line_bytes=1 << 16,
    max_instructions=50_000,
)
LARGEST = 1_500_000
# What a case may cost: a start, and so much for each byte that was read.
START_S = 0.5
PER_BYTE_S = 0.5e-6
NUMBERS = (
    b"\xff" * 12,
    b"77777777777\0",
    b"-0000000001\0",
    b"\x80" + bytes(10) + b"\xff",
    b" " * 12,
)
INSERTS = (
    END,
    bytes(512),
    b"PK\x01\x02",
    b"PK\x03\x04",
    b"PK\x05\x06" + bytes(18),
    b"PK\x06\x06" + bytes(52),
    b"PK\x06\x07" + bytes(16),
    b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
    b"\x28\xb5\x2f\xfd\x04\x58",
    b"\x50\x2a\x4d\x18\xff\xff\xff\xff",
    pax(pax_record("path", b"../../x")),
    pax(pax_record("size", b"9" * 19)),
    header(b"h", 1 << 33, b"L"),
    header(b"big", 0, b"S"),
    "\u202e\u0000{{7*7}}<script>".encode(),
)
Pack = Callable[[bytes], bytes]


class Pipe(io.BytesIO):
    """A stream that cannot be sought and gives at most so much at once."""

    def __init__(self, data: bytes, most: int) -> None:
        super().__init__(data)
        self._most = most

    def seekable(self) -> bool:
        return False

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self._most if size is None or size < 0 else min(size, self._most)
        return super().read(wanted)


def damaged(data: bytes, chance: random.Random) -> bytes:
    """A few places of `data` changed, cut, doubled or filled."""
    broken = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 12))):
        at = chance.randrange(len(broken) + 1)
        match chance.randrange(7):
            case 0:
                broken[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del broken[at : at + chance.choice((1, 4, 512, 3000))]
            case 2:
                broken[at:at] = chance.choice(INSERTS) * chance.choice((1, 1, 1, 40))
            case 3:
                broken[at:at] = broken[at : at + chance.choice((1, 30, 512, 1024))]
            case 4:
                block = at // 512 * 512
                broken[block + 124 : block + 136] = chance.choice(NUMBERS)
                if chance.random() < 0.8 and len(broken) >= block + 512:
                    resum(broken, block)
            case 5:
                broken[at : at + 4] = struct.pack("<I", chance.getrandbits(32))
            case _:
                del broken[at:]
    return bytes(broken)


def resum(data: bytearray, block: int) -> None:
    """Give a tar header its right checksum."""
    data[block + 148 : block + 156] = b" " * 8
    data[block + 148 : block + 156] = b"%06o\0 " % sum(data[block : block + 512])


def materials(dumps: Sequence[Path]) -> list[bytes]:
    """Honest archives, unpacked: tars and zips."""
    folder = {
        **WHOLE,
        "d/module_0001.jit_f.0001.pipe.after_a.before_b.txt": HLO.encode() * 3,
        "d/module_0001.jit_f.debug_options": b'xla_dump_to: "/tmp/x"\nxla_flag: true\n',
        "d/module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt": b"BufferAssignment:\n",
        "d/train.py": b"import jax\n" * 20,
        "run.log": b"F0101 00:00:00.000000 1 x.cc:1] Check failed: a\n",
    }
    made = [tar_of(folder), tar_of(folder, format=0), tar_of(folder, format=1), zip_of(folder)]
    made += [
        zip_of(folder, method=0),
        HLO.encode(),
        tar_of({"x.gz": gzip.compress(HLO.encode(), mtime=0)}),
    ]
    made += [data for path in dumps if len(data := unpacked(path)) <= LARGEST]
    return made


def unpacked(path: Path) -> bytes:
    """A dump without its compression."""
    data = path.read_bytes()
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else zstd.decompress(data)


PACKS: tuple[Pack, ...] = (
    bytes,
    bytes,
    lambda data: gzip.compress(data, 1, mtime=0),
    lambda data: zstd.compress(data, 1),
    lambda data: (
        gzip.compress(data[: len(data) // 2], 1, mtime=0)
        + gzip.compress(data[len(data) // 2 :], 1, mtime=0)
    ),
    lambda data: zstd.compress(zstd.compress(data, 1), 1),
    # Of a kind that is not taken, whatever it holds.
    lambda data: lzma.compress(data, preset=0),
)


class Fuzzer:
    """The material, and what was found so far."""

    def __init__(self, dumps: Sequence[Path]) -> None:
        self.materials = materials(dumps)
        self.counts: Counter[str] = Counter()
        self.findings: list[str] = []
        self.slowest = 0.0

    def case(self, chance: random.Random) -> None:
        """One damaged archive, read whole."""
        data = chance.choice(self.materials)
        if chance.random() < 0.6:
            data = damaged(data, chance)
        data = chance.choice(PACKS)(data)
        if chance.random() < 0.6:
            data = damaged(data, chance)
        stream = io.BytesIO(data)
        if chance.random() < 0.3:
            stream = Pipe(data, chance.choice((1 << 20, 4096, 7)))
        start = time.process_time()
        try:
            self.counts[read(stream)] += 1
        except Exception:
            self.findings.append(f"{data[:200]!r}\n{traceback.format_exc(limit=-5)}")
        took = time.process_time() - start
        allowed = START_S + PER_BYTE_S * max(len(data), SMALL.max_unpacked_bytes // 8)
        self.slowest = max(self.slowest, took / allowed)
        if took > allowed:
            self.findings.append(f"{took:.2f} s for {len(data)} bytes: {data[:200]!r}")


def read(stream: BinaryIO) -> str:
    """Have a stream read; the code it was refused with, or `read`."""
    try:
        contents = load_dump(None, stream=stream, name="d", settings=SMALL)
    except InputError as error:
        str(error).encode()
        return error.code
    for text in (*contents.coverage.remarks, *(s.name for s in contents.coverage.skipped)):
        text.encode()
    return "read"


def round_of(fuzzer: Fuzzer, number: int, seconds: float) -> str:
    """One round; its line for the log, and what was found."""
    chance = random.Random(number)
    fuzzer.counts.clear()
    fuzzer.findings.clear()
    fuzzer.slowest = 0.0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        fuzzer.case(chance)
    codes = "  ".join(f"{code} {count}" for code, count in sorted(fuzzer.counts.items()))
    line = f"seed {number}: {codes}  share {fuzzer.slowest:.2f}  findings {len(fuzzer.findings)}"
    return "\n".join([line, *(f"    {each}" for each in fuzzer.findings[:5])])


def main() -> int:
    """Run the rounds asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path)
    parser.add_argument("dumps", type=Path, nargs="*", metavar="DUMP")
    given = parser.parse_args()
    fuzzer = Fuzzer(given.dumps)
    lines = [
        f"# Python {platform.python_version()}, {len(fuzzer.materials)} archives,"
        f" rounds of {given.seconds:g} s; share: the dearest case, of the time it may take"
    ]
    print(lines[0], flush=True)
    found = 0
    for number in range(given.seed, given.seed + given.rounds):
        lines.append(round_of(fuzzer, number, given.seconds))
        found += len(fuzzer.findings)
        print(lines[-1], flush=True)
        if given.log is not None:
            given.log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
