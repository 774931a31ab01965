"""Typed attribute values: metadata, literals, replica groups, configurations, name lists.

Each reader takes the raw text of one attribute value and gives a typed value. They are lenient:
text of an unknown form gives the empty value, and the raw text stays available in
`Instruction.attributes`. Nothing here knows instructions or modules.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from hlo_parser.possessive import compile_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

CALLEE_KEYS = frozenset(
    {
        "condition",
        "body",
        "to_apply",
        "calls",
        "branch_computations",
        "true_computation",
        "false_computation",
        "called_computations",
        "select",
        "scatter",
    }
)
"""Attributes whose values name computations (xla/hlo/parser/hlo_parser.cc)."""

_BODY = compile_pattern(
    rf"(?:{'|'.join(sorted(CALLEE_KEYS))})=\s*+\{{[^{{}}\"=]*+(?:=|\{{[^{{}}\"=]*+=)"
)
# Quick, for most lists hold nothing that a name is given to.
_ASSIGNED = compile_pattern(r"[\s/]=|%[\w.\-]*+=")
_STRING_OR_BREAK = compile_pattern(
    r'("(?:[^"\\]|\\.)*+")|(?<![ \t\f\v])[ \t\f\v]*+[\n\r]\s*+', re.S
)
_NAME = compile_pattern(r"%?([A-Za-z_][\w.\-]*+)", re.ASCII)
_NAME_LIST = compile_pattern(r"\{[\s%\w.\-,]*+\}", re.ASCII)
_INT = compile_pattern(r"-?\d++", re.ASCII)
_INT_LIST = compile_pattern(r"\{\s*+(?:-?\d++\s*+(?:,\s*+-?\d++\s*+)*+)?+\}", re.ASCII)
_PAIR = compile_pattern(r"\{\s*+(\d++)\s*+,\s*+(\d++)\s*+\}", re.ASCII)
_STRING = r'"(?:[^"\\]++|\\.)*+"'
_METADATA_ENTRY = compile_pattern(
    rf"([a-z_]++)=\s*+({_STRING}|[^\s,{{}}\"]++|\{{[^{{}}]*+\}})", re.S
)
# As printed since 2023, of strings without escapes; read twice as fast.
_PLAIN_METADATA = compile_pattern(
    r'\{(?:op_name="([^"\\]*+)")?+(?: ?+source_file="([^"\\]*+)")?+(?: source_line=(\d{1,18}))?+'
    r'(?: ?+deduplicated_name="([^"\\]*+)")?+(?: ?+scheduling_name="([^"\\]*+)")?+'
    r"(?: ?+stack_frame_id=(\d{1,18}))?+\}",
    re.ASCII,
)
_ESCAPE = compile_pattern(
    r"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.S
)
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_FLOAT = compile_pattern(r"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?", re.ASCII)
_NAN = compile_pattern(r"-?nan(?:\(0x[0-9a-fA-F]++\))?")
_MAX_DIGITS = 400


def unescape(text: str) -> str:
    """Undo C escapes (absl::CUnescape); octal and hex escapes are bytes of UTF-8."""
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        octal, hexa, short, long, other = match.groups()
        if octal is not None:
            return chr(int(octal, 8) & 0xFF)
        if hexa is not None:
            return chr(int(hexa, 16))
        if short is not None or long is not None:
            return _code_point(int(short or long, 16))
        return _SIMPLE_ESCAPES.get(other, other)

    as_latin = text.encode("utf-8", "surrogatepass").decode("latin-1")
    return (
        _ESCAPE.sub(replace, as_latin).encode("latin-1").decode("utf-8", errors="backslashreplace")
    )


def _code_point(value: int) -> str:
    """A code point as the UTF-8 bytes `unescape` works on; outside of Unicode it is dropped."""
    if value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
        return "?"
    return chr(value).encode("utf-8").decode("latin-1")


_PLAIN_BYTES = compile_pattern(rb"[ !#-&(-\[\]-~]*+")
_NAMED_ESCAPES = {
    0x0A: "\\n",
    0x0D: "\\r",
    0x09: "\\t",
    0x22: '\\"',
    0x27: "\\'",
    0x5C: "\\\\",
}


def escape(raw: bytes) -> str:
    """C escapes as XLA prints strings (absl::CEscape): bytes that are no ASCII come as octal."""
    if _PLAIN_BYTES.fullmatch(raw):
        return raw.decode("ascii")
    return "".join(
        _NAMED_ESCAPES.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}")
        for byte in raw
    )


def unquote(text: str) -> str:
    """The content of a quoted string, unescaped; other text unchanged."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return unescape(text[1:-1])
    return text


