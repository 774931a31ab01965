"""Module texts made unrecognisable: other names, other order, the same program.

`hidden` gives a module whose instructions and computations bear random names and stand in a random
operands-first order, so that neither names nor the order of the text help to find an instruction
again, and says which is which.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hlo_parser import Computation, Instruction, Interner, Module, parse_module, print_module

# What is called stands behind these keys; an instruction may bear the name of a computation.
_CALLED = re.compile(
    r"\b(?:to_apply|calls|body|condition|select|scatter|true_computation|false_computation"
    r"|branch_computations|called_computations)=(?:%[\w.\-]+|\{[^{}]*\})",
    re.ASCII,
)

# Names outside of quoted strings.
_NAME = re.compile(r'("(?:[^"\\]|\\.)*+")|%([\w.\-]+)', re.ASCII)


@dataclass(frozen=True, slots=True)
class Hidden:
    """A module under other names; the mappings go from the new names to the old ones."""

    module: Module
    instructions: Mapping[tuple[str, str], tuple[str, str]]
    computations: Mapping[str, str]


def hidden(
    module: Module, random_numbers: random.Random, interner: Interner | None = None
) -> Hidden:
    """`module` with all names changed and its lines and computations shuffled."""
    lines = print_module(module).split("\n")
    start = next(i for i, line in enumerate(lines) if _opens(line, module.computations[0]))
    head, position = lines[:start], start
    numbers = list(range(module.instruction_count + len(module.computations)))
    random_numbers.shuffle(numbers)
    computations = {c.name: f"c{numbers.pop()}" for c in module.computations}
    texts: list[str] = []
    back: dict[tuple[str, str], tuple[str, str]] = {}
    for computation in module.computations:
        names = {i.name: f"{_word(i)}{numbers.pop()}" for i in computation.instructions}
        new = computations[computation.name]
        back |= {(new, other): (computation.name, name) for name, other in names.items()}
        count = len(computation.instructions)
        block = lines[position : position + count + 2]
        position += count + 3
        inside = [block[1 + k] for k in _shuffled(computation, random_numbers)]
        opening = _renamed(block[0], names | {computation.name: new})
        texts.append("\n".join((opening, *_all_renamed(inside, computations, names), block[-1])))
    random_numbers.shuffle(texts)
    text = "\n".join(head) + "\n" + "\n\n".join(texts) + "\n"
    made = parse_module(text, interner=interner)
    return Hidden(made, back, {new: name for name, new in computations.items()})


def _word(instruction: Instruction) -> str:
    """What starts the new name: an asynchronous start says in its name alone what it starts."""
    stem = instruction.name.split(".")[0]
    says = instruction.opcode == "async-start" and stem.endswith("-start")
    return f"{stem}." if says else "h"


def _opens(line: str, computation: Computation) -> bool:
    return line.removeprefix("ENTRY ").startswith(f"%{computation.name} ")


def _all_renamed(
    lines: Sequence[str], computations: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[str]:
    for line in lines:
        pieces: list[str] = []
        end = 0
        for called in _CALLED.finditer(line):
            pieces.append(_renamed(line[end : called.start()], names))
            pieces.append(_renamed(called[0], computations))
            end = called.end()
        yield "".join((*pieces, _renamed(line[end:], names)))


def _renamed(line: str, names: Mapping[str, str]) -> str:
    def name(found: re.Match[str]) -> str:
        old = found[2]
        return found[0] if old is None or old not in names else f"%{names[old]}"

    return _NAME.sub(name, line)


def _shuffled(computation: Computation, random_numbers: random.Random) -> Sequence[int]:
    """Positions in a random order that puts operands and control predecessors first."""
    place = {i.name: k for k, i in enumerate(computation.instructions)}
    missing: list[int] = []
    waiting: dict[int, list[int]] = {}
    for k, instruction in enumerate(computation.instructions):
        needed = {
            place[name]
            for name in (*instruction.operands, *instruction.control_predecessors)
            if name in place
        } - {k}
        missing.append(len(needed))
        for other in needed:
            waiting.setdefault(other, []).append(k)
    ready = [k for k, count in enumerate(missing) if not count]
    order: list[int] = []
    while ready:
        chosen = random_numbers.randrange(len(ready))
        ready[chosen], ready[-1] = ready[-1], ready[chosen]
        here = ready.pop()
        order.append(here)
        for user in waiting.get(here, ()):
            missing[user] -= 1
            if not missing[user]:
                ready.append(user)
    return (*order, *sorted(set(range(len(missing))) - set(order)))
