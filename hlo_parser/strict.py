"""What a strict reading asks beyond reading: that the text is one XLA's own parser takes.

Checks a module that was read leniently and raises HloSyntaxError for the first fault: text not
understood; names defined twice, later, or not at all; ENTRY or ROOT given twice; parameters not
numbered from 0; declared shapes that do not fit; and whatever `instruction_forms.py` finds in an
instruction by itself. Texts with paths at operands (`%t#1`, compact printing) may name control
predecessors that they do not hold, since XLA prints them so (since 0.11).
"""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING, NoReturn

from hlo_parser import patterns
from hlo_parser.async_forms import AsyncSteps
from hlo_parser.called_forms import called_fault
from hlo_parser.errors import HloSyntaxError, Span
from hlo_parser.head_and_foot import foot_of, is_odd_head, signature_fault, signature_of
from hlo_parser.instruction_forms import (
    STEPS,
    declared_shapes,
    instruction_fault,
    is_reserved,
    keys_of,
    tells_shape,
)
from hlo_parser.literal_forms import compatible, shape_fault
from hlo_parser.operand_forms import depends_on_operands, operands_fault
from hlo_parser.possessive import compile_pattern
from hlo_parser.shapes import Shape
from hlo_parser.stretches import lines_of, sharpened
from hlo_parser.value_forms import is_header_key, squeezed, value_fault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_parser.computation import Computation
    from hlo_parser.instruction import Instruction
    from hlo_parser.instruction_forms import Fault
    from hlo_parser.module import Module


def check(module: Module, data: bytes) -> None:
    """Raise HloSyntaxError when the module is not sound; `data` is its text, for the message."""
    lines = lines_of(data)
    if module.unparsed:
        first = module.unparsed[0]
        if first.span.line >= module.first_lines[0]:
            _Check(module, lines).run(first.span.line)
        raise sharpened(first, lines)
    _Check(module, lines).run()


_ALIASED_OUTPUT = compile_pattern(r"[{,]\{([\d,]*+)\}:\(")
_HEADER_WORD = compile_pattern(r"HloModule(?=[\s%/])")
_ROW = compile_pattern(r"\s*+\d++\s*+\{[^{}\"]*+\}\s*+")
_ROW_KEY = compile_pattern(patterns.KEY)


