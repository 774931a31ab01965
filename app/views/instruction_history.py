"""Where an instruction of a text comes from: followed back through the texts before it.

Takes a way to get texts and modules of one dump history, since most texts hold the instruction's
line as it is and need no parsing. One that had its name, opcode and computation already is taken
for the same without more ado, as matching takes it nearly always; only else are two texts matched.
Reads nothing on its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from app.analysis.async_pairs import WRAPPERS, is_asynchronous
from app.analysis.diff import Differ
from app.analysis.fingerprints import operation_of
from app.analysis.loop_events import RENAMED_TO
from app.errors import NotFound
from app.model.facts import ComputationDiff, ModuleDiff
from app.model.report import Loop, Struct
from app.views.copy_origins import Found, Kind, origin_of
from app.views.cut import shown_name
from hlo_parser import Computation, Instruction, Module

MAX_BYTES_MATCHED = 48 << 20
"""Bytes of texts that are matched before it is given up, some seconds' work."""

StageKind = Literal["made", "first_seen", "copied", "replaced", "moved", "changed", "renamed"]
Ending = Literal["made", "first_text", "given_up"]


class Stage(Struct, frozen=True, kw_only=True):
    """What one pass did: `dump` is the text after it, in which the instruction is `after`.

    `before` is "" where the pass made it, and where it is `first_seen`: one like it is gone since,
    which is not surely the same; of a copy it is the original, of one that `replaced` another what
    is gone. `what` names the parts that differ, `how` says why the two were taken for one.
    `turned` is what a collective became, if it was the other. `alike` are those of the text before
    that a collective `made` may be a copy of, where several may.
    """

    dump: int
    kind: StageKind
    before: str = ""
    after: str
    opcode: str
    computation: str
    line: int
    what: tuple[str, ...] = ()
    how: str = ""
    turned: Literal["", "asynchronous", "synchronous"] = ""
    alike: tuple[str, ...] = ()


class InstructionHistory(Struct, frozen=True, kw_only=True):
    """The stages of an instruction, the latest first, and why there are no earlier ones."""

    instruction: str
    opcode: str
    stages: tuple[Stage, ...]
    ending: Ending


