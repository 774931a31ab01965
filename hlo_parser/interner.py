"""Sharing between the texts of one dump.

A dump is one module printed many times with small changes. The interner keeps each distinct
computation, line, shape and attribute list once, and remembers which computation stood behind
which: the next text mostly repeats the order, so one memory compare finds most computations
without hashing or copying. One interner serves one dump and one thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo_parser.lines import LineReader

if TYPE_CHECKING:
    from hlo_parser.blocks import Block
    from hlo_parser.frames import FrameTables
    from hlo_parser.module import Header
    from hlo_parser.proto.instruction_text import Records


@dataclass(frozen=True, slots=True)
class InternerStats:
    """What passed through an interner; bytes of text, and how much of it was distinct."""

    texts: int
    bytes: int
    computations: int
    distinct_computations: int
    instructions: int
    distinct_instructions: int


class Interner:
    """Shares equal pieces between the modules parsed with it."""

    __slots__ = (
        "_blocks",
        "_bytes",
        "_computations",
        "_first_named",
        "_instructions",
        "_texts",
        "between",
        "first",
        "frames",
        "headers",
        "lines",
        "protos",
    )

    def __init__(self) -> None:
        self.lines: LineReader = LineReader()
        self._blocks: dict[bytes, Block] = {}
        # As in LineReader: whole texts are looked up only when there is a second text.
        self._first_named: dict[str, Block] | None = {}
        self.between: dict[bytes, bytes] = {}
        self.headers: dict[bytes, Header] = {}
        self.frames: dict[bytes, FrameTables] = {}
        self.first: Block | None = None
        self.protos: Records | None = None
        self._texts = 0
        self._bytes = 0
        self._computations = 0
        self._instructions = 0

    @property
    def blocks(self) -> dict[bytes, Block]:
        """The computations read so far by their text."""
        if self._first_named is not None:
            for block in self._first_named.values():
                self._blocks.setdefault(block.raw, block)
            self._first_named = None
        return self._blocks

    def keep(self, block: Block) -> Block:
        """Remember a block; gives the one of equal text that was kept before, if any."""
        if self._first_named is not None:
            first = self._first_named.setdefault(block.computation.name, block)
            if first.raw == block.raw:
                return first
        return self._blocks.setdefault(block.raw, block)

    def follow(self, previous: Block | None, block: Block, guess: Block | None) -> None:
        """Remember that `block` stood where `guess` was expected; no `previous` at the start."""
        if previous is None:
            self.first = block
        else:
            previous.following = block
        if block.following is None and guess is not None:
            block.following = guess.following

    def count(self, byte_size: int, computations: int, instructions: int) -> None:
        """Add one text to the statistics."""
        self._texts += 1
        self._bytes += byte_size
        self._computations += computations
        self._instructions += instructions

    @property
    def stats(self) -> InternerStats:
        """Counts since the interner was made; texts that raised are left out."""
        return InternerStats(
            texts=self._texts,
            bytes=self._bytes,
            computations=self._computations,
            distinct_computations=len(self.blocks),
            instructions=self._instructions,
            distinct_instructions=len(self.lines.instructions),
        )
