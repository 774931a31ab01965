"""What a strict reading asks beyond reading: that names and marks fit together.

Checks a module that was read leniently and raises HloSyntaxError for the first fault: text not
understood, computations or instructions defined twice, ENTRY or ROOT missing or given twice,
operands and callees that do not exist. Control predecessors may name what the text does not hold
(compact printing drops get-tuple-elements, since 0.11), so they are not looked up. Shapes, operand
counts and attribute values are not checked: an unknown opcode or attribute is no fault.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from hlo_parser import grammar
from hlo_parser.errors import HloSyntaxError, Span

if TYPE_CHECKING:
    from hlo_parser.computation import Computation
    from hlo_parser.errors import Unparsed
    from hlo_parser.instruction import Instruction
    from hlo_parser.module import Module


def check(module: Module, data: bytes) -> None:
    """Raise HloSyntaxError when the module is not sound; `data` is its text, for the message."""
    lines = data.decode("utf-8", errors="backslashreplace").removeprefix("\ufeff").split("\n")
    lines = [line.removesuffix("\r") for line in lines]
    if module.unparsed:
        raise _sharpened(module.unparsed[0], lines)
    _Check(module, lines).run()


def _sharpened(first: Unparsed, lines: list[str]) -> HloSyntaxError:
    """The error at the very place where the grammar stopped inside the stretch, if it did."""
    span = first.span
    stretch = lines[span.line - 1 : span.end_line]
    stretch[-1] = stretch[-1][: span.end_column - 1]
    text = "\n".join(stretch)[span.column - 1 :]
    line, column = span.line, span.column
    read = grammar.read_header if text.startswith("HloModule") else grammar.read_instruction
    try:
        read(text)
    except grammar.GrammarError as error:
        if error.message == first.reason:
            before = text[: error.offset].split("\n")
            line += len(before) - 1
            column = len(before[-1]) + (column if len(before) == 1 else 1)
    end = max((span.end_line, span.end_column), (line, column))
    return HloSyntaxError(first.reason, Span(line, column, *end), lines[line - 1])


class _Check:
    """One module and its lines; every method raises at the first fault it finds."""

    __slots__ = ("lines", "module")

    def __init__(self, module: Module, lines: list[str]) -> None:
        self.module = module
        self.lines = lines

    def run(self) -> None:
        names: set[str] = set()
        entry: Computation | None = None
        for computation in self.module.computations:
            if computation.name in names:
                self._fail(computation, computation.name, "computation {} is defined twice")
            if computation.is_entry and entry is not None:
                self._fail(computation, "ENTRY", "a second {}")
            names.add(computation.name)
            entry = computation if computation.is_entry else entry
            self._body(computation)
        if entry is None:
            last = self.module.computations[-1]
            self._fail(last, last.name, "no computation is marked ENTRY")

    def _body(self, computation: Computation) -> None:
        names: set[str] = set()
        root: Instruction | None = None
        for instruction in computation.instructions:
            for operand in instruction.operands:
                if operand not in names:
                    known = computation.get(operand) is not None
                    fault = (
                        "operand {} is defined only later" if known else "operand {} is not defined"
                    )
                    self._fail(computation, operand, fault, instruction, f"{instruction.opcode}(")
            if instruction.name in names:
                self._fail(
                    computation, instruction.name, "instruction {} is defined twice", instruction
                )
            if instruction.is_root and root is not None:
                self._fail(computation, "ROOT", "a second {}", instruction)
            names.add(instruction.name)
            root = instruction if instruction.is_root else root
            for callee in instruction.callees:
                if self.module.get(callee.name) is None:
                    fault = "computation {} is not defined"
                    self._fail(computation, callee.name, fault, instruction, f"{callee.role}=")
        if root is None:
            self._fail(computation, computation.name, "no instruction of {} is marked ROOT")

    def _fail(
        self,
        computation: Computation,
        word: str,
        message: str,
        instruction: Instruction | None = None,
        after: str = "",
    ) -> NoReturn:
        """Raise at `word`, looked for behind `after` in the lines of the instruction or head."""
        first = self.module.first_line(computation)
        last = first
        if instruction is not None:
            # By identity: of two instructions with one name the second is at fault.
            position = next(
                index
                for index in range(len(computation.instructions) - 1, -1, -1)
                if computation.instructions[index] is instruction
            )
            first += computation.line_offset(position)
            last = first + instruction.text.count("\n")
        pattern = re.compile(rf"(?<![\w.\-]){re.escape(word)}(?![\w.\-])")
        line, column = first, 1
        for number in range(first, last + 1):
            text = self.lines[number - 1]
            found = pattern.search(text, max(text.find(after), 0) + len(after))
            if found is not None:
                line, column = number, found.start() + 1
                break
        span = Span(line, column, line, column + len(word))
        raise HloSyntaxError(message.format(word), span, self.lines[line - 1])
