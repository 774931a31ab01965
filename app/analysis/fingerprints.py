"""Exact fingerprints of instructions and of the graphs around them, as small numbers.

Equal structures get equal numbers from one table (hash consing), so there are no collisions and
nothing depends on the hash seed. Names, metadata, called computations and control edges do not
enter; they are compared separately. Every walk is one pass over a list in text order.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Literal

from hlo_parser import Computation, Instruction

# Attribute keys that say who an instruction is or what it calls, not what it computes.
UNCOUNTED_KEYS = frozenset(
    {
        "branch_computations",
        "called_computations",
        "calls",
        "body",
        "condition",
        "control-predecessors",
        "false_computation",
        "metadata",
        "origin",
        "original_value",
        "scatter",
        "select",
        "to_apply",
        "true_computation",
    }
)

Strictness = Literal["exact", "layout-free", "operation"]
Users = Mapping[int, Sequence[tuple[int, int]]]


class Indexed:
    """One computation by position: operand positions, worked out once, and users."""

    __slots__ = ("_operands", "computation", "index", "instructions", "root")

    def __init__(self, computation: Computation) -> None:
        self.computation = computation
        self.instructions = computation.instructions
        self.index: dict[str, int] = {}
        for position, instruction in enumerate(computation.instructions):
            self.index.setdefault(instruction.name, position)
        self.root = self.index[computation.root.name]
        self._operands: list[tuple[int, ...] | None] = [None] * len(self.instructions)

    def operands(self, position: int) -> tuple[int, ...]:
        """Positions of the operands; -1 for a name that the computation does not define."""
        found = self._operands[position]
        if found is None:
            get = self.index.get
            found = tuple(get(name, -1) for name in self.instructions[position].operands)
            self._operands[position] = found
        return found

    def users_of(self, positions: Sequence[int]) -> Users:
        """Who uses each of `positions`: (user, operand number) pairs in text order."""
        found: dict[int, list[tuple[int, int]]] = {position: [] for position in positions}
        wanted = {self.instructions[position].name: found[position] for position in positions}
        for user, instruction in enumerate(self.instructions):
            for number, name in enumerate(instruction.operands):
                uses = wanted.get(name)
                if uses is not None:
                    uses.append((user, number))
        return found


class FingerprintTable:
    """Numbers for structures, shared by all computations that are compared with each other."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._signatures: dict[tuple[Instruction, Strictness], int] = {}
        self._indexed: dict[Computation, Indexed] = {}
        self._contents: dict[Computation, int] = {}
        self._opcodes: dict[Computation, Counter[str]] = {}

    def number(self, key: Hashable) -> int:
        """The number of a structure; a new one for one not seen before."""
        return self._numbers.setdefault(key, len(self._numbers))

    def indexed(self, computation: Computation) -> Indexed:
        """The computation by position."""
        found = self._indexed.get(computation)
        if found is None:
            found = self._indexed[computation] = Indexed(computation)
        return found

    def opcodes(self, computation: Computation) -> Counter[str]:
        """How often each opcode stands in the computation."""
        found = self._opcodes.get(computation)
        if found is None:
            found = Counter(instruction.opcode for instruction in computation.instructions)
            self._opcodes[computation] = found
        return found

    def signature(self, instruction: Instruction, strictness: Strictness) -> int:
        """What an instruction does, operands aside.

        `exact`: opcode, shape with layout, attributes, literal, parameter number. `layout-free`:
        opcode, element types and dimensions, literal, parameter number. `operation`:
        `operation_of` alone.
        """
        key = (instruction, strictness)
        found = self._signatures.get(key)
        if found is None:
            found = self._signatures[key] = self.number(_signature(instruction, strictness))
        return found

    def content(self, computation: Computation) -> int:
        """Equal for computations that differ in names, metadata, callees and order only."""
        found = self._contents.get(computation)
        if found is None:
            here = self.indexed(computation)
            everything = range(len(here.instructions))
            up = self.operand_graphs(here, everything, {}, "exact")
            found = self._contents[computation] = self.number(
                ("content", up[here.root], tuple(sorted(up.values())))
            )
        return found

    def operand_graphs(
        self,
        here: Indexed,
        positions: Sequence[int],
        settled: Mapping[int, int],
        strictness: Strictness,
    ) -> dict[int, int]:
        """For each of `positions` (ascending) the number of the graph of its operands.

        Operands in `settled` count as the number given there: matched instructions, whose own
        operands need no further look. An operand that comes later in the text, as in a hand-made
        cycle, counts as unknown.
        """
        graphs: dict[int, int] = {}
        for position in positions:
            instruction = here.instructions[position]
            operands = tuple(
                (settled[o] if o in settled else graphs.get(o, -1)) for o in here.operands(position)
            )
            graphs[position] = self.number(
                (
                    "operands",
                    self.signature(instruction, strictness),
                    operands,
                    instruction.operand_paths,
                )
            )
        return graphs

    def user_graphs(
        self,
        here: Indexed,
        positions: Sequence[int],
        settled: Mapping[int, int],
        strictness: Strictness,
        users: Users,
    ) -> dict[int, int]:
        """The same in the other direction: what uses an instruction, and as which operand."""
        graphs: dict[int, int] = {}
        for position in reversed(positions):
            instruction = here.instructions[position]
            uses = sorted(
                (settled[u] if u in settled else graphs.get(u, -1), number)
                for u, number in users[position]
            )
            graphs[position] = self.number(
                (
                    "users",
                    self.signature(instruction, strictness),
                    position == here.root,
                    tuple(uses),
                )
            )
        return graphs


def _signature(instruction: Instruction, strictness: Strictness) -> Hashable:
    opcode = instruction.opcode
    if strictness == "operation":
        return ("operation", operation_of(instruction))
    if strictness == "layout-free":
        return (opcode, instruction.shape.without_layout, immediate(instruction))
    attributes = tuple(
        (key, value) for key, value in instruction.attributes.items() if key not in UNCOUNTED_KEYS
    )
    return (opcode, instruction.shape.text, immediate(instruction), attributes)


def operation_of(instruction: Instruction) -> str:
    """What is done, whatever a pass turned it into on the way: the opcode, with these exceptions.

    An asynchronous start is its operation (`%all-gather-start.2 = (...) async-start(...)` says
    which in its name alone), a reduce-scatter the all-reduce that reduce-scatter-creator made it
    from, a call of cuBLAS or cuDNN the dot or convolution.
    """
    opcode = instruction.opcode
    if opcode == "async-start":
        opcode = name_stem(instruction.name)
    elif opcode == "custom-call":
        return _LIBRARY_CALLS.get((instruction.custom_call_target or "").split("$")[0], opcode)
    opcode = opcode.removesuffix("-start")
    return "all-reduce" if opcode == "reduce-scatter" else opcode


_LIBRARY_CALLS = {"__cublas": "dot", "__cudnn": "convolution"}


def name_stem(name: str) -> str:
    """A name without the endings that XLA adds to keep names apart: `add.3.clone` is an `add`."""
    parts = name.split(".")
    while len(parts) > 1 and (parts[-1].isdigit() or parts[-1] in _COPY_ENDINGS):
        parts.pop()
    return ".".join(parts)


_COPY_ENDINGS = frozenset({"clone", "double_buffer_clone", "peeled_double_buffer", "remat", "sunk"})


def immediate(instruction: Instruction) -> str | int | None:
    """The value of a constant, the number of a parameter."""
    if instruction.opcode == "constant":
        literal = instruction.literal
        return None if literal is None else literal.text
    return instruction.parameter_number
