"""Both scores of matching and diff: instructions found again in real dumps, and edits named.

`python tests/bench/scores.py [--quick] [NAME...]` scores every neighbouring pair of texts of every
module of the dumps beside the checkout (or those whose names hold one of NAME) and a seeded sample
of pairs that lie apart, then 1,000 seeded edits. It prints a line for each dump, the totals, the
distribution over pairs and the worst pairs, and writes `matching_score.txt` and `edits_score.txt`
beside itself when nothing was left out. `--quick` takes every fourth neighbouring pair and writes
nothing. What a dump scored is kept in `.scores.jsonl` and taken from there as long as the matcher
and the score are the same, so that a run which was stopped goes on where it was.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

from edits_score import reaches_least_share, score_edits  # noqa: E402
from matching_score import (  # noqa: E402
    ROOT,
    Score,
    Tally,
    reaches_targets,
    score_dump,
    total_of,
)

DUMPS = ROOT.parent / "shared" / "dumps"
KEPT = HERE / ".scores.jsonl"
MATCHING = HERE / "matching_score.txt"
EDITS = HERE / "edits_score.txt"
QUICK = 4
WORST = 20
HEAD = f"{'':52} {'count':>8} {'exact':>7}  {'strict':>7}  {'tolerant':>7}  {'CPU s':>7}"
# What the score depends on beside the texts.
DECIDING = (
    "app/analysis/call_matching.py",
    "app/analysis/diff.py",
    "app/analysis/exchanges.py",
    "app/analysis/fingerprints.py",
    "app/analysis/likeness.py",
    "app/analysis/matcher.py",
    "app/analysis/matching.py",
    "app/analysis/neighbours.py",
    "tests/analysis/hidden_names.py",
    "tests/analysis/interchangeable.py",
    "tests/bench/matching_score.py",
)

Pairs = tuple[list[Score], list[Score]]
"""Scores of neighbouring pairs and of pairs that lie apart."""


def main() -> int:
    """Score, print, write the figures down; 1 below the targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of dump names")
    parser.add_argument("--quick", action="store_true", help="every fourth neighbouring pair")
    parser.add_argument("--processes", type=int, default=1, metavar="N")
    parser.add_argument("--edits", type=int, default=1000, metavar="N", help="0 for none")
    parser.add_argument("--wrong", action="store_true", help="list what the worst pairs miss")
    options = parser.parse_args()
    every = QUICK if options.quick else 1
    scores = score_dumps(options.names, every, options.processes)
    text = matching_figures(scores, every, wrong=options.wrong)
    print(text)
    near = [score for pairs in scores.values() for score in pairs[0]]
    is_right = reaches_targets(total_of("all", near)) and Tally().count(near).reaches_targets()
    is_whole = not (options.quick or options.names or options.wrong)
    if is_whole:
        MATCHING.write_text(text, encoding="utf-8")
    if options.edits:
        edits = score_edits(options.edits)
        print(edits)
        is_right &= reaches_least_share(edits)
        if is_whole:
            EDITS.write_text(str(edits), encoding="utf-8")
    return int(not is_right)


def score_dumps(names: Sequence[str], every: int, processes: int) -> dict[str, Pairs]:
    """The scores by dump, from what is kept where nothing changed; what is new is kept."""
    state = _state(every)
    found = _kept(state)
    paths = [
        path
        for path in sorted(DUMPS.glob("*.tar.gz"), key=lambda path: path.stat().st_size)
        if not names or any(name in path.name for name in names)
    ]
    left = [path for path in paths if _name(path) not in found]
    with ProcessPoolExecutor(processes, max_tasks_per_child=1) as pool:
        scored = pool.map(partial(score_dump, every=every), left)
        for path, pairs in zip(left, scored, strict=True):
            found[_name(path)] = pairs
            line = [state, _name(path), *([asdict(s) for s in scores] for scores in pairs)]
            with KEPT.open("a", encoding="utf-8") as kept:
                kept.write(json.dumps(line) + "\n")
            print(total_of(_name(path), pairs[0]), file=sys.stderr, flush=True)
    return {_name(path): found[_name(path)] for path in sorted(paths)}


def _name(path: Path) -> str:
    return path.name.removesuffix(".tar.gz")


def _state(every: int) -> str:
    digest = hashlib.sha256(str(every).encode())
    for name in DECIDING:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def _kept(state: str) -> dict[str, Pairs]:
    found: dict[str, Pairs] = {}
    for line in KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else ():
        of_state, name, near, far = json.loads(line)
        if of_state == state:
            found[name] = [Score(**score) for score in near], [Score(**score) for score in far]
    return found


def matching_figures(scores: Mapping[str, Pairs], every: int, *, wrong: bool) -> str:
    """All figures as text."""
    near = [score for pairs in scores.values() for score in pairs[0]]
    far = [score for pairs in scores.values() for score in pairs[1]]
    which = "every neighbouring pair" if every == 1 else f"every {every}th neighbouring pair"
    lines = [HEAD]
    lines += [
        str(total_of(name, pairs[0]))
        for name, pairs in scores.items()
        if any(score.count for score in pairs[0])
    ]
    for name, group in ((f"all: {which}", near), ("all: seeded pairs that lie apart", far)):
        lines += ["", str(total_of(name, group)), f"{len(group)} pairs; {Tally().count(group)}"]
        lines += [_distribution(group)]
    for which, position in (("neighbouring", 0), ("far", 1)):
        lines += ["", f"the worst {WORST} {which} pairs, by instructions missed"]
        worst = [(score, dump) for dump, pairs in scores.items() for score in pairs[position]]
        worst = [(score, dump) for score, dump in worst if score.tolerant < score.count]
        worst.sort(key=lambda pair: (pair[0].tolerant - pair[0].count, pair[0].name))
        for score, dump in worst[:WORST]:
            missed = score.count - score.tolerant
            share = score.share(score.tolerant)
            lines.append(f"{missed:5} of {score.count:6} missed, {share:7.3f}  {dump}/{score.name}")
            lines += [f"        {line}" for line in score.wrong if wrong]
    return "\n".join(lines) + "\n"


def _distribution(scores: Sequence[Score]) -> str:
    """How many pairs have which tolerant share."""
    shares = [score.share(score.tolerant) for score in scores]
    steps = (100.0, 99.9, 99.5, 99.0, 95.0, 0.0)
    parts: list[str] = []
    above = 0
    for step in steps:
        count = sum(share >= step for share in shares) - above
        above += count
        parts.append(f"{count} {'at' if step == 100.0 else 'from'} {step:g} %")
    return "tolerant: " + ", ".join(parts)


if __name__ == "__main__":
    raise SystemExit(main())
