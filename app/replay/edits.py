"""The cuts that a reduction tries: each kind lists its places, and makes any set of them. Pure.

Cuts change what the program computes, never its types. Which of them keep the failure only a
compile can say.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from app.replay.draft import (
    Block,
    Draft,
    Line,
    cone,
    elements_of,
    tuple_of,
)
from app.replay.kinds import Kind, Place, with_lines, with_names, without_layout
from app.replay.sizes import SIZES
from app.replay.structure import STRUCTURE
from app.replay.tidying import Loop, loops_of, taken

_NUMBERS = ("f", "bf", "s", "u", "pred")
_MADE_OF_NOTHING = ("parameter", "constant", "iota")


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
    return draft.with_blocks({entry.name: with_lines(entry, {root.name: (shorter,)})})


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
    body = with_lines(loop.body, {result.name: (*added, result)})
    outer = taken(loop.caller, loop.line.name)
    names = {
        name: loop.initial.operands[number] for name, number in outer.items() if number in numbers
    }
    caller = with_names(loop.caller, names)
    return draft.with_blocks({body.name: body, caller.name: caller})


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
    return draft.with_blocks({entry.name: with_lines(entry, made)})


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
        changed[block.name] = with_lines(block, made)
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


def _merged(draft: Draft) -> tuple[Place, ...]:
    return tuple(
        (loop.body.name, str(number)) for loop in loops_of(draft) for number in _doubles(loop)
    )


def _doubles(loop: Loop) -> dict[int, int]:
    """Elements of the carry that have the shape of an earlier one, and which."""
    first: dict[str, int] = {}
    found: dict[int, int] = {}
    for number, shape in enumerate(elements_of(loop.line.shape)):
        earlier = first.setdefault(without_layout(shape), number)
        if earlier != number:
            found[number] = earlier
    return found


def _with_merged_carries(draft: Draft, places: frozenset[Place]) -> Draft:
    for name in dict.fromkeys(block for block, _ in places):
        loop = next(x for x in loops_of(draft) if x.body.name == name)
        numbers = {old: new for old, new in _doubles(loop).items() if (name, str(old)) in places}
        parameter, other = loop.body.parameter, loop.condition.parameter
        assert parameter is not None
        assert other is not None
        seen = ((loop.caller, loop.line), (loop.body, parameter), (loop.condition, other))
        changed = {block.name: _retaken(block, source.name, numbers) for block, source in seen}
        draft = draft.with_blocks(changed)
    return draft


def _retaken(block: Block, name: str, numbers: Mapping[int, int]) -> Block:
    """The block with other elements taken from the tuple `name`."""
    made: dict[str, tuple[Line, ...]] = {}
    for line in block.lines:
        if line.opcode == "get-tuple-element" and line.operands[0] == name:
            number = int(line.attribute("index"))
            index = ("index", str(numbers.get(number, number)))
            rest = tuple(
                index if key == "index" else (key, value) for key, value in line.attributes
            )
            made[line.name] = (replace(line, attributes=rest),)
    return with_lines(block, made)


def _replacing(name: str, choice: Callable[[Block], dict[str, str]]) -> Kind:
    """A cut that puts other lines of the same shape in the place of lines."""

    def places(draft: Draft) -> tuple[Place, ...]:
        return tuple((block.name, line) for block in draft.blocks for line in choice(block))

    def made(draft: Draft, chosen: frozenset[Place]) -> Draft:
        changed: dict[str, Block] = {}
        for block in draft.blocks:
            names: dict[str, str] = {}
            for line, other in choice(block).items():
                if (block.name, line) in chosen:
                    # The choice goes down the block, so what stands in may itself be replaced.
                    names[line] = names.get(other, other)
            changed[block.name] = with_names(block, names)
        return draft.with_blocks(changed)

    return Kind(name, places, made, is_loss=True)


def _operands(block: Block) -> dict[str, str]:
    by_name = block.by_name
    found = {line.name: _same_shape(by_name, line, line.operands) for line in block.lines}
    return {name: other for name, other in found.items() if other is not None}


def _origins(block: Block) -> dict[str, str]:
    """Lines and the first line of their shape that they are made of."""
    by_name, found = block.by_name, dict[str, str]()
    order = {line.name: number for number, line in enumerate(block.lines)}
    for line in block.lines:
        made_of = cone(by_name, line.operands)
        other = _same_shape(by_name, line, sorted(made_of, key=order.__getitem__))
        if other is not None and other not in line.operands:
            found[line.name] = other
    return found


def _earlier_lines(block: Block) -> dict[str, str]:
    """Lines and the first line of the block that has their shape."""
    first, found = dict[str, str](), dict[str, str]()
    for line in block.lines:
        other = first.setdefault(without_layout(line.shape), line.name)
        if other != line.name and line.opcode != "parameter":
            found[line.name] = other
    return found


def _same_shape(by_name: Mapping[str, Line], line: Line, names: Iterable[str]) -> str | None:
    shape = without_layout(line.shape)
    same = (n for n in names if n in by_name and without_layout(by_name[n].shape) == shape)
    return next(same, None)


def _roots(draft: Draft) -> tuple[Place, ...]:
    entry = draft.entry
    return tuple(
        (entry.name, line.name)
        for line in entry.lines
        if line.name != entry.root and line.opcode not in _MADE_OF_NOTHING
    )


def _with_root(draft: Draft, places: frozenset[Place]) -> Draft:
    """What is made first of the lines chosen is all that the program gives."""
    entry = draft.entry
    chosen = next((x.name for x in entry.lines if (entry.name, x.name) in places), entry.root)
    return draft.with_blocks({entry.name: replace(entry, root=chosen)})


KINDS: tuple[Kind, ...] = (
    *SIZES,
    Kind("what the program gives", _roots, _with_root),
    Kind("outputs", _outputs, _without_outputs, is_by_name=False),
    *STRUCTURE,
    Kind("carries of loops", _carries, _with_frozen_carries, is_by_name=False),
    Kind("carries merged", _merged, _with_merged_carries, is_by_name=False),
    Kind("inputs in place of what the program makes", _inputs, _made_inputs, is_loss=True),
    _replacing("origins in place of what is made of them", _origins),
    _replacing("operands in place of what is made of them", _operands),
    _replacing("earlier lines of the same shape", _earlier_lines),
    Kind("zeros", _computed, _zeroed, is_loss=True),
)
