"""The cuts that a reduction tries: each kind lists its places, and makes any set of them. Pure.

Cuts change what the program computes, never its types. Which of them keep the failure only a
compile can say.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from app.replay.draft import (
    Block,
    Draft,
    Line,
    Loop,
    elements_of,
    loops_of,
    renamed,
    taken,
    tidied,
    tuple_of,
)

_NUMBERS = ("f", "bf", "s", "u", "pred")
_MADE_OF_NOTHING = ("parameter", "constant", "iota")

Place = tuple[str, str]
"""A computation and, in it, a line, or the number of an output or a carry."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of cut: where it can be made, and how all of some places are made at once.

    `is_by_name`: its places are lines by name, which other cuts do not count anew.
    """

    name: str
    places: Callable[[Draft], tuple[Place, ...]]
    made: Callable[[Draft, frozenset[Place]], Draft]
    is_by_name: bool = True


def cut(kind: Kind, draft: Draft, places: Iterable[Place]) -> Draft:
    """The draft with these cuts, tidied."""
    return tidied(kind.made(draft, frozenset(places)))


def _outputs(draft: Draft) -> tuple[Place, ...]:
    root = draft.entry.by_name[draft.entry.root]
    if root.opcode != "tuple":
        return ()
    return tuple((draft.entry.name, str(number)) for number in range(len(root.operands)))


def _without_outputs(draft: Draft, places: frozenset[Place]) -> Draft:
    entry = draft.entry
    root = entry.by_name[entry.root]
    kept = [i for i in range(len(root.operands)) if (entry.name, str(i)) not in places]
    shapes = elements_of(root.shape)
    shorter = replace(
        root.without("sharding"),
        operands=tuple(root.operands[i] for i in kept),
        shape=tuple_of(shapes[i] for i in kept),
    )
    return draft.with_blocks({entry.name: _with_lines(entry, {root.name: (shorter,)})})


def _carries(draft: Draft) -> tuple[Place, ...]:
    return tuple(
        (loop.body.name, str(number))
        for loop in loops_of(draft)
        for number in range(len(loop.result.operands))
    )


def _with_frozen_carries(draft: Draft, places: frozenset[Place]) -> Draft:
    for loop in loops_of(draft):
        numbers = {int(number) for block, number in places if block == loop.body.name}
        if numbers:
            # Loops share blocks: each is looked up in the draft as it is by then.
            current = next(x for x in loops_of(draft) if x.body.name == loop.body.name)
            draft = _frozen(draft, current, numbers)
    return draft


def _frozen(draft: Draft, loop: Loop, numbers: set[int]) -> Draft:
    """Elements that an iteration hands on as they are, and that are outside what they began as."""
    parameter = loop.body.parameter
    assert parameter is not None
    inner = {index: name for name, index in taken(loop.body, parameter.name).items()}
    shapes, operands, added = elements_of(loop.line.shape), list(loop.result.operands), list[Line]()
    for number in numbers:
        if number not in inner:
            name = f"{parameter.name}.element.{number}"
            index = (("index", str(number)),)
            added.append(
                Line(name, shapes[number], "get-tuple-element", (parameter.name,), "", index)
            )
            inner[number] = name
        operands[number] = inner[number]
    result = replace(loop.result, operands=tuple(operands))
    body = _with_lines(loop.body, {result.name: (*added, result)})
    outer = taken(loop.caller, loop.line.name)
    names = {
        name: loop.initial.operands[number] for name, number in outer.items() if number in numbers
    }
    caller = _with_names(loop.caller, names)
    return draft.with_blocks({body.name: body, caller.name: caller})


def _bypassable(draft: Draft) -> tuple[Place, ...]:
    return tuple(
        (block.name, line.name)
        for block in draft.blocks
        for line in block.lines
        if _stand_in(block.by_name, line)
    )


def _stand_in(by_name: dict[str, Line], line: Line) -> str | None:
    """An operand of the same shape, which may stand in the line's place."""
    shape = _without_layout(line.shape)
    same = (n for n in line.operands if n in by_name and _without_layout(by_name[n].shape) == shape)
    return next(same, None)


