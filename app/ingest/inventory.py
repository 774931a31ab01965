"""Counts what an input holds and what of it was read; the answer is a `Coverage`.

Everything left out is counted; the lists in the report are cut to their first entries, of what is
skipped so that the first of each code stands and what is said of the whole input does.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.ingest.text import Text
from app.ingest.unknown_forms import UnknownForms
from app.model.report import Coverage, Skipped, UnparsedLine
from hlo_parser import Module

SHOWN_UNPARSED = 200
SHOWN_SKIPPED = 500
_SHOWN_CHARACTERS = 200
# What the parser says of brackets and of computations in each other alike.
_TOO_DEEP = "nest deeper than"


@dataclass(slots=True)
class Inventory:
    """The tally of one input, filled member by member.

    `files` are the members that are files and were not refused; each is counted once in `kinds`.
    """

    files: int = 0
    bytes: int = 0
    hlo_files: int = 0
    lines: int = 0
    instructions: int = 0
    unparsed_lines: int = 0
    skipped_count: int = 0
    kinds: Counter[str] = field(default_factory=Counter[str])
    _unparsed: list[UnparsedLine] = field(default_factory=list[UnparsedLine])
    _skipped: list[Skipped] = field(default_factory=list[Skipped])
    # By code: how many were skipped, and the first of them.
    _skips: dict[str, tuple[int, Skipped]] = field(default_factory=dict[str, tuple[int, Skipped]])
    _noted: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    _remarks: list[str] = field(default_factory=list[str])
    _forms: UnknownForms = field(default_factory=UnknownForms)

    def skip(self, name: str, code: str, reason: str, size: int = 0) -> None:
        """A member is left out, or what it holds is not used."""
        skipped = Skipped(name=name, code=code, reason=reason, bytes=size)
        count, first = self._skips.get(code, (0, skipped))
        self._skips[code] = (count + 1, first)
        self._keep(skipped, always=not count)

    def left_out(self) -> Iterator[tuple[Skipped, int]]:
        """The first of each code that was skipped, and how many more there are of it."""
        for count, first in self._skips.values():
            yield first, count - 1

    def skip_rest(self, name: str, code: str, reason: str) -> None:
        """The input as a whole, called `name`, is read in part only."""
        self._keep(Skipped(name=name, code=code, reason=reason), always=True)

    def note(self, code: str, name: str) -> None:
        """Something about one member that is told once for all members alike."""
        count, first = self._noted.get(code, (0, name))
        self._noted[code] = (count + 1, first)

    def remark(self, code: str, sentence: str) -> None:
        """Something about the whole input."""
        self._remarks.append(f"{code}: {sentence}")

    def count_module(self, file: str, module: Module, text: Text) -> None:
        """An HLO text was read, as far as the parser understood it."""
        self.hlo_files += 1
        self.lines += module.line_count
        self.instructions += module.instruction_count
        for line, size in text.long_lines:
            self._miss(file, line, 1, f"{size:,} bytes", "line_too_long")
        for entry in module.unparsed:
            span = entry.span
            count = max(span.end_line - span.line + 1, 1)
            self._miss(file, span.line, count, entry.text, entry.reason, span.column)
            if _TOO_DEEP in entry.reason:
                self.note("too_deep", f"{file}:{span.line}")
        for code, what in self._forms.of(module):
            self.note(code, f"{what[:_SHOWN_CHARACTERS]} in {file}")
        if text.is_odd:
            self.note("encoding", file)

    def coverage(self) -> Coverage:
        """The tally as it stands."""
        noted = (
            f"{code}: {_NOTES[code].format(count=count, first=first)}"
            for code, (count, first) in self._noted.items()
        )
        return Coverage(
            files=self.files,
            bytes=self.bytes,
            hlo_files=self.hlo_files,
            lines=self.lines,
            unparsed_lines=self.unparsed_lines,
            unparsed=tuple(self._unparsed),
            skipped=tuple(self._skipped),
            skipped_count=self.skipped_count,
            remarks=(*self._remarks, *noted),
            kinds=dict(sorted(self.kinds.items())),
        )

    def _keep(self, skipped: Skipped, *, always: bool) -> None:
        self.skipped_count += 1
        if always or len(self._skipped) < SHOWN_SKIPPED:
            self._skipped.append(skipped)

    def _miss(
        self, file: str, line: int, count: int, text: str, reason: str, column: int = 1
    ) -> None:
        self.unparsed_lines += count
        if len(self._unparsed) < SHOWN_UNPARSED:
            shown = text[:_SHOWN_CHARACTERS]
            self._unparsed.append(
                UnparsedLine(file=file, line=line, column=column, text=shown, reason=reason)
            )


_NOTES = {
    "unknown_opcode": "{count} lines have an opcode that XLA is not known to have; they are kept "
    "as they stand (first: {first})",
    "unknown_attribute": "{count} attributes are not known of their opcode; they are kept as they "
    "stand (first: {first})",
    "proto": "{count} passes have no text and are read from their protos; line numbers are those "
    "of the text that is printed from one (first: {first})",
    "proto_twin": "{count} protos hold modules that other files hold as well and are not read "
    "(first: {first})",
    "proto_assignment": "{count} modules have no buffer assignment as text; it is read from their "
    "protos (first: {first})",
    "log": "{count} of the files are logs; they are read only where given as such (first: {first})",
    "encoding": "{count} texts are not UTF-8; odd bytes are shown escaped (first: {first})",
    "odd_name": "{count} names hold control or direction characters, shown escaped (first: "
    "{first})",
    "too_deep": "{count} lines nest deeper than any printer of XLA goes and are not read (first: "
    "{first})",
    "undefined": "{count} names are used and nowhere defined (first: {first})",
    "cycle": "{count} computations or calls lead back to where they start (first: {first})",
    "twice_defined": "{count} names are defined twice in one computation (first: {first})",
    "absurd_shape": "{count} values have more bytes than a machine can address (first: {first})",
    "unknown_type": "{count} values are of an element type that XLA is not known to have; their "
    "bytes are a guess by its name (first: {first})",
    "similar_name": "{count} names differ from an earlier one only in case, composition or final "
    "dots (first: {first})",
}
