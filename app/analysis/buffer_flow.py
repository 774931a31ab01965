"""Which values of a text share a buffer, and from when to when each buffer is needed: an estimate.

Walks the text in the order in which it stands, loops and branches where they are run, and gives
every array that an instruction makes a buffer of its own. What XLA keeps in one place whatever
happens is joined: tuple access, bitcasts, the state of a loop, asynchronous halves, stated aliases.
What it may keep in one place (elementwise work, updates of a slice, sorts) is joined where the
operand is not needed any more, as `HloDataflowAnalysis::CanShareOperandBufferWithUser` allows
(xla/hlo/analysis/hlo_dataflow_analysis.cc). Nothing is packed, and nothing is read but the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.analysis.branches import Branch
from app.analysis.buffer_table import (
    DEEPEST_SHAPE,
    BufferTable,
    Sharing,
    Tree,
    element_of,
    part_at,
)
from app.analysis.dataflow import invariant_elements
from app.analysis.in_place import in_place
from app.analysis.loop_writes import Element, LoopWrites
from app.model.dump import AllocationRole
from hlo_parser import Computation, Instruction, Module

_PASSES_ON = frozenset({"add-dependency", "bitcast", "domain", "opt-barrier"})
_CALLS = frozenset({"call", "conditional", "while"})
_STARTS_WITH_OPERAND = frozenset({"all-gather-start", "collective-permute-start"})
_ALIAS = re.compile(r"\{([\d,\s]{0,200})\}\s*+:\s*+\((\d{1,9}),\s*+\{([\d,\s]{0,200})\}")


@dataclass(slots=True)
class _Frame:
    """A computation that is being walked, as far as `index`."""

    computation: Computation
    branch: Branch | None
    index: int = 0
    has_run_callees: bool = False


class BufferFlow:
    """The buffers of one text, in `table`.

    `sequence` names the instructions in the order in which they run, those of fusions left out and
    each computation once; `standing` tells which buffer stands at what a loop carries;
    `repeated_calls` counts the calls of a computation that was walked already, whose insides are
    not walked again. `copied` are elements that loops are given a copy of, whoever reads what they
    begin with; `overwritten` of a walk without them says which.

    Raises:
        TooMuchWork: the tuples of the text are too large.
    """

    def __init__(self, module: Module, copied: frozenset[Element] = frozenset()) -> None:
        self.sequence: list[str] = []
        self.standing: dict[tuple[str, tuple[int, ...]], int] = {}
        self.repeated_calls = 0
        self._module = module
        self._aliases = _aliases_of(module)
        self.table = BufferTable(self._aliases, self._read)
        self._trees: dict[str, dict[str, Tree]] = {}
        self._given: dict[str, tuple[Tree, ...]] = {}
        self._carried: dict[tuple[str, str], Tree] = {}
        self._copied_anyway = copied
        self._writes = LoopWrites(self.table.step)
        self._branch: Branch | None = None
        self._conditionals = 0
        # What loops of a computation change: a second loop, or element, needs a copy of its own.
        self._changed: dict[str, set[int]] = {}
        self._sharings: list[Sharing] = []
        self._walk()
        self._keep_output()
        self.table.share(self._sharings)

    def overwritten(self) -> frozenset[Element]:
        """The elements in whose place a loop writes what something after it still reads."""
        return frozenset(self._writes.overwritten)

    def _read(self, buffer: int) -> None:
        self._writes.read(buffer, self.table.position, self._branch)

    # ---- the walk --------------------------------------------------------------------------------

    def _walk(self) -> None:
        frames = [_Frame(self._module.entry, None)]
        self._trees[self._module.entry.name] = {}
        while frames:
            frame = frames[-1]
            self._branch = frame.branch
            if frame.index == len(frame.computation.instructions):
                frames.pop()
                continue
            instruction = frame.computation.instructions[frame.index]
            if not frame.has_run_callees:
                frame.has_run_callees = True
                callees = list(self._enter(frame, instruction))
                if callees:
                    frames += reversed(callees)
                    continue
            self._take(frame, instruction)
            frame.index += 1
            frame.has_run_callees = False

    def _enter(self, frame: _Frame, instruction: Instruction) -> Iterator[_Frame]:
        """The computations that run inside an instruction, with what they are given."""
        opcode, computation = instruction.opcode, frame.computation
        if opcode not in _CALLS:
            return
        operands = tuple(self._operands(computation, instruction))
        self.table.use(operands)
        if opcode == "while" and operands:
            carried = self._carry(computation, instruction, operands[0])
            self._carried[computation.name, instruction.name] = carried
            operands = (carried,)
        self._conditionals += opcode == "conditional"
        for number, (_, callee) in enumerate(self._module.callees(instruction)):
            branch = frame.branch
            if opcode == "conditional":
                branch = Branch(self._conditionals, number, branch)
            given = operands[number + 1 : number + 2] if opcode == "conditional" else operands
            if callee.name in self._trees:
                self.repeated_calls += 1
                continue
            self._trees[callee.name] = {}
            self._given[callee.name] = given
            yield _Frame(callee, branch)

    def _carry(self, computation: Computation, loop: Instruction, given: Tree) -> Tree:
        """What a loop carries; what it may not write to, or not for one element alone, is copied.

        So does copy insertion (xla/service/copy_insertion.cc, AddCopiesForWhile).
        """
        changed = self._changed.setdefault(computation.name, set())
        if isinstance(given, int):
            return self._own(loop, (), given, changed)
        body = next((c for r, c in self._module.callees(loop) if r == "body"), None)
        kept = frozenset[int]() if body is None else invariant_elements(body)
        handed_on = tuple(each for index, each in enumerate(given) if index in kept)
        read = {buffer for _, buffer in self.table.leaves(handed_on)}
        taken = changed | read
        carried = tuple(
            element if index in kept else self._copied(loop, (index,), element, taken)
            for index, element in enumerate(given)
        )
        changed |= taken - read
        return carried

    def _copied(
        self, loop: Instruction, path: tuple[int, ...], tree: Tree, taken: set[int]
    ) -> Tree:
        if isinstance(tree, int):
            return self._own(loop, path, tree, taken)
        if len(path) > DEEPEST_SHAPE:
            return tree
        return tuple(self._copied(loop, (*path, i), each, taken) for i, each in enumerate(tree))

    def _own(self, loop: Instruction, path: tuple[int, ...], buffer: int, taken: set[int]) -> int:
        """The buffer itself, now taken, or a copy where it is held or taken already."""
        self.table.step()
        is_free = buffer not in taken and (loop.name, path) not in self._copied_anyway
        if is_free and not self.table.is_held(buffer):
            taken.add(buffer)
            return buffer
        return self.table.new(loop.name, path, self.table.buffers[buffer].shape)

    def _take(self, frame: _Frame, instruction: Instruction) -> None:
        result = self._result(frame.computation, instruction)
        self._trees[frame.computation.name][instruction.name] = result
        self.sequence.append(instruction.name)
        self.table.position += 1

    # ---- results ---------------------------------------------------------------------------------

    def _result(self, computation: Computation, instruction: Instruction) -> Tree:
        opcode = instruction.opcode
        if opcode == "parameter":
            return self._parameter(computation, instruction)
        operands = tuple(self._operands(computation, instruction))
        if opcode == "tuple":
            return operands
        if opcode in _PASSES_ON and operands:
            return operands[0]
        if opcode == "get-tuple-element" and operands:
            index = instruction.tuple_index
            found = element_of(operands[0], index)
            return self._fresh(instruction) if found is None else found
        if opcode in _CALLS:
            return self._of_callees(computation, instruction)
        self.table.use(operands)
        if opcode.endswith("-done"):
            return self._done(instruction, operands)
        if opcode.endswith("-update") and operands:
            return operands[0]
        if opcode.endswith("-start") or opcode in ("send", "recv"):
            return self._start(computation, instruction, operands)
        result = self._fresh(instruction, "constant" if opcode == "constant" else "temp")
        return self._with_sharing(instruction, operands, result)

    def _parameter(self, computation: Computation, instruction: Instruction) -> Tree:
        number = instruction.parameter_number or 0
        given = self._given.get(computation.name)
        if given is None:
            return self._fresh(instruction, "parameter", number)
        if number >= len(given):
            return self._fresh(instruction)
        self._stand(instruction.name, given[number])
        return given[number]

    def _of_callees(self, computation: Computation, instruction: Instruction) -> Tree:
        """What comes out of a loop, a call or a branch: where its computations leave it."""
        roots = [
            self._trees[callee.name].get(callee.root.name)
            for role, callee in self._module.callees(instruction)
            if callee.name in self._trees and role != "condition"
        ]
        found = [root for root in roots if root is not None]
        if instruction.opcode == "while":
            carried = self._carried.get((computation.name, instruction.name))
            if carried is None:
                return self._fresh(instruction)
            self.table.use(found)
            for root in found:
                self.table.join(carried, root)
            result = self._left(instruction, (), carried, found[0] if found else ())
            self._stand(instruction.name, result)
            return result
        if instruction.opcode == "call" and found:
            return found[0]
        result = self._fresh(instruction)
        for root in found:
            self.table.join(result, root)
        return result

    def _left(
        self, loop: Instruction, path: tuple[int, ...], carried: Tree, root: Tree | None
    ) -> Tree:
        """What a loop leaves: new values in the places of what it carries and does not hand on."""
        if isinstance(carried, int):
            if carried == root:
                self.table.use((carried,))
                return carried
            self._writes.note((loop.name, path), carried, self.table.position, self._branch)
            left = self.table.new(loop.name, path, self.table.buffers[carried].shape)
            self.table.join_buffers(carried, left)
            return left
        if len(path) > DEEPEST_SHAPE:
            return carried
        return tuple(
            self._left(
                loop, (*path, index), each, None if root is None else element_of(root, index)
            )
            for index, each in enumerate(carried)
        )

    def _start(
        self, computation: Computation, instruction: Instruction, operands: tuple[Tree, ...]
    ) -> Tree:
        opcode = instruction.opcode
        given = operands[0] if len(operands) == 1 else operands
        elements = instruction.shape.elements
        if not operands or instruction.shape.kind != "tuple" or opcode == "all-reduce-start":
            return self._with_sharing(instruction, operands, self._fresh(instruction))
        # Where the operands stand in what a start makes; elsewhere stand the results.
        place = {"copy-start": 1, "recv": -1}.get(opcode, 0)
        if opcode not in _STARTS_WITH_OPERAND and opcode not in ("copy-start", "send"):
            given = operands
        elif opcode == "send":
            given = operands[0]
        return tuple(
            given if index == place else self.table.fresh(instruction.name, (index,), shape)
            for index, shape in enumerate(elements)
        )

    def _done(self, instruction: Instruction, operands: tuple[Tree, ...]) -> Tree:
        started = operands[0] if operands else ()
        opcode = instruction.opcode
        if opcode == "all-reduce-done":
            return started
        found: Tree | None
        if opcode == "recv-done":
            data = element_of(started, 0)
            found = None if data is None else (data, ())
        elif opcode == "send-done":
            found = ()
        else:
            found = element_of(started, 0 if opcode == "copy-done" else 1)
        return self._fresh(instruction) if found is None else found

    def _with_sharing(
        self, instruction: Instruction, operands: tuple[Tree, ...], result: Tree
    ) -> Tree:
        """The result, aliases as stated, and noted where an operand may make room for it."""
        made = [result] if isinstance(result, int) else list(result)
        aliased = {
            (int(word) if (word := found[1].strip()) else 0): (int(found[2]), found[3])
            for found in _ALIAS.finditer(
                instruction.attributes.get("output_to_operand_aliasing", "")
            )
            if "," not in found[1]
        }
        for index, each in enumerate(made):
            if not isinstance(each, int):
                continue
            if index in aliased:
                number, path = aliased[index]
                operand = part_at(operands[number], path) if number < len(operands) else None
                if isinstance(operand, int):
                    self.table.join(operand, each)
                continue
            self._find_room(instruction, operands, index, each)
        return result

    def _find_room(
        self, instruction: Instruction, operands: tuple[Tree, ...], index: int, result: int
    ) -> None:
        """Put a result where its operand lies, or note the operands that may make room for it."""
        sharing = Sharing(self.table.position, result)
        for number, operand in enumerate(operands):
            if not isinstance(operand, int) or not self.table.is_alike(operand, result):
                continue
            how = in_place(self._module, instruction, number, index)
            if how == "always":
                self.table.join_buffers(operand, result)
                return
            if how == "where_free":
                sharing.operands.append(operand)
        if sharing.operands:
            self._sharings.append(sharing)

    # ---- trees -----------------------------------------------------------------------------------

    def _operands(self, computation: Computation, instruction: Instruction) -> Iterator[Tree]:
        trees = self._trees[computation.name]
        for name, path in zip(instruction.operands, instruction.operand_paths, strict=True):
            tree: Tree | None = trees.get(name)
            for index in path:
                tree = None if tree is None else element_of(tree, index)
            yield () if tree is None else tree

    def _fresh(
        self, instruction: Instruction, role: AllocationRole = "temp", parameter: int | None = None
    ) -> Tree:
        return self.table.fresh(instruction.name, (), instruction.shape, role, parameter)

    def _stand(self, name: str, tree: Tree) -> None:
        for path, buffer in self.table.leaves(tree):
            self.standing[name, path] = buffer

    def _keep_output(self) -> None:
        """The entry's result is there to the end, where an alias says so in a parameter's place."""
        entry = self._module.entry
        result = self._trees[entry.name].get(entry.root.name, ())
        parameters = {
            (buffer.parameter, buffer.path): number
            for number, buffer in enumerate(self.table.buffers)
            if buffer.role == "parameter"
        }
        outputs = {path: key for key, path in self._aliases.items()}
        for path, buffer in self.table.leaves(result):
            donated = parameters.get(outputs.get(path, (None, ())))
            if donated is not None:
                self.table.join_buffers(donated, buffer)
            held = self.table.set_of(buffer)
            if self.table.buffers[held].role == "constant" or (
                self.table.buffers[held].role == "parameter" and held != donated
            ):
                held = self.table.new(entry.root.name, path, self.table.buffers[buffer].shape)
            if self.table.buffers[held].role == "temp":
                self.table.buffers[held].role = "output"
            elif self.table.buffers[held].role == "parameter":
                self.table.buffers[held].role = "donated"
            self.table.use((buffer,))


def _aliases_of(module: Module) -> dict[tuple[int | None, tuple[int, ...]], tuple[int, ...]]:
    """For parameters and their elements the elements of the result that take their place."""
    text = module.header.attributes.get("input_output_alias", "")
    return {(int(found[2]), _path(found[3])): _path(found[1]) for found in _ALIAS.finditer(text)}


def _path(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in re.findall(r"\d{1,9}", text))
