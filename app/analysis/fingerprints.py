"""Exact fingerprints of instructions and of the graphs around them, as small numbers.

Equal structures get equal numbers from one table (hash consing), so there are no collisions and
nothing depends on the hash seed. Names, metadata, called computations and control edges do not
enter; they are compared separately. Every walk is one pass over a list in text order.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from hlo_parser import Computation, Instruction
from hlo_parser.possessive import compile_pattern

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

Strictness = Literal["whole", "exact", "layout-free", "operation"]
Signature = Callable[[int], int]
"""A number for what the instruction at a position does."""

_ELEMENT = "get-tuple-element"

# The position of an instruction and the path to an element of it.
_Source = tuple[int, tuple[int, ...]]

# Numbers into the tables of one text, and names: `scheduling_name` repeats the instruction's own
# once it is scheduled, `deduplicated_name` that of the first of its equals (since 2024).
_NO_MEANING = compile_pattern(
    r'\b(?:stack_frame_id=\d++|(?:scheduling|deduplicated)_name="(?:[^"\\]|\\.)*+")\s*+'
)


class Indexed:
    """One computation by position: operand positions, worked out once, and users."""

    __slots__ = ("_operands", "_sources", "_users", "computation", "index", "instructions", "root")

    def __init__(self, computation: Computation) -> None:
        self.computation = computation
        self.instructions = computation.instructions
        self.index: dict[str, int] = {}
        for position, instruction in enumerate(computation.instructions):
            self.index.setdefault(instruction.name, position)
        self.root = self.index[computation.root.name]
        self._operands: list[tuple[int, ...] | None] = [None] * len(self.instructions)
        self._sources: list[tuple[_Source, ...] | None] = [None] * len(self.instructions)
        self._users: list[list[tuple[int, int]]] | None = None

    def operands(self, position: int) -> tuple[int, ...]:
        """Positions of the operands; -1 for a name that the computation does not define."""
        found = self._operands[position]
        if found is None:
            get = self.index.get
            found = tuple([get(name, -1) for name in self.instructions[position].operands])
            self._operands[position] = found
        return found

    def sources(self, position: int) -> tuple[_Source, ...]:
        """The operands with what is left of their paths, seen through tuples made here.

        An element of a tuple that this computation makes itself is that tuple's operand.
        """
        found = self._sources[position]
        if found is None:
            operands = self.operands(position)
            paths = self.instructions[position].operand_paths
            instructions = self.instructions
            found = tuple(
                [
                    self._source(operand, path)
                    if path or (operand >= 0 and instructions[operand].opcode == _ELEMENT)
                    else (operand, path)
                    for operand, path in zip(operands, paths, strict=True)
                ]
            )
            self._sources[position] = found
        return found

    @property
    def known_sources(self) -> Sequence[tuple[_Source, ...] | None]:
        """`sources` by position, None where nobody asked yet: a look here costs no call."""
        return self._sources

    def _source(self, position: int, path: tuple[int, ...]) -> _Source:
        reached = position, path
        for _ in self.instructions:
            if position < 0:
                break
            instruction = self.instructions[position]
            index = instruction.tuple_index
            if instruction.opcode == _ELEMENT and index is not None:
                path = (*instruction.operand_paths[0], index, *path)
                position = self.operands(position)[0]
            elif instruction.opcode == "tuple" and path and path[0] < len(instruction.operands):
                element = path[0]
                path = (*instruction.operand_paths[element], *path[1:])
                position = self.operands(position)[element]
                reached = position, path
            else:
                break
        return reached

    def users(self, position: int) -> Sequence[tuple[int, int]]:
        """Who uses the instruction: (user, operand number) pairs in text order.

        Through a tuple made here too, by `sources`.
        """
        return self.all_users()[position]

    def all_users(self) -> Sequence[Sequence[tuple[int, int]]]:
        """`users` by position."""
        if self._users is None:
            instructions = self.instructions
            found: list[list[tuple[int, int]]] = [[] for _ in instructions]
            for user in range(len(instructions)):
                for number, operand in enumerate(self.operands(user)):
                    if operand >= 0:
                        found[operand].append((user, number))
                        if instructions[operand].opcode == _ELEMENT:
                            source, _ = self.sources(user)[number]
                            if source >= 0 and source != operand:
                                found[source].append((user, number))
            self._users = found
        return self._users


class _BySteps(dict[int, int]):
    """Signatures by position, each looked up at its first use; later uses are plain look-ups."""

    __slots__ = ("_callees", "_instructions", "_strictness", "_table")

    def __init__(
        self,
        table: "FingerprintTable",
        here: Indexed,
        strictness: Strictness,
        callees: Callable[[str], int] | None,
    ) -> None:
        super().__init__()
        self._table, self._instructions = table, here.instructions
        self._strictness: Strictness = strictness
        self._callees = callees

    def __missing__(self, position: int) -> int:
        found = self._table.signature(self._instructions[position], self._strictness, self._callees)
        self[position] = found
        return found


class FingerprintTable:
    """Numbers for structures, shared by all computations that are compared with each other."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._signatures: defaultdict[Strictness, dict[Instruction, int]] = defaultdict(dict)
        self._indexed: dict[Computation, Indexed] = {}
        self._contents: dict[tuple[Computation, Strictness], int] = {}
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

    def signature(
        self,
        instruction: Instruction,
        strictness: Strictness,
        callees: Callable[[str], int] | None = None,
    ) -> int:
        """What an instruction does, operands aside.

        `whole`: all of `exact`, what `callees` say of the computations called, metadata, whether
        anything must come before. `exact`: opcode, shape with layout, attributes, literal,
        parameter number. `layout-free`: opcode, element types and dimensions, literal, number of
        the parameter or the tuple's element. `operation`: `operation_of` alone.
        """
        known = self._signatures[strictness]
        found = known.get(instruction)
        if found is None:
            if strictness == "whole":
                exact = self.signature(instruction, "exact")
                waits = bool(instruction.control_predecessors)
                key = ("whole", exact, metadata_key(instruction), waits)
            else:
                key = _signature(instruction, strictness)
            found = known[instruction] = self.number(key)
        if strictness == "whole" and callees is not None and instruction.callees:
            return self.number((found, *(callees(callee.name) for callee in instruction.callees)))
        return found

    def signatures(
        self, here: Indexed, strictness: Strictness, callees: Callable[[str], int]
    ) -> Signature:
        """`signature` by the position in a computation."""
        if strictness == "whole":
            return _BySteps(self, here, strictness, callees).__getitem__
        return _BySteps(self, here, strictness, None).__getitem__

    def content(self, computation: Computation, strictness: Strictness = "exact") -> int:
        """Equal for computations that differ in names, callees and order only.

        `exact` takes no account of metadata either, `whole` does.
        """
        key = (computation, strictness)
        found = self._contents.get(key)
        if found is None:
            up = self.graphs(computation, strictness)
            root = up[self.indexed(computation).root]
            found = self._contents[key] = self.number(("content", root, tuple(sorted(up))))
        return found

    def graphs(self, computation: Computation, strictness: Strictness = "exact") -> tuple[int, ...]:
        """The number of each instruction's graph of operands, in text order."""
        here = self.indexed(computation)
        known = self._signatures[strictness]
        signatures = [
            known[i] if i in known else self.signature(i, strictness) for i in here.instructions
        ]
        up = self.operand_graphs(here, range(len(signatures)), {}, signatures.__getitem__)
        return tuple(up.values())

    def operand_graphs(
        self,
        here: Indexed,
        positions: Sequence[int],
        settled: Mapping[int, int],
        signature: Signature,
    ) -> dict[int, int]:
        """For each of `positions` (ascending) the number of the graph of its operands.

        Operands in `settled` count as the number given there: matched instructions, whose own
        operands need no further look. An operand that comes later in the text, as in a hand-made
        cycle, counts as unknown.
        """
        graphs: dict[int, int] = {}
        numbers = self._numbers
        known, sources, seen = here.known_sources, here.sources, graphs.get
        for position in positions:
            # Lists are faster than generators here, where most of the time of a matching goes.
            operands = tuple(
                [
                    (settled[o] if o in settled else seen(o, -1), path)
                    for o, path in known[position] or sources(position)
                ]
            )
            key = ("operands", signature(position), operands)
            graphs[position] = numbers.setdefault(key, len(numbers))
        return graphs

    def user_graphs(
        self,
        here: Indexed,
        positions: Sequence[int],
        settled: Mapping[int, int],
        signature: Signature,
    ) -> dict[int, int]:
        """The same in the other direction: what uses an instruction, and as which operand."""
        graphs: dict[int, int] = {}
        numbers = self._numbers
        users, seen, root = here.all_users(), graphs.get, here.root
        for position in reversed(positions):
            uses = [(settled[u] if u in settled else seen(u, -1), at) for u, at in users[position]]
            if len(uses) > 1:
                uses.sort()
            key = ("users", signature(position), position == root, tuple(uses))
            graphs[position] = numbers.setdefault(key, len(numbers))
        return graphs


