"""Sharing between the texts of one dump.

A dump is one module printed many times with small changes. The interner keeps each distinct
computation, line, shape and attribute list once, and remembers which computation stood behind
which: the next text mostly repeats the order, so one memory compare finds most computations
without hashing or copying. One interner serves one dump and one thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hlo_parser.lines import LineReader

if TYPE_CHECKING:
    from hlo_parser.blocks import Block
    from hlo_parser.frames import FrameTables
    from hlo_parser.module import Header
    from hlo_parser.proto.instruction_text import Records


# Enough of a text to tell most from those of equal length.
_HEAD = 64


class Tables(NamedTuple):
    """Frame tables as the last text that had some held them, up to its first computation."""

    raw: bytes
    frames: FrameTables
    line_breaks: int


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
        "_instructions",
        "_is_first",
        "_texts",
        "between",
        "first",
        "frames",
        "headers",
        "lines",
        "named",
        "protos",
        "tables",
    )

    named: dict[str, Block]
    """The last computation of each name; in a first text, the first."""
    tables: Tables | None

    def __init__(self) -> None:
        self.lines: LineReader = LineReader()
        # Names tell the computations of one text apart: they are looked up by their text only when
        # there is a second text.
        self._is_first = True
        # By start and length, by text only where these are equal: to hash each text costs a
        # twentieth of reading a dump.
        self._blocks: dict[tuple[bytes, int], Block | dict[bytes, Block]] = {}
        self.named = {}
        self.between: dict[bytes, bytes] = {}
        self.headers: dict[bytes, Header] = {}
        self.frames: dict[bytes, FrameTables] = {}
        self.tables = None
        self.first: Block | None = None
        self.protos: Records | None = None
        self._texts = 0
        self._bytes = 0
        self._computations = 0
        self._instructions = 0

    def block_of(self, raw: bytes) -> Block | None:
        """The computation of this text, if it was read before."""
        known = self._blocks.get((raw[:_HEAD], len(raw)))
        if isinstance(known, dict):
            return known.get(raw)
        return known if known is not None and known.raw == raw else None

    def keep(self, block: Block) -> Block:
        """Remember a block; gives the one of equal text that was kept before, if any."""
        named, name = self.named, block.computation.name
        if self._is_first:
            first = named.setdefault(name, block)
            if first is block:
                return block
            self._keep_by_text(first)
        else:
            named[name] = block
        return self._keep_by_text(block)

    def end_first_text(self) -> None:
        """Know computations and lines by their text from now on, not by name."""
        if self._is_first:
            self._is_first = False
            for block in self.named.values():
                self._keep_by_text(block)
        self.lines.end_first_text()

    def _keep_by_text(self, block: Block) -> Block:
        key = block.raw[:_HEAD], block.size
        known = self._blocks.setdefault(key, block)
        if known is block:
            return block
        if not isinstance(known, dict):
            known = self._blocks[key] = {known.raw: known}
        return known.setdefault(block.raw, block)

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
        self.end_first_text()
        return InternerStats(
            texts=self._texts,
            bytes=self._bytes,
            computations=self._computations,
            distinct_computations=sum(
                [len(known) if isinstance(known, dict) else 1 for known in self._blocks.values()]
            ),
            instructions=self._instructions,
            distinct_instructions=len(self.lines.instructions),
        )
