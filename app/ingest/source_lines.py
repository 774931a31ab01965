"""The lines of the user's program around the places a report names, where the files are at hand.

Only for dumps that the user names on the command line, on the user's own machine: nothing that
comes in by upload has its files opened. A file is taken from the path in the dump, or, where that
does not exist, from a folder nearby by its name.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from app.model.report import Report, Source
from app.model.source_lines import ProgramText, Snippet, SourceLines, lines_of_program

CONTEXT_LINES = 2
"""Lines shown before and after a place."""

_MAX_FILE_BYTES = 4 << 20


def read_source_lines(report: Report, nearby: Sequence[Path]) -> SourceLines:
    """A snippet for every source place of the report's findings whose file can be read.

    `nearby` are folders to look in; the current one is always searched last.
    """
    folders = [*dict.fromkeys(nearby), Path()]
    found: dict[tuple[str, int], Snippet] = {}
    for source in _places(report):
        key = (source.file, source.line)
        if key not in found:
            snippet = _snippet(source, folders)
            if snippet is not None:
                found[key] = snippet
    return found


def read_program(files: Iterable[str], nearby: Sequence[Path]) -> dict[str, ProgramText]:
    """The texts of those of `files`, named as in the dump, that can be read; as above."""
    folders = [*dict.fromkeys(nearby), Path()]
    found: dict[str, ProgramText] = {}
    for file in files:
        for path in _candidates(file, folders):
            lines = _lines_of(path)
            if lines:
                found[file] = ProgramText(lines, origin=str(path))
                break
    return found


def _places(report: Report) -> Iterable[Source]:
    for finding in report.findings:
        for culprit in finding.culprits:
            if culprit.source is not None:
                yield culprit.source


def _snippet(source: Source, folders: Sequence[Path]) -> Snippet | None:
    for path in _candidates(source.file, folders):
        lines = _lines_of(path)
        if 1 <= source.line <= len(lines):
            first = max(1, source.line - CONTEXT_LINES)
            return Snippet(
                first_line=first,
                lines=lines[first - 1 : source.line + CONTEXT_LINES],
                file=str(path),
            )
    return None


def _candidates(name: str, folders: Sequence[Path]) -> Iterable[Path]:
    posix = PurePosixPath(name.replace("\\", "/"))
    yield Path(name)
    if posix.name and posix.name not in (".", ".."):
        yield from (folder / posix.name for folder in folders)


def _lines_of(path: Path) -> tuple[str, ...]:
    try:
        if not path.is_file() or path.stat().st_size > _MAX_FILE_BYTES:
            return ()
        return lines_of_program(path.read_text("utf-8", "backslashreplace"))
    except (OSError, ValueError):
        return ()
