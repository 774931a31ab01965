"""Looks whether the references of a module hold together, and whether its shapes can exist.

A text that a damaged file or an evil mind made may name operands that nothing defines, instructions
that feed themselves, computations that call each other in a circle, and shapes of more bytes than
any machine addresses or of types that no release has. All of it is kept and analysed, for every
walk behind this room ends on such texts too; it is only said. In goes a module, out come codes with
the first place of each.
"""

from collections.abc import Iterator, Mapping, Sequence

from hlo_parser import Computation, Module, Shape
from hlo_parser.computation import Gap
from hlo_parser.literal_forms import TYPE_WORDS
from hlo_parser.possessive import compile_pattern

_WORDS = compile_pattern(r"[\w.\-]++")
# What `byte_size` counts at most: more than this XLA cannot hold.
_MOST_BYTES = (1 << 63) - 1


def faults_of(module: Module) -> Iterator[tuple[str, str]]:
    """Code and place of each fault.

    `undefined`, `cycle`, `twice_defined`, `absurd_shape` or `unknown_type`.
    """
    for computation in module.computations:
        yield from _faults_in(computation)
    yield from _faults_of_calls(module)


def _faults_in(computation: Computation) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    later: list[tuple[str, str]] = []
    for made in computation.instructions:
        for operand in made.operands:
            if operand not in seen:
                later.append((made.name, operand))
        if made.name in seen:
            yield "twice_defined", made.name
        seen.add(made.name)
        if _is_absurd(made.shape):
            yield "absurd_shape", made.name
        strange = _strange_type(made.shape)
        if strange is not None:
            yield "unknown_type", f"{strange} of {made.name}"
    # XLA prints operands first, so hardly any text has one that comes later.
    defined = _defined_in(computation.gaps)
    for name, operand in later:
        if defined is not None and operand not in seen and operand not in defined:
            yield "undefined", f"{operand}, an operand of {name}"
    if any(operand in seen for _, operand in later):
        operands = {made.name: made.operands for made in computation.instructions}
        yield from (("cycle", name) for name in _on_a_cycle(operands))


def _defined_in(gaps: Sequence[Gap]) -> set[str] | None:
    """What lines that could not be parsed may define; None for all, as several lines at once do."""
    if any(gap.end_line > gap.line for gap in gaps):
        return None
    heads = (gap.text.partition("=")[0] for gap in gaps)
    return {word for head in heads for word in _WORDS.findall(head)}


def _strange_type(shape: Shape) -> str | None:
    """The first element type in it that XLA is not known to have."""
    pending = [shape]
    for here in pending:
        if here.kind == "array" and here.element_type not in TYPE_WORDS:
            return here.element_type
        pending += here.elements
    return None


def _is_absurd(shape: Shape) -> bool:
    # A size that no number says, or that no dimension has, is told like one that is open: `?`.
    unsized = "?" not in shape.text and -1 in shape.dimensions
    return unsized or shape.byte_size >= _MOST_BYTES


def _faults_of_calls(module: Module) -> Iterator[tuple[str, str]]:
    called: dict[str, tuple[str, ...]] = {}
    has_later = False
    for computation in module.computations:
        names: list[str] = []
        for made in computation.instructions:
            for callee in made.callees:
                if module.get(callee.name) is None and not module.unparsed:
                    yield "undefined", f"{callee.name}, called by {made.name}"
                names.append(callee.name)
                has_later |= callee.name not in called
        called[computation.name] = tuple(names)
    if has_later:
        yield from (("cycle", name) for name in _on_a_cycle(called))


def _on_a_cycle(targets: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The first name of `targets` from which a walk comes back upon itself, if there is any."""
    done: set[str] = set()
    for start in targets:
        path: dict[str, Iterator[str]] = {}
        if start not in done:
            path[start] = iter(targets[start])
        while path:
            here = next(reversed(path))
            there = next(path[here], None)
            if there is None:
                done.add(here)
                path.popitem()
            elif there in path:
                yield there
                return
            elif there not in done and there in targets:
                path[there] = iter(targets[there])
