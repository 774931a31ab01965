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
        noted = (_note(code, count, first) for code, (count, first) in self._noted.items())
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


# By code: of one, of several, and what all of them are.
_NOTES = {
    "unknown_opcode": (
        ("line has", "lines have"),
        "an opcode that XLA is not known to have; kept as it stands",
    ),
    "unknown_attribute": (
        ("attribute is", "attributes are"),
        "not known of the opcode it stands at; kept as it stands",
    ),
    "proto": (
        ("pass has", "passes have"),
        "no text, only a proto that is read; line numbers are those of the text printed from it",
    ),
    "proto_twin": (
        ("proto holds", "protos hold"),
        "a module that other files hold as well; not read",
    ),
    "proto_assignment": (
        ("module has", "modules have"),
        "no buffer assignment as text; it is read from the proto",
    ),
    "log": (("of the files is a log,", "of the files are logs,"), "read only where given as such"),
    "encoding": (("text is", "texts are"), "not UTF-8; odd bytes are shown escaped"),
    "odd_name": (("name holds", "names hold"), "control or direction characters, shown escaped"),
    "too_deep": (("line nests", "lines nest"), "deeper than any printer of XLA goes; not read"),
    "undefined": (("name is", "names are"), "used and nowhere defined"),
    "cycle": (
        ("computation or call leads", "computations or calls lead"),
        "back to where it starts",
    ),
    "twice_defined": (("name is", "names are"), "defined twice in one computation"),
    "absurd_shape": (("value has", "values have"), "more bytes than a machine can address"),
    "unknown_type": (
        ("value is", "values are"),
        "of an element type that XLA is not known to have; its bytes are a guess by the name",
    ),
    "similar_name": (
        ("name differs", "names differ"),
        "from an earlier one only in case, composition or final dots",
    ),
}


def _note(code: str, count: int, first: str) -> str:
    (one, several), what = _NOTES[code]
    return f"{code}: {count} {one if count == 1 else several} {what} (first: {first})"
