"""A module that can be changed: computations of plain lines, printed as XLA reads them. Pure.

Given a parsed module, gives a `Draft` of its computations as blocks of lines, which others edit.
"""

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from app.errors import UsageError
from hlo_parser import Computation, Module

CALLEES = ("condition", "body", "to_apply", "calls", "branch_computations", "called_computations")
# What of the header belongs to inputs and outputs that a reduction takes away.
_OF_THE_SIGNATURE = (
    "entry_computation_layout",
    "buffer_donor",
    "input_output_alias",
    "allow_spmd_sharding_propagation_to_parameters",
    "allow_spmd_sharding_propagation_to_output",
)
_NUMBER = re.compile(r"(?<=[\[,])\d++")
_OPENING, _CLOSING = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction; `arguments` is what stands in the brackets where `operands` are none."""

    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    arguments: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    callees: tuple[str, ...] = ()

    def attribute(self, key: str) -> str:
        """The raw value, "" where there is none."""
        return next((value for name, value in self.attributes if name == key), "")

    def without(self, *keys: str) -> "Line":
        """The line without attributes of these names."""
        if not any(name in keys for name, _ in self.attributes):
            return self
        return replace(self, attributes=tuple(a for a in self.attributes if a[0] not in keys))

    @property
    def text(self) -> str:
        """As XLA reads it."""
        inner = ", ".join(f"%{name}" for name in self.operands) or self.arguments
        rest = "".join(f", {key}={value}" for key, value in self.attributes)
        return f"%{self.name} = {self.shape} {self.opcode}({inner}){rest}"


@dataclass(frozen=True, slots=True)
class Block:
    """One computation; operands stand before their users."""

    name: str
    lines: tuple[Line, ...]
    root: str
    is_entry: bool = False

    @property
    def by_name(self) -> dict[str, Line]:
        """The lines by their names."""
        return {line.name: line for line in self.lines}

    @property
    def parameter(self) -> Line | None:
        """The only parameter; None where there are none or several."""
        found = [line for line in self.lines if line.opcode == "parameter"]
        return found[0] if len(found) == 1 else None

    def users(self, name: str) -> list[Line]:
        """Who takes that line as an operand."""
        return [line for line in self.lines if name in line.operands]


@dataclass(frozen=True, slots=True)
class Draft:
    """A module to change. `head` are the lines before the first computation."""

    head: str
    blocks: tuple[Block, ...]

    @property
    def size(self) -> int:
        """Instructions of all computations."""
        return sum(len(block.lines) for block in self.blocks)

    @property
    def weight(self) -> tuple[int, int]:
        """What a reduction makes less: instructions, then the sum of all numbers in shapes."""
        shapes = (line.shape for block in self.blocks for line in block.lines)
        return self.size, sum(int(n) for shape in shapes for n in _NUMBER.findall(shape))

    @property
    def by_name(self) -> dict[str, Block]:
        """The computations by their names."""
        return {block.name: block for block in self.blocks}

    @property
    def entry(self) -> Block:
        """The computation that is the program."""
        return next(block for block in self.blocks if block.is_entry)

    @property
    def text(self) -> str:
        """As XLA reads it."""
        parts = [self.head]
        for block in self.blocks:
            lines = "\n".join(
                f"  {'ROOT ' if line.name == block.root else ''}{line.text}" for line in block.lines
            )
            parts.append(f"{'ENTRY ' if block.is_entry else ''}%{block.name} {{\n{lines}\n}}\n")
        return "\n".join(parts)

    def with_blocks(self, changed: Mapping[str, Block]) -> "Draft":
        """The draft with blocks of these names in place of its own."""
        return replace(self, blocks=tuple(changed.get(b.name, b) for b in self.blocks))


def draft_of(module: Module) -> Draft:
    """The draft of a module.

    Raises:
        UsageError: something in it was not understood, or a name stands for nothing or for two.
    """
    if module.unparsed:
        raise UsageError("not all of this module was understood, so it cannot be reduced")
    attributes = (f"{k}={v}" for k, v in module.header.attributes.items())
    kept = [a for a in attributes if not a.startswith(tuple(f"{k}=" for k in _OF_THE_SIGNATURE))]
    head = ", ".join([f"HloModule {module.header.name}", *kept]) + "\n"
    if module.frames is not None:
        head += f"\n{module.frames.text()}\n"
    blocks: list[Block] = []
    taken = set[str]()
    for computation in module.computations:
        if computation.name in taken:
            raise UsageError(f"two computations of this module are called %{computation.name}")
        taken.add(computation.name)
        for callee in (callee for i in computation.instructions for callee in i.callees):
            if module.get(callee.name) is None:
                raise UsageError(
                    f"%{computation.name} calls %{callee.name}, which this module does not hold"
                )
        lines = _lines_of(computation)
        is_entry = computation is module.entry
        blocks.append(Block(computation.name, lines, computation.root.name, is_entry))
    return Draft(head, tuple(blocks))


def _lines_of(computation: Computation) -> tuple[Line, ...]:
    """The lines; `%t#1`, which is an element of a tuple from 0.11 on, becomes one of its own."""
    lines: dict[str, Line] = {}
    elements: dict[tuple[str, int], str] = {}
    taken = {i.name for i in computation.instructions}

    def meant(what: str, *, is_there: bool) -> None:
        if not is_there:
            raise UsageError(f"%{computation.name} uses {what}, which is not there above it")

    def element(name: str, step: int) -> str:
        if (name, step) not in elements:
            shape = lines[name].shape if name in lines else ""
            shapes = elements_of(shape) if shape.startswith("(") else ()
            meant(f"element {step} of %{name}", is_there=step < len(shapes))
            own = f"{name}.{step}"
            while own in taken:
                own += ".e"
            taken.add(own)
            index = (("index", str(step)),)
            lines[own] = Line(own, shapes[step], "get-tuple-element", (name,), attributes=index)
            elements[name, step] = own
        return elements[name, step]

    for i in computation.instructions:
        pairs = zip(i.operands, i.operand_paths, strict=True)
        operands = tuple(functools.reduce(element, path, name) for name, path in pairs)
        for name in operands:
            meant(f"%{name}", is_there=name in lines)
        if i.name in lines:
            raise UsageError(f"two instructions of %{computation.name} are called %{i.name}")
        lines[i.name] = Line(
            i.name,
            plain_shape(i.shape.text),
            i.opcode,
            operands,
            "" if operands else i.arguments,
            tuple(i.attributes.items()),
            tuple(callee.name for callee in i.callees),
        )
    return tuple(lines.values())


def plain_shape(text: str) -> str:
    """A shape without the comments that count its elements."""
    pieces = text.split("/*")
    return pieces[0] + "".join(piece.partition("*/")[2] for piece in pieces[1:])


def elements_of(shape: str) -> tuple[str, ...]:
    """The elements of a tuple's shape."""
    inner, depth, start = shape.strip()[1:-1], 0, 0
    found: list[str] = []
    for position, character in enumerate(inner):
        depth += (character in _OPENING) - (character in _CLOSING)
        if character == "," and depth == 0:
            found.append(inner[start:position].strip())
            start = position + 1
    last = inner[start:].strip()
    return (*found, last) if last else tuple(found)


def tuple_of(shapes: Iterable[str]) -> str:
    """The shape of a tuple of these elements."""
    return f"({', '.join(shapes)})"


def renamed(line: Line, names: Mapping[str, str]) -> Line:
    """The line with operands called otherwise."""
    if not any(name in names for name in line.operands):
        return line
    return replace(line, operands=tuple(names.get(name, name) for name in line.operands))


def cone(by_name: Mapping[str, Line], roots: Iterable[str]) -> set[str]:
    """The names of `roots` and of all that they are made from."""
    found, waiting = set[str](), list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found and name in by_name:
            found.add(name)
            waiting += by_name[name].operands
    return found
