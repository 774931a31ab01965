"""Values of a loop's body: what is behind them, and which carried elements they are made from.

`BodyReader.behind` looks through everything that leaves a value as it is: tuple access, copies,
changes of layout and type, and the walls of fusions, calls and asynchronous wrappers, inwards and
outwards. `depends_on` tells which carried elements take part in a value; where a finer answer
would need more than one look at each instruction it says too many rather than too few. Nested
loops and branches stay closed: their results depend on all that goes in.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from app.analysis.dataflow import Value, root_elements, value_of
from hlo_parser import Computation, Instruction, Module

# Hostile texts: walks longer and bodies wider than any program's end as unknown. A body of a
# thousand carried elements and twenty thousand instructions needs a tenth of it all.
_MOST_STEPS = 500
_MOST_WALKED = 1_000_000
_MOST_BITS = 1 << 28
_DEEPEST = 8

_HANDS_ON = frozenset({"copy", "copy-done", "copy-start", "bitcast", "reshape", "opt-barrier"})
_RETYPES = frozenset({"convert", "transpose"})
_OPENED = frozenset({"fusion", "call"})
_READS_INSIDE = frozenset({"fusion", "call", "async-start"})
# Scalar arithmetic an index may be made by: no look-up in an array, nothing read from elsewhere.
_INDEX_ARITHMETIC = frozenset(
    {
        "add", "and", "bitcast", "broadcast", "clamp", "compare", "convert", "copy", "divide",
        "maximum", "minimum", "multiply", "negate", "not", "or", "remainder", "reshape", "select",
        "sign", "abs", "subtract", "shift-left", "shift-right-arithmetic", "shift-right-logical",
        "xor",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Site:
    """A computation as the body runs it: `call` of the site `outer` leads here, None in the body.

    Fusions and calls hand operand n to parameter n, and so do asynchronous starts.
    """

    computation: Computation
    outer: "Site | None" = None
    call: Instruction | None = None
    depth: int = 0


class Behind(NamedTuple):
    """What makes a value: element `path` of an instruction of a site."""

    site: Site
    instruction: Instruction
    path: tuple[int, ...]

    @property
    def in_body(self) -> Instruction:
        """The instruction of the body itself that runs it."""
        site, instruction = self.site, self.instruction
        while site.outer is not None and site.call is not None:
            site, instruction = site.outer, site.call
        return instruction


class BodyReader:
    """Reads the values of one body with a single parameter, within a budget of steps.

    Raises:
        ValueError: the computation has another number of parameters.
    """

    def __init__(self, module: Module, body: Computation) -> None:
        if len(body.parameters) != 1:
            raise ValueError(f"{body.name} takes {len(body.parameters)} parameters, not one")
        self._module = module
        self._left = _MOST_WALKED
        self.body = Site(body)
        self.parameter = body.parameters[0]
        self.is_tuple = self.parameter.shape.kind == "tuple"
        self.roots: tuple[Value, ...] = (
            root_elements(body) if self.is_tuple else (Value(body.root.name),)
        )
        self.count = len(self.parameter.shape.elements) if self.is_tuple else 1
        self._everything = (1 << self.count) - 1
        self._masks = self._read_masks()

    def next_value(self, element: int, *, retyped: bool = True) -> Behind | None:
        """What makes the element of the next iteration; `retyped` looks through conversions."""
        if not 0 <= element < len(self.roots):
            return None
        root = self.roots[element]
        return self.behind(self.body, root.name, root.path, retyped=retyped)

    def element_of(self, behind: Behind) -> int | None:
        """The number of the carried element that this is, untouched, in this iteration."""
        if behind.site is not self.body or behind.instruction is not self.parameter:
            return None
        if not self.is_tuple:
            return None if behind.path else 0
        path = behind.path
        return path[0] if len(path) == 1 and path[0] < self.count else None

    def operand(self, site: Site, instruction: Instruction, number: int) -> Behind | None:
        """What is behind an operand."""
        if number >= len(instruction.operands):
            return None
        return self.behind(
            site, instruction.operands[number], instruction.operand_paths[number], retyped=True
        )

    def behind(
        self, site: Site, name: str, path: tuple[int, ...], *, retyped: bool
    ) -> Behind | None:
        """The instruction that makes a value, None where the text does not hold it."""
        for _ in range(min(_MOST_STEPS, self._left)):
            self._left -= 1
            value = value_of(site.computation, name, path)
            instruction = site.computation.get(value.name)
            if instruction is None:
                return None
            here = Behind(site, instruction, value.path)
            onwards = self._onwards(here, retyped=retyped)
            if onwards is None:
                return here
            site, (name, path) = onwards
        return None

    def _onwards(self, here: Behind, *, retyped: bool) -> tuple[Site, Value] | None:
        site, instruction, path = here
        opcode = instruction.opcode
        if opcode == "parameter":
            return _argument(site, instruction, path)
        if opcode in _OPENED or opcode == "async-done":
            return self._inside(site, instruction, path)
        if (opcode in _HANDS_ON or (retyped and opcode in _RETYPES)) and instruction.operands:
            # copy-start yields (destination, source, context): the first two are the operand.
            inner = path if opcode == "opt-barrier" else ()
            name, outer = instruction.operands[0], instruction.operand_paths[0]
            return site, Value(name, (*outer, *inner))
        return None

    def _inside(
        self, site: Site, instruction: Instruction, path: tuple[int, ...]
    ) -> tuple[Site, Value] | None:
        """The root of what a fusion, a call or the start of an asynchronous operation runs."""
        call: Instruction | None = instruction
        while call is not None and call.opcode in ("async-done", "async-update"):
            call = site.computation.get(call.operands[0]) if call.operands else None
        if call is None or call.opcode not in _READS_INSIDE or site.depth >= _DEEPEST:
            return None
        callees = self._module.callees(call)
        if len(callees) != 1:
            return None
        inner = Site(callees[0][1], site, call, site.depth + 1)
        return inner, Value(inner.computation.root.name, path)

    def sites(self) -> Iterator[Site]:
        """The body and what it runs in fusions, calls and asynchronous wrappers."""
        pending = [self.body]
        for site in pending:
            self._left -= len(site.computation.instructions)
            if self._left < 0:
                return
            yield site
            if site.depth >= _DEEPEST:
                continue
            for instruction in site.computation.instructions:
                if instruction.opcode in _READS_INSIDE:
                    pending.extend(
                        Site(callee, site, instruction, site.depth + 1)
                        for _, callee in self._module.callees(instruction)
                    )

    # ---- dependence ------------------------------------------------------------------------------

    def depends_on(self, behind: Behind, element: int) -> bool:
        """Whether the element of this iteration takes part in the value; true where unknown."""
        return bool(self._mask(behind) >> element & 1)

    def index_elements(self, behind: Behind | None, changing: int) -> int | None:
        """The changing elements an index is computed from by scalar arithmetic, as a bit mask.

        `changing` is the mask of the elements that are not the same in every iteration. None where
        anything else than arithmetic brings a changing element in.
        """
        found = 0
        pending = [behind]
        seen: set[Behind] = set()
        while pending:
            here = pending.pop()
            if here is None or len(seen) > _MOST_STEPS:
                return None
            if here in seen:
                continue
            seen.add(here)
            element = self.element_of(here)
            instruction = here.instruction
            if element is not None:
                found |= (1 << element) & changing
            elif instruction.opcode in _INDEX_ARITHMETIC and not here.path:
                pending.extend(
                    self.operand(here.site, instruction, number)
                    for number in range(len(instruction.operands))
                )
            elif self._mask(here) & changing:
                return None
        return found

    def _mask(self, behind: Behind) -> int:
        """The carried elements that a value is made from, read to the walls of its computation."""
        site, instruction, path = behind
        if site.outer is None:
            return self._mask_of(instruction.name, path)
        arguments: set[int] = set()
        seen: set[str] = set()
        pending = [instruction.name]
        for name in pending:
            current = site.computation.get(name)
            self._left -= 1
            if current is None or self._left < 0:
                return self._everything
            if current.opcode == "parameter" and current.parameter_number is not None:
                arguments.add(current.parameter_number)
            fresh = [operand for operand in current.operands if operand not in seen]
            seen.update(fresh)
            pending.extend(fresh)
        return self._mask_of_arguments(site, arguments)

    def _mask_of_arguments(self, site: Site, arguments: set[int]) -> int:
        """The elements behind these parameters of the site's computation."""
        outer, call = site.outer, site.call
        if outer is None or call is None:
            return self._everything
        mask = 0
        for number in arguments:
            if number >= len(call.operands):
                return self._everything
            value = value_of(outer.computation, call.operands[number], call.operand_paths[number])
            instruction = outer.computation.get(value.name)
            if instruction is None:
                return self._everything
            mask |= self._mask(Behind(outer, instruction, value.path))
        return mask

    def _mask_of(self, name: str, path: tuple[int, ...]) -> int:
        if name == self.parameter.name:
            if not self.is_tuple:
                return 1
            return 1 << path[0] if path and path[0] < self.count else self._everything
        return self._masks.get(name, self._everything)

    def _read_masks(self) -> dict[str, int]:
        """For each instruction of the body the elements that take part in it; operands first.

        Empty, so that all is unknown, where that would take more room than any program needs.
        """
        masks: dict[str, int] = {}
        self._masks = masks
        body = self.body.computation
        if self.count * len(body.instructions) > _MOST_BITS:
            return masks
        for instruction in body.instructions:
            if instruction is self.parameter:
                continue
            mask = 0
            if instruction.opcode == "get-tuple-element":
                value = value_of(body, instruction.name)
                mask = self._mask_of(value.name, value.path)
            else:
                for name, path in zip(instruction.operands, instruction.operand_paths, strict=True):
                    value = value_of(body, name, path) if path else Value(name)
                    mask |= self._mask_of(value.name, value.path)
            masks[instruction.name] = mask
        return masks


def _argument(
    site: Site, parameter: Instruction, path: tuple[int, ...]
) -> tuple[Site, Value] | None:
    """The operand of the call that a parameter stands for; None for the body's own."""
    number = parameter.parameter_number
    if site.outer is None or site.call is None or number is None:
        return None
    if number >= len(site.call.operands):
        return None
    name, outer = site.call.operands[number], site.call.operand_paths[number]
    return site.outer, Value(name, (*outer, *path))
