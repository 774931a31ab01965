"""The parts of a failed check as a log prints it: condition, values in brackets, message.

A log runs them together (`Check failed: a == b (1 vs. 2) some words`). The packaged table knows
most conditions; where it does not, the condition ends where an expression of C++ cannot go on.
"""

import re
from dataclasses import dataclass

from app import knowledge
from hlo_parser.possessive import compile_pattern


@dataclass(frozen=True, slots=True)
class Checked:
    """`values` are without their brackets, None where none are printed."""

    condition: str
    values: str | None
    message: str


_SPACE = compile_pattern(r"\s*")
_OPERATOR = compile_pattern(r"==|!=|<=|>=|<=>|&&|\|\||<<|>>|->\*?|\.\*?(?=\w)|::|[+\-*/%<>&|^?:,=]")
_UNARY = compile_pattern(r"!|~|\*|&(?!&)|-(?!>)|\+|not\b|new\b|sizeof\b|::")
_OPERAND = compile_pattern(
    r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|0x[0-9A-Fa-f]+[uUlL]*|\d[\w.']*|[A-Za-z_]\w*"
)
_OPEN = {"(": ")", "[": "]", "{": "}"}
_LONGEST = 2000


def split_check(file: str | None, text: str) -> Checked:
    """Take apart what follows `Check failed: ` or stands behind a RET_CHECK's place."""
    known = knowledge.find_condition(file, text) if file else None
    end = _end_of_words(text, known) if known else _end_of_expression(text)
    if text.startswith("status is OK"):
        end = len("status is OK")
    condition = " ".join(text[:end].split())
    rest = text[end:].lstrip(" ")
    values = None
    if rest.startswith("("):
        close = _close(rest, 0)
        inner = rest[1 : close - 1]
        if " vs. " in inner or condition == "status is OK":
            values, rest = inner, rest[close:]
    return Checked(condition, values, rest.strip())


def _end_of_words(text: str, words: str) -> int:
    place = 0
    for word in words.split():
        place = text.index(word, place) + len(word)
    return place


def _end_of_expression(text: str) -> int:
    """Where the longest C++ expression at the start of `text` ends."""
    end = place = 0
    limit = min(len(text), _LONGEST)
    wants_operand = True
    while place < limit:
        place = _skip_space(text, place)
        if wants_operand:
            if unary := _UNARY.match(text, place):
                place = unary.end()
                continue
            after = _operand_end(text, place)
            if after == place:
                break
            end = place = after
        else:
            operator = _OPERATOR.match(text, place)
            # `x. Then` and `x: then` are prose; an operator of an expression has an operand.
            if operator is None or operator[0] in (":", ",", "=") or _is_prose(text, operator):
                break
            place = operator.end()
        wants_operand = not wants_operand
    return end


def _is_prose(text: str, operator: re.Match[str]) -> bool:
    return (
        operator[0] == "-"
        and text[operator.start() - 1 : operator.start()] == " "
        and (text[operator.end() : operator.end() + 1] == "-")
    )


def _operand_end(text: str, place: int) -> int:
    if text[place : place + 1] in ("(", "{"):
        place = _close(text, place)
    elif found := _OPERAND.match(text, place):
        place = found.end()
    else:
        return place
    # Calls, subscripts and initialisers stand without a blank.
    while text[place : place + 1] in _OPEN and place:
        place = _close(text, place)
    return place


def _close(text: str, place: int) -> int:
    """The place behind the bracket that closes the one at `place`, or the end of the text."""
    depth = 0
    for at in range(place, min(len(text), place + _LONGEST)):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
    return len(text)


def _skip_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


_MASKS = (
    # NCCL's last warning "may be unrelated", as it says itself.
    (compile_pattern(r" \(run with NCCL_DEBUG=[^\n]*"), ""),
    (compile_pattern(r"%[\w.\-]+ = [^\n]*"), "%"),
    (compile_pattern(r"%[A-Za-z_][\w.\-]*"), "%"),
    (compile_pattern(r"0x[0-9a-fA-F]+"), "#"),
    (compile_pattern(r"(?<!\w)/(?:[\w.\-+]+/)+[\w.\-+]*"), "/"),
    (compile_pattern(r"'[^'\n]{1,200}'|`[^`\n]{1,400}`|\"[^\"\n]{1,200}\""), "'…'"),
    (compile_pattern(r"\b(?:pred|token|opaque|[a-z]{1,4}\d\w*)\[[^\]\n]*\](?:\{[^}\n]*\})?"), "[]"),
    (compile_pattern(r"\bp?(?:jit|pmap)_\w+"), "%"),
    (compile_pattern(r"\b[a-z][\w\-]*\.\d+(?:\.[\w\-]+)*"), "%"),
    (compile_pattern(r"(?<![E\d])\d+(?:\.\d+)?(?:[KMGT]i?B?\b|B\b)?"), "#"),
    (compile_pattern(r"\[[#,\s]*\]"), "[]"),
)
_SIGNATURE_CHARACTERS = 160


def mask(text: str) -> str:
    """The first line of a message without numbers, addresses, paths and names of instructions."""
    line = text.strip().partition("\n")[0][:1000]
    for pattern, replacement in _MASKS:
        line = pattern.sub(replacement, line)
    return " ".join(line.split())[:_SIGNATURE_CHARACTERS].rstrip()
