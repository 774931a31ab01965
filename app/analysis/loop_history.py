"""Every loop of a module, followed from the first text that holds it to the last.

Texts are read in the order in which XLA wrote them; the loops of neighbouring texts are paired
(`loop_matching`), what happened to each pair is read from the graphs (`loop_events`), and the pass
between them is named. Given a history of parsed modules, returned as frozen values; only texts
that differ are looked into, since equal computations are one object.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from app.analysis.jax_constructs import jax_construct
from app.analysis.loop_bodies import ContentReader, ModuleContents
from app.analysis.loop_events import Change, Stage, Step, changes, how_it_ended
from app.analysis.loop_matching import (
    Candidate,
    CandidateMaker,
    Matching,
    match_identical,
    match_loops,
)
from app.analysis.loops import LoopFinder, PlacedLoop
from app.analysis.passes import changed_by, speaks_for, takes_part
from app.analysis.sources import how_told, op_name_of, source_from_callees, source_of
from app.model.dump import ModuleHistory
from app.model.facts import LoopHistory, TrackedEvent, WhileLoop
from app.model.report import Source
from hlo_parser import Computation, Module


class LoopReaders:
    """What reads loops and bodies; one may serve all modules of a dump, which share texts."""

    def __init__(self) -> None:
        self.finder: LoopFinder = LoopFinder()
        self.contents: ContentReader = ContentReader()
        self.candidates: CandidateMaker = CandidateMaker()


def follow_loops(
    history: ModuleHistory, readers: LoopReaders | None = None
) -> tuple[LoopHistory, ...]:
    """All loops of the module, in the order in which they first appear."""
    follower = _Follower(history, readers or LoopReaders())
    for position in range(len(history.dumps)):
        follower.read(position)
    return follower.finish()


@dataclass(slots=True)
class _Track:
    """A loop while it is being followed."""

    id: str
    origin: "_Track | None"
    occurrences: dict[int, WhileLoop] = field(default_factory=dict[int, WhileLoop])
    events: list[TrackedEvent] = field(default_factory=list[TrackedEvent])
    parent: "_Track | None" = None
    trips: int | None = None
    source: Source | None = None
    source_from: int | None = None
    op_name: str | None = None
    construct: str | None = None


class _Text:
    """One text of the module with its loops and what they are compared by."""

    def __init__(
        self,
        module: Module,
        loops: Sequence[PlacedLoop],
        contents: ModuleContents,
        maker: CandidateMaker,
    ) -> None:
        self.module = module
        self.loops = loops
        self.contents = contents
        self._maker = maker

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """The loops as `loop_matching` compares them."""
        return tuple(
            self._maker.of(
                placed,
                self.contents.of(placed.loop.body),
                source_of(self.module, placed.loop.instruction),
                op_name_of(self.module, placed.loop.instruction),
            )
            for placed in self.loops
        )

    def stage(self, index: int, trips: int | None) -> Stage:
        """The loop at `index` as an end of a step."""
        return Stage(self.loops[index], self.contents, trips)


class _Follower:
    def __init__(self, history: ModuleHistory, readers: LoopReaders) -> None:
        self._history = history
        self._passes = changed_by(history)
        self._readers = readers
        self._tracks: list[_Track] = []
        self._ids: Counter[str] = Counter()
        self._text: _Text | None = None
        self._current: list[_Track] = []

    def read(self, position: int) -> None:
        """Takes the next text in."""
        module, before, readers = self._history.dumps[position].module, self._text, self._readers
        if before is not None and before.module.computations == module.computations:
            # Frame tables may differ: where the loops stand is asked anew.
            text = _Text(module, before.loops, before.contents, readers.candidates)
        else:
            contents = readers.contents.of_module(module)
            text = _Text(module, readers.finder.find(module), contents, readers.candidates)
        if before is None:
            for placed in text.loops:
                track = self._begin(placed.loop, None)
                self._note(track, position, Change("created", "there in the first text"))
                self._current.append(track)
        elif text.contents is not before.contents:
            self._current = self._advance(before, text, position)
        self._text = text
        for track, placed in zip(self._current, text.loops, strict=True):
            track.parent = None if placed.parent is None else self._current[placed.parent]
            self._keep(track, text.module, placed.loop, position)

    def finish(self) -> tuple[LoopHistory, ...]:
        """The loops followed so far."""
        return tuple(
            LoopHistory(
                id=track.id,
                module_id=self._history.id,
                parent=None if track.parent is None else track.parent.id,
                occurrences=track.occurrences,
                source=track.source,
                source_from=track.source_from,
                op_name=track.op_name,
                construct=track.construct,
                events=tuple(track.events),
                origin=None if track.origin is None else track.origin.id,
            )
            for track in self._tracks
        )

    def _advance(self, before: _Text, after: _Text, position: int) -> list[_Track]:
        settled = match_identical(before.loops, after.loops)
        if len(settled) == len(before.loops) == len(after.loops):
            matching = Matching(settled)
        else:
            far = not self._passes[position].alone
            matching = match_loops(before.candidates, after.candidates, settled, far=far)
        self._end_unmatched(before, after, matching, position)
        current: list[_Track] = []
        for index, placed in enumerate(after.loops):
            earlier = matching.partners.get(index)
            if earlier is None:
                current.append(self._begin_copy(placed.loop, matching.origins.get(index), position))
                continue
            track = self._current[earlier]
            self._compare(before, earlier, after, index, matching, track, position)
            current.append(track)
        return current

    def _compare(
        self,
        before: _Text,
        earlier: int,
        after: _Text,
        index: int,
        matching: Matching,
        track: _Track,
        position: int,
    ) -> None:
        old, new = before.loops[earlier], after.loops[index]
        trips = new.loop.trip_count
        outer = None if new.parent is None else matching.partners.get(new.parent, -1)
        step = Step(
            before.stage(earlier, track.trips),
            after.stage(index, track.trips if trips is None else trips),
            same_parent=outer == old.parent,
            pass_name=self._passes[position].name or "",
        )
        self._note(track, position, *changes(step))

    def _end_unmatched(
        self, before: _Text, after: _Text, matching: Matching, position: int
    ) -> None:
        kept = {earlier: index for index, earlier in matching.partners.items()}
        for index, placed in enumerate(before.loops):
            if index in kept:
                continue
            track = self._current[index]
            around = _around(after, placed, kept)
            change = how_it_ended(
                before.stage(index, track.trips),
                after.contents.of(around),
                seen_directly=self._passes[position].alone,
            )
            self._note(track, position, change)

    def _begin(self, loop: WhileLoop, origin: _Track | None) -> _Track:
        name = f"{self._history.id}/{loop.name}"
        self._ids[name] += 1
        number = self._ids[name]
        track = _Track(name if number == 1 else f"{name}#{number}", origin)
        self._tracks.append(track)
        return track

    def _begin_copy(self, loop: WhileLoop, origin: int | None, position: int) -> _Track:
        model = None if origin is None else self._current[origin]
        track = self._begin(loop, model)
        if model is not None:
            detail = f"copy of the loop {model.occurrences[max(model.occurrences)].name}"
        elif self._passes[position].alone:
            detail = "made by the compiler"
        else:
            detail = "first seen here, after texts that are missing"
        self._note(track, position, Change("created", detail))
        return track

    def _note(self, track: _Track, position: int, *found: Change) -> None:
        """Adds what one step did.

        With texts missing in between the pass is named only for what passes of its name do.
        """
        by = self._passes[position]
        acted = by.alone or any(speaks_for(by.name, change.kind) for change in found)
        for change in found:
            known = by.alone or (acted and takes_part(by.name, change.kind))
            track.events.append(
                TrackedEvent(position, by.name if known else None, change.kind, change.detail)
            )

    def _keep(self, track: _Track, module: Module, loop: WhileLoop, position: int) -> None:
        """Adds the loop as it stands in this text, with what the text says of its origin."""
        is_first = not track.occurrences
        track.occurrences[position] = loop
        if loop.trip_count is not None:
            track.trips = loop.trip_count
        if track.source_from is None:
            stated = source_of(module, loop.instruction)
            if stated is not None and how_told(module, loop.instruction) == "stated":
                track.source, track.source_from = stated, position
        metadata = loop.instruction.metadata
        if metadata is not None and metadata.op_name:
            track.op_name = metadata.op_name
        if is_first:
            self._complete(track, module, loop)

    def _complete(self, track: _Track, module: Module, loop: WhileLoop) -> None:
        """What a loop's first text does not state: from its original, else from its body."""
        track.construct = jax_construct(module, loop)
        origin = track.origin
        if origin is not None:
            track.construct = track.construct or origin.construct
            track.op_name = track.op_name or origin.op_name
            if track.source is None:
                track.source, track.source_from = origin.source, origin.source_from
        if track.source is None:
            track.source = source_of(module, loop.instruction) or source_from_callees(
                module, loop.instruction
            )
        if track.op_name is None:
            track.op_name = op_name_of(module, loop.instruction)


def _around(after: _Text, gone: PlacedLoop, kept: dict[int, int]) -> Computation:
    """The computation that stands in the later text where the loop's own stood."""
    if gone.parent is None:
        return after.module.get(gone.loop.computation.name) or after.module.entry
    outer = kept.get(gone.parent)
    return after.module.entry if outer is None else after.loops[outer].loop.body
