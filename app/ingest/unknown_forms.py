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
        # The objects are kept, not only their ids: an id is given again when its object is gone.
        self._computations: dict[int, Computation] = {}
        self._looked_at: dict[tuple[str, int], Instruction] = {}
        self._known: set[tuple[str, tuple[str, ...]]] = set()

    def of(self, module: Module) -> Iterator[tuple[str, str]]:
        """Code (`unknown_opcode`, `unknown_attribute`) and what it was, for each new form."""
        for computation in module.computations:
            if id(computation) in self._computations:
                continue
            self._computations[id(computation)] = computation
            for instruction in computation.instructions:
                form = instruction.opcode, id(instruction.attribute_list)
                if form not in self._looked_at:
                    self._looked_at[form] = instruction
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