@dataclass(frozen=True, slots=True)
class _Place:
    computation: str
    name: str


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one module: the modules, the texts themselves, and where a text changed.

    `changed` are the positions of texts that differ from the one before, ascending. `loops` are
    those that were followed through the texts, each as its name in every text that holds it.
    """

    parse: Callable[[int], Module]
    text: Callable[[int], str]
    changed: Sequence[int]
    loops: Sequence[Mapping[int, str]] = ()

    def loop_before(self, number: int, name: str) -> str | None:
        """The name, in the text before, of the loop that bears `name` in the text `number`."""
        found = [names for names in self.loops if names.get(number) == name]
        return found[0].get(number - 1) if len(found) == 1 else None


def names_of_loop(loop: Loop) -> Mapping[int, str]:
    """What a loop is called, by the position of the text."""
    renames = {
        event.dump: event.detail.partition(RENAMED_TO)[2]
        for event in loop.events
        if event.kind == "renamed"
    }
    names: dict[int, str] = {}
    name = loop.names[0] if loop.names else loop.name
    for number in range(loop.first_dump, loop.last_dump + 1):
        names[number] = name = renames.get(number, name)
    return names if name == loop.name else {}


def instruction_history(
    texts: Texts, dump: int, computation: str, instruction: str
) -> InstructionHistory:
    """Follow an instruction of the text `dump` back to the pass that made it.

    Raises:
        NotFound: the text holds no such instruction.
    """
    module = texts.parse(dump)
    place = _Place(computation, instruction)
    item = _find(module, place)
    if item is None:
        raise NotFound(f"there is no instruction {instruction!r}", place=f"{computation}")
    stages: list[Stage] = []
    ending: Ending = "first_text"
    search = _Search(texts)
    line = item.text
    for number in sorted((n for n in texts.changed if 0 < n <= dump), reverse=True):
        if _stands_in(texts.text(number - 1), place.computation, line):
            continue
        before, after = texts.parse(number - 1), texts.parse(number)
        place = _settled(after, place, line)
        if _holds(before, place, line):
            continue
        stage, origin = search.step(before, after, place, number)
        if search.is_given_up:
            ending = "given_up"
            break
        found = None if origin is None else _find(before, origin)
        if stage is not None:
            stages.append(_with_turn(stage, (before, found), (after, _find(after, place))))
        if origin is None or found is None:
            ending = "made"
            break
        place, line = origin, found.text
    return InstructionHistory(
        instruction=shown_name(instruction),
        opcode=item.opcode,
        stages=tuple(stages),
        ending=ending,
    )


def _with_turn(
    stage: Stage,
    before: tuple[Module, Instruction | None],
    after: tuple[Module, Instruction | None],
) -> Stage:
    """The stage with what a collective became by it."""
    was, now = is_asynchronous(*before), is_asynchronous(*after)
    if was is None or now is None or was == now:
        return stage
    return msgspec.structs.replace(stage, turned="asynchronous" if now else "synchronous")


def _stands_in(text: str, computation: str, line: str) -> bool:
    """Whether a computation of that name holds the line, as a whole one that XLA indented.

    Other computations often hold the same: `%param_0 = f32[8]{0} parameter(0)` stands in most
    fusions.
    """
    at = text.find(f"\n  {line}\n")
    if at < 0:
        return False
    head = _head_of(text, computation)
    if head < 0:
        return False
    end = text.find("\n}", head)
    return text.find(f"\n  {line}\n", head, len(text) if end < 0 else end + 1) >= 0


def _head_of(text: str, computation: str) -> int:
    """Where the head of a computation stands, -1 for nowhere; XLA begins a line with it."""
    for before in ("\n%", "\nENTRY %", "\n", "\nENTRY "):
        for behind in (" (", " {"):
            head = text.find(f"{before}{computation}{behind}")
            if head >= 0:
                return head
    return -1


def _find(module: Module, place: _Place) -> Instruction | None:
    computation = module.get(place.computation)
    return None if computation is None else computation.get(place.name)


def _holds(module: Module, place: _Place, line: str) -> bool:
    found = _find(module, place)
    return found is not None and found.text == line


def _settled(module: Module, place: _Place, line: str) -> _Place:
    """The place in this text: the computation may have got another name since."""
    if _holds(module, place, line):
        return place
    for computation in module.computations:
        item = computation.get(place.name)
        if item is not None and item.text == line:
            return replace(place, computation=computation.name)
    return place


def _same_loop(
    texts: Texts, modules: tuple[Module, Module], place: _Place, number: int
) -> tuple[_Place | None, Stage | None]:
    """Where a loop that got another name stood before; loops are matched by what they do."""
    before, after = modules
    item = _find(after, place)
    if item is None or item.opcode != "while":
        return None, None
    name = texts.loop_before(number, place.name)
    holders = [] if name in (None, place.name) else list(_holding_loop(before, name or ""))
    stage = _made(after, place, number)
    if len(holders) != 1 or stage is None:
        return None, None
    return holders[0], _told(stage, "renamed", holders[0].name, (), "the same loop")


def _holding_loop(module: Module, name: str) -> Iterator[_Place]:
    for computation in module.computations:
        item = computation.get(name)
        if item is not None and item.opcode == "while":
            yield _Place(computation.name, name)


def _has_like(before: Module, after: Module, diff: ModuleDiff, place: _Place) -> bool:
    """Whether an operation of the same kind and origin is gone, which this may be in a new form."""
    made = _find(after, place)
    if made is None or made.metadata is None or not made.metadata.op_name:
        return False
    for computation, names in _gone(before, diff):
        for name in names:
            item = computation.get(name)
            if (
                item is not None
                and item.opcode == made.opcode
                and item.metadata is not None
                and item.metadata.op_name == made.metadata.op_name
            ):
                return True
    return False


def _gone(before: Module, diff: ModuleDiff) -> Iterator[tuple[Computation, Sequence[str]]]:
    """What only the text before holds, by computation."""
    for found in diff.computations:
        computation = None if found.before is None else before.get(found.before)
        if computation is None:
            continue
        if found.after is None:
            yield computation, [item.name for item in computation.instructions]
        else:
            yield computation, found.removed


def _same_name(before: Module, after: Module, place: _Place, number: int) -> Stage | None:
    """The stage of one that had its name, opcode and computation before."""
    here, there = _find(before, place), _find(after, place)
    if here is None or there is None or here.opcode != there.opcode:
        return None
    keys = dict.fromkeys((*here.attributes, *there.attributes))
    parts = {
        "shape": (here.shape.without_layout, there.shape.without_layout),
        "layout": (here.shape.text, there.shape.text),
        "operands": (here.operands, there.operands),
        **{key: (here.attributes.get(key), there.attributes.get(key)) for key in keys},
    }
    what = [word for word, (old, new) in parts.items() if old != new]
    if "shape" in what:
        what.remove("layout")
    stage = _made(after, place, number)
    return stage and _told(stage, "changed", place.name, tuple(what), "same name")


def _made(after: Module, place: _Place, number: int) -> Stage | None:
    item, computation = _find(after, place), after.get(place.computation)
    if item is None or computation is None:
        return None
    return Stage(
        dump=number,
        kind="made",
        after=shown_name(place.name),
        opcode=item.opcode,
        computation=shown_name(place.computation),
        line=after.line_of(computation, item),
    )


class _Search:
    """What one pass did to an instruction: by names where they tell, else by matching two texts.

    `is_given_up` once more than `MAX_BYTES_MATCHED` would have to be matched.
    """

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._room = MAX_BYTES_MATCHED
        self.is_given_up = False

    def step(
        self, before: Module, after: Module, place: _Place, number: int
    ) -> tuple[Stage | None, _Place | None]:
        """The stage, None for no change of its own, and where the instruction stood before."""
        origin, stage = _same_loop(self._texts, (before, after), place, number)
        if stage is None:
            origin, stage = place, _same_name(before, after, place, number)
        if stage is not None:
            return stage, origin
        item = _find(after, place)
        # What runs in a fusion may have stood there by itself.
        if item and item.opcode not in WRAPPERS and not _has_operation(before, item):
            return _made(after, place, number), None
        self._room -= len(self._texts.text(number - 1)) + len(self._texts.text(number))
        self.is_given_up = self._room < 0
        return (None, None) if self.is_given_up else _matched(before, after, place, number)


def _has_operation(module: Module, wanted: Instruction) -> bool:
    """Whether anything in a text is of that operation, or of that name: nothing else may be it."""
    operation = operation_of(wanted)
    return any(
        item.name == wanted.name or operation_of(item) == operation
        for computation in module.computations
        for item in computation.instructions
    )


def _matched(
    before: Module, after: Module, place: _Place, number: int
) -> tuple[Stage | None, _Place | None]:
    """What the matching of the two texts says, and where the instruction stood before."""
    differ = Differ()
    one = differ.of_one(before, after, place.computation, place.name)
    if one is not None:
        diff = ModuleDiff(computations=(one,), unchanged=0)
    else:
        diff = differ.diff(before, after)
    stage, origin = _stage_of(after, diff, place, number)
    if stage is None or stage.kind != "made":
        return stage, origin
    if one is None and _has_like(before, after, diff, place):
        return msgspec.structs.replace(stage, kind="first_seen"), origin
    return _copied(stage, *origin_of(before, after, place.computation, place.name))


def _copied(made: Stage, kind: Kind, origins: Sequence[Found]) -> tuple[Stage, _Place | None]:
    """The stage of what was made: as a copy where only one of the text before can be its origin."""
    if kind != "made":
        origin = _Place(origins[0][0].name, origins[0][1].name)
        how = "known by operation, shapes, devices and line"
        return _told(made, kind, origin.name, (), how), origin
    names = tuple(shown_name(item.name) for _, item in origins)
    return msgspec.structs.replace(made, alike=names), None


def _stage_of(
    after: Module, diff: ModuleDiff, place: _Place, number: int
) -> tuple[Stage | None, _Place | None]:
    """What the pass did to the instruction, and where it stood before; None for nowhere."""
    made = _made(after, place, number)
    if made is None:
        return None, None
    found = next((each for each in diff.computations if each.after == place.computation), None)
    if found is None:
        # The line differs in names of what it calls, or the computation in its own.
        names = {new: old for old, new in diff.renamed}
        return None, replace(place, computation=names.get(place.computation, place.computation))
    for kind, origin, what, how in _origins(found, place):
        return _told(made, kind, origin.name, what, how), origin
    if found.before is None or place.name in found.added:
        return made, None
    return None, _Place(found.before, place.name)


def _told(made: Stage, kind: StageKind, before: str, what: tuple[str, ...], how: str) -> Stage:
    """The stage of one that was there before."""
    return msgspec.structs.replace(made, kind=kind, before=shown_name(before), what=what, how=how)


def _origins(
    diff: ComputationDiff, place: _Place
) -> Iterator[tuple[StageKind, _Place, tuple[str, ...], str]]:
    """What the matching says of the instruction, the most telling first."""
    for copied in diff.copies:
        if place.name in copied.copies:
            yield "copied", _Place(copied.computation, copied.instruction), (), ""
    for pair in diff.moved_in:
        if pair.after == (place.computation, place.name):
            yield "moved", _Place(*pair.before), (), ""
    before = diff.before
    if before is None:
        return
    for change in diff.changed:
        if change.after == place.name:
            yield "changed", _Place(before, change.before), change.what, change.how
    for old, new in diff.renamed:
        if new == place.name:
            yield "renamed", _Place(before, old), (), ""