def _bypassed(draft: Draft, places: frozenset[Place]) -> Draft:
    changed: dict[str, Block] = {}
    for block in draft.blocks:
        by_name, names = block.by_name, dict[str, str]()
        for line in block.lines:
            if (block.name, line.name) in places and (other := _stand_in(by_name, line)):
                names[line.name] = names.get(other, other)
        changed[block.name] = _with_names(block, names)
    return draft.with_blocks(changed)


def _inputs(draft: Draft) -> tuple[Place, ...]:
    entry = draft.entry
    return tuple(
        (entry.name, line.name)
        for line in entry.lines
        if line.opcode not in _MADE_OF_NOTHING and line.name != entry.root
    )


def _made_inputs(draft: Draft, places: frozenset[Place]) -> Draft:
    entry = draft.entry
    made = {
        line.name: (Line(line.name, line.shape, "parameter", (), "0", _metadata(line)),)
        for line in entry.lines
        if (entry.name, line.name) in places
    }
    # `tidied` numbers them.
    return draft.with_blocks({entry.name: _with_lines(entry, made)})


def _computed(draft: Draft) -> tuple[Place, ...]:
    return tuple(
        (block.name, line.name)
        for block in draft.blocks
        for line in block.lines
        if _can_be_zero(block, line)
    )


def _can_be_zero(block: Block, line: Line) -> bool:
    if line.opcode in _MADE_OF_NOTHING or not line.shape.startswith(_NUMBERS):
        return False
    source = block.by_name.get(line.operands[0]) if line.operands else None
    is_constant = line.opcode == "broadcast" and source is not None and source.opcode == "constant"
    return "[" in line.shape and not is_constant


def _zeroed(draft: Draft, places: frozenset[Place]) -> Draft:
    names = {line.name for block in draft.blocks for line in block.lines}
    changed: dict[str, Block] = {}
    for block in draft.blocks:
        made = {
            line.name: _zero(line, names)
            for line in block.lines
            if (block.name, line.name) in places
        }
        changed[block.name] = _with_lines(block, made)
    return draft.with_blocks(changed)


def _zero(line: Line, names: set[str]) -> tuple[Line, ...]:
    element, _, rest = line.shape.partition("[")
    value = "false" if element == "pred" else "0"
    if rest.startswith("]"):
        return (Line(line.name, line.shape, "constant", (), value, _metadata(line)),)
    number = 0
    while f"zero.{number}" in names:
        number += 1
    names.add(f"zero.{number}")
    zero = Line(f"zero.{number}", f"{element}[]", "constant", (), value)
    dimensions = (("dimensions", "{}"), *_metadata(line))
    return zero, Line(line.name, line.shape, "broadcast", (zero.name,), "", dimensions)


def _metadata(line: Line) -> tuple[tuple[str, str], ...]:
    return tuple(a for a in line.attributes if a[0] in ("metadata", "sharding"))


def _without_layout(shape: str) -> str:
    return shape.partition("{")[0] if not shape.startswith("(") else shape


def _with_lines(block: Block, made: dict[str, tuple[Line, ...]]) -> Block:
    lines = [new for line in block.lines for new in made.get(line.name, (line,))]
    return replace(block, lines=tuple(lines))


def _with_names(block: Block, names: dict[str, str]) -> Block:
    lines = tuple(renamed(line, names) for line in block.lines)
    return replace(block, lines=lines, root=names.get(block.root, block.root))


KINDS: tuple[Kind, ...] = (
    Kind("outputs", _outputs, _without_outputs, is_by_name=False),
    Kind("carries of loops", _carries, _with_frozen_carries, is_by_name=False),
    Kind("inputs in place of what the program makes", _inputs, _made_inputs),
    Kind("operands in place of what is made of them", _bypassable, _bypassed),
    Kind("zeros", _computed, _zeroed),
)
