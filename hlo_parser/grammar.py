"""The grammar of record: reads instructions, headers and frame tables with Lark.

Slow (about 1 MB/s) and exact; `lines.py` takes ordinary lines first. Given the text of one piece,
gives its parts with raw text; raises `GrammarError` with the place and what was expected. The
grammars are LALR and callbacks run while parsing, so nesting costs no recursion.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple, cast

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from hlo_parser.comments import blanked, uncommented

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TEXT = 1 << 20
"""Longer pieces are refused unread: at Lark's speed they would take seconds."""


class GrammarError(Exception):
    """The text does not fit; `offset` counts characters from its start, 0-based."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class InstructionParts(NamedTuple):
    """An instruction cut into its parts: raw text, names without `%`."""

    is_root: bool
    name: str
    shape: str
    opcode: str
    arguments: str
    operands: tuple[str, ...]
    operand_paths: tuple[tuple[int, ...], ...]
    attributes: dict[str, str]
    nested: tuple[NestedParts, ...] = ()


class NestedParts(NamedTuple):
    """An instruction in the place of an operand: of which one, and where its text starts."""

    place: int
    start: int
    text: str
    parts: InstructionParts


class BareParts(NamedTuple):
    """An instruction that is a whole text, and the shapes of what its operands name."""

    parts: InstructionParts
    operand_shapes: dict[str, str]


class HeaderParts(NamedTuple):
    """A module header cut into name and raw attribute values."""

    name: str
    attributes: dict[str, str]


class FrameParts(NamedTuple):
    """The four frame tables: quoted strings, and rows as key to number."""

    file_names: tuple[str, ...]
    function_names: tuple[str, ...]
    locations: tuple[dict[str, int], ...]
    frames: tuple[dict[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Stretch:
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Operand:
    name: str
    path: tuple[int, ...]
    shape: _Stretch | None
    call: _Call | None


@dataclass(frozen=True, slots=True)
class _Call:
    opcode: str
    start: int
    arguments: _Stretch
    operands: tuple[_Operand, ...]


@dataclass(frozen=True, slots=True)
class _Attribute:
    key: str
    value: _Stretch


@dataclass(frozen=True, slots=True)
class _Row:
    values: dict[str, int]


_Child = Token | _Stretch | _Call | _Attribute | _Operand | _Row


def _stretch(children: list[_Child]) -> _Stretch:
    """From the first to the last child that has a place."""
    first, last = children[0], children[-1]
    start = first.start if isinstance(first, _Stretch) else cast("Token", first).start_pos
    end = last.end if isinstance(last, _Stretch) else cast("Token", last).end_pos
    return _Stretch(start or 0, end or 0)


def _bare(name: str) -> str:
    return name.removeprefix("%")


class _Callbacks(Transformer[Token, object]):
    """Run by Lark at each reduction; children are tokens and earlier results."""

    def stretch(self, children: list[_Child]) -> _Stretch:
        return _stretch(children)

    def attribute(self, children: list[_Child]) -> _Attribute:
        return _Attribute(str(children[1])[:-1], _stretch(children[2:]))

    def call(self, children: list[_Child]) -> _Call:
        opening, closing = cast("Token", children[1]), cast("Token", children[-1])
        return _Call(
            opcode=str(children[0]),
            start=cast("Token", children[0]).start_pos or 0,
            arguments=_Stretch(opening.end_pos or 0, closing.start_pos or 0),
            operands=tuple(child for child in children if isinstance(child, _Operand)),
        )

    def operand(self, children: list[_Child]) -> _Operand:
        words = [child for child in children if isinstance(child, Token)]
        path = str(words[1])[1:].split("#") if len(words) > 1 else []
        return _Operand(
            name=_bare(str(words[0])) if words else "",
            path=tuple(int(word.strip()[:18]) for word in path),
            shape=next((child for child in children if isinstance(child, _Stretch)), None),
            call=next((child for child in children if isinstance(child, _Call)), None),
        )

    def row(self, children: list[_Child]) -> _Row:
        words = [str(child) for child in children if isinstance(child, Token)][2:-1]
        words = [word for word in words if word != ","]
        keys, numbers = words[::2], words[1::2]
        return _Row({key[:-1]: int(word[:18]) for key, word in zip(keys, numbers, strict=True)})

    def start(self, children: list[_Child]) -> list[_Child]:
        return children


@cache
def _parser(name: str) -> Lark:
    folder = files("hlo_parser")
    grammar = "\n".join(
        folder.joinpath(f"{part}.lark").read_text(encoding="utf-8") for part in (name, "common")
    )
    return Lark(
        grammar, parser="lalr", transformer=_Callbacks(), maybe_placeholders=False, regex=False
    )


def _parse(name: str, text: str) -> list[_Child]:
    if len(text) > MAX_TEXT:
        raise GrammarError(f"longer than {MAX_TEXT} characters and of unusual form", 0)
    try:
        return cast("list[_Child]", _parser(name).parse(text))  # pyright: ignore[reportUnknownMemberType] -- Lark's
    except UnexpectedInput as error:
        raise _refusal(error, text) from None


_FOUND = re.compile(r"\w{1,40}+|\S", re.S)
_WORDS = {
    "NAME": "a name",
    "KEY": "an attribute (key=value)",
    "LITERAL_KEY": "an attribute (key=value)",
    "TYPE": "a shape",
    "BUFFER": "a shape",
    "LAYOUT": "a layout",
    "OPCODE": "an opcode and '('",
    "PARAMETER": "an opcode and '('",
    "CONSTANT": "an opcode and '('",
    "STRING": "a string",
    "WORD": "a value",
    "IOTA_GROUPS": "a value",
    "MESH_GROUPS": "a value",
    "BRACE_TEXT": "text up to '}'",
    "LITERAL_TEXT": "a literal",
    "INT": "an integer",
    "PATH": "'#'",
    "ROOT": "ROOT",
    "EQUAL": "'='",
    "COMMA": "','",
    "LPAR": "'('",
    "RPAR": "')'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LBRACKET": "'['",
    "RBRACKET": "']'",
    "BOUND": "'<='",
    "UNBOUNDED": "'?'",
    "COLON": "':'",
    "HLO_MODULE": "HloModule",
    "FILE_NAMES": "FileNames",
    "FUNCTION_NAMES": "FunctionNames",
    "FILE_LOCATIONS": "FileLocations",
    "STACK_FRAMES": "StackFrames",
    "$END": "the end",
}


def _refusal(error: UnexpectedInput, text: str) -> GrammarError:
    """Lark's error in words of HLO: what was expected, and what stands there instead."""
    names: set[str] = set()
    offset = error.pos_in_stream
    if isinstance(error, UnexpectedToken):
        names = set(error.expected)
        token = cast("Token", error.token)  # pyright: ignore[reportUnknownMemberType] -- Lark's
        if token.type == "$END":
            offset = len(text)
    elif isinstance(error, UnexpectedCharacters):
        names = set(error.allowed or ())
    if offset is None or not 0 <= offset < len(text):
        offset = len(text)
    expected = " or ".join(sorted({_WORDS[name] for name in names if name in _WORDS}))
    found = _FOUND.match(text, offset)
    what = repr(found.group()) if found else "the end"
    return GrammarError(f"expected {expected or 'something else'}, found {what}", offset)


