"""Which lines that a policy names are in no text: it counts nothing there, and would pass for ever.

Given the lines and an analysed dump. A line counts as found where any instruction of any text
states it, or a call on the way to it; of a report alone, where the report names it.
"""

from collections.abc import Iterator, Sequence

from app.analysis.comparison import Analysed
from app.analysis.policy_figures import holds_line
from app.analysis.policy_file import Lines
from app.model.dump import ModuleHistory
from app.model.report import Report, Source
from hlo_parser import Computation, FrameTables, Module

_NO_END = Lines("").last
_Place = tuple[str, int]


def lines_not_found(lines: Sequence[Lines], dump: Analysed) -> tuple[Lines, ...]:
    """Those of `lines` where nothing of the dump stands, in order."""
    absent = list(lines)
    for file, line in _places(dump):
        if not absent:
            break
        absent = [each for each in absent if not holds_line(each, file, line)]
    return tuple(absent)


def lines_in_words(lines: Sequence[Lines]) -> str:
    """`train.py:40-60, model.py`, as the policy writes them."""
    return ", ".join(map(_in_words, lines))


def _in_words(lines: Lines) -> str:
    if lines.last == _NO_END:
        return lines.file
    end = f"-{lines.last}" if lines.last != lines.first else ""
    return f"{lines.file}:{lines.first}{end}"


def _places(dump: Analysed) -> Iterator[_Place]:
    yield from _of_report(dump.report)
    for history in dump.histories.values():
        yield from _of_history(history)


def _of_report(report: Report) -> Iterator[_Place]:
    for program in report.programs:
        for file in program.files:
            yield from ((file.file, line.line) for line in file.lines)
    for source in (
        *(collective.source for collective in report.collectives),
        *(loop.source for loop in report.loops),
    ):
        if source is not None:
            yield from _of_source(source)


def _of_source(source: Source) -> Iterator[_Place]:
    yield source.file, source.line
    yield from ((frame.file, frame.line) for frame in source.frames)


def _of_history(history: ModuleHistory) -> Iterator[_Place]:
    """Every computation once for each table of frames that its texts have."""
    read: set[tuple[FrameTables | None, Computation]] = set()
    for dump in history.dumps:
        for computation in dump.module.computations:
            key = (dump.module.frames, computation)
            if key not in read:
                read.add(key)
                yield from _of_computation(dump.module, computation)


def _of_computation(module: Module, computation: Computation) -> Iterator[_Place]:
    stated = {instruction.attribute_list: instruction for instruction in computation.instructions}
    for instruction in stated.values():
        location = module.source_of(instruction)
        if location is not None:
            yield location.file, location.line
            yield from ((frame.file, frame.line) for frame in location.frames)
