"""Frame ids that do not belong to the table of their text, and what can be known of them.

Up to jaxlib 0.8.3 the pass `shardy-xla` puts computations with newly counted frame ids in a module
and leaves the module its old tables (xla/service/spmd/shardy/shardy_xla_pass.cc,
createFromProtoAndReplaceComputations): each id then names a line, and mostly a wrong one. Texts
have tables since 0.8.2, protos before. Given the texts of one module in order, this finds where
that happened by the texts themselves, and gives each such text tables that hold only the ids whose
meaning the names of the operations and their order leave no doubt of.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from app.ingest.frame_pairs import paired_ids
from hlo_parser import FrameTables, Module

Meanings = dict[str, set[int]]
"""The frame ids under each name of an operation, which passes hand on together."""


def with_sound_frames(modules: Sequence[Module]) -> tuple[Module, ...]:
    """The modules, those whose ids are of another numbering than their tables with mended tables.

    A module that is as it should be is given back itself.
    """
    reader = _Reader()
    return tuple(map(reader.read, modules))


class _Reader:
    """Reads the texts of one module from the first to the last."""

    def __init__(self) -> None:
        self._printed: FrameTables | None = None
        self._mended: FrameTables | None = None
        # What sound texts with these tables say, as far as it was needed.
        self._known: Meanings = {}
        self._sound: Module | None = None
        self._before: Module | None = None

    def read(self, module: Module) -> Module:
        """The module, or one of its computations with tables that tell nothing wrong."""
        frames, before = module.frames, self._before
        self._before = module
        if frames is None:
            return module
        if not _is_same(frames, self._printed):
            self._mended = self._going_on(frames)
            self._printed, self._known, self._sound = frames, {}, None
        elif self._mended is None and _is_renewed(before, module):
            self._mended = self._mend(frames, module)
        if self._mended is not None:
            return module.with_frames(self._mended)
        self._sound = module
        return module

    def _mend(self, frames: FrameTables, module: Module) -> FrameTables | None:
        """Tables for the ids of `module`; None where nothing speaks against those it has."""
        found = _meanings(module)
        # All sound texts of these tables mean the same by an id: the nearest is only read where
        # what was read for another does not do.
        if _speak_against(self._known, found) or not self._known:
            nearest = {} if self._sound is None else _meanings(self._sound)
            _add(self._known, nearest)
            if self._sound is not None and _speak_against(self._known, found):
                paired = paired_ids(self._sound, module)
                return frames.renumbered(_rows(nearest, found, paired))
        _add(self._known, found)
        return None

    def _going_on(self, frames: FrameTables) -> FrameTables | None:
        """What becomes of mended tables where a pass has added rows; None for other tables.

        New rows stand behind the old ones and their ids are counted from there.
        """
        numbers = None if self._mended is None else self._mended.numbers
        printed = self._printed
        if numbers is None or printed is None or not frames.extends(printed):
            return None
        added = range(len(printed) + 1, len(frames) + 1)
        return frames.renumbered({**numbers, **{number: number for number in added}})


def _is_same(frames: FrameTables, before: FrameTables | None) -> bool:
    """Whether two texts have equal tables, be they shared or not."""
    if frames is before or before is None:
        return frames is before
    return len(frames) == len(before) and frames.extends(before)


def _is_renewed(before: Module | None, module: Module) -> bool:
    """Whether at most half of the computations are those of the text before.

    A pass that reads the module anew from another form counts all of its names anew.
    """
    if before is None:
        return False
    kept = set(map(id, before.computations))
    same = sum(id(computation) in kept for computation in module.computations)
    return 2 * same <= len(module.computations)


def _speak_against(known: Meanings, found: Meanings) -> bool:
    """Whether a name that was known has none of the ids that it had."""
    return not all(ids & known.get(name, ids) for name, ids in found.items())


def _rows(known: Meanings, found: Meanings, paired: Mapping[int, set[int]]) -> dict[int, int]:
    """The row that each id means, where nothing leaves a doubt of it.

    Names come first: an id is the one that all names which have it leave. Where they leave several
    (one function called at two lines), the pairs of instructions decide, if they gainsay no name
    and no two ids are of one row.
    """
    left: dict[int, set[int]] = {}
    for name, ids in found.items():
        rows = known.get(name)
        if rows is None:
            continue
        for number in ids:
            # What has one name at several places may each be of any of them.
            left[number] = left[number] & rows if number in left else set(rows)
    sure = {number: min(rows) for number, rows in left.items() if len(rows) == 1}
    if any(row not in paired.get(number, {row}) for number, row in sure.items()):
        return sure
    chosen = {
        number: min(rows)
        for number, rows in paired.items()
        if len(rows) == 1 and rows <= left.get(number, set())
    }
    taken = Counter({**sure, **chosen}.values())
    return sure | {number: row for number, row in chosen.items() if taken[row] == 1}


def _add(known: Meanings, found: Meanings) -> None:
    for name, ids in found.items():
        known.setdefault(name, set()).update(ids)


def _meanings(module: Module) -> Meanings:
    distinct = {
        instruction.attribute_list
        for computation in module.computations
        for instruction in computation.instructions
    }
    found: Meanings = {}
    for attributes in distinct:
        metadata = attributes.metadata
        if metadata is not None and metadata.op_name and metadata.stack_frame_id:
            found.setdefault(metadata.op_name, set()).add(metadata.stack_frame_id)
    return found
