"""The texts of one module on two sides: digests, which belong together, where the graphs part.

Given two modules of reports and a way to their texts. Labels come from file names as the reports
have them; a text is digested once. What is said of passes rests on names of files alone.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from app.analysis.canonical import Canonicalizer, CanonicalModule
from app.model.comparison import NextPass, PassLists, Sides
from app.model.report import Dump, Module
from hlo_parser import Module as HloModule

ReadText = Callable[[str, int], HloModule]
"""The text of a module (its id in the report) at a position, parsed."""

# Aligning takes time for each pair of equal labels; with more, texts are aligned as far as they
# agree. Real histories have some thousands of pairs.
_MOST_PAIRS = 100_000
_POINT = re.compile(r"(?:before|after)_[A-Za-z_]++\Z")
_NO_PASSES = frozenset({"pipeline-start", "pipeline-end"})


class Texts:
    """The texts of one dump with their digests, made when first asked for."""

    def __init__(self, read: ReadText) -> None:
        self._read = read
        self._canonicalizer = Canonicalizer()
        self._digests: dict[tuple[str, int], str] = {}

    def module(self, module_id: str, index: int) -> HloModule:
        """One text, parsed."""
        return self._read(module_id, index)

    def canonical(self, module_id: str, index: int) -> CanonicalModule:
        """One text and all its digests."""
        found = self._canonicalizer.of_module(self._read(module_id, index))
        self._digests[module_id, index] = found.text
        return found

    def digest(self, module_id: str, index: int) -> str:
        """The digest of one text."""
        known = self._digests.get((module_id, index))
        return self.canonical(module_id, index).text if known is None else known

    def digests(self, module: Module) -> tuple[str, ...]:
        """The digests of all texts of a module, in order."""
        return tuple(self.digest(module.id, dump.index) for dump in module.dumps)


@dataclass(frozen=True, slots=True)
class Common:
    """How far two histories are one.

    `last_a` and `last_b` are the last texts with one digest, None where there are none;
    `equal_texts` counts those of `a` that have a counterpart. `is_whole` says that each history
    goes through the same states.
    """

    last_a: int | None
    last_b: int | None
    equal_texts: int
    is_whole: bool


def common_states(a: Sequence[str], b: Sequence[str], pairs: Sequence[tuple[int, int]]) -> Common:
    """What two lists of digests have in common; the last graph of `a` that `b` has, too.

    Passes may leave the graph as it is and still write a text (they rename): of several texts with
    that graph the last ones are taken that the same pass wrote, which `pairs` tell.
    """
    places = {digest: position for position, digest in enumerate(b)}
    shared = [position for position, digest in enumerate(a) if digest in places]
    last_a = shared[-1] if shared else None
    last_b = None if last_a is None else places[a[last_a]]
    if last_a is not None:
        graph = a[last_a]
        same = [(i, j) for i, j in pairs if a[i] == b[j] == graph]
        last_a, last_b = same[-1] if same else (last_a, last_b)
    return Common(
        last_a=last_a,
        last_b=last_b,
        equal_texts=len(shared),
        is_whole=_without_repeats(a) == _without_repeats(b),
    )


def _without_repeats(digests: Sequence[str]) -> list[str]:
    return [d for k, d in enumerate(digests) if not k or digests[k - 1] != d]


def label_of(dump: Dump) -> str:
    """What wrote a text, for finding the same place in another dump."""
    if dump.after:
        return f"{dump.pipeline or ''}/{dump.after}"
    stem = dump.file.rpartition("/")[2].rpartition(".")[0]
    point = _POINT.search(stem)
    return point[0] if point else stem.rpartition(".")[2]


def aligned(a: Sequence[Dump], b: Sequence[Dump]) -> Iterator[tuple[int, int]]:
    """Positions of texts that the same pass wrote, in order."""
    here, there = [label_of(dump) for dump in a], [label_of(dump) for dump in b]
    counts, others = Counter(here), Counter(there)
    if sum(count * others[label] for label, count in counts.items()) > _MOST_PAIRS:
        for k, (one, other) in enumerate(zip(here, there, strict=False)):
            if one != other:
                return
            yield k, k
        return
    for block in SequenceMatcher(None, here, there, autojunk=False).get_matching_blocks():
        for k in range(block.size):
            yield block.a + k, block.b + k


def pass_lists(a: Module, b: Module, *, stops: Sides | None) -> PassLists:
    """What file names tell of the two pipelines.

    `stops` is the side whose compile did not finish: the other is read only as far.
    """
    pairs = list(aligned(a.dumps, b.dumps))
    dumps_a: Sequence[Dump] = a.dumps
    dumps_b: Sequence[Dump] = b.dumps
    if stops == "a" and pairs:
        dumps_b = b.dumps[: pairs[-1][1] + 1]
    elif stops == "b" and pairs:
        dumps_a = a.dumps[: pairs[-1][0] + 1]
    names_a, names_b = _names(dumps_a), _names(dumps_b)
    return PassLists(
        common=len(names_a.keys() & names_b.keys()),
        only_a=tuple(name for name in names_a if name not in names_b),
        only_b=tuple(name for name in names_b if name not in names_a),
        next=tuple(_differing_next(a.dumps, b.dumps, pairs)),
        stops=stops,
    )


def _names(dumps: Sequence[Dump]) -> dict[str, None]:
    """The passes that file names tell of, in order, each once."""
    named = (name for dump in dumps for name in (dump.after, dump.before))
    return dict.fromkeys(name for name in named if name and name not in _NO_PASSES)


def _differing_next(
    a: Sequence[Dump], b: Sequence[Dump], pairs: Sequence[tuple[int, int]]
) -> Iterator[NextPass]:
    for i, j in pairs:
        one, other = a[i], b[j]
        if one.after and one.before and other.before and one.before != other.before:
            yield NextPass(pass_=one.after, a=one.before, b=other.before, dump_a=i, dump_b=j)
