"""Takes out of a draft whatever decides nothing any more, so that an edit need only cut one thread.

Dead lines, inputs, elements of carries and computations go, and elements taken from a tuple that is
made right there are what they are. What the program computes stays the same. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.replay.draft import Block, Draft, Line, cone, elements_of, renamed, tuple_of


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
