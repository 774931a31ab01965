"""The lines of the program for the report: figures of the last text, counts over all texts."""

from collections import Counter
from collections.abc import Sequence

from app.analysis.executions import known_trips
from app.analysis.source_figures import Figures, Line, figures_by_line, made_of, text_trips
from app.analysis.source_repair import SourceRepairer
from app.model.dump import ModuleHistory
from app.model.facts import LoopHistory
from app.model.program import ProgramLines, SourceFile, SourceLine
from app.model.source import Source, SourceHow
from hlo_parser import Computation, FrameTables, Instruction, Module

MOST_LINES = 1_000
_MOST_STEPS = 200


def program_lines(
    history: ModuleHistory,
    loops: Sequence[LoopHistory],
    repairer: SourceRepairer | None = None,
) -> ProgramLines:
    """The program behind a module, as its last text and the counts over its texts tell."""
    position = len(history.dumps) - 1
    module = history.last.module
    repairer = repairer or SourceRepairer(history, loops)

    def place(
        computation: Computation, instruction: Instruction
    ) -> tuple[Source, SourceHow] | None:
        placed = repairer.of(position, computation, instruction)
        return None if placed is None else (placed.source, placed.how)

    trips = text_trips(module) | {
        place: count for place, count in known_trips(loops, position).items() if count is not None
    }
    figures, unplaced = figures_by_line(made_of(module, place, trips))
    steps = _steps_of(history)
    for line in steps:
        figures.setdefault(line, Figures())
    ordered = sorted(figures, key=lambda line: (-_weight(figures[line], steps.get(line, [])), line))
    shown = ordered[:MOST_LINES]
    files: dict[str, list[SourceLine]] = {}
    for file, number in shown:
        found = figures[file, number]
        files.setdefault(file, []).append(
            SourceLine(
                line=number,
                function=found.function,
                instructions=found.instructions,
                inferred=found.inferred,
                flops=found.flops,
                bytes=found.bytes,
                collectives=found.collectives,
                collective_bytes=found.collective_bytes,
                at_least=found.at_least,
                texts=tuple(steps.get((file, number), ())[:_MOST_STEPS]),
            )
        )
    return ProgramLines(
        module=history.id,
        dump=position,
        files=tuple(
            SourceFile(file=file, lines=tuple(sorted(lines, key=lambda line: line.line)))
            for file, lines in sorted(
                files.items(), key=lambda item: (-sum(n.instructions for n in item[1]), item[0])
            )
        ),
        lines_left_out=len(ordered) - len(shown),
        unplaced=unplaced,
    )


def _weight(figures: Figures, steps: Sequence[tuple[int, int]]) -> int:
    return figures.instructions + figures.inferred + max((count for _, count in steps), default=0)


def _steps_of(history: ModuleHistory) -> dict[Line, list[tuple[int, int]]]:
    """For each line the texts in which another number of instructions states it, and how many."""
    steps: dict[Line, list[tuple[int, int]]] = {}
    counts: Counter[Line] = Counter()
    held: Counter[Computation] = Counter()
    readers: dict[FrameTables | None, _StatedReader] = {}
    table = history.dumps[0].module.frames
    for position, dump in enumerate(history.dumps):
        module = dump.module
        changes: Counter[Line] = Counter()
        if module.frames is not table:
            # The same text may state other lines by another table.
            table = module.frames
            changes.subtract(counts)
            held.clear()
        reader = readers.get(table)
        if reader is None:
            reader = readers[table] = _StatedReader(module)
        here = Counter(module.computations)
        for computation, times in (here - held).items():
            for line, count in reader.of(computation).items():
                changes[line] += times * count
        for computation, times in (held - here).items():
            for line, count in reader.of(computation).items():
                changes[line] -= times * count
        held = here
        for line, change in changes.items():
            if change:
                counts[line] += change
                steps.setdefault(line, []).append((position, counts[line]))
    return steps


class _StatedReader:
    """Counts the lines that instructions state by the frame table of one module, each read once."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._known: dict[Computation, Counter[Line]] = {}
        # By the list of attributes, which many lines share.
        self._lines: dict[object, Line | None] = {}

    def of(self, computation: Computation) -> Counter[Line]:
        """How many of its instructions state each line."""
        known = self._known.get(computation)
        if known is None:
            read, lines = self._line, self._lines
            stated = [
                lines[i.attribute_list] if i.attribute_list in lines else read(i)
                for i in computation.instructions
            ]
            known = self._known[computation] = Counter([line for line in stated if line])
        return known

    def _line(self, instruction: Instruction) -> Line | None:
        location = self._module.source_of(instruction)
        line = None if location is None else (location.file, location.line)
        self._lines[instruction.attribute_list] = line
        return line
