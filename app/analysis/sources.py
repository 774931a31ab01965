"""Places in the user's program behind instructions, and their repair where a pass lost them.

`source_of` reads what the instruction itself says. `repaired_source` goes on where that is
nothing: to the same instruction in earlier texts of the module, to the loop it belongs to, and
last to the instructions inside what it calls; the last kind is inferred and marked so. Inputs are
parsed modules; nothing is read from disk, and no place is invented.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby, islice
from typing import NamedTuple

from app.analysis.dataflow import root_elements
from app.model.dump import ModuleHistory
from app.model.facts import LoopHistory
from app.model.report import Frame, Renumbered, Source
from app.model.source import SourceHow
from hlo_parser import Computation, Instruction, Module, SourceLocation


@dataclass(frozen=True, slots=True)
class Placed:
    """A place, the position of the text that it was read in, and how it was found."""

    source: Source
    dump: int
    how: SourceHow


class Stretch(NamedTuple):
    """Neighbouring texts of a history, by position, in which a name means one computation."""

    newest: int
    oldest: int
    computation: Computation


class Namesakes:
    """The computations that names meant in the texts of one history; each walk is made once."""

    def __init__(self, history: ModuleHistory) -> None:
        self._history = history
        # What was met before a position, and the walk that goes on from there.
        self._walks: dict[tuple[int, str], tuple[list[Stretch], Iterator[Stretch]]] = {}

    def before(self, position: int, name: str) -> Iterator[Stretch]:
        """The stretches before the text at `position`, newest first, until the name is missing."""
        walk = self._walks.get((position, name))
        if walk is None:
            walk = self._walks[position, name] = [], self._walk(position, name)
        met, further = walk
        for number in count():
            if number == len(met):
                met += islice(further, 1)
            if number == len(met):
                return
            yield met[number]

    def _walk(self, position: int, name: str) -> Iterator[Stretch]:
        newest, here = position, None
        for index in range(position - 1, -1, -1):
            found = self._history.dumps[index].module.get(name)
            if found is here:
                continue
            if here is not None:
                yield Stretch(newest, index + 1, here)
            if found is None:
                return
            newest, here = index, found
        if here is not None:
            yield Stretch(newest, 0, here)


def source_of(module: Module, instruction: Instruction) -> Source | None:
    """The place stated in the instruction's metadata, through the module's own frame table."""
    location = module.source_of(instruction)
    return None if location is None else _source_from_location(location)


def is_renumbered(module: Module) -> bool:
    """Whether frame ids of the text do not fit its table: no place of it is stated then."""
    return module.frames is not None and module.frames.numbers is not None


def renumbered_texts(history: ModuleHistory) -> tuple[Renumbered, ...]:
    """The stretches of texts whose frame ids do not fit one table, in order."""
    found: list[Renumbered] = []
    tables = [dump.module.frames for dump in history.dumps]
    for frames, stretch in groupby(range(len(tables)), key=tables.__getitem__):
        positions = list(stretch)
        if frames is not None and frames.numbers is not None:
            found.append(
                Renumbered(
                    first=positions[0],
                    last=positions[-1],
                    rows=tuple(sorted(frames.numbers.items())),
                )
            )
    return tuple(found)


def how_told(module: Module, instruction: Instruction) -> SourceHow | None:
    """How the place that `source_of` gives is known; None where it gives none."""
    source = module.source_of(instruction)
    if source is None:
        return None
    is_inline = instruction.metadata is not None and instruction.metadata.source_file is not None
    return "renumbered" if is_renumbered(module) and not is_inline else "stated"


def repaired_source(
    history: ModuleHistory,
    position: int,
    computation: Computation,
    instruction: Instruction,
    loops: Sequence[LoopHistory] = (),
    namesakes: Namesakes | None = None,
) -> tuple[Source, int, bool] | None:
    """The instruction's place, the position of the dump it stands in, and whether it is stated.

    As `placed_source`, which tells more.
    """
    found = placed_source(history, position, computation, instruction, loops, namesakes)
    if found is None:
        return None
    return found.source, found.dump, found.how in ("stated", "earlier_text")


def placed_source(
    history: ModuleHistory,
    position: int,
    computation: Computation,
    instruction: Instruction,
    loops: Sequence[LoopHistory] = (),
    namesakes: Namesakes | None = None,
) -> Placed | None:
    """The instruction's own place, or what earlier texts and callees tell of it.

    `position` is where the instruction stands. With `loops` (those of this history) a while takes
    the place that its loop had before a pass dropped it. Whoever asks often keeps the `namesakes`
    of the history.
    """
    module = history.dumps[position].module
    told = source_of(module, instruction)
    if told is not None:
        return Placed(told, position, how_told(module, instruction) or "stated")
    if instruction.opcode == "while":
        tracked = _source_of_loop(loops, position, computation, instruction)
        if tracked is not None:
            return tracked
    namesakes = namesakes or Namesakes(history)
    earlier = _source_before(history, position, computation, instruction, namesakes)
    if earlier is not None:
        return earlier
    inferred = source_from_callees(module, instruction)
    return None if inferred is None else Placed(inferred, position, "callees")


def source_from_callees(module: Module, instruction: Instruction) -> Source | None:
    """The place that the called computations point to: an inference, never stated.

    For a while: that of the condition's comparison or the counter's step, which JAX mostly gives
    the line of the loop itself, else the call that all of the body was traced in, else the
    commonest place in the body. For others: the callee's root, else its commonest place.
    """
    if instruction.opcode == "while":
        return _source_inside_loop(module, instruction)
    for _, computation in module.callees(instruction):
        found = _first_source(module, [computation.root]) or _commonest(
            list(_sources_in(module, computation))
        )
        if found is not None:
            return found
    return None


def op_name_of(module: Module, instruction: Instruction) -> str | None:
    """JAX's name of the operation; for a while without one, that of its condition or counter.

    `jit(f)/while/cond/lt` inside the condition names the loop `jit(f)/while`.
    """
    own = _op_name(instruction)
    if own is not None or instruction.opcode != "while":
        return own
    called = dict(module.callees(instruction))
    for role, inside in (("condition", "/cond/"), ("body", "/body/")):
        computation = called.get(role)
        if computation is None:
            continue
        marks = [computation.root] if role == "condition" else _scalar_steps(computation)
        for name in map(_op_name, marks):
            if name is not None and inside in name:
                return name[: name.rindex(inside)]
    return None


def _op_name(instruction: Instruction) -> str | None:
    metadata = instruction.metadata
    return (metadata.op_name or None) if metadata is not None else None


def _source_from_location(location: SourceLocation) -> Source:
    return Source(
        file=location.file,
        line=location.line,
        column=location.column,
        function=location.function,
        frames=tuple(
            Frame(file=frame.file, line=frame.line, function=frame.function)
            for frame in location.frames
        ),
    )


def _source_of_loop(
    loops: Sequence[LoopHistory], position: int, computation: Computation, instruction: Instruction
) -> Placed | None:
    for loop in loops:
        here = loop.occurrences.get(position)
        if (
            here is not None
            and here.name == instruction.name
            and here.computation.name == computation.name
            and loop.source is not None
        ):
            if loop.source_from is None:
                return Placed(loop.source, position, "callees")
            how = "stated" if loop.source_from == position else "earlier_text"
            return Placed(loop.source, loop.source_from, how)
    return None


def _source_inside_loop(module: Module, loop: Instruction) -> Source | None:
    called = dict(module.callees(loop))
    condition, body = called.get("condition"), called.get("body")
    marks = [] if condition is None else [condition.root]
    if body is not None:
        marks.extend(_scalar_steps(body))
    inside = [] if body is None else list(_sources_in(module, body))
    marked = _first_source(module, marks)
    if marked is not None and _is_around(marked, inside):
        return marked
    return _common_caller(inside) or marked or _commonest(inside)


def _source_before(
    history: ModuleHistory,
    position: int,
    computation: Computation,
    instruction: Instruction,
    namesakes: Namesakes,
) -> Placed | None:
    """The place of the same instruction in the nearest earlier text that states one.

    The walk ends where the instruction is not found: a name that comes back after a gap is
    another instruction (the partitioner's round trip numbers all of them anew). So it does where
    the frames were numbered anew: the names were, too.
    """
    renumbered = is_renumbered(history.dumps[position].module)
    shape = instruction.shape.without_layout
    for newest, oldest, earlier in namesakes.before(position, computation.name):
        same = earlier.get(instruction.name)
        if same is None:
            return None
        if same is not instruction and (
            same.opcode != instruction.opcode
            or same.shape.without_layout != shape
            or len(same.operands) != len(instruction.operands)
        ):
            return None
        metadata = same.metadata
        if metadata is None or (metadata.source_file is None and not metadata.stack_frame_id):
            continue
        # What a number of a frame means may change with the text's table.
        for index in range(newest, oldest - 1, -1):
            module = history.dumps[index].module
            if is_renumbered(module) != renumbered:
                return None
            source = source_of(module, same)
            if source is not None:
                return Placed(source, index, "renumbered" if renumbered else "earlier_text")
    return None


def _scalar_steps(body: Computation) -> list[Instruction]:
    """What makes the scalar integer elements of the next iteration: the counters' additions."""
    steps: list[Instruction] = []
    for value in root_elements(body):
        instruction = body.get(value.name)
        if (
            instruction is not None
            and instruction.opcode in ("add", "subtract")
            and not instruction.shape.dimensions
        ):
            steps.append(instruction)
    return steps


def _first_source(module: Module, instructions: Iterable[Instruction]) -> Source | None:
    for instruction in instructions:
        source = source_of(module, instruction)
        if source is not None:
            return source
    return None


def _commonest(sources: Sequence[Source]) -> Source | None:
    places: Counter[tuple[str, int]] = Counter()
    first: dict[tuple[str, int], Source] = {}
    for source in sources:
        place = (source.file, source.line)
        places[place] += 1
        first.setdefault(place, source)
    # Equal counts: the place that stands first in the text.
    return first[max(places, key=lambda place: places[place])] if places else None


def _is_around(place: Source, inside: Sequence[Source]) -> bool:
    """Whether at least half of a body was traced in a call at this place.

    The condition of a `lax.while_loop` is the user's and stands at a line of its own. Texts
    without a frame table (before jaxlib 0.8.2) do not tell, and then it may be.
    """
    framed = [source for source in inside if source.frames]
    around = sum(
        any((frame.file, frame.line) == (place.file, place.line) for frame in source.frames)
        for source in framed
    )
    return 2 * around >= len(framed)


def _common_caller(inside: Sequence[Source]) -> Source | None:
    """The innermost call that all of a loop's body was traced in: the line that made the loop.

    Only texts with a frame table tell. A frame that is every instruction's own place is a line of
    the body, not the call around it.
    """
    if not inside or not all(source.frames for source in inside):
        return None
    shared = set(inside[0].frames).intersection(*(source.frames for source in inside))
    for position, frame in enumerate(inside[0].frames):
        if frame in shared and any(source.frames[0] != frame for source in inside):
            return Source(
                file=frame.file,
                line=frame.line,
                function=frame.function,
                frames=inside[0].frames[position:],
            )
    return None


def _sources_in(module: Module, computation: Computation) -> Iterator[Source]:
    for instruction in computation.instructions:
        source = source_of(module, instruction)
        if source is not None:
            yield source
