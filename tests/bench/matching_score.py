"""How often an instruction is found again in the next text, its name and place in the text hidden.

`python tests/bench/matching_score.py [--every N] [NAME...]` scores the neighbouring texts of every
module of the dumps whose names hold one of NAME, every Nth pair, prints a line for each dump and
writes `matching_score.txt` beside itself when nothing was left out.

Names are the truth: what bears one name in both texts is one instruction. Only instructions of
computations whose text changed count, in pairs of texts that share at least half their names.
`exact` is the named one; `strict` allows twins, which nothing in the module tells apart; `tolerant`
allows what `interchangeable.py` says besides.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from analysis.hidden_names import hidden  # noqa: E402
from analysis.interchangeable import Interchangeable, Place, unique_places  # noqa: E402
from app.analysis.diff import Differ  # noqa: E402
from app.ingest.load import load_dump  # noqa: E402
from app.settings import Settings  # noqa: E402
from hlo_parser import Module  # noqa: E402

DUMPS = ROOT.parent / "shared" / "dumps"
FIGURES = Path(__file__).with_suffix(".txt")
LEAST_COMMON = 0.5
_HANDED_ON = 200
MOST_SHOWN = 12
PROCESSES = 2
LARGE = 50
"""File pairs with this many changed instructions are counted on their own."""


@dataclass(slots=True)
class Score:
    """Instructions that count, and how many of them were found."""

    name: str
    count: int = 0
    exact: int = 0
    strict: int = 0
    tolerant: int = 0
    seconds: float = 0.0
    wrong: list[str] | None = None

    def add(self, other: "Score") -> None:
        """Count what the other counted."""
        self.count += other.count
        self.exact += other.exact
        self.strict += other.strict
        self.tolerant += other.tolerant
        self.seconds += other.seconds

    def share(self, found: int) -> float:
        """Per cent of the instructions that count."""
        return 100.0 * found / self.count if self.count else 100.0

    def __str__(self) -> str:
        shares = "  ".join(
            f"{self.share(found):7.3f}" for found in (self.exact, self.strict, self.tolerant)
        )
        return f"{self.name:52} {self.count:8} {shares}  {self.seconds:7.1f}"


def score_pair(before: Module, after: Module, name: str, seed: int = 0) -> Score | None:
    """The score of one pair of texts; None where too little is common or nothing changed."""
    here, there = unique_places(before), unique_places(after)
    truth = {place: there[name] for name, place in here.items() if name in there}
    most = max(before.instruction_count, after.instruction_count)
    if len(truth) < LEAST_COMMON * most:
        return None
    unchanged = {c.text for c in after.computations}
    changed = {c.name for c in before.computations if c.text not in unchanged}
    counted = {place: other for place, other in truth.items() if place[0] in changed}
    if not counted:
        return None
    disguise = hidden(after, random.Random(seed))
    differ = Differ()
    start = time.process_time()
    differ.diff(before, disguise.module)
    found = {
        one: disguise.instructions[other]
        for one, other in differ.counterparts(before, disguise.module).items()
    }
    score = Score(name, seconds=time.process_time() - start, wrong=[])
    judge = _Judge(before, after, truth, found)
    for place, right in counted.items():
        score.count += 1
        score.exact += judge.is_exact(place)
        score.strict += judge.is_exact(place) or judge.is_twin(place)
        if judge.is_right(place):
            score.tolerant += 1
        elif score.wrong is not None:
            score.wrong.append(f"{'/'.join(place)} -> {found.get(place)} not {right}")
    return score


class _Judge:
    def __init__(
        self,
        before: Module,
        after: Module,
        truth: dict[Place, Place],
        found: dict[Place, Place],
    ) -> None:
        self._truth = truth
        self._found = found
        self._back = {other: place for place, other in truth.items()}
        self._found_back = {other: place for place, other in found.items()}
        self._before = Interchangeable(before)
        self._after = Interchangeable(after)

    def is_exact(self, place: Place) -> bool:
        return self._found.get(place) == self._truth[place]

    def is_twin(self, place: Place) -> bool:
        found = self._found.get(place)
        if found is None:
            return False
        if self._after.twins(found, self._truth[place]):
            return True
        original = self._back.get(found)
        return original is not None and self._before.twins(place, original)

    def is_right(self, place: Place) -> bool:
        right, found = self._truth[place], self._found.get(place)
        if found == right:
            return True
        if found is not None:
            if self._after.equals(found, right):
                return True
            original = self._back.get(found)
            if original is not None:
                return self._before.equals(place, original)
            return self._after.merges(found, right) or self._is_merged(place, right)
        return self._is_merged(place, right)

    def _is_merged(self, place: Place, right: Place) -> bool:
        """Whether the counterpart was given to another one that computes the same value.

        Only where that one has no counterpart of its own, as after a merge, or it was handed on
        from equal to equal until one had none.
        """
        for _ in range(_HANDED_ON):
            other = self._found_back.get(right)
            if other is None or other == place:
                return False
            equal = self._before.equals(place, other)
            if other not in self._truth:
                return equal or self._before.merges(place, other)
            if not equal:
                return False
            right = self._truth[other]
        return False


def pairs_of(path: Path, every: int) -> Iterator[tuple[str, Module, Module]]:
    """Neighbouring texts of all modules of a dump."""
    number = 0
    for history in load_dump(path, settings=Settings()).modules:
        for before, after in zip(history.dumps, history.dumps[1:], strict=False):
            if set(before.module.computations) == set(after.module.computations):
                continue
            number += 1
            if number % every == 0:
                yield f"{after.file}", before.module, after.module


@dataclass(slots=True)
class Tally:
    """File pairs with many changed instructions, and how many of them stay below a share."""

    large: int = 0
    below_99: int = 0
    below_95: int = 0

    def count(self, score: Score) -> None:
        """Count one file pair."""
        if score.count >= LARGE:
            self.large += 1
            self.below_99 += score.share(score.tolerant) < 99
            self.below_95 += score.share(score.tolerant) < 95

    def add(self, other: "Tally") -> None:
        """Count what the other counted."""
        self.large += other.large
        self.below_99 += other.below_99
        self.below_95 += other.below_95

    def reaches_targets(self) -> bool:
        """At most 5 % of the large file pairs below 99 %, at most 1 % below 95 %."""
        return self.below_99 <= 0.05 * self.large and self.below_95 <= 0.01 * self.large

    def __str__(self) -> str:
        below_99 = 100.0 * self.below_99 / max(self.large, 1)
        below_95 = 100.0 * self.below_95 / max(self.large, 1)
        return (
            f"{self.large} pairs with {LARGE} or more changed instructions: "
            f"{below_99:.1f} % below 99 % tolerant, {below_95:.1f} % below 95 %"
        )


def reaches_targets(score: Score) -> bool:
    """Tolerant at least 99.5 %, strict at least 98.5 %."""
    return score.share(score.tolerant) >= 99.5 and score.share(score.strict) >= 98.5


def score_dump(path: Path, every: int, show: float) -> tuple[Score, Tally]:
    """The score of one dump; file pairs below `show` per cent go to standard error."""
    dump, tally = Score(path.name.removesuffix(".tar.gz")), Tally()
    for name, before, after in pairs_of(path, every):
        score = score_pair(before, after, name)
        if score is None:
            continue
        dump.add(score)
        tally.count(score)
        if score.share(score.tolerant) < show:
            wrong = [f"      {line}" for line in (score.wrong or [])[:MOST_SHOWN]]
            print("\n".join((f"  {score}", *wrong)), file=sys.stderr, flush=True)
    return dump, tally


def main() -> int:
    """Score, print, write the figures down when all dumps were scored; 1 below the targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of dump names")
    parser.add_argument("--every", type=int, default=1, help="score every Nth pair only")
    parser.add_argument("--show", type=float, default=0.0, help="list pairs below this share")
    options = parser.parse_args()
    paths = [
        path
        for path in sorted(DUMPS.glob("*.tar.gz"), key=lambda path: -path.stat().st_size)
        if not options.names or any(name in path.name for name in options.names)
    ]
    total, tally = Score("all"), Tally()
    lines: list[str] = []
    with ProcessPoolExecutor(PROCESSES) as pool:
        scored = pool.map(partial(score_dump, every=options.every, show=options.show), paths)
        for dump, large in scored:
            total.add(dump)
            tally.add(large)
            if dump.count:
                print(dump, flush=True)
                lines.append(str(dump))
    head = f"{'dump':52} {'count':>8} {'exact':>7}  {'strict':>7}  {'tolerant':>7}  {'CPU s':>7}"
    if options.every > 1:
        lines.append(f"every {options.every}th pair of texts")
    text = "\n".join((head, *sorted(lines), str(total), str(tally))) + "\n"
    print(text)
    if not options.names:
        FIGURES.write_text(text, encoding="utf-8")
    return int(not (reaches_targets(total) and tally.reaches_targets()))


if __name__ == "__main__":
    raise SystemExit(main())
