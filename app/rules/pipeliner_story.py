"""How the collective pipeliner came to clone an all-gather twice: the story behind PIP001.

Reads the loops and all-gathers of the newest text and tells as much as they show: loop, container
and origin of the clone; or the nested loops alone; or, without a dump, only the mechanism. Verbose
lines of the pass, where the log has them, make the loop certain.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.analysis.pipeliner_trace import Traced, origins_of_fresh_clones, traced_loops
from app.analysis.pipelining import (
    BackwardCandidate,
    Containment,
    backward_candidates,
    find_containments,
)
from app.model.dump import ModuleHistory
from app.model.facts import Facts, LoopHistory, WhileLoop
from app.model.report import Confidence, Culprit, Evidence, RuledOut, Source
from app.rules.citing import (
    dump_evidence,
    instruction_culprit,
    instruction_evidence,
    loop_culprit,
    place,
    quote,
)
from app.rules.wanted import module_wanted
from hlo_parser import Computation, Instruction

_MAX_CONTAINERS = 8
_MAX_LOOPS = 4
_NUMBERED = re.compile(r"(?P<stem>.{1,400}?)(?:\.(?P<number>\d{1,9}))?", re.S)


@dataclass(frozen=True, slots=True)
class Story:
    """What could be read, as sure as `confidence` says; `outer` is the loop at fault."""

    confidence: Confidence
    message: str
    outer: Culprit | None = None
    culprits: tuple[Culprit, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    unknown: tuple[str, ...] = ()


def read_story(facts: Facts) -> Story:
    """The story as the newest text, and the pass's verbose lines where there are any, tell it."""
    loops = traced_loops(facts.log.verbose)
    moved = [traced.instruction.name for traced in loops[-1].moved] if loops else []
    return _with_trace(facts, _story_of_dump(facts, moved))


def _story_of_dump(facts: Facts, moved: Sequence[str]) -> Story:
    """The story by the graph; `moved` is XLA's own order of what it moved last, where known."""
    history = facts.failing
    if history is None:
        return _log_only_story(facts)
    tracked = {
        loop.occurrences[history.last.index].name: loop
        for loop in facts.loops.get(history.id, ())
        if history.last.index in loop.occurrences
    }
    loops = [loop.occurrences[history.last.index] for loop in tracked.values()]
    scene = _Scene(history, tracked, loops)
    containments = find_containments(loops)
    if containments:
        return _containment_story(scene, containments, moved)
    return _nested_loops_story(scene)


@dataclass(frozen=True, slots=True)
class _Scene:
    """The newest text of the module that died and the loops in it, by name in that text."""

    history: ModuleHistory
    tracked: Mapping[str, LoopHistory]
    loops: Sequence[WhileLoop]

    def loop(self, loop: WhileLoop, role: str) -> Culprit:
        return loop_culprit(self.history, self.history.last, self.tracked[loop.name], role=role)

    def all_gather(self, candidate: BackwardCandidate, role: str) -> Culprit:
        return instruction_culprit(
            self.history,
            self.history.last,
            candidate.loop.body,
            candidate.instruction,
            loop=self.tracked[candidate.loop.name].id,
            role=role,
        )

    def line_of(self, computation: Computation, instruction: Instruction) -> Evidence:
        return instruction_evidence(self.history.last, computation, instruction)


def _containment_story(
    scene: _Scene, containments: Sequence[Containment], moved: Sequence[str]
) -> Story:
    outer = containments[0].outer
    inner = containments[0].inner
    here = [c for c in containments if c.outer is outer and c.inner is inner]
    containers, order = in_order([c.container for c in here], moved)
    origin = here[0].contained[0]
    loop = scene.loop(outer, "loop")
    first, *others = (
        scene.all_gather(c, "container" if i == 0 else "container, if XLA took it first")
        for i, c in enumerate(containers[:_MAX_CONTAINERS])
    )
    contained = scene.all_gather(origin, "inferred origin of the clone")
    scan = scene.loop(inner, "inner loop")
    elsewhere = _other_loops(scene, containments, outer)
    message = (
        f"The backward direction of the collective pipeliner worked on loop {place(loop)}. "
        f"It had pipelined the inner loop {place(scan)} before and put clones of "
        f"{_count(len(here[0].contained), 'all-gather')} in front of it, into the body of "
        f"{loop.instruction}. The operands of {place(first)} run through {scan.instruction}, so "
        f"moving it clones the fresh ones along; when the turn of the first fresh one came, "
        f"nothing was left to clone. That fresh all-gather stands in no dump; by the graph it is "
        f"a clone of {place(contained)} in the body of {scan.instruction}."
    )
    if others:
        message += (
            f" {_count(len(containers) - 1, 'other all-gather')} of {loop.instruction} have the "
            f"same shape of operands; the first in XLA's own list was moved first: {order}."
        )
    return Story(
        confidence="possible" if elsewhere else "likely",
        message=message,
        outer=loop,
        culprits=(loop, first, *others, contained, *elsewhere),
        evidence=(
            scene.line_of(outer.computation, outer.instruction),
            scene.line_of(outer.body, containers[0].instruction),
            scene.line_of(inner.computation, inner.instruction),
            scene.line_of(inner.body, origin.instruction),
            _newest_text(scene.history),
        ),
        ruled_out=_innocent(scene, outer, containers),
    )


