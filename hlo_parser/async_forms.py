"""Whether the steps of asynchronous instructions in one computation belong together.

Given the instructions in text order, gives the first fault of a step: the shape of a start or an
update, and that what an update or a done tells of its start is true (xla/hlo/parser/hlo_parser.cc,
CreateInstruction, kAsyncStart and on). A step may take a value that something else hands on (a
parameter, an element of a loop's result), since 0.12: then nothing is known of its start.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlo_parser.instruction_forms import Fault
from hlo_parser.opcodes import NATIVE

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo_parser.instruction import Instruction

_STEP = re.compile(r"(.+)-(start|update|done)")


class AsyncSteps:
    """The asynchronous steps of one computation, each told once, in text order."""

    __slots__ = ("_called", "_root_opcode", "_starts")

    def __init__(self, root_opcode: Callable[[str], str]) -> None:
        """`root_opcode` gives what a computation's root does, by the computation's name."""
        self._root_opcode = root_opcode
        self._starts: dict[str, Instruction] = {}
        self._called: set[str] = set()

    def fault(self, made: Instruction, first: Instruction | None) -> Fault | None:
        """The first fault of an instruction; `first` is its first operand when it has any."""
        step = _STEP.fullmatch(made.opcode)
        if step is None or step[1] in NATIVE:
            return None
        elements = made.shape.elements
        if step[2] != "done" and (len(elements) < 2 or elements[0].kind != "tuple"):
            return Fault("the shape is a tuple: that of the operands, the result", made.opcode)
        if step[2] == "start":
            return self._start_fault(made)
        start = self._starts.get(first.name) if first and not any(made.operand_paths[:1]) else None
        if start is not None and first is not None and not first.opcode.endswith("-done"):
            self._starts[made.name] = start
            return self._step_fault(made, step[1], start)
        if start is not None or (first is not None and first.opcode == "tuple"):
            return Fault(f"{made.opcode} takes what a start or an update gives", made.opcode)
        return None

    def _start_fault(self, start: Instruction) -> Fault | None:
        self._starts[start.name] = start
        for callee in start.callees if start.opcode == "async-start" else ():
            if callee.name in self._called:
                fault = f"computation {callee.name} is called by two asynchronous instructions"
                return Fault(fault, callee.name)
            self._called.add(callee.name)
        return None

    def _step_fault(self, made: Instruction, opcode: str, start: Instruction) -> Fault | None:
        wrapped = start.opcode.removesuffix("-start")
        if wrapped == "async":
            wrapped = self._root_opcode(start.callees[0].name) if start.callees else opcode
        if opcode not in {"async", wrapped}:
            return Fault(f"{start.name} starts {wrapped}", made.opcode)
        for key, default in (("calls", ""), ("async_execution_thread", "main")):
            given, told = made.attributes.get(key), start.attributes.get(key, default)
            if given is not None and given.strip("%\"'") != told.strip("%\"'"):
                return Fault(f"{key} is not that of {start.name}", f"{key}=")
        return None
