"""Regular expressions for HLO text as XLA prints it: one line, one attribute list, one shape.

They take the ordinary spelling only (one blank where XLA prints one, no comments but
`/*index=N*/`) and prove what they take: brackets close, strings end. Whatever they refuse is
for the grammar (`*.lark`). All are possessive, so each is linear in the text.
"""

from __future__ import annotations

import re
from typing import Final

from hlo_parser.possessive import compile_pattern

# Ranges, not \w: sre turns them into one bitmap test.
NAME: Final = r"[A-Za-z_][A-Za-z0-9_.\-]*+"
KEY: Final = NAME + "="
INDEX: Final = r"(?:/\*index=\d++\*/)?+"
# Unrolled, here and in braces: one turn of a loop costs as much as fifty characters.
STRING: Final = r'"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"'
_DIMENSION = r"(?:(?:<=)?+\d++|\?)"
LAYOUT: Final = r'\{(?=[\d:])(?:\d++(?:,\d++)*+)?+(?::[^{}"\n]*+)?+\}'
ARRAY: Final = rf"[a-z][a-z0-9]*+\[(?:{_DIMENSION}(?:,{_DIMENSION})*+)?+\](?:{LAYOUT})?+"

TUPLE_DEPTH: Final = 5
JSON_DEPTH: Final = 16
LITERAL_DEPTH: Final = 9


def _tuple(depth: int) -> str:
    """A tuple shape whose tuples nest `depth` deep at most."""
    pattern = ARRAY
    for _ in range(depth):
        pattern = rf"{INDEX}(?:{ARRAY}|\((?:{pattern}(?:, (?!\))|(?=\))))*+\))"
    return pattern.removeprefix(INDEX)


def _braces(depth: int, string: str = STRING) -> str:
    """A balanced `{...}`; only braces and double-quoted strings count inside, as in XLA's lexer."""
    flat = r'[^{}"\n]*+'
    pattern = rf"\{{{flat}(?:{string}{flat})*+\}}"
    for _ in range(depth - 1):
        pattern = rf"\{{{flat}(?:(?:{string}|{pattern}){flat})*+\}}"
    return pattern


def _literal(depth: int) -> str:
    """Balanced braces of a literal; parentheses hold the two parts of a complex number."""
    flat = r'(?:[^(){}"\']++|\([^(){}"\']*+\))'
    pattern = rf"\{{{flat}*+\}}"
    for _ in range(depth - 1):
        pattern = rf"\{{(?:{flat}|{pattern})*+\}}"
    return rf"(?:[^(){{}}\"']++|{pattern}|\([^(){{}}\"']*+\))*+"


def _parentheses(depth: int) -> str:
    pattern = r"[^()\n]*+"
    for _ in range(depth):
        pattern = rf"(?:[^()\n]++|\({pattern}\))*+"
    return pattern


SHAPE_TEXT: Final = _tuple(TUPLE_DEPTH)
BRACES: Final = _braces(JSON_DEPTH)
IOTA_GROUPS: Final = r"\[\d++(?:,\d++)*+\]<=\[\d++(?:,\d++)*+\](?:T\(\d++(?:,\d++)*+\))?+"
MESH_GROUPS: Final = (
    r'mesh\[[^\]"\n]*+\](?:, device_ids=\([^()\n]*+(?:\([^()\n]*+\))?+\))?+ \{[^{}"\n]*+\}'
)
WORD: Final = r"(?!/[/*])[^\s,(){}\[\]\"'=]++"
_BARE_VALUE = rf"{MESH_GROUPS}|{IOTA_GROUPS}|{ARRAY}|{WORD}"
VALUE: Final = rf"(?:{BRACES}|{STRING}|{_BARE_VALUE})"
# All that a string may not hold is looked for a character at a time, its end alone at once.
# An escaped quote would be taken for the end: no string that ends in a backslash is plain.
_PLAIN_STRING = r'"[^"]*+(?<!\\)"'


def _plain_braces(depth: int) -> str:
    """As `_braces`, with no blank but behind a string, no `(`, `/` nor `%` in between.

    That leaves no room for a comment, nor for a name that something is given to: no instruction is
    printed in there.
    """
    flat = r'[^{}"\n/( %]*+'
    string = rf"{_PLAIN_STRING} ?+"
    pattern = rf"\{{{flat}(?:{string}{flat})*+\}}"
    for _ in range(depth - 1):
        pattern = rf"\{{{flat}(?:(?:{string}|{pattern}){flat})*+\}}"
    return pattern


