"""What a text has of each line of the program, and all HLO that one line became in it.

Given the parsed text and a few before it, in which places are looked up that a pass dropped: of
what was dropped longer ago only the whole history tells, as the report does for the last text.
"""

from collections.abc import Mapping, Sequence

from app.analysis.source_figures import (
    Figures,
    Line,
    Made,
    figures_by_line,
    made_of,
    text_trips,
)
from app.analysis.source_repair import SourceRepairer
from app.model.dump import DumpName, ModuleHistory, PassDump
from app.model.report import Struct
from app.model.source import Source, SourceHow
from app.views.cut import Cut, cut_text, shown_name
from hlo_parser import Computation, Instruction, Module

MAX_MADE = 400
MAX_TEXT_CHARACTERS = 300


class MadeInstruction(Struct, frozen=True, kw_only=True):
    """One instruction that a line became; `line` is its own in the text.

    Figures are of one execution of the module; `runs` is None where a loop of unknown trips is
    around it, and then they are of one iteration. `how` says how its line is known.
    """

    computation: str
    instruction: str
    opcode: str
    shape: str
    line: int
    how: SourceHow
    op_name: str | None = None
    runs: int | None = None
    flops: int = 0
    bytes: int = 0
    collective_bytes: int | None = None


class SourceText(Struct, frozen=True, kw_only=True):
    """What a text has of every line, and of one line the instructions.

    Those that state the line stand first, and of these those with most work. `total` counts the
    instructions of that line, `stated` those that state it; `unplaced` those of the text that no
    line is known of.
    """

    figures: Mapping[Line, Figures]
    made: tuple[MadeInstruction, ...] = ()
    total: int = 0
    stated: int = 0
    unplaced: int = 0
    cut: Cut | None = None


class SourceReading:
    """One text read by lines of the program, to be asked of any of them.

    `texts` ends with the text that is read; the ones before are those just before it.
    """

    def __init__(self, texts: Sequence[Module]) -> None:
        position = len(texts) - 1
        repairer = SourceRepairer(_history_of(texts))

        def place(
            computation: Computation, instruction: Instruction
        ) -> tuple[Source, SourceHow] | None:
            placed = repairer.of(position, computation, instruction)
            return None if placed is None else (placed.source, placed.how)

        self._module = texts[-1]
        made = list(made_of(self._module, place, text_trips(self._module)))
        self._figures, self._unplaced = figures_by_line(iter(made))
        self._made: dict[Line, list[Made]] = {}
        for one in made:
            if one.line is not None:
                self._made.setdefault(one.line, []).append(one)

    def of_line(self, line: Line | None) -> SourceText:
        """What the text has of every line, with the instructions of one; of none for None."""
        chosen = [] if line is None else list(self._made.get(line, ()))
        chosen.sort(key=_weight)
        cut = None
        if len(chosen) > MAX_MADE:
            cut = Cut(
                shown=MAX_MADE,
                total=len(chosen),
                next_step="Search the text for the line to see the others.",
            )
        return SourceText(
            figures=self._figures,
            made=tuple(_shown(self._module, one) for one in chosen[:MAX_MADE]),
            total=len(chosen),
            stated=sum(one.how == "stated" for one in chosen),
            unplaced=self._unplaced,
            cut=cut,
        )


def _weight(made: Made) -> tuple[bool, int, int, int]:
    return made.how != "stated", -made.flops, -(made.collective_bytes or 0), -made.bytes


def _shown(module: Module, made: Made) -> MadeInstruction:
    instruction = made.instruction
    metadata = instruction.metadata
    op_name = "" if metadata is None else metadata.op_name or ""
    return MadeInstruction(
        computation=shown_name(made.computation.name),
        instruction=shown_name(instruction.name),
        opcode=instruction.opcode,
        shape=cut_text(instruction.shape.text, MAX_TEXT_CHARACTERS),
        line=module.line_of(made.computation, instruction),
        how=made.how or "stated",
        op_name=cut_text(op_name, MAX_TEXT_CHARACTERS) or None,
        runs=made.runs,
        flops=made.flops,
        bytes=made.bytes,
        collective_bytes=made.collective_bytes,
    )


def _history_of(texts: Sequence[Module]) -> ModuleHistory:
    return ModuleHistory(
        id="",
        name=texts[-1].name,
        role="user",
        dumps=tuple(
            PassDump(index=index, name=DumpName(file=""), module=module, byte_size=0)
            for index, module in enumerate(texts)
        ),
        complete=False,
    )
