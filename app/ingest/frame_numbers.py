"""Frame ids that do not belong to the table of their text, and what can be known of them.

From jaxlib 0.8.2 to 0.8.3 the pass `shardy-xla` puts computations with newly counted frame ids into
a module and leaves the module its old tables (xla/service/spmd/shardy/shardy_xla_pass.cc,
createFromProtoAndReplaceComputations): each id then names a line, and mostly a wrong one. Given the
texts of one module in order, this finds where that happened by the texts themselves, and gives each
such text tables that hold only the ids whose meaning the names of the operations leave no doubt of.
"""

from collections.abc import Sequence

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
        self._sound: Module | None = None
        self._printed: FrameTables | None = None
        self._mended: FrameTables | None = None
        self._before: Module | None = None

    def read(self, module: Module) -> Module:
        """The module, or one of its computations with tables that tell nothing wrong."""
        frames, before = module.frames, self._before
        self._before = module
        if frames is None:
            return module
        if frames is not self._printed:
            self._printed, self._mended = frames, self._going_on(frames)
        elif self._mended is None and self._sound is not None and _is_renewed(before, module):
            self._mended = _mended(frames, self._sound, module)
        if self._mended is not None:
            return module.with_frames(self._mended)
        self._sound = module
        return module

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


def _is_renewed(before: Module | None, module: Module) -> bool:
    """Whether at most half of the computations are those of the text before.

    A pass that reads the module anew from another form counts all of its names anew.
    """
    if before is None:
        return False
    kept = set(map(id, before.computations))
    same = sum(id(computation) in kept for computation in module.computations)
    return 2 * same <= len(module.computations)


def _mended(frames: FrameTables, sound: Module, module: Module) -> FrameTables | None:
    """Tables for the ids of `module`; None where nothing speaks against those it has."""
    before, after = _meanings(sound), _meanings(module)
    if all(ids & before.get(key, ids) for key, ids in after.items()):
        return None
    left: dict[int, set[int]] = {}
    for key, ids in after.items():
        known = before.get(key)
        if known is None:
            continue
        for number in ids:
            # What stands at several places may each be of any of them.
            left[number] = left[number] & known if number in left else set(known)
    return frames.renumbered({number: min(rows) for number, rows in left.items() if len(rows) == 1})


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