class _Check:
    """One module and its lines; every method raises at the first fault it finds."""

    __slots__ = ("computations", "line", "lines", "module", "sound")

    def __init__(self, module: Module, lines: list[str]) -> None:
        self.module = module
        self.lines = lines
        self.computations: set[str] = set()
        self.sound: set[tuple[str, str]] = set()
        # The first line of the computation that is looked at; equal ones are one object.
        self.line = module.first_lines[0]

    def run(self, until: float = inf) -> None:
        """Look at everything, or at what stands before a line that was not understood."""
        self._header()
        self._frames()
        first = self.module.computations[0]
        if not (self.module.header.text or first.is_entry or signature_of(first) is None):
            self._fail(
                first,
                first.name,
                "a text without HloModule begins with ENTRY, or a name and a brace",
            )
        entry: Computation | None = None
        places = self.module.first_lines
        for computation, line in zip(self.module.computations, places, strict=True):
            if line > until:
                return
            self.line = line
            is_whole = line + computation.line_count <= until
            name = computation.name
            head = computation.text[: computation.text.find("{")]
            if f"%{name}" not in head and is_reserved(name, head):
                self._fail(computation, name, "{} is no name")
            if name in self.computations:
                self._fail(computation, name, "computation {} is defined twice")
            if computation.is_entry and entry is not None:
                self._fail(computation, "ENTRY", "a second {}")
            entry = computation if computation.is_entry else entry
            if not is_whole:
                self._signature_shapes(computation)
            self._body(computation, until)
            if not is_whole:
                return
            self._parameters(computation)
            self._foot(computation)
            self._signature(computation)
            if computation.is_entry:
                self._aliases(computation)
            self.computations.add(name)

    def _signature_shapes(self, computation: Computation) -> None:
        text = signature_of(computation)
        fault = signature_fault(text) if text is not None else None
        if fault is not None:
            self._fail(computation, computation.name, _literally(fault))

    def _header(self) -> None:
        header = self.module.header
        if header.text and _HEADER_WORD.match(header.text) is None:
            self._fail_in_header("HloModule", "a blank follows HloModule")
        if is_reserved(header.name, header.text):
            self._fail_in_header(header.name, f"{header.name} is no name")
        keys = keys_of(header.text)
        for key in keys:
            if keys.count(key) > 1:
                self._fail_in_header(f"{key}=", f"attribute {key} is given twice", last=True)
            elif not is_header_key(key):
                fault = f"HloModule has no attribute {key}"
            else:
                fault = value_fault(key, header.attributes.get(key, ""), in_header=True)
            if key == "entry_computation_layout" and fault is None:
                parameters, _, result = squeezed(header.attributes[key][1:-1]).rpartition("->")
                fault = shape_fault(parameters) or shape_fault(result)
            if fault is not None:
                self._fail_in_header(f"{key}=", fault)

    def _frames(self) -> None:
        if self.module.frames is None:
            return
        if not self.module.header.text:
            self._fail_in_header("FileNames", "tables of frames stand behind HloModule")
        for key in self.module.frames.unknown_keys():
            self._fail_in_header(f"{key}=", f"the tables of frames have no {key}")
        above = self.lines[: self.module.first_lines[0] - 1]
        rows = [line.strip() for line in above if _ROW.fullmatch(line)]
        for key, number in self.module.frames.missing_keys():
            word = rows[number] if number < len(rows) else "FileNames"
            self._fail_in_header(word, f"a row of the tables of frames has no {key}")
        for row in rows:
            keys = _ROW_KEY.findall(row)
            if len(set(keys)) < len(keys):
                self._fail_in_header(row, "a row has a key twice")

    def _body(self, computation: Computation, until: float) -> None:
        shapes: dict[str, str] = {}
        numbers: set[int | None] = set()
        root: Instruction | None = None
        text = computation.text
        steps = AsyncSteps(self._root_opcode)
        for instruction in self._instructions(computation, until):
            if text.startswith(f"{instruction.opcode}("):
                self._fail(computation, instruction.opcode, "expected a name and '=' before {}")
            self._operands(computation, instruction, shapes)
            if instruction.opcode == "parameter":
                self._number(computation, instruction, numbers)
            if instruction.name in shapes:
                self._fail(
                    computation, instruction.name, "instruction {} is defined twice", instruction
                )
            if instruction.is_root and root is not None:
                self._fail(computation, "ROOT", "a second {}", instruction)
            root = instruction if instruction.is_root else root
            self._form(computation, instruction)
            if depends_on_operands(instruction):
                operands = [
                    computation.instructions[computation.position(name)]
                    for name in instruction.operands
                ]
                fault = operands_fault(instruction, operands)
                if fault is not None:
                    self._fail_by(computation, instruction, fault)
            shapes[instruction.name] = instruction.shape.text
            self._callees(computation, instruction)
            if instruction.opcode.endswith(STEPS):
                first = instruction.operands[0] if instruction.operands else ""
                fault = steps.fault(instruction, computation.get(first))
                if fault is not None:
                    self._fail_by(computation, instruction, fault)

    def _instructions(self, computation: Computation, until: float) -> Sequence[Instruction]:
        """The instructions that end before a line."""
        found = computation.instructions
        if until == inf:
            return found
        for number, instruction in enumerate(found):
            last = self.line + computation.line_offset(number) + instruction.text.count("\n")
            if last >= until:
                return found[:number]
        return found

    def _number(
        self, computation: Computation, parameter: Instruction, numbers: set[int | None]
    ) -> None:
        number = parameter.parameter_number
        if number in numbers:
            fault = f"a second parameter {number}"
            self._fail(computation, parameter.arguments.strip(), fault, parameter, "parameter(")
        numbers.add(number)

    def _root_opcode(self, name: str) -> str:
        called = self.module.get(name)
        return called.root.opcode if called is not None else ""

    def _operands(
        self, computation: Computation, instruction: Instruction, shapes: dict[str, str]
    ) -> None:
        for name in (*instruction.operands, *instruction.control_predecessors):
            if name not in shapes:
                known = computation.get(name) is not None
                role = "operand" if name in instruction.operands else "control predecessor"
                fault = f"{role} {{}} is " + ("defined only later" if known else "not defined")
                self._fail(computation, name, fault, instruction, f"{instruction.opcode}(")
        for name, path in zip(instruction.operands, instruction.operand_paths, strict=True):
            if path and _element(shapes[name], path) is None:
                fault = "{} has no element " + "#".join(map(str, path))
                self._fail(computation, name, fault, instruction, f"{instruction.opcode}(")
        for name, path, declared in declared_shapes(instruction):
            fault = shape_fault(declared)
            told = _element(shapes.get(name, ""), path) or ""
            if fault is None and not compatible(declared, told):
                fault = f"{name} has the shape {told}"
            if fault is not None:
                self._fail(computation, name, _literally(fault), instruction, "(")

    def _form(self, computation: Computation, instruction: Instruction) -> None:
        key = (instruction.opcode, instruction.text)
        if key in self.sound:
            return
        if instruction.name.startswith("__") or is_reserved(instruction.name, instruction.text):
            self._fail(computation, instruction.name, "{} is no name", instruction)
        fault = instruction_fault(instruction)
        if fault is not None:
            self._fail_by(computation, instruction, fault)
        self.sound.add(key)

    def _callees(self, computation: Computation, instruction: Instruction) -> None:
        for callee in instruction.callees:
            if callee.name not in self.computations:
                known = self.module.get(callee.name) is not None
                fault = "computation {} is " + ("defined only later" if known else "not defined")
                self._fail(computation, callee.name, fault, instruction, f"{callee.role}=")
        if instruction.callees and not tells_shape(instruction):
            self._called(computation, instruction)

    def _called(self, computation: Computation, instruction: Instruction) -> None:
        """What an instruction without a shape calls takes its operands."""
        callees, names = instruction.callees, instruction.operands
        called = [(c.role, found) for c in callees if (found := self.module.get(c.name))]
        operands = [found for name in names if (found := computation.get(name))]
        is_whole = (len(called), len(operands)) == (len(callees), len(names))
        if is_whole and not any(instruction.operand_paths):
            fault = called_fault(instruction, operands, called)
            if fault is not None:
                self._fail_by(computation, instruction, fault)

    def _parameters(self, computation: Computation) -> None:
        for expected, parameter in enumerate(computation.parameters):
            number = parameter.parameter_number
            if number != expected:
                fault = f"no parameter {expected}"
                self._fail(computation, parameter.arguments.strip(), fault, parameter, "parameter(")

    def _foot(self, computation: Computation) -> None:
        told: set[str] = set()
        for key, value in foot_of(computation.text):
            fault = value_fault(key, value)
            if key not in {"execution_thread", "backend_config"}:
                fault = f"a computation has no attribute {key}"
            elif key in told:
                fault = f"attribute {key} is given twice"
            if fault is not None:
                self._fail_in_foot(computation, f"{key}=", fault)
            told.add(key)

    def _signature(self, computation: Computation) -> None:
        text = signature_of(computation)
        if text is None:
            if is_odd_head(computation):
                self._fail(computation, computation.name, "the signature of {} is not sound")
            return
        fault = signature_fault(text)
        result = squeezed(text).rpartition("->")[2]
        root = computation.root.shape.text
        if fault is None and not compatible(result, root):
            fault = f"the root has the shape {root}"
        if fault is not None:
            self._fail(computation, computation.name, _literally(fault))

    def _aliases(self, entry: Computation) -> None:
        """An aliased output is a part of the entry's result."""
        text = self.module.header.attributes.get("input_output_alias", "")
        for index in _ALIASED_OUTPUT.findall(squeezed(text)):
            shape = entry.root.shape
            for word in index.split(",") if index else ():
                if shape.kind == "tuple" and int(word[:18]) < len(shape.elements):
                    shape = shape.elements[int(word[:18])]
                elif shape.kind != "unknown":
                    fault = f"the result has no part {{{index}}}"
                    self._fail_in_header("input_output_alias=", fault)

    def _fail_in_header(self, word: str, message: str, *, last: bool = False) -> NoReturn:
        find = str.rfind if last else str.find
        places = ((number, find(text, word) + 1) for number, text in enumerate(self.lines, 1))
        number, column = next((place for place in places if place[1]), (1, 1))
        text = self.lines[number - 1]
        raise HloSyntaxError(message, Span(number, column, number, column + len(word)), text)

    def _fail_in_foot(self, computation: Computation, word: str, message: str) -> NoReturn:
        last = self.line + computation.text.count("\n")
        numbers = range(last, self.line - 1, -1)
        number = next((n for n in numbers if word in self.lines[n - 1]), last)
        column = max(self.lines[number - 1].rfind(word), 0) + 1
        span = Span(number, column, number, column + len(word))
        raise HloSyntaxError(message, span, self.lines[number - 1])

    def _fail_by(
        self, computation: Computation, instruction: Instruction, fault: Fault
    ) -> NoReturn:
        """Raise at the place of the fault, or at its word."""
        before = instruction.text[: fault.place or 0].split("\n")
        number = self._line(computation, instruction)
        start = self.lines[number - 1].find(instruction.text.split("\n")[0])
        if fault.place is None or start < 0:
            message = _literally(fault.message)
            self._fail(computation, fault.word, message, instruction)
        number += len(before) - 1
        column = len(before[-1]) + 1 + (start if len(before) == 1 else 0)
        line = self.lines[number - 1]
        raise HloSyntaxError(fault.message, Span(number, column, number, column + 1), line)

    def _line(self, computation: Computation, instruction: Instruction) -> int:
        """Where an instruction begins; of two with one name the second, by identity."""
        found = computation.instructions
        numbers = range(len(found) - 1, -1, -1)
        position = next(number for number in numbers if found[number] is instruction)
        return self.line + computation.line_offset(position)

    def _fail(
        self,
        computation: Computation,
        word: str,
        message: str,
        instruction: Instruction | None = None,
        after: str = "",
    ) -> NoReturn:
        """Raise at `word`, looked for behind `after` in the lines of the instruction or head."""
        first = last = self.line
        if instruction is not None:
            first = self._line(computation, instruction)
            last = first + instruction.text.count("\n")
        pattern = compile_pattern(_lead(word) + re.escape(word) + _trail(word))
        line, column = first, 1
        for number in range(first, last + 1):
            text = self.lines[number - 1]
            found = pattern.search(text, max(text.find(after), 0) + len(after))
            if found is not None:
                line, column = number, found.start() + 1
                break
        span = Span(line, column, line, column + len(word))
        raise HloSyntaxError(message.format(word), span, self.lines[line - 1])


def _element(text: str, path: tuple[int, ...]) -> str | None:
    """The shape of the element of a path; empty when not known, None when there is none."""
    if not path:
        return text
    shape = Shape(text)
    for index in path:
        if shape.kind == "unknown":
            return ""
        if shape.kind != "tuple" or index >= len(shape.elements):
            return None
        shape = shape.elements[index]
    return shape.text


def _literally(message: str) -> str:
    """A message whose braces are not for a word to be put in."""
    return message.replace("{", "{{").replace("}", "}}")


def _lead(word: str) -> str:
    return r"(?<![\w.\-])" if word[:1].isalnum() else ""


def _trail(word: str) -> str:
    return r"(?![\w.\-])" if word[-1:].isalnum() else ""