def _signature(
    instruction: Instruction, strictness: Literal["exact", "layout-free", "operation"]
) -> Hashable:
    opcode = instruction.opcode
    if strictness == "operation":
        return ("operation", operation_of(instruction))
    if strictness == "layout-free":
        element = instruction.tuple_index if opcode == "get-tuple-element" else None
        return (opcode, instruction.shape.without_layout, immediate(instruction), element)
    attributes = tuple(
        [(key, value) for key, value in instruction.attributes.items() if key not in UNCOUNTED_KEYS]
    )
    return (opcode, instruction.shape.text, immediate(instruction), attributes)


def metadata_key(instruction: Instruction) -> Hashable:
    """What the metadata says, numbers of frames and names of instructions aside."""
    text = instruction.attributes.get("metadata")
    if text is None:
        return ""
    return _meaning(text) if len(text) <= _MOST_KEPT else _meaning.__wrapped__(text)


_MOST_KEPT = 1_000
"""Characters of metadata whose meaning is kept: a layer's instructions share one, by the score."""


@lru_cache(maxsize=8_192)
def _meaning(metadata: str) -> str:
    return _NO_MEANING.sub("", metadata[1:-1]).rstrip()


def operation_of(instruction: Instruction) -> str:
    """What is done, whatever a pass turned it into on the way: the opcode, with these exceptions.

    An asynchronous start is its operation (`%all-gather-start.2 = (...) async-start(...)` says
    which in its name alone, if there), a reduce-scatter the all-reduce that
    reduce-scatter-creator made it from, a call of cuBLAS or cuDNN the dot or convolution.
    """
    opcode = instruction.opcode
    if opcode == "async-start":
        stem = name_stem(instruction.name)
        opcode = stem if stem.endswith("-start") else opcode
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
