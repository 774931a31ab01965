"""What a strict reading asks beyond reading: that names and marks fit together.

Checks a module that was read leniently and raises HloSyntaxError for the first fault in text
order within each check: text not understood, computations or instructions named twice, ENTRY or
ROOT missing or given twice, operands and callees that do not exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_parser.errors import HloSyntaxError, Span

if TYPE_CHECKING:
    from hlo_parser.computation import Computation
    from hlo_parser.instruction import Instruction
    from hlo_parser.module import Module


def check(module: Module, data: bytes) -> None:
    """Raise HloSyntaxError when the module is not sound; `data` is its text, for the message."""
    lines = data.decode("utf-8", errors="backslashreplace").split("\n")
    if module.unparsed:
        first = module.unparsed[0]
        raise HloSyntaxError(first.reason, first.span, lines[first.span.line - 1])
    _Check(module, lines).run()


class _Check:
    __slots__ = ("lines", "module")

    def __init__(self, module: Module, lines: list[str]) -> None:
        self.module = module
        self.lines = lines

    def run(self) -> None:
        seen: set[str] = set()
        entries = [c for c in self.module.computations if c.is_entry]
        for computation in self.module.computations:
            if computation.name in seen:
                self._fail(computation, 0, computation.name, "computation named twice")
            seen.add(computation.name)
        if len(entries) > 1:
            self._fail(entries[1], 0, "ENTRY", "second ENTRY")
        if not entries:
            self._fail(self.module.computations[-1], 0, "", "no computation is marked ENTRY")
        checked: set[int] = set()
        for computation in self.module.computations:
            if id(computation) not in checked:
                checked.add(id(computation))
                self._computation(computation)

    def _computation(self, computation: Computation) -> None:
        names: set[str] = set()
        roots = 0
        for position, instruction in enumerate(computation.instructions):
            if instruction.name in names:
                self._at(computation, position, instruction.name, "instruction named twice")
            for operand in instruction.operands:
                if operand not in names:
                    self._operand(computation, position, instruction, operand)
            names.add(instruction.name)
            roots += instruction.is_root
            if instruction.is_root and roots > 1:
                self._at(computation, position, "ROOT", "second ROOT")
            for callee in instruction.callees:
                if self.module.get(callee.name) is None:
                    self._at(
                        computation, position, callee.name, f"unknown computation {callee.name}"
                    )
        if roots == 0:
            self._fail(computation, 0, computation.name, "no instruction is marked ROOT")

    def _operand(
        self, computation: Computation, position: int, instruction: Instruction, operand: str
    ) -> None:
        later = computation.get(operand)
        reason = "defined only later" if later is not None else "not defined"
        self._at(computation, position, operand, f"operand {operand} is {reason}", after="(")

    def _at(
        self, computation: Computation, position: int, word: str, message: str, after: str = ""
    ) -> None:
        self._fail(computation, computation.line_offset(position), word, message, after)

    def _fail(
        self, computation: Computation, offset: int, word: str, message: str, after: str = ""
    ) -> None:
        line = self.module.first_line(computation) + offset
        text = self.lines[line - 1].rstrip("\r")
        column = max(text.find(word, max(text.find(after), 0)), 0) + 1
        raise HloSyntaxError(message, Span(line, column, line, column + len(word)), text)