def read_instruction(text: str) -> InstructionParts:
    """Read one instruction; raises GrammarError."""
    parts, call = _read_instruction(text, blanked(text))
    for operand in _all_operands(call):
        if operand.shape is not None and not operand.name and operand.call is None:
            raise GrammarError("expected a name behind the shape", operand.shape.end)
    return parts


def read_bare_instruction(text: str) -> BareParts:
    """Read one instruction whose operands may be shapes alone; raises GrammarError.

    Those without a name are called `_0`, `_1` and so on, as XLA does.
    """
    plain = blanked(text)
    parts, call = _read_instruction(text, plain)
    shapes: dict[str, str] = {}
    call = _all_named(plain, call, shapes)
    shape = _Stretch(0, len(parts.shape)) if parts.shape else None
    named = _parts(plain, call, shape)
    return BareParts(parts._replace(operands=named.operands, nested=named.nested), shapes)


def _all_named(text: str, call: _Call, shapes: dict[str, str]) -> _Call:
    """The call with a name for each operand; `shapes` is given the shapes by name."""
    operands: list[_Operand] = []
    for operand in call.operands:
        if operand.call is not None:
            operands.append(replace(operand, call=_all_named(text, operand.call, shapes)))
            continue
        name = operand.name or f"_{len(shapes)}"
        stretch = operand.shape
        if stretch is not None or name not in shapes:
            shapes[name] = text[stretch.start : stretch.end] if stretch else ""
        operands.append(replace(operand, name=name))
    return replace(call, operands=tuple(operands))


