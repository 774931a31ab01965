"""Whether we understand every text of every dump as XLA does, by any release of jaxlib.

    python tests/shared/oracle_agreement.py [--oracle-python PATH] [--write] [DUMP ...]

PATH is an interpreter that has the release; by default the one that runs this. For each dump: how
many texts the release reads, how many of those we read alike (computations, names, opcodes,
operands and so users, callees, control predecessors), and why it refuses the others, which are
those that other releases wrote and those with a cycle. A text that stands in a dump twice is asked
once. `--write` keeps the counts in `golden/oracle_RELEASE.txt`, whole only over all dumps.
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from hlo_parser import Interner, parse_module  # noqa: E402 -- the path is set above
from parser.dump_texts import hlo_texts  # noqa: E402
from parser.oracle import Oracle, as_printed, facts_of_module  # noqa: E402

DUMPS = ROOT.parent / "shared" / "dumps"
GOLDEN = Path(__file__).with_name("golden")
_RELEASE = "import jaxlib.version as v; print(v.__version__)"


def release_of(python: str) -> str:
    """The jaxlib that an interpreter has."""
    run = subprocess.run([python, "-c", _RELEASE], check=True, capture_output=True, text=True)
    return run.stdout.strip()


def reason(message: str) -> str:
    """Why XLA refuses a text, without names and numbers."""
    last = message.strip().splitlines()[0] if message.strip() else "no reason"
    for line in message.splitlines():
        if "error: " in line:
            last = line.rpartition("error: ")[2]
            break
    return re.sub(r"[\w.%-]*\d[\w.%-]*", "#", last)[:70]


def counts_of(dump: Path, oracle: Oracle) -> tuple[Counter[str], list[str]]:
    """What the release says of the texts of one dump, and the names of those we read otherwise."""
    counts: Counter[str] = Counter()
    differing: list[str] = []
    interner = Interner()
    seen: set[int] = set()
    for name, text in hlo_texts(dump):
        counts["texts"] += 1
        module = parse_module(text, interner=interner)
        counts["unparsed"] += len(module.unparsed)
        if hash(text) in seen:
            continue
        seen.add(hash(text))
        counts["distinct"] += 1
        facts = oracle.read(text)
        if isinstance(facts, str):
            counts["refused"] += 1
            counts[f"  {reason(facts)}"] += 1
            continue
        counts["read"] += 1
        ours = facts_of_module(module)
        if ours == as_printed(facts, ours):
            counts["alike"] += 1
        else:
            differing.append(name)
    return counts, differing


def told(name: str, counts: Counter[str], differing: list[str]) -> Iterator[str]:
    """The lines of one dump."""
    heads = ("texts", "distinct", "read", "alike", "refused", "unparsed")
    yield "  ".join([f"{name:52}", *(f"{head} {counts[head]}" for head in heads)])
    for key, count in sorted(counts.items()):
        if key.startswith("  "):
            yield f"    refused {count}: {key.strip()}"
    for one in differing:
        yield f"    OTHERWISE: {one}"


def main() -> int:
    """Print the counts; 1 when a text that the release reads is read otherwise by us."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dumps", nargs="*", type=Path)
    parser.add_argument("--oracle-python", default=sys.executable, metavar="PATH")
    parser.add_argument("--write", action="store_true", help="keep the counts")
    asked = parser.parse_args()
    release = release_of(asked.oracle_python)
    lines = [f"jaxlib {release}"]
    print(lines[0], flush=True)
    total: Counter[str] = Counter()
    with Oracle(asked.oracle_python) as oracle:
        for dump in asked.dumps or sorted(DUMPS.glob("*.tar.gz")):
            counts, differing = counts_of(dump, oracle)
            total += counts
            said = list(told(dump.name.removesuffix(".tar.gz"), counts, differing))
            print("\n".join(said), flush=True)
            lines += said
    last = list(told("all", Counter({k: v for k, v in total.items() if k[0] != " "}), []))
    print(last[0])
    if asked.write:
        path = GOLDEN / f"oracle_{release}.txt"
        path.write_text("\n".join([*lines, *last]) + "\n", encoding="utf-8")
    return int(total["alike"] != total["read"] or total["unparsed"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
