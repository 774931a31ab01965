"""From a failing module to a small one with the same failure, each step checked by a compile.

Given a module and a test that compiles a text; gives the smallest draft found. Names and metadata
stay, so what is left still tells its lines of the program. What it ends with always parses.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from app.model.report import Report
from app.replay.draft import Draft, draft_of
from app.replay.edits import KINDS
from app.replay.kinds import Kind, Place, cut, weights_below
from app.replay.search import OutOfBudget, minimize
from app.replay.tidying import tidied
from hlo_parser import HloSyntaxError, Module, parse_module

Fails = Callable[[Sequence[bytes]], Sequence[bool]]
"""Which of these texts still fail in the way looked for; it may raise `OutOfBudget`."""


ProgramLine = tuple[str, int]
"""A file of the program as the module names it, and a line in it."""

_NAMED = tuple(kind for kind in KINDS if kind.is_by_name)
# Losses made at random are seldom borne; what changes the form of a module is, in large chunks.
_AT_LARGE = tuple(kind for kind in KINDS if not kind.is_loss)
_PARTS = 8
_LEAST_SAVING = 3


@dataclass(frozen=True, slots=True)
class Reduction:
    """The text found, instructions before and after, and whether nothing more could be cut."""

    text: str
    before: int
    after: int
    is_minimal: bool


def reduce_module(
    module: Module,
    fails: Fails,
    told: Callable[[str, int], None] | None = None,
    *,
    at_once: int = 1,
    lines: Collection[ProgramLine] = (),
) -> Reduction | None:
    """The smallest module found; None where it does not fail once it is printed by us.

    Args:
        module: as parsed.
        fails: compiles texts, all that it is given at the same time.
        told: is given the kind of cut and the size after each round of it.
        at_once: how many texts are worth compiling at the same time.
        lines: lines of the program that stay, where the module has them.

    Raises:
        UsageError: the module is not understood in full.
        OutOfBudget: the time was up before anything was tried.
    """
    draft = tidied(draft_of(module))
    if not fails([draft.text.encode()])[0]:
        return None
    is_minimal = False
    kept = frozenset(lines) & program_lines_of(module)
    work = _Reducing(draft, fails, told, at_once, kept)
    try:
        while not is_minimal:
            weight = work.draft.weight
            work.cut_in_chunks(_AT_LARGE, parts=_PARTS)
            work.cut_what_saves_most()
            if work.draft.weight == weight:
                work.cut_in_chunks(KINDS)
                is_minimal = work.draft.weight == weight
    except OutOfBudget:
        pass  # what was found until then is told as not minimal
    found = work.draft
    return Reduction(found.text, module.instruction_count, found.size, is_minimal)


class _Reducing:
    """The draft on its way down; what was found stays when the budget ends."""

    def __init__(
        self,
        draft: Draft,
        fails: Fails,
        told: Callable[[str, int], None] | None,
        at_once: int,
        lines: frozenset[ProgramLine],
    ) -> None:
        self.draft = draft
        self._lines = lines
        self._fails = fails
        self._told = told
        self._at_once = at_once

    def cut_in_chunks(self, kinds: tuple[Kind, ...], *, parts: int = 0) -> None:
        """As many cuts of each kind as the failure bears, or chunks of one `parts`-th of them.

        Raises:
            OutOfBudget: not all were tried.
        """
        for kind in kinds:
            self.draft, is_done = self._with_cuts(kind, parts)
            self._tell(kind.name)
            if not is_done:
                raise OutOfBudget

    def cut_what_saves_most(self) -> None:
        """Single cuts, those first that take the most lines with them; small ones are left."""
        below = weights_below(self.draft)
        expected: list[tuple[int, Kind, Place]] = []
        for kind in _NAMED:
            for place in kind.places(self.draft):
                if kind.is_loss:
                    saving = below[place]
                else:
                    saving = self.draft.size - cut(kind, self.draft, [place]).size
                expected.append((saving, kind, place))
        expected.sort(key=lambda each: -each[0])
        waiting = [(k, p) for saving, k, p in expected if saving >= _LEAST_SAVING]
        while waiting:
            tried, waiting = waiting[: self._at_once], waiting[self._at_once :]
            if (done := self._cut_one_of(tried)) is not None:
                # The others were tried on what is no more.
                waiting = tried[done + 1 :] + waiting

    def _cut_one_of(self, options: list[tuple[Kind, Place]]) -> int | None:
        """Make the first of these cuts that the failure bears; its number."""
        drafts = [cut(kind, self.draft, [place]) for kind, place in options]
        texts = [draft.text.encode() for draft in drafts]
        # An earlier cut may have taken most of it along.
        asked = [
            i
            for i, smaller in enumerate(drafts)
            if smaller.size <= self.draft.size - _LEAST_SAVING and self._is_sound(texts[i])
        ]
        answers = self._fails([texts[i] for i in asked]) if asked else ()
        done = next((i for i, answer in zip(asked, answers, strict=True) if answer), None)
        if done is not None:
            self.draft = drafts[done]
            self._tell(options[done][0].name)
        return done

    def _tell(self, name: str) -> None:
        if self._told is not None:
            self._told(name, self.draft.size)

    def _with_cuts(self, kind: Kind, parts: int) -> tuple[Draft, bool]:
        """The draft with as many cuts of this kind as may be, and whether there was time."""
        draft = self.draft
        places = kind.places(draft)

        def still_fails(uncut: tuple[Place, ...]) -> bool:
            smaller = cut(kind, draft, set(places) - set(uncut))
            if smaller.weight >= draft.weight:
                # A cut that takes nothing away helps only with others: it is not worth a compile.
                return False
            text = smaller.text.encode()
            return self._is_sound(text) and self._fails([text])[0]

        if not places:
            return draft, True
        least = max(1, len(places) // parts) if parts else 1
        smallest = minimize(places, still_fails, least=least)
        cuts = set(places) - set(smallest.items)
        return (cut(kind, draft, cuts) if cuts else draft), not smallest.is_cut_short

    def _is_sound(self, text: bytes) -> bool:
        try:
            module = parse_module(text, strict=True)
        except HloSyntaxError:
            return False
        return not module.unparsed and self._lines <= program_lines_of(module)


def program_lines_of(module: Module) -> frozenset[ProgramLine]:
    """The lines of the program that instructions of a module state."""
    sources = (module.source_of(i) for c in module.computations for i in c.instructions)
    return frozenset((source.file, source.line) for source in sources if source is not None)


def blamed_lines(report: Report) -> frozenset[ProgramLine]:
    """The lines of the program that the report's errors blame, as the texts state them."""
    sources = (
        culprit.source
        for finding in report.findings
        if finding.severity == "error"
        for culprit in finding.culprits
        if culprit.stated
    )
    return frozenset((source.file, source.line) for source in sources if source is not None)
