"""Opcodes and attributes that no release of XLA is known to have.

The parser keeps them as they stand, since new syntax will keep coming; here they are found, so that
a report can say what it took without understanding it.
"""

from collections.abc import Iterator

from hlo_parser import Computation, Instruction, Module
from hlo_parser.opcodes import form_of


class UnknownForms:
    """Looks through the modules of one dump; equal forms are looked at once."""

    def __init__(self) -> None:
        self._computations: set[Computation] = set()
        self._instructions: set[Instruction] = set()
        # By the ids of attribute lists: the instructions are kept, so no id is given again.
        self._looked_at: set[tuple[str, int]] = set()
        self._known: set[tuple[str, tuple[str, ...]]] = set()

    def of(self, module: Module) -> Iterator[tuple[str, str]]:
        """Code (`unknown_opcode`, `unknown_attribute`) and what it was, for each new form."""
        for computation in module.computations:
            if computation in self._computations:
                continue
            self._computations.add(computation)
            known = self._instructions
            new = [i for i in computation.instructions if i not in known]
            known.update(new)
            for instruction in new:
                form = instruction.opcode, id(instruction.attribute_list)
                if form not in self._looked_at:
                    self._looked_at.add(form)
                    yield from self._look_at(instruction)

    def _look_at(self, instruction: Instruction) -> Iterator[tuple[str, str]]:
        form = (instruction.opcode, tuple(instruction.attributes))
        if form in self._known:
            return
        opcode = form_of(instruction.opcode)
        if opcode is None:
            yield "unknown_opcode", instruction.opcode
            return
        strange = [key for key in form[1] if key not in opcode.allowed]
        if not strange:
            self._known.add(form)
        for key in strange:
            yield "unknown_attribute", f"{key} of {instruction.opcode}"
