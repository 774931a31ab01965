"""Who takes the memory, for the rules about memory that ran out."""

import re

from app.analysis.suspects import largest_values, with_sizes
from app.model.dump import ModuleHistory, PassDump
from app.model.facts import Diagnosis, Facts
from app.model.memory import LiveBuffer
from app.rules.cited import Named, cited, loop_suspects, suspects
from hlo_parser import Computation

_MOST_BUFFERS = 5
# Buffers below this part of the largest are no suspects.
_SMALL = 20
# Allocations below this are no program's large values.
_ASKED = re.compile(
    r"allocat\w* (?:request for )?[^\n]{0,40}?\(?(?P<bytes>\d{7,18}) ?(?:bytes|B\))"
)


def largest(facts: Facts, diagnosis: Diagnosis) -> tuple[Named, ...]:
    """The largest buffers at the peak where a buffer assignment is there, else the largest values.

    The latter come from the newest text of the module that died, the largest first. Where every
    module was compiled to its end, those of the size that was asked for.
    """
    history = facts.failing
    if history is None:
        return _of_the_size_asked_for(facts, diagnosis)
    profiles = facts.memory.get(history.id, ())
    peak = profiles[0].memory.peak if profiles else None
    if peak is None or not peak.largest:
        return suspects(facts, largest_values, role="one of the largest values")
    dump = history.dumps[profiles[0].memory.dump]
    enough = peak.largest[0].bytes // _SMALL
    role = "among the largest at the peak"
    found = [
        (-buffer.bytes, named.culprit.source is None, named)
        for buffer in peak.largest
        if buffer.bytes > enough
        and (named := cited_buffer(facts, history, dump, buffer, role=role)) is not None
    ]
    # Of equally large ones a reader can do something about those that have a line. A loop may have
    # many of them, and is one place to look.
    places: dict[tuple[str | None, str | None], Named] = {}
    for *_, named in sorted(found, key=lambda each: each[:2]):
        places.setdefault((named.culprit.computation, named.culprit.instruction), named)
    return tuple(places.values())[:_MOST_BUFFERS]


def has_peak(facts: Facts) -> bool:
    """Whether files of the module that died say which buffers are alive at the peak."""
    if facts.failing is None:
        return False
    profiles = facts.memory.get(facts.failing.id, ())
    return bool(profiles and profiles[0].memory.peak and profiles[0].memory.peak.largest)


def _of_the_size_asked_for(facts: Facts, diagnosis: Diagnosis) -> tuple[Named, ...]:
    """Values as large as the allocation that failed, or those of the program that needs as much."""
    asked = {int(found["bytes"]) for found in _ASKED.finditer(diagnosis.text)}
    own = [history for history in facts.modules if history.role != "autotuning"] if asked else []
    for history in own:
        dump = history.last
        places = list(largest_values(dump.module))
        alike = [place for place in places if place[1].shape.byte_size in asked]
        needed = {
            size
            for profile in facts.memory.get(history.id, ())
            for size in (profile.memory.total_bytes, *profile.memory.reserved.values())
        }
        role = "of the size that was asked for"
        if not alike and asked & needed:
            alike, role = places, "one of the largest values of the program that asked"
        if alike:
            return tuple(
                cited(facts, history, dump, computation, instruction, role=role)
                for computation, instruction in alike[:_MOST_BUFFERS]
            )
    return ()


def cited_buffer(
    facts: Facts, history: ModuleHistory, dump: PassDump, buffer: LiveBuffer, *, role: str
) -> Named | None:
    """The instruction that defines a buffer; None where the text does not hold it."""
    computation = dump.module.get(buffer.computation or "")
    instruction = computation.get(buffer.instruction or "") if computation else None
    if computation is None or instruction is None:
        return None
    return cited(facts, history, dump, computation, instruction, role=role)


def of_two_sizes(facts: Facts, diagnosis: Diagnosis) -> tuple[Named, ...]:
    """Loops that hold arrays of both sizes of a check, then instructions that make one of each."""
    failure = diagnosis.failure
    sizes = [int(word) for word in re.findall(r"\d{1,18}", (failure and failure.values) or "")]
    if facts.failing is None or len(set(sizes)) < 2:
        return ()
    loops = loop_suspects(facts, lambda body: _sizes_in(body).issuperset(sizes))
    makers = suspects(facts, lambda m: with_sizes(m, sizes), role="makes arrays of both sizes")
    return (*loops, *makers)


def _sizes_in(body: Computation) -> set[int]:
    shapes = (
        shape
        for instruction in body.instructions
        for shape in (instruction.shape, *instruction.shape.elements)
    )
    return {shape.byte_size for shape in shapes}
