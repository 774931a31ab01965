"""One edit made in a module text, and what a diff must say of it.

`edited` makes one edit of a kind at a random place; the answer is known: which instructions were
added or removed and which changed in what. With all names changed and all lines shuffled
(`hidden_names.py`) a diff must say that and nothing else.
"""

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from analysis.hidden_names import hidden
from analysis.interchangeable import Interchangeable, Place
from app.analysis.diff import diff_modules
from hlo_parser import Computation, Instruction, Module, parse_module, print_module

_NAME = re.compile(r"%([\w.\-]+)", re.ASCII)
_NEW = "edit.new"


@dataclass(frozen=True, slots=True)
class Edit:
    """What was done; `copies` maps what was copied to its copy: either may count as the new one."""

    kind: str
    module: Module
    added: frozenset[Place] = frozenset()
    removed: frozenset[Place] = frozenset()
    changed: Mapping[Place, frozenset[str]] = field(default_factory=dict[Place, frozenset[str]])
    copies: Mapping[Place, Place] = field(default_factory=dict[Place, Place])


class Draft:
    """The lines of a module by computation, to be changed and read again."""

    def __init__(self, module: Module) -> None:
        self.module = module
        lines = print_module(module).split("\n")
        first = module.computations[0].name
        at = next(
            i for i, s in enumerate(lines) if s.removeprefix("ENTRY ").startswith(f"%{first} ")
        )
        self._head = lines[:at]
        self._openings: list[str] = []
        self.lines: dict[str, list[str]] = {}
        for computation in module.computations:
            end = at + len(computation.instructions) + 1
            # Without its signature, which edits may belie.
            self._openings.append(re.sub(r"^((?:ENTRY )?%[\w.\-]+ ).*\{$", r"\1{", lines[at]))
            self.lines[computation.name] = lines[at + 1 : end]
            at = end + 2

    def read(self) -> Module:
        """The module as it stands."""
        texts = [
            "\n".join((opening, *lines, "}"))
            for opening, lines in zip(self._openings, self.lines.values(), strict=True)
        ]
        return parse_module("\n".join(self._head) + "\n" + "\n\n".join(texts) + "\n")

    def change(self, place: Place, edit: Callable[[str], str]) -> None:
        """Change the line of one instruction."""
        computation = self.module.get(place[0])
        assert computation is not None
        position = self._position(place)
        self.lines[place[0]][position] = edit(self.lines[place[0]][position])

    def insert(self, computation: str, before: str, lines: list[str]) -> None:
        """Put lines before the line of an instruction."""
        position = self._position((computation, before))
        self.lines[computation][position:position] = lines

    def _position(self, place: Place) -> int:
        start = re.compile(rf"\s*(?:ROOT )?%{re.escape(place[1])} = ")
        return next(i for i, s in enumerate(self.lines[place[0]]) if start.match(s))


def edited(module: Module, kind: str, random_numbers: random.Random) -> Edit | None:
    """One edit of that kind, None where the module has no place for it."""
    places = list(_candidates(module, kind))
    random_numbers.shuffle(places)
    for computation, instruction in places[:50]:
        made = _KINDS[kind](module, computation, instruction, random_numbers)
        if made is not None:
            return made
    return None


def _candidates(module: Module, kind: str) -> Iterator[tuple[Computation, Instruction]]:
    for computation in module.computations:
        for instruction in computation.instructions:
            if (instruction.opcode == "while") == (kind in {"peel", "repeat"}):
                yield computation, instruction


def _changed(
    module: Module, kind: str, place: Place, what: str, edit: Callable[[str], str]
) -> Edit | None:
    draft = Draft(module)
    draft.change(place, edit)
    return Edit(kind, draft.read(), changed={place: frozenset({what})})


def _shape(
    module: Module, computation: Computation, instruction: Instruction, _: random.Random
) -> Edit | None:
    shape = instruction.shape
    if shape.kind != "array" or not shape.dimensions:
        return None
    first = shape.dimensions[0]
    new = re.sub(rf"\[{first}\b", f"[{first + 3}", shape.text, count=1)
    place = (computation.name, instruction.name)
    return _changed(
        module, "shape", place, "shape", lambda s: s.replace(f"= {shape.text} ", f"= {new} ", 1)
    )


def _layout(
    module: Module, computation: Computation, instruction: Instruction, _: random.Random
) -> Edit | None:
    shape = instruction.shape
    order = shape.minor_to_major
    if shape.kind != "array" or order is None or len(order) < 2:
        return None
    new = "{" + ",".join(map(str, reversed(order)))
    text = shape.text.replace("{" + ",".join(map(str, order)), new, 1)
    place = (computation.name, instruction.name)
    return _changed(
        module, "layout", place, "layout", lambda s: s.replace(f"= {shape.text} ", f"= {text} ", 1)
    )


def _replaced(old: str, new: str, line: str) -> str:
    return line.replace(old, new)


_EDITABLE = ("dimensions", "direction", "index", "channel_id", "slice", "kind", "iota_dimension")


