"""The first instruction in which two modules differ, names aside.

Walks both modules from their entries, in the order in which a schedule runs or, without one, in
the order of the text, and goes into what is called where only that differs. Of an instruction
that differs its users differ too, so the first one is where the difference begins. Says nothing
of the rest: `diff.py` compares all.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.analysis.canonical import CanonicalComputation, CanonicalModule, Digest
from app.analysis.canonical_attributes import Setting, counted_attributes
from app.analysis.fingerprints import immediate
from hlo_parser import Instruction


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """Where two modules part; an instruction is None where one side has none in its place.

    `what` names the parts that differ: `order` where both computations hold the same operations in
    another order, `header` where only the module's own line differs, `not understood` where the
    difference may be in lines that were not, else `opcode`, `shape`,
    `operands`, or keys of attributes; empty where each is the first that its own side has alone.
    """

    before_computation: str
    after_computation: str
    before: Instruction | None
    after: Instruction | None
    what: tuple[str, ...]


def first_difference(before: CanonicalModule, after: CanonicalModule) -> FirstDifference | None:
    """The first difference from the entries on; None for modules of one digest."""
    if before.digest == after.digest:
        return None
    entries = (before.module.entry.name, after.module.entry.name)
    pending = [entries]
    seen = {entries}
    while pending:
        names = pending.pop()
        here, there = before.computations.get(names[0]), after.computations.get(names[1])
        if here is None or there is None or here.digest == there.digest:
            continue
        found = _first_in(before, after, here, there)
        if found is not None:
            return found
        inside = [pair for pair in _calls(here, there) if pair not in seen]
        seen.update(inside)
        pending += reversed(inside)
    unread = before.module.unparsed or after.module.unparsed
    return FirstDifference(*entries, None, None, ("not understood",) if unread else ("header",))


def _first_in(
    one: CanonicalModule,
    other: CanonicalModule,
    here: CanonicalComputation,
    there: CanonicalComputation,
) -> FirstDifference | None:
    if here.is_ordered and there.is_ordered:
        pair = _first_by_position(here, there)
    else:
        pair = _first_by_content(here, there)
    if pair is None:
        return None
    before, after = pair
    return FirstDifference(
        here.computation.name,
        there.computation.name,
        before,
        after,
        _what_differs(one, other, here, there, before, after),
    )


def _first_by_position(
    here: CanonicalComputation, there: CanonicalComputation
) -> tuple[Instruction | None, Instruction | None] | None:
    for k in range(max(len(here.own), len(there.own))):
        before, after = _at(here.own, k), _at(there.own, k)
        if before != after:
            return _step(here, k), _step(there, k)
    return None


def _first_by_content(
    here: CanonicalComputation, there: CanonicalComputation
) -> tuple[Instruction | None, Instruction | None] | None:
    before = _first_missing(here.own, there.own)
    after = _first_missing(there.own, here.own)
    if before is None and after is None:
        return None
    return (
        None if before is None else here.steps[before],
        None if after is None else there.steps[after],
    )


def _first_missing(own: Sequence[Digest], others: Sequence[Digest]) -> int | None:
    left = Counter(others)
    for k, digest in enumerate(own):
        if not left[digest]:
            return k
        left[digest] -= 1
    return None


def _at(own: Sequence[Digest], k: int) -> Digest | None:
    return own[k] if k < len(own) else None


def _step(computation: CanonicalComputation, k: int) -> Instruction | None:
    return computation.steps[k] if k < len(computation.steps) else None


def _what_differs(
    one: CanonicalModule,
    other: CanonicalModule,
    here: CanonicalComputation,
    there: CanonicalComputation,
    before: Instruction | None,
    after: Instruction | None,
) -> tuple[str, ...]:
    if before is None or after is None:
        return ()
    if not here.is_ordered and before.opcode != after.opcode:
        # Each is the first that its side has alone: they are not each other's counterparts.
        return ()
    if _operations(here) == _operations(there) and _operation(before) != _operation(after):
        return ("order",)
    return tuple(_differing_parts(one, other, before, after)) or ("operands",)


def _operations(computation: CanonicalComputation) -> Counter[tuple[str, str]]:
    return Counter(map(_operation, computation.steps))


def _operation(step: Instruction) -> tuple[str, str]:
    return step.opcode, step.shape.text


def _differing_parts(
    one: CanonicalModule, other: CanonicalModule, before: Instruction, after: Instruction
) -> Iterator[str]:
    if before.opcode != after.opcode:
        yield "opcode"
    if before.shape.text != after.shape.text:
        yield "shape"
    if before.opcode == after.opcode and immediate(before) != immediate(after):
        yield "value"
    settings = [Setting.of(side.module.header) for side in (one, other)]
    here = counted_attributes(one.module, settings[0], before)
    there = counted_attributes(other.module, settings[1], after)
    # Equal groups may mean other devices: then the attribute that makes them do so differs, too.
    same_text = "replica_groups" if settings[0].counts == settings[1].counts else ""
    for key in dict.fromkeys((*here, *there)):
        if here.get(key) == there.get(key):
            continue
        if key != same_text or before.attributes.get(key) != after.attributes.get(key):
            yield key


def _calls(here: CanonicalComputation, there: CanonicalComputation) -> Iterator[tuple[str, str]]:
    """Callees of the steps that are equal but for what they call, in order.

    Calls whose counterpart is equal whatever its place are left out first: of several calls that
    look alike from outside only those are paired that differ inside.
    """
    equal = Counter(here.digests) & Counter(there.digests)
    others: dict[Digest, list[Instruction]] = {}
    for step, own in _differing_calls(there, Counter(equal)):
        others.setdefault(own, []).append(step)
    for step, own in _differing_calls(here, Counter(equal)):
        if others.get(own):
            other = others[own].pop(0)
            for callee, counterpart in zip(step.callees, other.callees, strict=False):
                yield callee.name, counterpart.name


def _differing_calls(
    computation: CanonicalComputation, equal: Counter[Digest]
) -> Iterator[tuple[Instruction, Digest]]:
    for step, own, digest in zip(
        computation.steps, computation.own, computation.digests, strict=True
    ):
        if equal[digest]:
            equal[digest] -= 1
        elif step.callees:
            yield step, own
