"""How often a diff names one edit and nothing else, names and order hidden.

`python tests/bench/edits_score.py [COUNT]` makes COUNT edits (1,000) in texts of `sample_dumps/`
and prints how many of each kind were named exactly.
"""

import random
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from analysis.edits import KINDS, edited, found_instead  # noqa: E402
from app.ingest.load import load_dump  # noqa: E402
from app.settings import Settings  # noqa: E402
from hlo_parser import Module  # noqa: E402
from samples import load_samples  # noqa: E402

MOST_INSTRUCTIONS = 4_000
LEAST_SHARE = 95.0


def modules() -> list[Module]:
    """Every seventh text of the samples that is not too large."""
    return [
        dump.module
        for sample in load_samples()
        for history in load_dump(sample.archive, settings=Settings()).modules
        for dump in history.dumps[::7]
        if 20 <= dump.module.instruction_count <= MOST_INSTRUCTIONS
    ]


def main() -> int:
    """Edit, diff, print; 1 where too many were not named exactly."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    texts = modules()
    numbers = random.Random(count)
    done: Counter[str] = Counter()
    right: Counter[str] = Counter()
    while done.total() < count:
        module, kind = numbers.choice(texts), KINDS[done.total() % len(KINDS)]
        edit = edited(module, kind, numbers)
        if edit is None:
            continue
        done[kind] += 1
        wrong = found_instead(module, edit, numbers)
        right[kind] += not wrong
        if wrong:
            print(f"{kind} in {module.name} ({module.instruction_count}): {len(wrong)}", wrong[:4])
    for kind in KINDS:
        print(f"{kind:10} {right[kind]:5} of {done[kind]:5}")
    share = 100.0 * right.total() / done.total()
    print(f"{share:.2f} % of {done.total()}")
    return int(share < LEAST_SHARE)


if __name__ == "__main__":
    raise SystemExit(main())
