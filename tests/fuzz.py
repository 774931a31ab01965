"""Everything that reads strangers' bytes, fed with damaged ones for so many minutes in all.

    python tests/fuzz.py [--minutes 60] [--seed N] [--log tests/fuzz_log.txt] [--dumps DIR]

Each round takes a minute and a seed of its own, and four parts share it: archives (tar, zip, gzip,
zstd; of others that they are refused), HLO texts and protos, and logs, side files and whole dumps.
Nothing may come out but our own errors, and nothing may take long. A line a part goes to the log,
with whatever was found; the exit code is 1 when that is anything. The log is appended to. Without
`--seed` the rounds begin behind the last seed of the log, so that each run looks for new cases.
The material is the samples; `--dumps` adds the archives and logs of a folder.
"""

import argparse
import platform
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from ingest import fuzz as archives  # noqa: E402 -- the path is set above
from ingest import fuzz_files as files  # noqa: E402
from parser import fuzz as texts  # noqa: E402

LOG = ROOT / "tests" / "fuzz_log.txt"
_ROUND_S = 60.0
_SEED = re.compile(r"seed (\d+): ")

Part = Callable[[int, float], list[str]]


def parts(dumps: Path | None) -> dict[str, tuple[float, Part]]:
    """By name: its share of a round, and what runs one; gives a line, and what was found."""
    archive_fuzzer = archives.Fuzzer(sorted((ROOT / "sample_dumps").glob("*/dump.tar.*")))
    text_fuzzer = texts.Fuzzer(texts.default_dumps(dumps))
    file_fuzzer = files.FileFuzzer(*files.materials(ROOT, dumps))
    return {
        "archives": (
            0.25,
            lambda number, seconds: archives.round_of(archive_fuzzer, number, seconds).split("\n"),
        ),
        "texts": (0.4, lambda number, seconds: texts.round_of(text_fuzzer, number, seconds)),
        "files": (0.35, lambda number, seconds: files.round_of(file_fuzzer, number, seconds)),
    }


def run(minutes: float, first: int, dumps: Path | None, say: Callable[[str], None]) -> bool:
    """Whether nothing was found."""
    say(f"# Python {platform.python_version()}, {minutes:g} minutes from seed {first}")
    until = time.monotonic() + minutes * 60
    is_clean = True
    all_parts, number = parts(dumps), first
    while (left := until - time.monotonic()) > 0:
        for name, (share, part) in all_parts.items():
            line, *found = part(number, min(_ROUND_S, left) * share)
            say(f"{name}, {line}")
            for each in found:
                is_clean = False
                say(each)
        number += 1
    return is_clean


def main(argv: Sequence[str] | None = None) -> int:
    """Run the minutes asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, help="of the first round")
    parser.add_argument("--log", type=Path, default=LOG)
    parser.add_argument("--dumps", metavar="DIR", type=Path, help="a folder of more material")
    asked = parser.parse_args(argv)
    before = asked.log.read_text(encoding="utf-8") if asked.log.exists() else ""
    last = max((int(seed) for seed in _SEED.findall(before)), default=0)

    def say(words: str) -> None:
        print(words, flush=True)
        with asked.log.open("a", encoding="utf-8") as kept:
            kept.write(words.rstrip() + "\n")

    first = last + 1 if asked.seed is None else asked.seed
    return 0 if run(asked.minutes, first, asked.dumps, say) else 1


if __name__ == "__main__":
    sys.exit(main())
