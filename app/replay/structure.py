"""Cuts that take a module's structure down: calls, loops that run once, computations alike. Pure.

Each leaves types as they are. A call and a fusion are written out where they stand, which takes
their parameters and tuples away; a loop becomes one run of its body, a conditional one branch.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from app.replay.draft import CALLEES, Block, Draft, Line, renamed
from app.replay.kinds import Kind, Place, with_lines, with_names
from app.replay.tidying import loops_of

CalleeOf = Callable[[Line], tuple[str, int]]
"""The computation that a line calls from then on, and with which operand."""

_WRITTEN_OUT = ("call", "fusion")
_BRANCHES = ("true_computation", "false_computation", "branch_computations")
_NAME = re.compile(r"%?([A-Za-z_][\w.\-]*+)")
# Equal lines of these may still do different things, or belong to the signature.
_NEVER_ALIKE = ("parameter", "rng", "rng-bit-generator", "custom-call", "infeed", "outfeed")


def _calls(draft: Draft) -> tuple[Place, ...]:
    known = draft.by_name
    return tuple(
        (block.name, line.name)
        for block in draft.blocks
        for line in block.lines
        if line.opcode in _WRITTEN_OUT and len(line.callees) == 1 and line.callees[0] in known
    )


def _written_out(draft: Draft, places: frozenset[Place]) -> Draft:
    known = draft.by_name
    changed: dict[str, Block] = {}
    for block in draft.blocks:
        for line in block.lines:
            if (block.name, line.name) in places:
                so_far = changed.get(block.name, block)
                callee = changed.get(line.callees[0], known[line.callees[0]])
                changed[block.name] = _with_callee(so_far, line.name, callee)
    return draft.with_blocks(changed)


def _with_callee(block: Block, call: str, callee: Block) -> Block:
    line = block.by_name[call]
    taken_names = set(block.by_name)
    names: dict[str, str] = {}
    lines: list[Line] = []
    for inner in callee.lines:
        if inner.opcode == "parameter":
            names[inner.name] = line.operands[int(inner.arguments)]
            continue
        name, number = inner.name, 0
        while name in taken_names:
            number += 1
            name = f"{inner.name}.copy{number}"
        taken_names.add(name)
        lines.append(replace(renamed(inner, names), name=name))
        names[inner.name] = name
    block = with_lines(block, {call: tuple(lines)})
    return with_names(block, {call: names[callee.root]})


def _loops(draft: Draft) -> tuple[Place, ...]:
    return tuple((loop.caller.name, loop.line.name) for loop in loops_of(draft))


def _run_once(draft: Draft, places: frozenset[Place]) -> Draft:
    return _as_calls(draft, places, lambda line: (line.attribute("body").lstrip("%"), 0))


def _conditionals(draft: Draft) -> tuple[Place, ...]:
    return tuple(
        (block.name, line.name)
        for block in draft.blocks
        for line in block.lines
        if line.opcode == "conditional" and line.callees and len(line.operands) > 1
    )


def _first_branches(draft: Draft, places: frozenset[Place]) -> Draft:
    return _as_calls(draft, places, lambda line: (line.callees[0], 1))


def _as_calls(draft: Draft, places: frozenset[Place], callee_of: CalleeOf) -> Draft:
    """The draft with these lines as calls of a computation that takes one of their operands."""
    changed: dict[str, Block] = {}
    for block in draft.blocks:
        made: dict[str, tuple[Line, ...]] = {}
        for line in block.lines:
            if (block.name, line.name) in places:
                callee, operand = callee_of(line)
                plain = line.without(*CALLEES, *_BRANCHES, "backend_config")
                attributes = (("to_apply", callee), *plain.attributes)
                operands = (line.operands[operand],)
                call = replace(plain, opcode="call", operands=operands, callees=(callee,))
                made[line.name] = (replace(call, attributes=attributes),)
        changed[block.name] = with_lines(block, made)
    return draft.with_blocks(changed)


def _alike(draft: Draft) -> tuple[Place, ...]:
    return tuple(
        (block.name, name) for block in draft.blocks for name in _earlier_equals(block, None)
    )


def _shared_lines(draft: Draft, places: frozenset[Place]) -> Draft:
    changed: dict[str, Block] = {}
    for block in draft.blocks:
        chosen = {name for owner, name in places if owner == block.name}
        changed[block.name] = with_names(block, _earlier_equals(block, chosen))
    return draft.with_blocks(changed)


def _earlier_equals(block: Block, chosen: set[str] | None) -> dict[str, str]:
    """Lines, of those chosen, that equal an earlier one but for their metadata, and which one."""
    first: dict[Line, str] = {}
    names: dict[str, str] = {}
    for line in block.lines:
        if line.opcode in _NEVER_ALIKE:
            continue
        bare = replace(renamed(line.without("metadata"), names), name="")
        earlier = first.setdefault(bare, line.name)
        if earlier != line.name and (chosen is None or line.name in chosen):
            names[line.name] = earlier
    return names


def _twins(draft: Draft) -> dict[str, str]:
    """Computations that equal an earlier one, and which; never those of loops."""
    of_loops = {
        name
        for block in draft.blocks
        for line in block.lines
        if line.opcode == "while"
        for name in line.callees
    }
    first: dict[tuple[Line, ...], str] = {}
    found: dict[str, str] = {}
    for block in draft.blocks:
        if block.is_entry or block.name in of_loops:
            continue
        earlier = first.setdefault(_bare(block), block.name)
        if earlier != block.name:
            found[block.name] = earlier
    return found


def _bare(block: Block) -> tuple[Line, ...]:
    numbers = {line.name: str(number) for number, line in enumerate(block.lines)}
    bare = [
        replace(renamed(line.without("metadata"), numbers), name=numbers[line.name])
        for line in block.lines
    ]
    return (*bare, Line(numbers[block.root], "", "root", ()))


def _computations(draft: Draft) -> tuple[Place, ...]:
    return tuple((name, "") for name in _twins(draft))


def _shared_computations(draft: Draft, places: frozenset[Place]) -> Draft:
    names = {old: new for old, new in _twins(draft).items() if (old, "") in places}
    blocks = {
        block.name: replace(block, lines=tuple(_recalled(line, names) for line in block.lines))
        for block in draft.blocks
    }
    return draft.with_blocks(blocks)


def _recalled(line: Line, names: Mapping[str, str]) -> Line:
    """The line with computations called otherwise."""
    if not any(name in names for name in line.callees):
        return line

    def other(value: str) -> str:
        return _NAME.sub(lambda found: names.get(found[1], found[1]), value)

    attributes = tuple(
        (key, other(value) if key in (*CALLEES, *_BRANCHES) else value)
        for key, value in line.attributes
    )
    callees = tuple(names.get(name, name) for name in line.callees)
    return replace(line, attributes=attributes, callees=callees)


STRUCTURE: tuple[Kind, ...] = (
    Kind("calls written out", _calls, _written_out),
    Kind("loops that run once", _loops, _run_once),
    Kind("first branches", _conditionals, _first_branches),
    Kind("lines that equal others", _alike, _shared_lines),
    Kind("computations that equal others", _computations, _shared_computations, is_by_name=False),
)