_PLAIN_WORD = r"[^\s,(){}\[\]\"'=/]++"
_PLAIN_MESH = r'mesh\[[^\]"\n/ ]*+\] \{[^{}"\n/( %]*+\}'
# Names and numbers, blanks among them.
_PLAIN_LIST = r'\{[^{}"\n/(=]*+\}'
_PLAIN_VALUE = (
    rf"(?:{_PLAIN_LIST}|{_plain_braces(JSON_DEPTH)}|{_PLAIN_STRING}|{IOTA_GROUPS}|{_PLAIN_MESH}|"
    rf"{_PLAIN_WORD})"
)
# Most of all attributes since frames have tables (2025), as one stretch.
_PLAIN_METADATA = (
    rf"\{{(?:op_name={_PLAIN_STRING}(?: scheduling_name={_PLAIN_STRING})?+|"
    rf"scheduling_name={_PLAIN_STRING})(?: stack_frame_id=\d++)?+\}}"
)
ATTRIBUTE: Final = rf", ({KEY})({VALUE})"
_REFERENCE = rf"%?+{NAME}(?:#\d++)*+"
_OPERAND = rf"(?:{_REFERENCE}(?=,|$)|{SHAPE_TEXT} {_REFERENCE})"
OPERAND_LIST: Final = rf"(?:{_OPERAND}(?:, {INDEX}{_OPERAND})*+)?+"

_ROUGH_SHAPE = rf"(?!\()\S++|\({_parentheses(TUPLE_DEPTH)}\)"
_HEAD = rf"(ROOT )?+%?+({NAME}) = ({_ROUGH_SHAPE}) ([a-z][a-z0-9\-]*+)\("
_PLAIN_ARGUMENTS = (
    r"(?:(?<= parameter\()\d++|(?<= constant\()(?:[A-Za-z0-9.+\-]++|\{\.\.\.\})|"
    rf"(?<! parameter\()(?:{_REFERENCE}(?:, {INDEX}{_REFERENCE})*+)?+)"
)

plain_line: Final = compile_pattern(rf"({_HEAD}({_PLAIN_ARGUMENTS})\)((?s:.*+)))", re.ASCII)
"""As `line`, but scalars, and operands without shapes; the arguments are proved by the match."""

plain_rows: Final = compile_pattern(rf"\n  ({_HEAD}({_PLAIN_ARGUMENTS})\)([^\n]*+))", re.ASCII)
"""The lines of a body that `plain_line` takes, each with the line break and blanks before it.

Each match holds one line break and ends where the next one is: as many matches as line breaks
prove that nothing else stands there.
"""

line: Final = compile_pattern(rf"({_HEAD}({_parentheses(TUPLE_DEPTH)})\)(.*+))", re.ASCII)
"""The text itself, ROOT, name, shape, opcode, arguments, attribute list, still to be proved."""

long_constant: Final = compile_pattern(
    rf"((ROOT )?+%?+({NAME}) = ({ARRAY}) (constant)\(({_literal(LITERAL_DEPTH)})\)(.*+))", re.ASCII
)
shape: Final = compile_pattern(SHAPE_TEXT, re.ASCII)
operand_list: Final = compile_pattern(OPERAND_LIST, re.ASCII)
operand: Final = compile_pattern(rf"%?+({NAME})((?:#\d++)*+)(?=,|$)", re.ASCII)
literal: Final = compile_pattern(_literal(LITERAL_DEPTH), re.ASCII)
attribute_list: Final = compile_pattern(rf"(?:, {KEY}{VALUE})*+", re.ASCII)
plain_attribute_list: Final = compile_pattern(
    rf"(?:, (?:metadata={_PLAIN_METADATA}|{KEY}{_PLAIN_VALUE}))*+", re.ASCII
)
"""As `attribute_list`, for texts without line breaks: most of those XLA prints.

What it takes holds neither comments, nor escaped quotes, nor computations printed in place. It
proves nothing of a text with a line break, which callers look for first: to keep them out of
strings here would cost a twentieth of what a line costs.
"""

plain_attribute: Final = compile_pattern(
    rf", ({NAME})=({_PLAIN_METADATA}|{_PLAIN_VALUE})", re.ASCII
)
"""Key and value of each attribute of a list that `plain_attribute_list` takes."""

attribute: Final = compile_pattern(ATTRIBUTE, re.ASCII)
computation_head: Final = compile_pattern(rf"(ENTRY )?+%?+({NAME}) (?:\(|\{{$)", re.ASCII)
"""The start of the first line: ENTRY, name, and what opens a signature or the body."""

usual_head: Final = compile_pattern(
    rf"(ENTRY )?+%?+({NAME}) \([^)\"'/\n]*+\) -> [^\"'/\n]*+(?<= \{{)(?=\n  )", re.ASCII
)
"""As `computation_head`, to the end of the line; without tuples, strings and comments."""

computation_foot: Final = compile_pattern(
    r'(?:, execution_thread="([^"\\\n]*+)")?+(?: // [^\n]*+)?+', re.ASCII
)
"""What stands after the closing brace, up to the end of the line."""
