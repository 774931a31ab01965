"""A computation: a named body of instructions, shared by equal text.

Knows its own text and nothing of its module: the same object stands in every module that prints
the same body, and the names it calls may mean other bodies there. Lookups are built when first
asked for and kept.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from hlo_parser.head_and_foot import foot_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo_parser.instruction import Instruction


class Gap(NamedTuple):
    """Text inside a computation that was not understood; lines 0-based within it."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str
    reason: str


class Computation:
    """One computation; immutable, holds at least one instruction."""

    __slots__ = (
        "_calling",
        "_offsets",
        "_parameters",
        "_positions",
        "_raw",
        "_root",
        "_users",
        "execution_thread",
        "gaps",
        "instructions",
        "is_entry",
        "line_count",
        "name",
    )

    name: str
    """Without `%`."""
    is_entry: bool
    """Whether the text says ENTRY; a module without it takes the last computation as entry."""
    execution_thread: str
    """`main` unless printed otherwise."""
    instructions: tuple[Instruction, ...]
    """In text order."""
    line_count: int
    gaps: tuple[Gap, ...]

    def __init__(
        self,
        raw: bytes,
        name: str,
        is_entry: bool,
        execution_thread: str,
        instructions: tuple[Instruction, ...],
        line_count: int,
        offsets: tuple[int, ...] | None = None,
        gaps: tuple[Gap, ...] = (),
    ) -> None:
        self._raw = raw
        self.name = name
        self.is_entry = is_entry
        self.execution_thread = execution_thread
        self.instructions = instructions
        self.line_count = line_count
        self._offsets = offsets
        self.gaps = gaps
        self._positions: dict[str, int] | None = None
        self._users: Mapping[str, tuple[Instruction, ...]] | None = None
        self._parameters: tuple[Instruction, ...] | None = None
        self._root: Instruction | None = None
        self._calling: tuple[Instruction, ...] | None = None

    def __repr__(self) -> str:
        return f"<Computation {self.name}, {len(self.instructions)} instructions>"

    @property
    def is_in_place(self) -> bool:
        """Whether it was printed in place of its name, which then is not XLA's."""
        return self._raw.startswith(b"{")

    @property
    def text(self) -> str:
        """As printed, from its name (or ENTRY) to the end of its last line; not kept."""
        return self._raw.rstrip().decode("utf-8", errors="backslashreplace")

    @property
    def backend_config(self) -> str:
        """What it is told behind its closing brace (since 0.12), as printed; empty as a rule."""
        is_told = b"backend_config=" in self._raw
        return dict(foot_of(self.text)).get("backend_config", "") if is_told else ""

    @property
    def root(self) -> Instruction:
        """The instruction marked ROOT, else the last one."""
        root = self._root
        if root is None:
            marked = (i for i in reversed(self.instructions) if i.is_root)
            root = self._root = next(marked, self.instructions[-1])
        return root

    @property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters by number."""
        found = self._parameters
        if found is None:
            numbered = [
                (number, index, instruction)
                for index, instruction in enumerate(self.instructions)
                if instruction.opcode == "parameter"
                and (number := instruction.parameter_number) is not None
            ]
            found = self._parameters = tuple(entry[2] for entry in sorted(numbered, key=_by_number))
        return found

    @property
    def calling(self) -> tuple[Instruction, ...]:
        """The instructions that name computations, in text order."""
        found = self._calling
        if found is None:
            found = self._calling = tuple([i for i in self.instructions if i.callees])
        return found

    def _by_name(self) -> dict[str, int]:
        if self._positions is None:
            positions: dict[str, int] = {}
            for index, instruction in enumerate(self.instructions):
                positions.setdefault(instruction.name, index)
            self._positions = positions
        return self._positions

    def get(self, name: str) -> Instruction | None:
        """The (first) instruction of that name."""
        positions = self._positions
        position = (self._by_name() if positions is None else positions).get(name)
        return None if position is None else self.instructions[position]

    def position(self, name: str) -> int:
        """0-based place in `instructions`; raises KeyError."""
        return self._by_name()[name]

    @property
    def users(self) -> Mapping[str, tuple[Instruction, ...]]:
        """Who takes an instruction as operand, by name; each user once, in text order."""
        found = self._users
        if found is None:
            collected: dict[str, list[Instruction]] = {i.name: [] for i in self.instructions}
            for instruction in self.instructions:
                operands = instruction.operands
                for operand in operands if len(operands) < 2 else dict.fromkeys(operands):
                    users = collected.get(operand)
                    if users is None:
                        users = collected[operand] = []
                    users.append(instruction)
            found = self._users = MappingProxyType(
                dict(zip(collected, map(tuple, collected.values()), strict=True))
            )
        return found

    def line_offset(self, position: int) -> int:
        """0-based line of an instruction's start, counted from the computation's first line."""
        if self._offsets is not None:
            return self._offsets[position]
        return range(1, len(self.instructions) + 1)[position]


def _by_number(entry: tuple[int, int, Instruction]) -> tuple[int, int]:
    return entry[0], entry[1]
