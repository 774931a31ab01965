"""The text of the user's program: files that came with the dump, else files in folders nearby.

What came with an upload is shown to whoever sees its report. Folders are those of the person who
runs the server, for dumps named on its command line, and those of the samples.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from app.bundle import Bundle
from app.ingest.source_lines import CONTEXT_LINES, read_program, read_source_lines
from app.model.report import Report
from app.model.source_lines import (
    NO_SOURCE_LINES,
    ProgramText,
    Snippet,
    SourceLines,
    lines_of_program,
)
from app.report.wording import file_name
from app.views.source_files import matching_file
from app.web.samples import folder_of_sample
from app.web.services import Services


def folders_of(services: Services, report_id: str) -> tuple[Path, ...]:
    """Where source files may be looked up: the owner's folders, or that of a sample."""
    own = services.own_folders.get(report_id)
    if own is not None:
        return own
    sample = folder_of_sample(services.store, report_id)
    return () if sample is None else (sample,)


def program_text(
    bundle: Bundle, folders: Sequence[Path], named: Collection[str]
) -> Callable[[str], ProgramText | None]:
    """Finds the text of a file: from the upload, else, where it is `named`, from folders nearby."""

    def text_of(file: str) -> ProgramText | None:
        uploaded = _uploaded(bundle, file)
        if uploaded is not None:
            return uploaded
        found = read_program([file], folders).get(file) if folders and file in named else None
        # Where it lies on this server is nobody's business but its owner's, who knows.
        return None if found is None else replace(found, origin=f"{file_name(file)} on this server")

    return text_of


def lines_of_findings(report: Report, bundle: Bundle, folders: Sequence[Path]) -> SourceLines:
    """The lines around the places that the findings name, where the text of the file is at hand."""
    nearby = read_source_lines(report, folders) if folders else NO_SOURCE_LINES
    found = {
        place: replace(snippet, file=f"{file_name(snippet.file)} on this server")
        for place, snippet in nearby.items()
    }
    if not bundle.program_names():
        return found
    sources = [item.source for finding in report.findings for item in finding.culprits]
    for source in sources:
        text = _uploaded(bundle, source.file) if source is not None else None
        if source is not None and text is not None and 1 <= source.line <= len(text.lines):
            first = max(1, source.line - CONTEXT_LINES)
            lines = text.lines[first - 1 : source.line + CONTEXT_LINES]
            found[source.file, source.line] = Snippet(first, lines, text.origin)
    return found


def _uploaded(bundle: Bundle, file: str) -> ProgramText | None:
    names = bundle.program_names()
    position = matching_file(file, names)
    if position is None:
        return None
    lines = lines_of_program(bundle.program_text(position))
    return ProgramText(lines, f"{names[position]} of the upload")
