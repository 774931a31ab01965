"""How often a diff names one edit and nothing else, names and order hidden.

Makes seeded edits in texts of `sample_dumps/` and counts how many of each kind were named exactly;
`scores.py` is the command.
"""

import random
import sys
from collections import Counter
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class EditsScore:
    """How many edits of each kind were made and how many named; `wrong` says what was not."""

    done: Counter[str] = field(default_factory=Counter[str])
    right: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])

    @property
    def share(self) -> float:
        """Per cent of the edits that were named and nothing else."""
        return 100.0 * self.right.total() / self.done.total() if self.done else 100.0

    def __str__(self) -> str:
        kinds = [f"{kind:10} {self.right[kind]:5} of {self.done[kind]:5}" for kind in KINDS]
        total = f"{self.share:.2f} % of {self.done.total()} edits named, and nothing else"
        return "\n".join((*self.wrong, *kinds, total)) + "\n"


def score_edits(count: int) -> EditsScore:
    """Make `count` edits, diff, and count what was named."""
    texts = modules()
    numbers = random.Random(count)
    score = EditsScore()
    while score.done.total() < count:
        module, kind = numbers.choice(texts), KINDS[score.done.total() % len(KINDS)]
        edit = edited(module, kind, numbers)
        if edit is None:
            continue
        score.done[kind] += 1
        wrong = found_instead(module, edit, numbers)
        score.right[kind] += not wrong
        if wrong:
            where = f"{kind} in {module.name} ({module.instruction_count} instructions)"
            score.wrong.append(f"{where}: {len(wrong)} others named: {wrong[:4]}")
    return score


def reaches_least_share(score: EditsScore) -> bool:
    """At least 95 % were named and nothing else."""
    return score.share >= LEAST_SHARE