@dataclass(frozen=True, slots=True)
class Callee:
    """A computation an instruction calls; `role` is the attribute key that names it."""

    role: str
    name: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """Where an instruction comes from, as far as the text says (xla_data.proto, OpMetadata)."""

    op_type: str | None = None
    op_name: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    source_end_line: int | None = None
    source_column: int | None = None
    source_end_column: int | None = None
    stack_frame_id: int | None = None
    scheduling_name: str | None = None
    deduplicated_name: str | None = None
    metadata_payload: str | None = None


_METADATA_STRINGS = frozenset(
    {"op_type", "op_name", "source_file", "deduplicated_name", "metadata_payload"}
)
_METADATA_INTS = frozenset(
    {"source_line", "source_end_line", "source_column", "source_end_column", "stack_frame_id"}
)


def metadata_from_text(text: str) -> Metadata:
    """Read `{op_name="..." source_line=3 ...}`; keys this release does not know are passed over."""
    plain = _PLAIN_METADATA.fullmatch(text)
    if plain is not None:
        op_name, file, line, deduplicated_name, scheduling_name, frame = plain.groups()
        return Metadata(
            op_name=op_name,
            source_file=file,
            source_line=None if line is None else int(line),
            stack_frame_id=None if frame is None else int(frame),
            scheduling_name=scheduling_name,
            deduplicated_name=deduplicated_name,
        )
    fields: dict[str, str | int] = {}
    for key, value in _METADATA_ENTRY.findall(text):
        if key in _METADATA_STRINGS:
            fields[key] = unquote(value)
        elif key in _METADATA_INTS:
            number = int_from_text(value)
            if number is not None:
                fields[key] = number
        elif key == "scheduling_name":
            # Printed without escaping (xla/hlo/ir/hlo_instruction.cc, OpMetadataToString).
            fields[key] = value[1:-1] if value.startswith('"') else value
    return Metadata(**fields)  # pyright: ignore[reportArgumentType] -- keys and types agree above


@lru_cache(maxsize=4_096)
def int_from_text(text: str) -> int | None:
    """A decimal integer of at most 20 digits, else None."""
    word = text.strip()
    return int(word) if len(word) <= 21 and _INT.fullmatch(word) else None


def ints_from_text(text: str) -> tuple[int, ...]:
    """Read `{1,0}`; any other form gives ()."""
    if not _INT_LIST.fullmatch(text):
        return ()
    words = _INT.findall(text)
    if any(len(word) > 21 for word in words):
        return ()
    return tuple(int(word) for word in words)


def pairs_from_text(text: str) -> tuple[tuple[int, int], ...]:
    """Read `{{0,1},{1,0}}`; any other form gives ()."""
    return tuple(
        (int(source), int(target))
        for source, target in _PAIR.findall(text)
        if len(source) <= 21 and len(target) <= 21
    )


def names_from_text(text: str) -> tuple[str, ...]:
    """Computation or instruction names of `%a` or `{%a, %b}`; a nested body gives ()."""
    if text.startswith("{") and not _NAME_LIST.fullmatch(text):
        return ()
    return tuple(_NAME.findall(text))


