"""Pages of a report beside its own: the program and memory, one address each below the report's."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import HTMLResponse

from app.bundle import Bundle
from app.errors import NotFound
from app.ingest.collection import collection_paused
from app.model.report import Report
from app.report.memory import memory_page
from app.report.source import SourcePlace, program_of, source_page
from app.report.source_nearest import nearest_of
from app.views.source_view import SourceReading, SourceText
from app.web.program import folders_of, program_text
from app.web.rendering import Site
from app.web.services import Services, services_of
from app.web.subpath import root
from app.web.texts import InReader, module_with_texts

router = APIRouter(prefix="/r/{report_id}", include_in_schema=False)

InServices = Annotated[Services, Depends(services_of)]
Name = Annotated[str, Query(max_length=4096)]
Position = Annotated[int | None, Query(alias="pass", ge=0, le=1_000_000)]

_MOST_EARLIER_TEXTS = 6
_MOST_EARLIER_BYTES = 8 << 20


@router.api_route("/source", methods=["GET", "HEAD"])
def source(
    reader: InReader,
    services: InServices,
    report_id: str,
    module: Name = "",
    file: Name = "",
    line: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
    position: Position = None,
) -> HTMLResponse:
    """The lines of the program with what they became, and all HLO of one of them, in any text."""
    with reader.bundle() as bundle:
        report = bundle.report()
        chosen = module_with_texts(report, module)
        last = len(chosen.dumps) - 1
        files = program_of(report, chosen.id).files
        if line and not file and files:
            file = files[0].file
        place = SourcePlace(
            report=f"{root()}/r/{report_id}",
            module=chosen,
            text=last if position is None else position,
            file=file,
            line=line if file else 0,
        )
        if place.text > last:
            raise NotFound(f"there is no text {place.text} of module {chosen.id!r}")
        found = None
        if place.line or place.text != last or not files:
            found = _text_of(services, bundle, place)
        known = {(each.file, line.line) for each in files for line in each.lines}
        known |= set(found.figures) if found else set()
        nearest = nearest_of(place.file, place.line, known)
        if nearest.file != place.file:
            is_known = (nearest.file, place.line) in known
            place = replace(place, file=nearest.file, line=place.line if is_known else 0)
            found = _text_of(services, bundle, place) if found else None
        page = source_page(
            report,
            place,
            found,
            program_text(bundle, folders_of(services, report_id), _named_files(report, found)),
            nearest=nearest,
            base_context={"site": Site()},
        )
    return HTMLResponse(page)


def _named_files(report: Report, found: SourceText | None) -> frozenset[str]:
    """The files that the report or the text itself names; an address may name any."""
    lines = (file.file for program in report.programs for file in program.files)
    return frozenset(lines) | {file for file, _ in (found.figures if found else ())}


def _text_of(services: Services, bundle: Bundle, place: SourcePlace) -> SourceText:
    """What the text of `place` has, with as many texts before it as are soon read."""

    def read() -> SourceReading:
        sizes = [dump.bytes for dump in place.module.dumps]
        first, room = place.text, _MOST_EARLIER_BYTES
        while first and place.text - first < _MOST_EARLIER_TEXTS and room >= sizes[first - 1]:
            first -= 1
            room -= sizes[first]
        indexes = range(first, place.text + 1)
        with collection_paused():
            return SourceReading([bundle.parse(place.module.id, index) for index in indexes])

    reading = services.readings.of(bundle, (place.module.id, place.text), read)
    return reading.of_line((place.file, place.line) if place.line else None)


@router.api_route("/memory", methods=["GET", "HEAD"])
def memory(reader: InReader, report_id: str, module: Name = "") -> HTMLResponse:
    """Where the bytes of a module go: over the schedule, at the peak, in its loops."""
    with reader.bundle() as bundle:
        page = memory_page(
            bundle.report(),
            here=f"{root()}/r/{report_id}",
            module=module,
            base_context={"site": Site()},
        )
    return HTMLResponse(page)
