"""What the collective pipeliner says of itself in its verbose lines.

With `TF_CPP_VMODULE=collective_pipeliner=5` (or `--vmodule`) the pass prints each while loop that
it works on and the collectives it found in it, as whole instructions with metadata
(xla/service/collective_pipeliner.cc, `RunOnModule`... `RunPipeliner`, 0.4.29-0.4.33). They are
XLA's own word for its order of work, which no dump shows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.model.dump import PipelinerMove
from hlo_parser import HloSyntaxError, Instruction, parse_module

_FILE = "collective_pipeliner.cc"
_DIRECTION = "Pipelining on direction: "
_WHILE = "While: "


@dataclass(frozen=True, slots=True)
class Traced:
    """An instruction printed by the pass and the line of the log that holds it."""

    instruction: Instruction
    line: PipelinerMove


@dataclass(frozen=True, slots=True)
class TracedLoop:
    """A loop the pass worked on and what it found to move in it, in the pass's order."""

    loop: Traced
    direction: str
    moved: tuple[Traced, ...] = ()


def traced_loops(lines: Sequence[PipelinerMove]) -> tuple[TracedLoop, ...]:
    """The loops in the order in which the pass took them, both directions."""
    return tuple(_loops(lines))


def origins_of_fresh_clones(loops: Sequence[TracedLoop]) -> tuple[TracedLoop, ...]:
    """The inner loops whose collectives the last loop's list ends with, as clones.

    Clones are appended to XLA's list of instructions, so the list of the outer loop ends with
    them: a group for each inner loop, in the order in which the pass took those, each in the order
    of the inner loop's list. A clone differs in name and channel only.
    """
    if not loops:
        return ()
    last = loops[-1]
    end = len(last.moved)
    found: list[TracedLoop] = []
    for earlier in reversed(loops[:-1]):
        size = len(earlier.moved)
        if (
            earlier.direction == last.direction
            and 0 < size <= end
            and [_kind(t) for t in last.moved[end - size : end]]
            == [_kind(t) for t in earlier.moved]
        ):
            found.append(earlier)
            end -= size
    return tuple(reversed(found))


def _kind(traced: Traced) -> tuple[str, str, str]:
    metadata = traced.instruction.metadata
    op_name = metadata.op_name or "" if metadata else ""
    return traced.instruction.opcode, traced.instruction.shape.text, op_name


def _loops(lines: Sequence[PipelinerMove]) -> Iterator[TracedLoop]:
    direction = ""
    current: TracedLoop | None = None
    for line in lines:
        if line.file != _FILE:
            continue
        text = line.text.strip()
        if text.startswith((_DIRECTION, _WHILE)):
            if current is not None:
                yield current
            current = None
            if text.startswith(_DIRECTION):
                direction = text.removeprefix(_DIRECTION)
                continue
            traced = _traced(text.removeprefix(_WHILE), line)
            current = TracedLoop(traced, direction) if traced else None
        elif current is not None and text.startswith("%"):
            traced = _traced(text, line)
            if traced is not None:
                current = replace(current, moved=(*current.moved, traced))
    if current is not None:
        yield current


def _traced(text: str, line: PipelinerMove) -> Traced | None:
    """The instruction printed in the line; None where the log cut it off."""
    try:
        module = parse_module(f"HloModule trace\n\nENTRY trace {{\n  ROOT {text}\n}}\n")
    except HloSyntaxError:
        return None
    found = module.entry.instructions
    return Traced(found[0], line) if len(found) == 1 and not module.unparsed else None