def _read_instruction(text: str, plain: str) -> tuple[InstructionParts, _Call]:
    children = _parse("instruction", plain)
    tokens = [child for child in children if isinstance(child, Token)]
    shapes = [child for child in children if isinstance(child, _Stretch)]
    call = next(child for child in children if isinstance(child, _Call))
    parts = _parts(plain, call, shapes[0] if shapes else None)
    return parts._replace(
        is_root=tokens[0].type == "ROOT",
        name=_bare(str(tokens[-2])),
        attributes=_attributes(children, text, plain),
    ), call


def _parts(text: str, call: _Call, shape: _Stretch | None) -> InstructionParts:
    return InstructionParts(
        is_root=False,
        name="",
        shape=text[shape.start : shape.end] if shape else "",
        opcode=call.opcode,
        arguments=text[call.arguments.start : call.arguments.end],
        operands=tuple(operand.name for operand in call.operands),
        operand_paths=tuple(operand.path for operand in call.operands),
        attributes={},
        nested=tuple(_nested(text, call)),
    )


def _nested(text: str, call: _Call) -> Iterator[NestedParts]:
    for index, operand in enumerate(call.operands):
        inner = operand.call
        if inner is not None:
            start = operand.shape.start if operand.shape else inner.start
            whole = text[start : inner.arguments.end + 1]
            yield NestedParts(index, start, whole, _parts(text, inner, operand.shape))


def _all_operands(call: _Call) -> Iterator[_Operand]:
    calls = [call]
    while calls:
        for operand in calls.pop().operands:
            yield operand
            if operand.call is not None:
                calls.append(operand.call)


def _attributes(children: list[_Child], text: str, plain: str) -> dict[str, str]:
    return {
        child.key: uncommented(text, plain, child.value.start, child.value.end)
        for child in children
        if isinstance(child, _Attribute)
    }


def read_header(text: str) -> HeaderParts:
    """Read `HloModule name, key=value, ...`; raises GrammarError."""
    plain = blanked(text)
    children = _parse("header", plain)
    return HeaderParts(_bare(str(children[1])), _attributes(children, text, plain))


def read_frames(text: str) -> FrameParts:
    """Read the four frame tables; raises GrammarError."""
    strings: list[list[str]] = []
    rows: list[list[dict[str, int]]] = []
    for child in _parse("frames", blanked(text)):
        if isinstance(child, _Row):
            rows[-1].append(child.values)
        elif isinstance(child, Token) and child.type == "STRING":
            strings[-1].append(str(child))
        elif isinstance(child, Token) and child.type != "INT":
            strings.append([])
            rows.append([])
    return FrameParts(
        file_names=tuple(strings[0]),
        function_names=tuple(strings[1]),
        locations=tuple(rows[2]),
        frames=tuple(rows[3]),
    )