def _attribute(
    module: Module, computation: Computation, instruction: Instruction, _: random.Random
) -> Edit | None:
    for key in _EDITABLE:
        value = instruction.attributes.get(key)
        if value is None:
            continue
        new = re.sub(r"\d+", lambda found: str(int(found[0]) + 7), value, count=1)
        new = {"LT": "GE", "EQ": "NE", "kLoop": "kInput"}.get(value, new)
        if new != value:
            place = (computation.name, instruction.name)
            texts = (f", {key}={value}", f", {key}={new}")
            return _changed(module, "attribute", place, "attributes", partial(_replaced, *texts))
    return None


def _literal(
    module: Module, computation: Computation, instruction: Instruction, _: random.Random
) -> Edit | None:
    literal = instruction.literal
    if literal is None or not re.fullmatch(r"-?\d+(?:\.\d+)?", literal.text):
        return None
    new = f"{literal.text}7"
    place = (computation.name, instruction.name)
    return _changed(
        module,
        "literal",
        place,
        "literal",
        lambda s: s.replace(f"constant({literal.text})", f"constant({new})", 1),
    )


def _operand(
    module: Module,
    computation: Computation,
    instruction: Instruction,
    random_numbers: random.Random,
) -> Edit | None:
    if not instruction.operands or instruction.opcode == "get-tuple-element":
        return None
    number = random_numbers.randrange(len(instruction.operands))
    old = computation.get(instruction.operands[number])
    position = computation.position(instruction.name)
    others = [
        other
        for other in computation.instructions[:position]
        if old is not None and other.opcode != old.opcode and other.shape.kind == old.shape.kind
    ]
    if old is None or not others:
        return None
    other = random_numbers.choice(others)
    place = (computation.name, instruction.name)
    return _changed(
        module,
        "operand",
        place,
        "operands",
        lambda s: _with_operand(s, number, old.name, other.name),
    )


def _with_operand(line: str, number: int, old: str, new: str) -> str:
    """The line with its operand of that number replaced."""
    head, equals, rest = line.partition(" = ")
    names = list(_NAME.finditer(rest))
    found = names[number]
    assert found[1] == old
    return head + equals + rest[: found.start(1)] + new + rest[found.end(1) :]


def _insert(
    module: Module,
    computation: Computation,
    instruction: Instruction,
    random_numbers: random.Random,
) -> Edit | None:
    if not instruction.operands:
        return None
    number = random_numbers.randrange(len(instruction.operands))
    source = computation.get(instruction.operands[number])
    if source is None or source.shape.kind != "array" or instruction.operand_paths[number]:
        return None
    opcode = random_numbers.choice(("negate", "copy", "exponential"))
    if opcode in {source.opcode, instruction.opcode}:
        return None
    draft = Draft(module)
    place = (computation.name, instruction.name)
    draft.change(place, lambda s: _with_operand(s, number, source.name, _NEW))
    new = f"  %{_NEW} = {source.shape.text} {opcode}(%{source.name})"
    draft.insert(computation.name, instruction.name, [new])
    return Edit(
        "insert",
        draft.read(),
        added=frozenset({(computation.name, _NEW)}),
        changed={place: frozenset({"operands"})},
    )


def _delete(
    module: Module, computation: Computation, instruction: Instruction, _: random.Random
) -> Edit | None:
    if len(instruction.operands) != 1 or instruction is computation.root:
        return None
    source = computation.get(instruction.operands[0])
    users = computation.users.get(instruction.name, ())
    waiting = {name for i in computation.instructions for name in i.control_predecessors}
    chained = {i.opcode for i in (source, *users) if i is not None}
    if (
        source is None
        or not users
        or instruction.name in waiting
        or instruction.opcode in {"get-tuple-element", *chained}
        or any(instruction.operand_paths)
        or source.shape.kind != "array"
        or any(path for user in users for path in user.operand_paths)
    ):
        return None
    draft = Draft(module)
    name = re.compile(rf"%{re.escape(instruction.name)}(?![\w.\-])")
    for user in users:
        draft.change((computation.name, user.name), lambda s: name.sub(f"%{source.name}", s))
    place = (computation.name, instruction.name)
    draft.change(place, lambda _: "")
    return Edit(
        "delete",
        draft.read(),
        removed=frozenset({place}),
        changed={(computation.name, user.name): frozenset({"operands"}) for user in users},
    )


def _body(module: Module, instruction: Instruction) -> Computation | None:
    bodies = [c for role, c in module.callees(instruction) if role == "body"]
    if len(bodies) != 1 or len(module.callers(bodies[0].name)) != 1:
        return None
    body = bodies[0]
    fits = len(body.parameters) == 1 and body.root.opcode == "tuple"
    return body if fits and len(body.instructions) < 400 else None


def _copied(body: Computation, parameter: str) -> list[str]:
    """The lines of a body but its parameter, under new names, fed by another value."""
    names = {i.name: f"{i.name}.copied" for i in body.instructions}
    names[body.parameters[0].name] = parameter
    return [
        "  " + _NAME.sub(lambda found: f"%{names.get(found[1], found[1])}", i.text)
        for i in body.instructions
        if i.opcode != "parameter"
    ]