def in_order(
    containers: Sequence[BackwardCandidate], moved: Sequence[str]
) -> tuple[list[BackwardCandidate], str]:
    """The containers, the one that XLA took first in front, and what says so.

    XLA appends to its list of instructions and numbers them as it makes them. So numbers after
    one name tell the order of the list, which the order of the text does not.
    """
    names = [c.instruction.name for c in containers]
    if set(names) <= set(moved):
        ordered = sorted(containers, key=lambda c: moved.index(c.instruction.name))
        return ordered, "the pass's verbose lines show the list"
    numbered = [_NUMBERED.fullmatch(name) for name in names]
    if (
        len({found["stem"] if found else name for found, name in zip(numbered, names, strict=True)})
        == 1
    ):
        numbers = {found[0]: int(found["number"] or -1) for found in numbered if found}
        ordered = sorted(containers, key=lambda c: numbers[c.instruction.name])
        return ordered, "the text does not show it, but the numbers of their names do mostly"
    return list(containers), "the text does not show it"


def _other_loops(
    scene: _Scene, containments: Sequence[Containment], outer: WhileLoop
) -> tuple[Culprit, ...]:
    """Further outer loops with the same structure: the dump does not say which came first."""
    others = {c.outer.name: c.outer for c in containments if c.outer is not outer}
    return tuple(scene.loop(loop, "loop, also possible") for loop in others.values())


def _innocent(
    scene: _Scene, outer: WhileLoop, containers: Sequence[BackwardCandidate]
) -> tuple[RuledOut, ...]:
    chosen = {c.instruction.name for c in containers}
    rest = [c for c in backward_candidates(outer) if c.instruction.name not in chosen]
    if not rest:
        return ()
    names = ", ".join(c.instruction.name for c in rest)
    return (
        RuledOut(
            hypothesis=f"Another all-gather of the loop is at fault ({names})",
            why="The pass may move them too, but their operands do not run through an inner loop "
            "that has candidates of its own, so they take no clone along.",
            evidence=tuple(scene.line_of(outer.body, c.instruction) for c in rest),
        ),
    )


def _nested_loops_story(scene: _Scene) -> Story:
    """No container in the newest text: the nested loops are all that can be named."""
    by_name = {loop.name: loop for loop in scene.loops}
    nests: dict[str, list[WhileLoop]] = {}
    for loop in scene.loops:
        outer = by_name.get(loop.parent or "")
        if outer is not None and loop.trip_count is not None and outer.trip_count is not None:
            nests.setdefault(outer.name, []).append(loop)
    early = not any(
        i.opcode.startswith("all-gather")
        for c in scene.history.last.module.computations
        for i in c.instructions
    )
    unknown = (_UNKNOWN_EARLY if early else _UNKNOWN_NO_CONTAINER,)
    if scene.history.last.module.unparsed:
        unknown = ("which all-gather: the newest text is cut off or could not all be read",)
    if not nests:
        return Story(
            "possible",
            _MECHANISM,
            evidence=(_newest_text(scene.history),),
            unknown=(*unknown, "no nested loops with known trip counts in the newest text"),
        )
    # The fault takes an inner loop whose candidates are moved first: most such run no other loop.
    innermost_first = sorted(nests, key=lambda name: any(i.name in nests for i in nests[name]))
    outers = [by_name[name] for name in innermost_first][:_MAX_LOOPS]
    loop = scene.loop(outers[0], "loop")
    inner = [scene.loop(i, "inner loop") for i in nests[outers[0].name]]
    message = (
        f"{_MECHANISM} In the newest text, {scene.history.last.file}, that is possible for "
        f"{place(loop)}, which runs {' and '.join(place(i) for i in inner)} in its body."
    )
    return Story(
        confidence="possible",
        message=message,
        outer=loop,
        culprits=(loop, *inner, *(scene.loop(o, "loop, also possible") for o in outers[1:])),
        evidence=(
            scene.line_of(outers[0].computation, outers[0].instruction),
            *(scene.line_of(i.computation, i.instruction) for i in nests[outers[0].name]),
            _newest_text(scene.history),
        ),
        unknown=unknown,
    )


