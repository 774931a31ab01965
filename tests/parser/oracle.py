"""XLA's own HLO parser (jaxlib) as the judge of ours."""

import subprocess
import sys
from collections.abc import Container
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from hlo_parser import Instruction, Module
from parser.hlo_proto import ComputationFacts, InstructionFacts, ModuleFacts, facts_of_proto

_CHILD = Path(__file__).with_name("oracle_child.py")


class Oracle:
    """Asks a child process, and starts another when a text kills it.

    `python` is the interpreter whose jaxlib answers; by default the one that runs the tests.
    """

    def __init__(self, python: str = sys.executable) -> None:
        self._python = python
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Oracle":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._child is not None:
            self._child.communicate()
            self._child = None

    def read(self, text: bytes) -> ModuleFacts | str:
        """What XLA understood, or why it refused; `crashed` when the text killed it."""
        answer = self.serialized(text)
        return answer if isinstance(answer, str) else facts_of_proto(answer)

    def serialized(self, text: bytes) -> bytes | str:
        """The HloModuleProto XLA makes of a text, or why it refused; `crashed` as in `read`."""
        if self._child is None:
            self._child = subprocess.Popen(
                [self._python, str(_CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(len(text).to_bytes(8, "big") + text)
        stdin.flush()
        head = stdout.read(9)
        if len(head) < 9:
            self._stop()
            return "crashed"
        answer = stdout.read(int.from_bytes(head[1:], "big"))
        return answer if head[:1] == b"+" else answer.decode()


def facts_of_module(module: Module) -> ModuleFacts:
    """The same facts from our parser."""
    return ModuleFacts(
        module.entry.name,
        {
            computation.name: ComputationFacts(
                computation.root.name,
                {made.name: _facts(made) for made in computation.instructions},
            )
            for computation in module.computations
        },
    )


def _facts(instruction: Instruction) -> InstructionFacts:
    callees = tuple(callee.name for callee in instruction.callees)
    if instruction.opcode == "while":
        # Printed condition first, kept body first (xla/hlo/ir/hlo_instructions.h).
        callees = callees[::-1]
    operands = zip(instruction.operands, instruction.operand_paths, strict=True)
    return InstructionFacts(
        instruction.opcode,
        tuple(name + "".join(f"#{element}" for element in path) for name, path in operands),
        callees,
        instruction.control_predecessors,
        instruction.tuple_index if instruction.opcode == "get-tuple-element" else None,
    )


def as_printed(facts: ModuleFacts, printed: ModuleFacts) -> ModuleFacts:
    """XLA's facts with the sugar of asynchronous instructions and of tuple elements put back.

    Compact texts (2026 on) leave get-tuple-elements out and write `%t#1` for their use.

    `reduce-scatter-start(...)` in a text becomes an async-start that calls a computation which
    the text does not have; that computation's root has the real opcode and the callees. The
    update and done instructions belong to the start they take as operand.
    """
    wrapped = {
        name: computation.instructions[computation.root]
        for name, computation in facts.computations.items()
        if name not in printed.computations
    }
    bodies: dict[str, ComputationFacts] = {}
    for name, computation in facts.computations.items():
        if name in wrapped:
            continue
        shown = printed.computations[name].instructions
        computation = _named_as_printed(computation, shown)
        bodies[name] = ComputationFacts(
            computation.root,
            {
                key: _with_elements(_sugared(key, computation, wrapped), computation, shown)
                for key, made in computation.instructions.items()
                if key in shown or made.opcode != "get-tuple-element"
            },
        )
    return ModuleFacts(facts.entry, bodies)


def _named_as_printed(
    computation: ComputationFacts, shown: dict[str, InstructionFacts]
) -> ComputationFacts:
    """The names of the text where XLA's reader had to choose others.

    It names the element 4 of `%param` that a compact text does not print `param_4`, and a printed
    instruction of that name in a later computation gets another number (jaxlib 0.12.0).
    """
    facts = computation.instructions
    made_up = [n for n, f in facts.items() if n not in shown and f.opcode != "get-tuple-element"]
    missing = [n for n in shown if n not in facts]
    if [facts[n].opcode for n in made_up] != [shown[n].opcode for n in missing]:
        return computation
    names = dict(zip(made_up, missing, strict=True))

    def renamed(old: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in old)

    return ComputationFacts(
        names.get(computation.root, computation.root),
        {
            names.get(name, name): replace(
                made,
                operands=renamed(made.operands),
                control_predecessors=renamed(made.control_predecessors),
            )
            for name, made in facts.items()
        },
    )


def _with_elements(
    made: InstructionFacts, computation: ComputationFacts, shown: Container[str]
) -> InstructionFacts:
    def operand(name: str) -> str:
        path = ""
        while name not in shown:
            taken = computation.instructions[name]
            if taken.element is None:
                break
            name, path = taken.operands[0], f"#{taken.element}{path}"
        return name + path

    return replace(made, operands=tuple(map(operand, made.operands)))


def _sugared(
    name: str, computation: ComputationFacts, wrapped: dict[str, InstructionFacts]
) -> InstructionFacts:
    made = start = computation.instructions[name]
    while start.opcode in {"async-update", "async-done"}:
        start = computation.instructions[start.operands[0]]
    if start.opcode != "async-start" or start.callees[0] not in wrapped:
        return made
    inner = wrapped[start.callees[0]]
    opcode = inner.opcode + made.opcode.removeprefix("async")
    return replace(made, opcode=opcode, callees=inner.callees if made is start else ())