def holds_body(attributes: str) -> bool:
    """Whether an attribute list holds a computation in place of a name (canonical printing)."""
    return _ASSIGNED.search(attributes) is not None and _BODY.search(attributes) is not None


def config_from_text(text: str) -> object:
    """Read `backend_config`: JSON when it is JSON, quoted or raw, else the string.

    A quoted one is unescaped; one in braces is brought into one row.
    """
    plain = unquote(text)
    if not plain.lstrip().startswith(("{", "[")):
        return plain
    try:
        return json.loads(plain)
    except (ValueError, RecursionError):
        return in_one_row(text) if text.startswith("{") else plain


def in_one_row(text: str) -> str:
    """The text with a blank for each line break outside of strings and the blanks around it."""
    if "\n" not in text and "\r" not in text:
        return text
    return _STRING_OR_BREAK.sub(lambda found: found[1] or " ", text)


_FRONTEND_ENTRY = compile_pattern(r"\s*+([\w.\-]++)\s*+=\s*+", re.ASCII)
_BRACE_PIECE = compile_pattern(rf"[^{{}}\"]++|{_STRING}|[{{}}\"]", re.S)
_UNQUOTED = compile_pattern(rf"{_STRING}|[^,\s{{}}]++", re.S)


def frontend_attributes_from_text(text: str) -> Mapping[str, str]:
    """Read `{key="value",key={json}}`; quoted values unescaped, JSON values as printed."""
    attributes: dict[str, str] = {}
    end = len(text) - 1
    position = 1
    while position < end:
        entry = _FRONTEND_ENTRY.match(text, position)
        if entry is None:
            break
        position = entry.end()
        if text.startswith("{", position):
            stop = _brace_end(text, position)
            attributes[entry.group(1)] = text[position:stop]
        else:
            value = _UNQUOTED.match(text, position)
            stop = value.end() if value else position
            attributes[entry.group(1)] = unquote(text[position:stop])
        position = text.find(",", stop) + 1 or end
    return MappingProxyType(attributes)


def _brace_end(text: str, start: int) -> int:
    """One past the brace that closes the one at `start`; the end of the text if none does."""
    depth = 0
    for piece in _BRACE_PIECE.finditer(text, start):
        if piece.group() == "{":
            depth += 1
        elif piece.group() == "}":
            depth -= 1
            if depth == 0:
                return piece.end()
    return len(text)


class Literal:
    """The value in `constant(...)`; only scalars are read, arrays stay text."""

    __slots__ = ("_element_type", "text")

    text: str

    def __init__(self, text: str, element_type: str) -> None:
        self.text = text
        self._element_type = element_type

    def __repr__(self) -> str:
        return f"Literal({self.text[:60]!r})"

    @property
    def is_elided(self) -> bool:
        """Whether the printer left the values out (`{...}`)."""
        return "{...}" in self.text

    @property
    def scalar(self) -> bool | int | float | complex | None:
        """The value of a scalar in the type of its shape; None for arrays and tuples."""
        text = self.text.strip()
        if text.startswith("(") and self._element_type.startswith("c"):
            parts = text.strip("()").split(",")
            values = [_real(part.strip()) for part in parts]
            if len(values) == 2 and values[0] is not None and values[1] is not None:
                return complex(values[0], values[1])
            return None
        return _scalar(text, self._element_type)


def _scalar(text: str, element_type: str) -> bool | int | float | None:
    if element_type == "pred":
        return {"true": True, "false": False, "1": True, "0": False}.get(text)
    if element_type[:1] in {"s", "u"}:
        return int_from_text(text)
    return _real(text)


def _real(text: str) -> float | None:
    if text in {"inf", "-inf"}:
        return float(text)
    if _NAN.fullmatch(text):
        return float("nan")
    return float(text) if len(text) <= _MAX_DIGITS and _FLOAT.fullmatch(text) else None
