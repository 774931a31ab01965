"""What a text does, by lines of the program: instructions, operations, bytes, collectives.

Each instruction counts for one line, its own (where it was traced, not who called it). Work counts
as often as it runs, branches as if each was taken. Given a parsed text, its trip counts and a way
to the place of an instruction, which may be inferred; adds nothing up over lines.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from app.analysis.collectives import bytes_sent
from app.analysis.executions import Place, RunCounter
from app.analysis.flops import product_flops
from app.analysis.loops import LoopFinder
from app.analysis.opcodes import async_role, collective_opcode
from app.analysis.touched import TouchReader
from app.model.source import Source, SourceHow
from app.model.work import LARGEST_COUNT
from hlo_parser import Computation, Instruction, Module

Line = tuple[str, int]
"""A file as the dump names it, and a line."""

Placer = Callable[[Computation, Instruction], tuple[Source, SourceHow] | None]
"""The place of an instruction and how it is known."""

# What they run stands in memory as they do themselves; their own work is that of what they run.
_RUNNERS = frozenset({"call", "conditional", "while"})
_RUN_AS_THEY_STAND = _RUNNERS | {"async-start", "async-update", "async-done"}


@dataclass(frozen=True, slots=True)
class Made:
    """One instruction, and what it does in one execution of the module.

    `runs` is None where a loop of unknown trips is around it; work then counts one iteration.
    """

    computation: Computation
    instruction: Instruction
    source: Source | None
    how: SourceHow | None
    runs: int | None
    flops: int
    bytes: int
    collective_bytes: int | None

    @property
    def line(self) -> Line | None:
        """Where it stands in the program."""
        return None if self.source is None else (self.source.file, self.source.line)


@dataclass(slots=True)
class Figures:
    """The sums of one line."""

    function: str | None = None
    instructions: int = 0
    inferred: int = 0
    flops: int = 0
    bytes: int = 0
    collectives: int = 0
    collective_bytes: int = 0
    at_least: bool = False

    def add(self, made: Made) -> None:
        """Counts an instruction of this line."""
        if made.how == "stated":
            self.instructions += 1
        else:
            self.inferred += 1
        if made.source is not None:
            self.function = self.function or made.source.function
        self.flops = min(self.flops + made.flops, LARGEST_COUNT)
        self.bytes = min(self.bytes + made.bytes, LARGEST_COUNT)
        if made.collective_bytes is not None:
            self.collectives += 1
            self.collective_bytes = min(
                self.collective_bytes + made.collective_bytes, LARGEST_COUNT
            )
        works = made.flops or made.bytes or made.collective_bytes
        self.at_least |= made.runs is None and bool(works)


def text_trips(module: Module) -> dict[Place, int | None]:
    """The trip counts that a text tells by itself."""
    return {
        (placed.loop.computation.name, placed.loop.name): placed.loop.trip_count
        for placed in LoopFinder().find(module)
    }


def made_of(module: Module, placer: Placer, trips: Mapping[Place, int | None]) -> Iterator[Made]:
    """Every instruction of a text, in its order, with its place and its work."""
    runs_of = RunCounter(module, trips)
    touched = TouchReader(module)
    inside = _run_by_element(module)
    for computation in module.computations:
        runs = runs_of.of(computation).count
        times = 1 if runs is None else runs
        counts_bytes = computation.name not in inside
        for instruction in computation.instructions:
            found = placer(computation, instruction)
            size = touched.of(computation, instruction) if counts_bytes else 0
            if instruction.opcode in _RUNNERS or async_role(instruction.opcode) is not None:
                size = 0
            sent: int | None = None
            if collective_opcode(instruction) is not None:
                sent = times * bytes_sent(module, computation, instruction)
            yield Made(
                computation=computation,
                instruction=instruction,
                source=None if found is None else found[0],
                how=None if found is None else found[1],
                runs=runs,
                flops=times * (product_flops(computation, instruction) or 0),
                bytes=times * size,
                collective_bytes=sent,
            )


def figures_by_line(made: Iterator[Made]) -> tuple[dict[Line, Figures], int]:
    """The sums of each line, and how many instructions have none."""
    figures: dict[Line, Figures] = {}
    unplaced = 0
    for one in made:
        line = one.line
        if line is None:
            unplaced += 1
        else:
            figures.setdefault(line, Figures()).add(one)
    return figures, unplaced


def _run_by_element(module: Module) -> set[str]:
    """Computations whose instructions read and write no memory of their own: fused and applied."""
    return {
        callee.name
        for computation in module.computations
        for instruction in computation.calling
        if instruction.opcode not in _RUN_AS_THEY_STAND
        for _, callee in module.callees(instruction)
    }
