"""A module that can be changed: computations of plain lines, printed as XLA reads them. Pure.

Given a parsed module, gives a `Draft`; `tidied` takes away whatever decides nothing any more, so an
edit need only cut one thread. What the program computes is not kept by edits, only by `tidied`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from app.errors import UsageError
from hlo_parser import Module

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
        UsageError: something in it was not understood, or takes a form that is not edited.
    """
    has_paths = any(any(i.operand_paths) for c in module.computations for i in c.instructions)
    if module.unparsed or has_paths:
        raise UsageError("not all of this module was understood, so it cannot be reduced")
    attributes = (f"{k}={v}" for k, v in module.header.attributes.items())
    kept = [a for a in attributes if not a.startswith(tuple(f"{k}=" for k in _OF_THE_SIGNATURE))]
    head = ", ".join([f"HloModule {module.header.name}", *kept]) + "\n"
    if module.frames is not None:
        head += f"\n{module.frames.text()}\n"
    blocks: list[Block] = []
    for computation in module.computations:
        lines = tuple(
            Line(
                i.name,
                plain_shape(i.shape.text),
                i.opcode,
                i.operands,
                "" if i.operands else i.arguments,
                tuple(i.attributes.items()),
                tuple(callee.name for callee in i.callees),
            )
            for i in computation.instructions
        )
        is_entry = computation is module.entry
        blocks.append(Block(computation.name, lines, computation.root.name, is_entry))
    return tidied(Draft(head, tuple(blocks)))


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


def tidied(draft: Draft) -> Draft:
    """Without what nobody uses: dead lines, inputs, carries of loops, computations."""
    while True:
        before = draft
        draft = _without_dead_carries(_without_dead_lines(draft))
        if draft == before:
            return draft


def _without_dead_lines(draft: Draft) -> Draft:
    blocks = {block.name: _living(block) for block in draft.blocks}
    reached = {draft.entry.name}
    waiting = [draft.entry.name]
    while waiting:
        for line in blocks[waiting.pop()].lines:
            fresh = [name for name in line.callees if name in blocks and name not in reached]
            reached.update(fresh)
            waiting += fresh
    return replace(draft, blocks=tuple(blocks[b.name] for b in draft.blocks if b.name in reached))


def _living(block: Block) -> Block:
    names = _forwarded(block)
    lines = [renamed(line, names) for line in block.lines]
    by_name = {line.name: line for line in lines}
    root = names.get(block.root, block.root)
    alive = cone(by_name, [root])
    if not block.is_entry:
        alive.update(line.name for line in lines if line.opcode == "parameter")
    kept = [line for line in lines if line.name in alive]
    if block.is_entry:
        kept = _numbered(kept)
    kept = [line.without("control-predecessors") for line in kept]
    same = root == block.root and len(kept) == len(block.lines)
    if same and all(new is old for new, old in zip(kept, block.lines, strict=True)):
        return block
    return replace(block, lines=tuple(kept), root=root)


def _forwarded(block: Block) -> dict[str, str]:
    """Elements taken from a tuple that is made right here, by what they are."""
    by_name, names = block.by_name, dict[str, str]()
    for line in block.lines:
        if line.opcode == "get-tuple-element":
            source = by_name.get(line.operands[0])
            if source is not None and source.opcode == "tuple":
                made = source.operands[int(line.attribute("index"))]
                names[line.name] = names.get(made, made)
    return names


def cone(by_name: Mapping[str, Line], roots: Iterable[str]) -> set[str]:
    """The names of `roots` and of all that they are made from."""
    found, waiting = set[str](), list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found and name in by_name:
            found.add(name)
            waiting += by_name[name].operands
    return found


def _numbered(lines: list[Line]) -> list[Line]:
    number, made = 0, list[Line]()
    for line in lines:
        if line.opcode == "parameter":
            if line.arguments != str(number):
                line = replace(line, arguments=str(number))
            number += 1
        made.append(line)
    return made


@dataclass(frozen=True, slots=True)
class Loop:
    """A while whose carry is a tuple seen through its elements alone, on all sides."""

    caller: Block
    line: Line
    body: Block
    condition: Block

    @property
    def initial(self) -> Line:
        """The tuple it starts with."""
        return self.caller.by_name[self.line.operands[0]]

    @property
    def result(self) -> Line:
        """The tuple that an iteration gives."""
        return self.body.by_name[self.body.root]


