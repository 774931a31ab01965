"""What is said of an input as a whole, once all its members are read.

Given what was read and the tally; adds remarks to the tally, and reads nothing itself.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from app.errors import NotADump
from app.ingest.archive import Opened, nothing_of_xla
from app.ingest.history import ParsedText
from app.ingest.inventory import Inventory
from app.ingest.member_names import show_name
from app.ingest.soundness import faults_of
from app.model.dump import ModuleHistory


def no_dump(opened: Opened, inventory: Inventory) -> NotADump:
    """The error for an input in which nothing is XLA's."""
    found = ", ".join(f"{n} {kind}" for kind, n in sorted(inventory.kinds.items()))
    if opened.is_archive:
        left_out = ", ".join(_left_out(inventory))
        return NotADump(
            f"none of the files is XLA's ({found or 'no file at all'})"
            + (f"; left out: {left_out}" if left_out else ""),
            place=opened.name,
            code="no_xla_files",
            next_step="Looked for module_NNNN.NAME.*.txt and other files of --xla_dump_to, "
            "and for texts that start with HloModule.",
        )
    return nothing_of_xla(opened.name)


def _left_out(inventory: Inventory) -> Iterator[str]:
    """What was not looked into; what was, and is nothing of XLA's, is counted by its kind."""
    for first, more in inventory.left_out():
        if first.code != "unknown_name":
            others = f" and {more:,} more" if more else ""
            yield f"{show_name(first.name[:200])}{others} ({first.reason})"


def remark_on_folders(inventory: Inventory, texts: Sequence[ParsedText]) -> None:
    """Says where several folders hold a module of one number."""
    folders: dict[int, set[str]] = defaultdict(set)
    for text in texts:
        if text.name.module_id is not None:
            folders[text.name.module_id].add(text.name.folder)
    count = max((len(names) for names in folders.values()), default=0)
    if count > 1:
        inventory.remark(
            "several_dumps", f"{count} folders hold a module of the same number; all are kept"
        )


def remark_on_steps(inventory: Inventory, modules: Sequence[ModuleHistory]) -> None:
    """Says where several texts of a module have one number."""
    for module in modules:
        steps = [dump.name.step for dump in module.dumps if dump.name.step is not None]
        if len(set(steps)) < len(steps):
            inventory.remark(
                "colliding_steps",
                f"several texts of {module.id} have one number: they may come from "
                "several processes that wrote to one folder",
            )


def remark_on_frames(inventory: Inventory, modules: Sequence[ModuleHistory]) -> None:
    """Says of how many texts the frame ids do not fit the table, and from which pass on."""
    unfit = [
        dump
        for module in modules
        for dump in module.dumps
        if dump.module.frames is not None and dump.module.frames.numbers is not None
    ]
    if unfit:
        count = len(unfit)
        texts = "1 text does" if count == 1 else f"{count:,} texts do"
        inventory.remark(
            "frame_ids",
            f"frame ids of {texts} not fit their table, from {show_name(unfit[0].file)} on: XLA "
            "counted them anew and kept the old table; lines there are inferred or not known",
        )


def note_faults(inventory: Inventory, modules: Sequence[ModuleHistory]) -> None:
    """Notes what does not hold together in the last text of each module."""
    # The last text stands for all: what is wrong in an earlier one is hardly mended by a pass.
    for module in modules:
        for dump in module.dumps[-1:]:
            for code, what in faults_of(dump.module):
                inventory.note(code, f"{show_name(what[:200])} in {dump.file}")
