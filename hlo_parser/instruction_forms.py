"""Whether one instruction has the form of its opcode: operands, attributes, values, literal.

Given an instruction and nothing around it, gives its first fault. What depends on other
instructions is in `strict.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from hlo_parser import patterns
from hlo_parser.comments import blanked
from hlo_parser.literal_forms import TYPE_WORDS, literal_fault, shape_fault
from hlo_parser.opcodes import form_of
from hlo_parser.possessive import compile_pattern
from hlo_parser.shapes import Shape
from hlo_parser.value_forms import ANY_STRING, squeezed, value_fault
from hlo_parser.values import CALLEE_KEYS

if TYPE_CHECKING:
    from collections.abc import Callable

    from hlo_parser.instruction import Instruction
    from hlo_parser.opcodes import Opcode

_PART = compile_pattern(
    rf"({ANY_STRING})|//[^\n]*+|/\*.*?(?:\*/|\Z)|[\[({{]|[\])}}]|"
    rf"((?<![%\w.\-]){patterns.KEY})",
    re.S,
)
_OPERAND = compile_pattern(
    rf"(?P<shape>.*[\])}} ])?%?+(?P<name>{patterns.NAME})(?P<path>(?:#\d++)*+)", re.S
)
_TYPED_LITERAL = compile_pattern(rf"\s*+({patterns.ARRAY})\s*+(.*)", re.S)
_ARGUMENTS = compile_pattern(r"(?<![\w.\-%])constant\s*+\(")
_WINDOW_PART = compile_pattern(r"([a-z_]++)=([^\s{}]++)")
_NEEDS_SHAPE = frozenset(
    (
        "parameter constant convert bitcast bitcast-convert reshape iota fusion custom-call rng "
        "rng-bit-generator rng-get-and-update-state reduce-precision slice dynamic-slice "
        "all-gather all-reduce all-to-all reduce-scatter collective-permute copy-start copy-done "
        "send recv infeed outfeed dynamic-update-slice opt-barrier collective-broadcast "
        "ragged-all-to-all dynamic-reshape stochastic-convert collective-reduce"
    ).split()
)
STEPS = ("-start", "-update", "-done")
"""How the opcodes of asynchronous steps end."""

# Old dumps do name instructions s1 or u1: these became types in December 2024.
_TYPE_NAMES = TYPE_WORDS - {"s1", "u1"}
_KEYWORDS = frozenset(
    "true false inf nan HloModule ENTRY ROOT FileNames FunctionNames FileLocations StackFrames "
    "maximal replicated manual last_tile_dim_replicate shard_as shard_like unknown".split()
)
_ONE_DIMENSION = frozenset("concatenate sort scan all-to-all".split())
_DIMENSION = frozenset(
    "all-gather all-gather-start reduce-scatter get-dimension-size set-dimension-size".split()
)


class Fault(NamedTuple):
    """What is wrong, and the word of the instruction where it shows.

    `place` is a 0-based offset in the instruction's text, where it is known better than by the
    word.
    """

    message: str
    word: str
    place: int | None = None


def instruction_fault(instruction: Instruction) -> Fault | None:
    """The first fault of an instruction by itself."""
    opcode = instruction.opcode
    form = form_of(opcode)
    if form is None:
        return Fault(f"unknown opcode {opcode}", opcode)
    shape = instruction.shape.text
    needs_shape = opcode in _NEEDS_SHAPE or opcode.endswith(STEPS)
    if needs_shape and not tells_shape(instruction):
        return Fault(f"the shape of {opcode} must be told", opcode)
    fault = shape_fault(shape)
    if fault is not None:
        return Fault(fault, shape)
    if opcode == "infeed" and instruction.shape.kind == "array":
        return Fault("infeed gives a tuple: the data and a token", opcode)
    return (
        _operand_fault(instruction, form)
        or _attribute_fault(instruction, form)
        or _together_fault(instruction)
    )


def tells_shape(instruction: Instruction) -> bool:
    """Whether an instruction prints its result shape; else it is inferred."""
    shape = instruction.shape.text
    return bool(shape) and (shape in instruction.text or shape in blanked(instruction.text))


def is_reserved(name: str, text: str) -> bool:
    """Whether XLA reads the name as a type or keyword, so that it is none; `text` defines it."""
    return name in _TYPE_NAMES or (name in _KEYWORDS and f"%{name}" not in text)


def _operand_fault(instruction: Instruction, form: Opcode) -> Fault | None:
    opcode, count = instruction.opcode, len(instruction.operands)
    if count < form.least or (form.most is not None and count > form.most):
        if form.most is None:
            wanted = f"at least {form.least}"
        else:
            wanted = str(form.most) if form.least == form.most else f"{form.least} to {form.most}"
        return Fault(f"{opcode} takes {wanted} operands, found {count}", opcode)
    if _stem(instruction) in {"reduce", "reduce-window"} and count % 2:
        return Fault(f"{opcode} takes as many initial values as arrays", opcode)
    if opcode == "parameter":
        number = instruction.parameter_number
        if number is None or number < 0:
            return Fault("a parameter's number is 0 or more", instruction.arguments.strip())
    if opcode == "constant":
        fault = literal_fault(instruction.shape, instruction.arguments)
        if fault is not None:
            start = _ARGUMENTS.search(instruction.text)
            place = None if start is None else start.end() + fault.offset
            return Fault(fault.message, "constant", place)
    return None


def _attribute_fault(instruction: Instruction, form: Opcode) -> Fault | None:
    opcode, attributes = instruction.opcode, instruction.attributes
    keys = keys_of(instruction.text)
    counts = Counter(keys)
    if len(counts) < len(keys) != len(attributes):
        again = next(key for key in keys if counts[key] > 1)
        place = instruction.text.rfind(f"{again}=")
        return Fault(f"attribute {again} is given twice", f"{again}=", place)
    for key, value in attributes.items():
        if key not in form.allowed:
            return Fault(f"{opcode} has no attribute {key}", f"{key}=")
        fault = value_fault(key, value)
        if fault is not None and key in CALLEE_KEYS and value.startswith("{"):
            body = compile_pattern(rf"{key}=\s*+\{{[{{\s]*+").search(blanked(instruction.text))
            place = body.end() if body is not None else None
            return Fault("expected a name, or instructions with names", f"{key}=", place)
        if fault is not None:
            return Fault(fault, f"{key}=")
    for key in sorted(form.required):
        if key not in attributes:
            return Fault(f"{opcode} needs the attribute {key}", opcode)
    return None


def _together_fault(instruction: Instruction) -> Fault | None:
    """Attributes that do not go together, or with the operands."""
    attributes = instruction.attributes
    for key, judge in _JUDGES.items():
        if key in attributes:
            message = judge(instruction, attributes[key])
            if message is not None:
                return Fault(message, f"{key}=")
    return None


def _stem(instruction: Instruction) -> str:
    """The opcode that is run, where an instruction may only start it."""
    return instruction.opcode.removesuffix("-start")


def _dimensions_fault(instruction: Instruction, text: str) -> str | None:
    opcode, count = _stem(instruction), len(instruction.dimensions)
    if opcode in _ONE_DIMENSION and count != 1:
        return "dimensions takes one dimension"
    return "dimensions takes a dimension" if opcode in _DIMENSION and not count else None


def _device_ids_fault(instruction: Instruction, text: str) -> str | None:
    attributes = instruction.attributes
    is_held = "to_apply" in attributes and _stem(instruction) != "collective-reduce"
    if text == "true" and is_held and "channel_id" not in attributes:
        return "use_global_device_ids needs channel_id"
    return None


def _algorithm_fault(instruction: Instruction, text: str) -> str | None:
    is_random = text.lower().startswith("rng_")
    takes_random = _stem(instruction) == "rng-bit-generator"
    return None if is_random == takes_random else "algorithm takes another value"


def _mode_fault(instruction: Instruction, text: str) -> str | None:
    is_shuffle = _stem(instruction) == "shuffle"
    return None if (text == "rotate") == is_shuffle else "mode takes another value"


def _replication_fault(instruction: Instruction, text: str) -> str | None:
    is_parameter = instruction.opcode == "parameter"
    return None if is_parameter else "only a parameter has parameter_replication"


def _slice_sizes_fault(instruction: Instruction, text: str) -> str | None:
    if not instruction.opcode.startswith("collective-permute"):
        return None if text.count("{") == 1 else "slice_sizes takes integers in braces"
    if text.count("{") == 1 and squeezed(text) != "{}":
        return "slice_sizes takes a list for each operand"
    return None if len(instruction.operands) == 4 else "slice_sizes is for four operands"


def _constraints_fault(instruction: Instruction, text: str) -> str | None:
    shapes = split_list(squeezed(text)[1:-1])
    if len(shapes) != len(instruction.operands):
        return f"{len(shapes)} constraints for the operands"
    return next((fault for fault in map(shape_fault, shapes) if fault is not None), None)


def _typed_literal_fault(instruction: Instruction, text: str) -> str | None:
    plain = squeezed(text)
    literal = _TYPED_LITERAL.fullmatch(plain)
    if literal is not None:
        fault = literal_fault(Shape(literal[1]), literal[2])
        return None if fault is None else fault.message
    return None if plain.startswith("(") else "literal takes a shape and a literal"


def _window_fault(instruction: Instruction, text: str) -> str | None:
    return None if _is_window(text) else "the parts of a window have the rank of its size"


def _dim_labels_fault(instruction: Instruction, text: str) -> str | None:
    if _is_dim_labels(text):
        return None
    return "dim_labels name each dimension once, in three groups alike"


_JUDGES: dict[str, Callable[[Instruction, str], str | None]] = {
    "dimensions": _dimensions_fault,
    "use_global_device_ids": _device_ids_fault,
    "mode": _mode_fault,
    "algorithm": _algorithm_fault,
    "parameter_replication": _replication_fault,
    "slice_sizes": _slice_sizes_fault,
    "operand_layout_constraints": _constraints_fault,
    "literal": _typed_literal_fault,
    "window": _window_fault,
    "dim_labels": _dim_labels_fault,
}


def _is_window(text: str) -> bool:
    parts = dict(_WINDOW_PART.findall(text))
    if len(parts) != len(_WINDOW_PART.findall(text)) or (parts and "size" not in parts):
        return False
    return len({value.count("x") for value in parts.values()}) < 2


def _is_dim_labels(text: str) -> bool:
    left, _, rest = text.partition("_")
    right, _, result = rest.partition("->")
    ranks: set[int] = set()
    for group, letters in ((left, "bf"), (right, "io"), (result, "bf")):
        labels = group.replace("?", "")
        if len(set(labels)) != len(labels) or not set(letters) <= set(labels):
            return False
        ranks.add(len(labels))
    return len(ranks) == 1


def keys_of(text: str) -> list[str]:
    """The keys of an instruction's or a header's own attributes, each as often as it stands."""
    keys: list[str] = []
    depth = 0
    for part in _PART.finditer(text):
        mark = part.group()
        if part[2]:
            if depth == 0:
                keys.append(part[2][:-1])
        elif mark in "[({":
            depth += 1
        elif mark in "])}":
            depth -= 1
    return keys


def declared_shapes(instruction: Instruction) -> list[tuple[str, tuple[int, ...], str]]:
    """Operand name, path and shape where the operands tell shapes; nested ones left out."""
    if "[" not in instruction.arguments or instruction.opcode in {"constant", "parameter"}:
        return []
    found: list[tuple[str, tuple[int, ...], str]] = []
    for piece in split_list(squeezed(instruction.arguments)):
        operand = _OPERAND.fullmatch(piece)
        if operand is not None and operand["shape"]:
            path = tuple(int(step) for step in operand["path"].split("#")[1:])
            found.append((operand["name"], path, operand["shape"].strip()))
    return found


def split_list(text: str) -> list[str]:
    """Cut a squeezed text at the commas outside of brackets."""
    pieces: list[str] = []
    start = depth = 0
    for part in re.finditer(r"[\[({]|[\])}]|,", text):
        mark = part.group()
        if mark == ",":
            if depth == 0:
                pieces.append(text[start : part.start()])
                start = part.end()
        else:
            depth += 1 if mark in "[({" else -1
    return [*pieces, text[start:]] if text else []