def loops_of(draft: Draft) -> tuple[Loop, ...]:
    """The loops whose carries can be edited."""
    by_name = draft.by_name
    calls = [name for b in draft.blocks for line in b.lines for name in line.callees]
    found: list[Loop] = []
    for caller in draft.blocks:
        for line in caller.lines:
            if line.opcode != "while":
                continue
            body = by_name[line.attribute("body").lstrip("%")]
            condition = by_name[line.attribute("condition").lstrip("%")]
            loop = Loop(caller, line, body, condition)
            if calls.count(body.name) == calls.count(condition.name) == 1 and _is_open(loop):
                found.append(loop)
    return tuple(found)


def _is_open(loop: Loop) -> bool:
    if loop.initial.opcode != "tuple" or loop.result.opcode != "tuple":
        return False
    seen = (
        (loop.caller, loop.line.name),
        (loop.body, loop.body.parameter and loop.body.parameter.name),
        (loop.condition, loop.condition.parameter and loop.condition.parameter.name),
    )
    return all(
        name is not None
        and name != block.root
        and all(user.opcode == "get-tuple-element" for user in block.users(name))
        for block, name in seen
    )


def taken(block: Block, name: str) -> dict[str, int]:
    """The lines that take an element of the tuple `name`, and which."""
    return {
        line.name: int(line.attribute("index"))
        for line in block.users(name)
        if line.opcode == "get-tuple-element"
    }


def _without_dead_carries(draft: Draft) -> Draft:
    for loop in loops_of(draft):
        living = _living_carries(loop)
        if len(living) < len(loop.result.operands):
            # Blocks have changed: the next round of tidying looks at the other loops.
            return _with_carries(draft, loop, sorted(living))
    return draft


def _living_carries(loop: Loop) -> set[int]:
    parameter, other = loop.body.parameter, loop.condition.parameter
    assert parameter is not None
    assert other is not None
    inner = taken(loop.body, parameter.name)
    living = set(taken(loop.caller, loop.line.name).values())
    living.update(taken(loop.condition, other.name).values())
    by_name = loop.body.by_name
    while True:
        needed = cone(by_name, [loop.result.operands[i] for i in living])
        more = {inner[name] for name in needed if name in inner} - living
        if not more:
            return living
        living |= more


def _with_carries(draft: Draft, loop: Loop, kept: list[int]) -> Draft:
    shapes = elements_of(loop.line.shape)
    shape = tuple_of(shapes[i] for i in kept)
    places = {old: new for new, old in enumerate(kept)}
    parameter, other = loop.body.parameter, loop.condition.parameter
    assert parameter is not None
    assert other is not None
    start = replace(
        loop.initial.without("sharding"),
        name=f"{loop.line.name}.start",
        shape=shape,
        operands=tuple(loop.initial.operands[i] for i in kept),
    )
    if start.name in loop.caller.by_name:
        start = replace(start, name=loop.initial.name)
    changed = replace(loop.line.without("sharding"), shape=shape, operands=(start.name,))
    result = replace(
        loop.result.without("sharding"),
        shape=shape,
        operands=tuple(loop.result.operands[i] for i in kept),
    )
    caller = _renumbered(loop.caller, loop.line.name, places, changed, before=start)
    body = _renumbered(
        loop.body, parameter.name, places, replace(parameter.without("sharding"), shape=shape)
    )
    body = replace(
        body, lines=tuple(result if line.name == result.name else line for line in body.lines)
    )
    condition = _renumbered(
        loop.condition, other.name, places, replace(other.without("sharding"), shape=shape)
    )
    blocks = (caller, body, condition)
    return draft.with_blocks({block.name: block for block in blocks})


def _renumbered(
    block: Block, name: str, places: Mapping[int, int], changed: Line, before: Line | None = None
) -> Block:
    """The block with `changed` for the tuple `name`, and what is taken from it counted anew."""
    gone = {user for user, index in taken(block, name).items() if index not in places}
    lines: list[Line] = []
    for line in block.lines:
        if line.name == name:
            lines += [changed] if before is None else [before, changed]
        elif before is not None and line.name == before.name:
            continue  # the start of the loop under its old name, made anew in its place
        elif line.name in gone:
            continue
        elif line.opcode == "get-tuple-element" and line.operands[0] == name:
            index = places[int(line.attribute("index"))]
            attributes = tuple(
                (key, str(index) if key == "index" else value) for key, value in line.attributes
            )
            lines.append(replace(line, attributes=attributes))
        else:
            lines.append(line)
    return replace(block, lines=tuple(lines))
