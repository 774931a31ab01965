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
from hlo_parser import Computation, Instruction, Module

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
    reader = _StatedReader()
    steps: dict[Line, list[tuple[int, int]]] = {}
    before: Counter[Line] = Counter()
    last: Module | None = None
    for position, dump in enumerate(history.dumps):
        module, earlier = dump.module, last
        last = module
        if (
            earlier is not None
            and earlier.computations == module.computations
            and earlier.frames is module.frames
        ):
            continue
        counts = reader.of(module)
        for line in counts.keys() | before.keys():
            if counts[line] != before[line]:
                steps.setdefault(line, []).append((position, counts[line]))
        before = counts
    return steps


class _StatedReader:
    """Counts the lines that the instructions of texts state; what texts share is read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Computation, int], Counter[Line]] = {}
        # By their ids, so that tables which are gone do not lend them to others.
        self._tables: dict[int, object] = {}

    def of(self, module: Module) -> Counter[Line]:
        """How many instructions of a text state each line."""
        total: Counter[Line] = Counter()
        table = id(module.frames)
        self._tables[table] = module.frames
        for computation in module.computations:
            key = computation, table
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = _stated_in(module, computation)
            total.update(known)
        return total


def _stated_in(module: Module, computation: Computation) -> Counter[Line]:
    counts: Counter[Line] = Counter()
    # Instructions of one metadata stand in one place; most share theirs.
    by_metadata: dict[int, list[Instruction]] = {}
    for instruction in computation.instructions:
        if instruction.metadata is not None:
            by_metadata.setdefault(id(instruction.metadata), []).append(instruction)
    for instructions in by_metadata.values():
        location = module.source_of(instructions[0])
        if location is not None:
            counts[location.file, location.line] += len(instructions)
    return counts