def _log_only_story(facts: Facts) -> Story:
    wanted = "the loop, the all-gathers and their source lines"
    missing = (
        module_wanted(facts, wanted)
        if not facts.modules
        else f"{wanted}: every module of this dump was optimized to the end, so the log is of "
        "another run, or the module that died is missing"
    )
    return Story(
        confidence="likely",
        message=f"{_MECHANISM} Which loop and which all-gather: the dump of this run would say.",
        unknown=(missing,),
    )


def _with_trace(facts: Facts, story: Story) -> Story:
    """What the pass's own verbose lines add: they make the loop certain."""
    loops = traced_loops(facts.log.verbose)
    origins = origins_of_fresh_clones(loops)
    if not origins or loops[-1].direction != "backward":
        return story
    last = loops[-1]
    confirmed = {c.instruction for c in story.culprits}
    # Of several inner loops the clones of the first are in front in the list.
    inner = next((o for o in origins if o.moved[0].instruction.name in confirmed), origins[0])
    evidence = tuple(_trace_evidence(t) for t in (last.loop, inner.loop, inner.moved[0]))
    if {last.loop.instruction.name, inner.moved[0].instruction.name} <= confirmed:
        return replace(story, confidence="certain", evidence=(*story.evidence, *evidence))
    loop = _traced_culprit(facts, last.loop, "loop")
    origin = _traced_culprit(facts, inner.moved[0], "origin of the clone")
    fresh = sum(len(one.moved) for one in origins)
    older = [t.instruction.name for t in last.moved[:-fresh]]
    return replace(
        story,
        confidence="certain",
        message=f"{_MECHANISM} The pass's verbose lines say that it was working on {place(loop)} "
        f"and that the clone came from {place(origin)} in {inner.loop.instruction.name}.",
        outer=loop,
        culprits=(loop, origin),
        evidence=(*evidence, *story.evidence),
        unknown=(f"which of {', '.join(older)} took the clone along: the dump does not show them",),
    )


def _trace_evidence(traced: Traced) -> Evidence:
    line = traced.line
    return Evidence(file=line.log, line=line.line_number, text=quote(line.text))


def _traced_culprit(facts: Facts, traced: Traced, role: str) -> Culprit:
    metadata = traced.instruction.metadata
    source = None
    if metadata and metadata.source_file and metadata.source_line:
        source = Source(file=metadata.source_file, line=metadata.source_line)
    return Culprit(
        module=facts.failing.id if facts.failing else None,
        instruction=traced.instruction.name,
        opcode=traced.instruction.opcode,
        op_name=metadata.op_name if metadata else None,
        source=source,
        stated=source is not None,
        role=role,
    )


_MECHANISM = (
    "The backward direction of the collective pipeliner moved an all-gather of an outer loop whose "
    "operands run through an inner loop, took along the clones that it had just put in front of "
    "that inner loop, and found nothing left to clone when their own turn came."
)
_UNKNOWN_EARLY = (
    "which all-gather: the newest text is from before partitioning and holds none; rerun with "
    "--xla_dump_hlo_pass_re=.* to have the text that the pass read"
)
_UNKNOWN_NO_CONTAINER = (
    "which all-gather: none of the newest text's has operands that run through an inner loop with "
    "candidates of its own"
)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _newest_text(history: ModuleHistory) -> Evidence:
    name = history.last.name
    after = f"the newest text is from after {name.after}" if name.after else "the newest text"
    return dump_evidence(
        history.last, f"{after}; the pass that died left none, and it may have been any later one"
    )
