"""Which passes are worth switching off, the likeliest first."""

from collections.abc import Iterable
from pathlib import Path

from app.ingest.names import read_file_name
from app.knowledge.passes import passes_of_file
from app.model.dump import DumpName, ModuleHistory
from app.model.report import Failure

_MARKS = ("pipeline-start", "pipeline-end")


def suspect_passes(failure: Failure | None, names: Iterable[DumpName]) -> tuple[str, ...]:
    """The pass of the failure, those that run its code, then those of the dump, the last first.

    Marks such as `pipeline-start`, which are no passes, are left out.
    """
    blamed: list[str] = []
    if failure is not None:
        blamed += [failure.pass_] if failure.pass_ else []
        blamed += passes_of_file(failure.file, failure.condition) if failure.file else ()
        blamed += passes_of_file(failure.file) if failure.file else ()
    entered = [word for name in names for word in (name.after, name.before) if word]
    listed = dict.fromkeys([*blamed, *reversed(entered)])
    return tuple(name for name in listed if not name.startswith(_MARKS))


def names_of_history(history: ModuleHistory) -> tuple[DumpName, ...]:
    """The file names of a module's texts, in order."""
    return tuple(dump.name for dump in history.dumps)


def last_pass(names: Iterable[DumpName]) -> str:
    """The pass that left the last of these texts, "" where none tells."""
    entered = [name.after for name in names if name.after]
    return next((word for word in reversed(entered) if not word.startswith(_MARKS)), "")


def names_in_folder(folder: Path) -> tuple[DumpName, ...]:
    """The file names of a dump that a replay left, in the order of their steps."""
    found = (read_file_name(path.name).name for path in folder.glob("*.txt"))
    return tuple(sorted(found, key=lambda name: name.step if name.step is not None else -1))
