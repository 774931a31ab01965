"""Places as comparisons tell them: an instruction where it stands, a line without its folder."""

from app.analysis.sources import source_of
from app.model.comparison import InstructionPlace
from app.model.source import Source
from hlo_parser import Instruction, Module


def instruction_place(
    module: Module, computation: str, instruction: Instruction | None
) -> InstructionPlace | None:
    """The place of an instruction of `module`; None where there is none."""
    if instruction is None:
        return None
    return InstructionPlace(
        computation=computation,
        instruction=instruction.name,
        opcode=instruction.opcode,
        shape=instruction.shape.text,
        source=source_of(module, instruction),
    )


def line_of(source: Source | None) -> tuple[str, int] | None:
    """A line of the program, the folder it was compiled in aside."""
    if source is None:
        return None
    return source.file.replace("\\", "/").rpartition("/")[2], source.line


def line_text(source: Source | None) -> str:
    """The same as `train.py:55`, or ""."""
    line = line_of(source)
    return "" if line is None else f"{line[0]}:{line[1]}"
