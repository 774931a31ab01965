"""What a diff says of many instructions or computations at once: copies, and equal changes.

Takes the diff of a matched pair of computations and finds which of the added instructions are
copies (a peeled iteration comes from the body of a loop, a repeated body from itself); takes all
differing pairs of two modules and groups those whose change is the same.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from app.analysis.copies import IDLE, Callees, Origin, find_copies
from app.analysis.fingerprints import FingerprintTable, Indexed
from app.analysis.matching import Matching
from app.model.facts import ComputationDiff, Copied
from hlo_parser import Computation, Module

_LEAST_ADDED = 2


def with_copies(
    diff: ComputationDiff,
    matching: Matching,
    modules: tuple[Module, Module],
    table: FingerprintTable,
) -> ComputationDiff:
    """The diff with `copies` filled in."""
    there = matching.after
    added = [there.index[name] for name in diff.added]
    if sum(there.instructions[j].opcode not in IDLE for j in added) < _LEAST_ADDED:
        return diff
    callees = (_contents(modules[0], table), _contents(modules[1], table))
    copies: list[Copied] = []
    for here, known in _origins(matching, modules[0], table):
        found = find_copies(Origin(here, known, callees), there, added, table)
        by_origin: defaultdict[int, list[int]] = defaultdict(list)
        for j, i in found.items():
            by_origin[i].append(j)
        copies += [
            Copied(
                here.computation.name,
                here.instructions[i].name,
                tuple(there.instructions[j].name for j in sorted(by_origin[i])),
            )
            for i in sorted(by_origin)
        ]
        added = [j for j in added if j not in found]
        if not added:
            break
    return replace(diff, copies=tuple(copies)) if copies else diff


def _origins(
    matching: Matching, before: Module, table: FingerprintTable
) -> Iterator[tuple[Indexed, dict[int, int]]]:
    """Where copies may come from, and what is known of it: the computation, bodies of its loops."""
    yield matching.before, dict(matching.back)
    for instruction in matching.before.instructions:
        if instruction.opcode == "while":
            for role, body in before.callees(instruction):
                if role == "body":
                    yield table.indexed(body), {}


def _contents(module: Module, table: FingerprintTable) -> Callees:
    def content(name: str) -> int:
        computation = module.get(name)
        return -1 if computation is None else table.content(computation, "whole")

    return content


def name_clones(
    found: Iterable[ComputationDiff], modules: tuple[Module, Module], table: FingerprintTable
) -> list[ComputationDiff]:
    """The diffs, with what the added computations are copies of where their content is known."""
    found = list(found)
    added = {
        diff.after: computation
        for diff in found
        if diff.before is None and diff.after is not None
        if (computation := modules[1].get(diff.after)) is not None
    }
    if not added:
        return found
    forms = {_form(computation, table) for computation in added.values()}
    origins: defaultdict[int, list[str]] = defaultdict(list)
    shared: set[Hashable] = set()
    for computation in modules[0].computations:
        form = _form(computation, table)
        if form in forms:
            shared.add(form)
            origins[table.content(computation)].append(computation.name)
    result: list[ComputationDiff] = []
    for diff in found:
        computation = added.get(diff.after or "") if diff.before is None else None
        # Most of what a pass adds is of no form that was there: its content need not be known.
        if computation is not None and _form(computation, table) in shared:
            known = origins.get(table.content(computation))
            if known:
                diff = replace(diff, how=f"copy of {_namesake(computation.name, known)}")
        result.append(diff)
    return result


def _namesake(name: str, origins: Sequence[str]) -> str:
    """Of equal origins the one that the clone is named after, else the first in the text."""
    named = [origin for origin in origins if name.startswith(f"{origin}.")]
    return max(named, key=len) if named else origins[0]


def _form(computation: Computation, table: FingerprintTable) -> Hashable:
    """What equal computations have in common, quickly looked up."""
    root = computation.root
    return frozenset(table.opcodes(computation).items()), root.opcode, root.shape.text


def same_changes(
    found: Iterable[ComputationDiff], modules: tuple[Module, Module], table: FingerprintTable
) -> tuple[tuple[str, ...], ...]:
    """Names (after) of the pairs whose content was equal before and is equal after, in groups."""
    rough: defaultdict[Hashable, list[tuple[Computation, Computation]]] = defaultdict(list)
    for diff in found:
        here = None if diff.before is None else modules[0].get(diff.before)
        there = None if diff.after is None else modules[1].get(diff.after)
        if here is not None and there is not None:
            whats = tuple(sorted(change.what for change in diff.changed))
            key = (whats, len(diff.added), len(diff.removed), diff.unchanged + len(diff.renamed))
            rough[key].append((here, there))
    groups: list[tuple[str, ...]] = []
    for pairs in rough.values():
        exact: defaultdict[Hashable, list[str]] = defaultdict(list)
        for here, there in pairs if len(pairs) > 1 else ():
            exact[table.content(here), table.content(there)].append(there.name)
        groups += [tuple(names) for names in exact.values() if len(names) > 1]
    return tuple(groups)
