"""The page of the user's program: its lines with what a compile made of them.

Takes a report, what `app.views.source_view` found in one text, and the lines of the files where
they are at hand; gives HTML that needs no script. Reads no bundle and no file.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from app.analysis.source_figures import Figures, Line
from app.model.program import ProgramLines, SourceLine
from app.model.report import Module, Report
from app.model.source import SourceHow
from app.model.source_lines import ProgramText
from app.report.graph import OptionView
from app.report.html import page_environment
from app.report.source_nearest import NOTHING_MISSING, Nearest
from app.report.source_strip import neighbours_of, strips_of
from app.report.source_views import DetailView, FileView, LineView, MadeView, SourcePage
from app.report.verdict import module_labels
from app.report.views import address_of, view_links
from app.report.wording import (
    code_line,
    counted,
    file_name,
    legible,
    numbered_pass,
    operations_text,
    size_text,
)
from app.views.graph_view import kind_of
from app.views.source_view import MadeInstruction, SourceText

HOW_WORDS: Mapping[SourceHow, str] = {
    "stated": "stated",
    "earlier_text": "stated in an earlier text",
    "renumbered": "inferred: its frame id does not fit the table of its text",
    "callees": "inferred from what it runs",
    "loop_body": "inferred from the body of its loop",
    "operand": "inferred from its operand",
    "users": "inferred from its users",
    "caller": "inferred from what runs it",
}
_MOST_LINES = 3_000
_AROUND = 6
_MOST_FILES = 200


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """What is shown, as the address says it; `file` is "" and `line` 0 where none is chosen."""

    report: str
    module: Module
    text: int
    file: str = ""
    line: int = 0

    def href(self, **changes: object) -> str:
        """The address of this place with some parts changed, at the line where there is one."""
        parts: dict[str, object] = {
            "module": self.module.id,
            "file": self.file,
            "line": self.line,
            "pass": self.text,
            **changes,
        }
        line = parts["line"] or ""
        anchor = f"#L{line}" if line else ""
        return address_of(f"{self.report}/source", {**parts, "line": line}) + anchor


def source_page(
    report: Report,
    place: SourcePlace,
    found: SourceText | None,
    program: Callable[[str], ProgramText | None],
    *,
    nearest: Nearest = NOTHING_MISSING,
    base_context: Mapping[str, object] | None = None,
) -> str:
    """The page as HTML.

    `found` is what the text of `place` has; None takes the report's figures of the last text.
    `program` gives the text of a file, None where it is not at hand. `nearest` says what `place`
    stands for, where it is not what the address asks for.
    """
    page = _Pager(report, place, found, program, nearest).page()
    return page_environment().get_template("source.html").render(page=page, **(base_context or {}))


def program_of(report: Report, module: str) -> ProgramLines:
    """The lines that the report has of a module; none where it has nothing."""
    empty = ProgramLines(module=module, dump=0)
    return next((each for each in report.programs if each.module == module), empty)


class _Pager:
    """Makes the page of one place: names are shown legible, addresses hold them as they are."""

    def __init__(
        self,
        report: Report,
        place: SourcePlace,
        found: SourceText | None,
        program: Callable[[str], ProgramText | None],
        nearest: Nearest,
    ) -> None:
        self._report = report
        self._nearest = nearest
        self._lines = program_of(report, place.module.id)
        self._known = {
            (file.file, line.line): line for file in self._lines.files for line in file.lines
        }
        self._figures = _reported(self._known) if found is None else dict(found.figures)
        self._found = found
        self._place = replace(place, file=place.file or self._first_file())
        self._text = program(self._place.file) if self._place.file else None
        self._labels = [numbered_pass(dump) for dump in place.module.dumps]
        self._memory = self._peak_by_line()

    def page(self) -> SourcePage:
        place = self._place
        label = module_labels(self._report)[place.module.id]
        return SourcePage(
            title=legible(f"Lines of {file_name(place.file) or label}"),
            heading=legible(file_name(place.file)) or "No line is known",
            lead=self._lead(label),
            views=view_links(place.report, "source"),
            action=f"{place.report}/source",
            modules=self._modules(),
            texts=tuple(
                OptionView(str(i), legible(each), i == place.text)
                for i, each in enumerate(self._labels)
            ),
            file=_safe(place.file),
            file_path=legible(place.file),
            line=str(place.line) if place.line else "",
            earlier_href=self._step(-1),
            later_href=self._step(1),
            files=tuple(self._files()),
            listing=tuple(self._listing()),
            missing=self._nearest.missing,
            nearest_line=f"line {self._nearest.line:,}" if self._nearest.line else "",
            nearest_href=place.href(line=self._nearest.line) if self._nearest.line else "",
            notes=tuple(self._notes()),
            has_memory=bool(self._memory),
        )

    # ---- words -----------------------------------------------------------------------------------

    def _lead(self, label: str) -> str:
        if not self._place.file:
            return (
                "No instruction of this module states a line of the program: the texts hold no "
                "source places."
            )
        of = [f for (file, _), f in self._figures.items() if file == self._place.file]
        stated = sum(each.instructions for each in of)
        inferred = sum(each.inferred for each in of)
        also = f", {inferred:,} more by inference" if inferred else ""
        return legible(
            f"{label}, {self._labels[self._place.text]}: {counted(stated, 'instruction')} came "
            f"from this file{also}, from {counted(len(of), 'line')}."
        )

    def _notes(self) -> Iterator[str]:
        place = self._place
        if not place.file:
            return
        text = self._text
        if text is None:
            yield (
                "The text of this file is not at hand: it was neither in the upload nor in a "
                "folder of the person who runs this server."
            )
        else:
            yield f"The text is that of {legible(text.origin)}, which may not be the one compiled."
        unplaced = self._lines.unplaced if self._found is None else self._found.unplaced
        if unplaced:
            yield f"{counted(unplaced, 'instruction')} of this text have no line."
        if self._lines.lines_left_out:
            yield f"{counted(self._lines.lines_left_out, 'line')} with few instructions left out."
        if any(figures.at_least for figures in self._figures.values()):
            yield "≥: a loop around has no known trip count and counts as one iteration."

    # ---- files and lines -------------------------------------------------------------------------

    def _first_file(self) -> str:
        sums: dict[str, int] = {}
        for (file, _), figures in self._figures.items():
            sums[file] = sums.get(file, 0) + figures.instructions + figures.inferred
        known = self._lines.files[0].file if self._lines.files else ""
        return max(sums, key=lambda file: sums[file], default=known)

    def _files(self) -> Iterator[FileView]:
        lines: dict[str, int] = {}
        for file, _ in self._figures:
            lines[file] = lines.get(file, 0) + 1
        for file, count in sorted(lines.items(), key=lambda item: -item[1])[:_MOST_FILES]:
            yield FileView(
                name=legible(file_name(file)),
                path=legible(file),
                href=self._place.href(file=file, line=0),
                here=file == self._place.file,
                lines=counted(count, "line"),
            )

    def _listing(self) -> Iterator[LineView]:
        place = self._place
        numbers = {line for file, line in (*self._figures, *self._known) if file == place.file}
        if place.line:
            numbers.add(place.line)
        text = self._text
        shown = sorted(numbers) if text is None else _with_context(numbers, len(text.lines))
        before = 0
        for number in shown[:_MOST_LINES]:
            gap = number - before - 1 if text is not None else 0
            yield self._line(number, text, gap)
            before = number

    def _line(self, number: int, text: ProgramText | None, gap: int) -> LineView:
        place = self._place
        key = place.file, number
        figures = self._figures.get(key, Figures())
        known = self._known.get(key)
        is_here = number == place.line
        has_any = key in self._figures or known is not None
        memory = self._memory.get(key, 0)
        function = figures.function or (known.function if known is not None else None) or ""
        return LineView(
            number=number,
            anchor=f"L{number}",
            href="" if is_here or not has_any else place.href(line=number),
            code=_code(text, number) if text else (f"in {legible(function)}" if function else ""),
            gap=f"{counted(gap, 'line')} not shown" if gap > 0 else "",
            # A line that earlier texts still knew shows that nothing of it is left.
            instructions=f"{figures.instructions:,}" if figures.instructions or known else "",
            inferred=f"+{figures.inferred:,}" if figures.inferred else "",
            flops=_at_least(figures, operations_text(figures.flops)) if figures.flops else "",
            bytes=_at_least(figures, size_text(figures.bytes)) if figures.bytes else "",
            collectives=_collectives_text(figures),
            memory=size_text(memory) if memory else "",
            title=legible(
                f"{file_name(place.file)}:{number}" + (f" in {function}" * bool(function))
            ),
            detail=self._detail(known, figures) if is_here else None,
        )

    # ---- the chosen line -------------------------------------------------------------------------

    def _detail(self, known: SourceLine | None, figures: Figures) -> DetailView:
        place, found = self._place, self._found
        steps = () if known is None else known.texts
        earlier, later = neighbours_of(steps, place.text)
        made = () if found is None else found.made
        note = ""
        if found is not None and found.cut is not None:
            note = f"{found.cut.shown:,} of {found.cut.total:,} are listed. {found.cut.next_step}"
        return DetailView(
            title=legible(f"{file_name(place.file)}:{place.line} in {self._labels[place.text]}"),
            counts=_counts_text(found, made),
            facts=tuple(_facts_of(figures)),
            strips=strips_of(
                steps,
                legible(tuple(self._labels)),
                place.text,
                lambda position: place.href(**{"pass": position}),
            ),
            strip_label=(
                f"Instructions that state the line, over {counted(len(self._labels), 'text')}"
            ),
            changed=counted(max(0, len(steps) - 1), "later text") + " changed how many there are"
            if steps
            else "",
            earlier_href="" if earlier is None else place.href(**{"pass": earlier}),
            earlier_word="" if earlier is None else legible(self._labels[earlier]),
            later_href="" if later is None else place.href(**{"pass": later}),
            later_word="" if later is None else legible(self._labels[later]),
            close_href=place.href(line=0),
            made=tuple(map(self._made, made)),
            note=note,
        )

    def _made(self, made: MadeInstruction) -> MadeView:
        place = self._place
        query = {
            "module": place.module.id,
            "text": place.text,
            "computation": made.computation,
            "instruction": made.instruction,
        }
        position = self._report.modules.index(place.module)
        return MadeView(
            name=legible(made.instruction),
            href=f"{place.report}/graph?{urlencode(query, errors='replace')}",
            text_href=f"{place.report}#text/{position}/{place.text}/{made.line}",
            computation=legible(made.computation),
            opcode=legible(made.opcode),
            kind=kind_of(made.opcode),
            shape=legible(made.shape),
            op_name=legible(made.op_name or ""),
            how=HOW_WORDS[made.how],
            stated=made.how == "stated",
            runs="?" if made.runs is None else f"{made.runs:,}",
            run_count=made.runs or 0,
            flops=operations_text(made.flops) if made.flops else "",
            flop_count=made.flops,
            bytes=size_text(made.bytes) if made.bytes else "",
            byte_count=made.bytes,
        )

    # ---- what else is on the page ----------------------------------------------------------------

    def _step(self, step: int) -> str:
        text = self._place.text + step
        return self._place.href(**{"pass": text}) if 0 <= text < len(self._labels) else ""

    def _modules(self) -> tuple[OptionView, ...]:
        labels = module_labels(self._report)
        return tuple(
            OptionView(each.id, legible(labels[each.id]), each is self._place.module)
            for each in self._report.modules
            if each.dumps and (each.role != "autotuning" or each is self._place.module)
        )[:_MOST_FILES]

    def _peak_by_line(self) -> dict[Line, int]:
        """Bytes at the peak, which are those of the text that was compiled."""
        found: dict[Line, int] = {}
        for memory in self._report.memory:
            is_shown = (memory.module, memory.dump) == (self._place.module.id, self._place.text)
            for share in memory.peak.shares if memory.peak is not None and is_shown else ():
                if share.source is not None:
                    found[share.source.file, share.source.line] = share.bytes
        return found


def _reported(known: Mapping[Line, SourceLine]) -> dict[Line, Figures]:
    return {
        key: Figures(
            function=line.function,
            instructions=line.instructions,
            inferred=line.inferred,
            flops=line.flops,
            bytes=line.bytes,
            collectives=line.collectives,
            collective_bytes=line.collective_bytes,
            at_least=line.at_least,
        )
        for key, line in known.items()
        if line.instructions or line.inferred
    }


def _with_context(numbers: set[int], count: int) -> list[int]:
    """All lines of a file that is short, else those around the ones that count."""
    if count <= _MOST_LINES:
        return sorted({*range(1, count + 1), *numbers})
    near = {n for number in numbers for n in range(number - _AROUND, number + _AROUND + 1)}
    return sorted(n for n in near if 1 <= n <= count or n in numbers)


def _code(text: ProgramText, number: int) -> str:
    if not 1 <= number <= len(text.lines):
        return ""
    return code_line(text.lines[number - 1])


def _at_least(figures: Figures, words: str) -> str:
    return f"≥ {words}" if figures.at_least else words


def _collectives_text(figures: Figures) -> str:
    if not figures.collectives:
        return ""
    return f"{figures.collectives:,} · {_at_least(figures, size_text(figures.collective_bytes))}"


def _counts_text(found: SourceText | None, made: Sequence[MadeInstruction]) -> str:
    if found is None or not made:
        return "no instruction in this text"
    inferred = found.total - found.stated
    also = f", {inferred:,} inferred" if inferred else ""
    return f"{counted(found.total, 'instruction')}: {found.stated:,} state the line{also}"


def _facts_of(figures: Figures) -> Iterator[tuple[str, str]]:
    if figures.flops:
        yield "FLOPs", _at_least(figures, operations_text(figures.flops))
    if figures.bytes:
        yield "read and written", _at_least(figures, size_text(figures.bytes))
    if figures.collectives:
        yield "collectives", _collectives_text(figures)


def _safe(text: str) -> str:
    """Text that a form may hold; an unpaired surrogate cannot be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")