def _peel(
    module: Module, computation: Computation, instruction: Instruction, _: random.Random
) -> Edit | None:
    body = _body(module, instruction)
    if body is None or body is computation or module.get(body.name) is not body:
        return None
    draft = Draft(module)
    lines = [
        s.replace("ROOT ", "", 1) for s in _copied(_long(body, module), instruction.operands[0])
    ]
    place = (computation.name, instruction.name)
    last = f"{body.root.name}.copied"
    draft.insert(computation.name, instruction.name, lines)
    draft.change(place, lambda s: _with_operand(s, 0, instruction.operands[0], last))
    added = {
        (computation.name, f"{i.name}.copied") for i in body.instructions if i.opcode != "parameter"
    }
    return Edit(
        "peel",
        draft.read(),
        added=frozenset(added),
        changed={place: frozenset({"operands"})},
    )


def _repeat(
    module: Module, _: Computation, instruction: Instruction, __: random.Random
) -> Edit | None:
    body = _body(module, instruction)
    if body is None:
        return None
    draft = Draft(module)
    root = body.root.name
    parameter = body.parameters[0].name
    lines = _copied(_long(body, module), root)
    # The copy's root is the root now; it stands last, whatever stood behind the old one.
    draft.change((body.name, root), lambda s: s.replace("ROOT ", "", 1))
    draft.lines[body.name] += lines
    copies = {
        (body.name, i.name): (body.name, f"{i.name}.copied")
        for i in body.instructions
        if i.opcode != "parameter"
    }
    users = {i.name for i in body.users.get(parameter, ())}
    changed = {(body.name, name): frozenset({"operands"}) for name in users}
    changed |= {copies[place]: what for place, what in changed.items()}
    for place in ((body.name, root), copies[body.name, root]):
        changed[place] = frozenset({"root", "operands"})
    return Edit("repeat", draft.read(), copies=copies, changed=changed)


def _long(body: Computation, module: Module) -> Computation:
    """The body as it reads in the long form, where names bear `%`."""
    found = Draft(module).read().get(body.name)
    assert found is not None
    return found


_KINDS: Mapping[str, Callable[[Module, Computation, Instruction, random.Random], Edit | None]] = {
    "attribute": _attribute,
    "delete": _delete,
    "insert": _insert,
    "layout": _layout,
    "literal": _literal,
    "operand": _operand,
    "peel": _peel,
    "repeat": _repeat,
    "shape": _shape,
}
KINDS = tuple(_KINDS)


def found_instead(module: Module, edit: Edit, random_numbers: random.Random) -> list[str]:
    """What a diff says of the edited module, names and order hidden, that it should not.

    Empty when it names the edit and nothing else. Twins count as each other.
    """
    other = hidden(edit.module, random_numbers)
    report = diff_modules(module, other.module)
    before, after = Interchangeable(module), Interchangeable(edit.module)
    added: set[Place] = set()
    removed: set[Place] = set()
    changed: dict[Place, frozenset[str]] = {}
    # No edit takes anything from one computation to another.
    wrong = [
        f"moved {pair.before} to {other.instructions[pair.after]}"
        for diff in report.computations
        for pair in diff.moved_in
    ]
    for diff in report.computations:
        if diff.after is not None:
            added |= {other.instructions[diff.after, name] for name in diff.added}
            for change in diff.changed:
                place = other.instructions[diff.after, change.after]
                changed[place] = frozenset(change.what)
        if diff.before is not None:
            removed |= {(diff.before, name) for name in diff.removed}
    wrong += [f"removed {place}" for place in removed if not _has(edit.removed, place, before)]
    wrong += [f"not removed {place}" for place in edit.removed if not _has(removed, place, before)]
    if edit.copies:
        wrong += [
            f"copied once, added {(place in added) + (copy in added)} times: {place}"
            for place, copy in edit.copies.items()
            if (place in added) + (copy in added) != 1
        ]
        copied = {*edit.copies, *edit.copies.values()}
        wrong += [f"added {place}" for place in added - copied]
        wrong += [
            f"changed {place} {sorted(what)}"
            for place, what in changed.items()
            if not what <= edit.changed.get(place, frozenset())
        ]
        return wrong
    wrong += [f"added {place}" for place in added if not _has(edit.added, place, after)]
    wrong += [f"not added {place}" for place in edit.added if not _has(added, place, after)]
    for place, what in changed.items():
        if not any(
            what == expected and (place == named or after.twins(place, named))
            for named, expected in edit.changed.items()
        ):
            wrong.append(f"changed {place} {sorted(what)}")
    wrong += [f"not changed {place}" for place in edit.changed if not _has(changed, place, after)]
    return wrong


def _has(places: Iterable[Place], place: Place, judge: Interchangeable) -> bool:
    return any(place == other or judge.twins(place, other) for other in places)
