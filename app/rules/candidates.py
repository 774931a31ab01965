"""Where to look in a module whose compile stopped, when no rule knows why: ranked, with reasons.

First what the message names, then what the newest texts changed and the pass at hand works on, then
the rest of either. Each candidate says why it stands where it does; none is more than possible.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from app import knowledge
from app.analysis.newest_changes import Change, bare_opcode, newest_changes, opcodes_of_pass
from app.analysis.suspects import Place, instructions
from app.model.dump import ModuleHistory, PassDump
from app.model.facts import Facts
from app.model.report import Evidence
from app.rules.cited import Named, cited
from app.rules.citing import dump_evidence

_MOST = 5
_MOST_COUNTS = 5
_MOST_CHANGES = 3


def ranked_candidates(facts: Facts, history: ModuleHistory, pass_: str | None) -> tuple[Named, ...]:
    """Five instructions of the newest text at most; those that a message names are not looked for.

    `pass_` is the pass that was running, or was next in line.
    """
    found: dict[tuple[str, str], Named] = {}
    for (computation, instruction), role in _ranked(history, pass_):
        key = (computation.name, instruction.name)
        if key not in found:
            found[key] = cited(facts, history, history.last, computation, instruction, role=role)
        if len(found) == _MOST:
            break
    return tuple(found.values())


def _ranked(history: ModuleHistory, pass_: str | None) -> Iterator[tuple[Place, str]]:
    found = False
    for place in _places(history, pass_):
        found = True
        yield place
    if not found:
        yield from _of_growing_kinds(history)


def _of_growing_kinds(history: ModuleHistory) -> Iterator[tuple[Place, str]]:
    """What a change made of opcodes that it made more of, where most has another name."""
    for change in newest_changes(history, _MOST_CHANGES):
        grown = {opcode for opcode, before, now in change.counts if now > before}
        fresh = [place for place in _in_newest(history, change) if place[1].opcode in grown]
        for place in _biggest_first(fresh):
            yield place, f"new since {step_of(change.dump)}, which made more of its kind"


def _places(history: ModuleHistory, pass_: str | None) -> Iterator[tuple[Place, str]]:
    opcodes = opcodes_of_pass(pass_) if pass_ else ()
    change = next(iter(newest_changes(history, 1)), None)
    fresh = tuple(_in_newest(history, change)) if change else ()
    after = step_of(change.dump) if change else ""
    if opcodes:
        both = [place for place in fresh if bare_opcode(place[1]) in opcodes]
        for place in _biggest_first(both):
            yield place, f"new since {after}, and of what {pass_} works on"
        worked_on = [p for p in instructions(history.last.module) if bare_opcode(p[1]) in opcodes]
        for place in islice(_biggest_first(worked_on), _MOST):
            yield place, f"of what {pass_} works on"
    # A text in which most is new was renamed or partitioned: then new says nothing.
    if len(fresh) <= history.last.module.instruction_count // 4:
        for place in _biggest_first(fresh):
            yield place, f"new since {after}"


def _in_newest(history: ModuleHistory, change: Change) -> Iterator[Place]:
    """What a change made, as it stands in the newest text, which may be a later one."""
    for computation, instruction in change.fresh:
        now = history.last.module.get(computation.name)
        found = now.get(instruction.name) if now is not None else None
        if now is not None and found is not None:
            yield now, found


def _biggest_first(places: Iterable[Place]) -> list[Place]:
    return sorted(places, key=lambda place: -place[1].shape.byte_size)


def step_of(dump: PassDump) -> str:
    """The step that wrote a text, as it is told: `reduce-scatter-creator`."""
    return dump.name.after or dump.name.detail or dump.name.point


def changes_in_words(history: ModuleHistory) -> str:
    """The newest changes as a sentence; empty where there is but one text."""
    told = [f"{step_of(c.dump)} ({_counts(c)})" for c in newest_changes(history, _MOST_CHANGES)]
    return f"The newest changes: {'; before that '.join(told)}." if told else ""


def _counts(change: Change) -> str:
    rows = change.counts[:_MOST_COUNTS]
    if not rows:
        return "no opcode more or less often"
    more = len(change.counts) - len(rows)
    told = ", ".join(f"{opcode} {before} to {now}" for opcode, before, now in rows)
    return told + (f" and {more} more" if more else "")


def change_evidence(history: ModuleHistory) -> Iterator[Evidence]:
    """The texts that the newest changes were read from, the newest first."""
    for change in newest_changes(history, _MOST_CHANGES):
        yield dump_evidence(change.dump, f"after {step_of(change.dump)}: {_counts(change)}")


def pass_in_words(name: str) -> str:
    """What a pass is for, as a sentence; empty where it is not known."""
    purpose = knowledge.purpose_of_pass(name)
    return f"{name} {purpose}." if purpose else ""


def files_to_send(facts: Facts, history: ModuleHistory | None) -> Sequence[str]:
    """What a maintainer will ask for, by name where the dump has it."""
    files: list[str] = []
    if facts.log.lines:
        files.append("the whole log of the run")
    if history is not None:
        first, last = history.dumps[0], history.last
        files += dict.fromkeys(d.file.rpartition("/")[2] for d in (first, last))
        files += [
            name.rpartition("/")[2]
            for kind in ("debug_options", "target_config")
            for name in history.files.get(kind, ())[:1]
        ]
    if not any("debug_options" in name for name in files):
        files.append("XLA_FLAGS as they were set")
    return (*files, "the versions of jax, jaxlib and the plugin")
