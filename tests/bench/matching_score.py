"""How often an instruction is found again in another text, its name and place in the text hidden.

Scores one pair of texts, or the pairs of a dump: every neighbouring pair, or every Nth, and a
seeded sample of pairs that lie apart. `scores.py` is the command that runs it over all dumps.

Names are the truth: what bears one name in both texts is one instruction. Only instructions of
computations whose text changed count, in pairs of texts that share at least half their names.
`exact` is the named one; `strict` allows twins, which nothing in the module tells apart; `tolerant`
allows what `interchangeable.py` says besides.
"""

import random
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from analysis.hidden_names import hidden  # noqa: E402
from analysis.interchangeable import Interchangeable, Place, unique_places  # noqa: E402
from app.analysis.diff import Differ  # noqa: E402
from app.ingest.load import load_dump  # noqa: E402
from app.model.dump import PassDump  # noqa: E402
from app.settings import Settings  # noqa: E402
from hlo_parser import Module  # noqa: E402

LEAST_COMMON = 0.5
_HANDED_ON = 200
MOST_WRONG = 12
FAR_PAIRS = 4
"""Pairs of texts that lie apart, for each module."""
LARGE = 50
"""File pairs with this many changed instructions are counted on their own."""


@dataclass(slots=True)
class Score:
    """Instructions that count, and how many of them were found; `wrong` lists the first others."""

    name: str
    count: int = 0
    exact: int = 0
    strict: int = 0
    tolerant: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list[str])

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


def total_of(name: str, scores: Iterable[Score]) -> Score:
    """The sum of the scores."""
    total = Score(name)
    for score in scores:
        total.add(score)
    return total


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
    score = Score(name, seconds=time.process_time() - start)
    judge = _Judge(before, after, truth, found)
    for place, right in counted.items():
        score.count += 1
        score.exact += judge.is_exact(place)
        score.strict += judge.is_exact(place) or judge.is_twin(place)
        if judge.is_right(place):
            score.tolerant += 1
        elif len(score.wrong) < MOST_WRONG:
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


def score_dump(path: Path, every: int) -> tuple[list[Score], list[Score]]:
    """The scores of a dump's neighbouring pairs, every Nth, and of its pairs that lie apart."""
    near: list[Score] = []
    far: list[Score] = []
    numbers = random.Random(path.name)
    number = 0
    for history in load_dump(path, settings=Settings()).modules:
        for before, after in zip(history.dumps, history.dumps[1:], strict=False):
            if set(before.module.computations) == set(after.module.computations):
                continue
            number += 1
            if number % every == 0:
                near += _scored(before, after)
        for before, after in _apart(history.dumps, numbers):
            far += _scored(before, after)
    return near, far


def _scored(before: PassDump, after: PassDump) -> Iterator[Score]:
    # The numbers of module and text, and the pass: no name from a user's program.
    words = after.file.rpartition("/")[2].removesuffix(".txt").split(".")
    numbers = [word for word in words if word.startswith("module_")]
    known = next((k for k, word in enumerate(words) if word.isdigit() and len(word) == 4), -1)
    score = score_pair(before.module, after.module, ".".join((*numbers, *words[known:])))
    if score is not None:
        yield score


def _apart(
    dumps: Sequence[PassDump], numbers: random.Random
) -> Iterator[tuple[PassDump, PassDump]]:
    """A few pairs with others in between, in the order of the texts."""
    if len(dumps) > 2:
        for _ in range(FAR_PAIRS):
            first = numbers.randrange(len(dumps) - 2)
            yield dumps[first], dumps[numbers.randrange(first + 2, len(dumps))]


@dataclass(slots=True)
class Tally:
    """File pairs with many changed instructions, and how many of them stay below a share."""

    large: int = 0
    below_99: int = 0
    below_95: int = 0

    def count(self, scores: Iterable[Score]) -> "Tally":
        """Count file pairs."""
        for score in scores:
            if score.count >= LARGE:
                self.large += 1
                self.below_99 += score.share(score.tolerant) < 99
                self.below_95 += score.share(score.tolerant) < 95
        return self

    def reaches_targets(self) -> bool:
        """At most 5 % of the large file pairs below 99 %, at most 1 % below 95 %."""
        return self.below_99 <= 0.05 * self.large and self.below_95 <= 0.01 * self.large

    def __str__(self) -> str:
        below_99 = 100.0 * self.below_99 / max(self.large, 1)
        below_95 = 100.0 * self.below_95 / max(self.large, 1)
        return (
            f"{self.large} pairs with {LARGE} or more changed instructions: "
            f"{below_99:.2f} % below 99 % tolerant, {below_95:.2f} % below 95 %"
        )


def reaches_targets(score: Score) -> bool:
    """Tolerant at least 99.5 %, strict at least 98.5 %."""
    return score.share(score.tolerant) >= 99.5 and score.share(score.strict) >= 98.5
