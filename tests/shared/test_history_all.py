"""Histories, asynchronous pairs, collectives and diffs over every real dump.

The counts are held against those that the index of the dumps states, which were made by counting
opcodes of text lines with another program.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from app.analysis.async_pairs import find_async_pairs
from app.analysis.collectives import find_collectives
from app.analysis.diff import Differ
from app.analysis.graphs import module_graph
from app.analysis.history import describe_dumps
from app.analysis.loop_history import follow_loops
from app.analysis.opcodes import COLLECTIVES
from app.ingest.load import load_dump
from app.model.dump import DumpContents
from app.settings import Settings
from conftest import SHARED

ARCHIVES = {
    path.name.removesuffix(".tar.gz"): path for path in sorted(SHARED.glob("dumps/*.tar.gz"))
}


@pytest.fixture(scope="module", params=ARCHIVES)
def dump(request: pytest.FixtureRequest) -> tuple[str, DumpContents]:
    """Name and contents; one dump is held in memory while all tests look at it."""
    name = str(request.param)
    return name, load_dump(ARCHIVES[name], settings=Settings())


def test_rows_add_up(dump: tuple[str, DumpContents]) -> None:
    for history in dump[1].modules:
        rows = describe_dumps(history)
        assert len(rows) == len(history.dumps)
        for row, text in zip(rows, history.dumps, strict=True):
            assert row.instructions == sum(len(c.instructions) for c in text.module.computations)
            assert 0 <= row.changed <= row.computations
            assert all(count > 0 for count in row.counts.values())


def test_collectives_are_those_that_the_row_counts(dump: tuple[str, DumpContents]) -> None:
    for history in dump[1].modules:
        found = find_collectives(history, follow_loops(history))
        counted = {
            opcode: count
            for opcode, count in describe_dumps(history)[-1].counts.items()
            if opcode in COLLECTIVES
        }
        assert Counter(collective.opcode for collective in found) == counted
        module = history.last.module
        for collective in found:
            computation = module.get(collective.computation)
            assert computation is not None
            assert computation.get(collective.instruction) is not None
            assert collective.bytes >= 0


def test_starts_of_finished_modules_have_their_done(dump: tuple[str, DumpContents]) -> None:
    for history in dump[1].modules:
        for text in history.dumps:
            pairs = find_async_pairs(text.module)
            dones = [pair.done for pair in pairs if pair.done is not None]
            assert len(dones) == len({(p.computation, p.done) for p in pairs if p.done})
            if text.module.header.is_scheduled:
                # What a loop carries over its back edge starts here and ends elsewhere.
                open_ends = {p.opcode for p in pairs if p.done is None}
                assert open_ends <= {"send", "recv"}, (text.file, open_ends)


# The names that the failed run's message gives as lying on a cycle.
CYCLES = {
    "fail_cycle_nocallinliner__jax0.10.2": "wrapped_subtract",
    "fail_p2p_cycle_pp__jax0.6.2": "collective-permute.4-bwd-send-done",
}


def test_last_texts_have_no_cycle_but_where_the_log_says_so(
    dump: tuple[str, DumpContents],
) -> None:
    name, contents = dump
    on_cycles: set[str] = set()
    for history in contents.modules:
        graph = module_graph(history.last.module)
        assert len(graph) == history.last.module.instruction_count
        assert len(graph.topological_order()) == len(graph)
        on_cycles |= {node.instruction for node in graph.on_cycles()}
    if name in CYCLES:
        assert CYCLES[name] in on_cycles
    else:
        assert not on_cycles


def test_neighbouring_passes_diff(dump: tuple[str, DumpContents]) -> None:
    for history in dump[1].modules:
        differ = Differ()
        for before, after in zip(history.dumps, history.dumps[1:], strict=False):
            here, there = before.module, after.module
            found = differ.diff(here, there)
            one_sided = [c for c in found.computations if c.before is None or c.after is None]
            added = sum(c.before is None for c in one_sided)
            removed = len(one_sided) - added
            pairs = len(found.computations) - len(one_sided) + found.unchanged
            assert pairs + added == len(there.computations)
            assert pairs + removed == len(here.computations)
            for diff in found.computations:
                assert diff.before or diff.after
                matched = len(diff.changed) + len(diff.renamed) + diff.unchanged
                if diff.before is not None:
                    computation = here.get(diff.before)
                    assert computation is not None
                    assert matched + len(diff.removed) == len(computation.instructions)
                if diff.after is not None:
                    computation = there.get(diff.after)
                    assert computation is not None
                    assert matched + len(diff.added) == len(computation.instructions)


# ---- the index ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fact:
    """`counts` are (before, after) of each opcode as printed; before is None for a last text."""

    dump: str
    module: str
    file: str
    counts: Mapping[str, tuple[int | None, int]]

    def __str__(self) -> str:
        return f"{self.dump}-{self.module}-{self.file[:40]}"


MODULE = re.compile(r"- `(module_\d+\.[^`]+)`: .*last text `([^`]+)` \(\d+ lines\): (.*)")
CHANGE = re.compile(r"  - `([^`]+\.txt)`: (.*)")


def index_facts() -> list[Fact]:
    index = SHARED / "dumps" / "INDEX.md"
    facts: list[Fact] = []
    dump = module = ""
    for line in index.read_text(encoding="utf-8").splitlines():
        if line.startswith("### "):
            dump = line.removeprefix("### ")
        elif found := MODULE.fullmatch(line):
            module = found.group(1)
            counts = re.findall(r"([a-z-]+) (\d+)", found.group(3))
            last = {opcode: (None, int(count)) for opcode, count in counts}
            facts.append(Fact(dump, module, found.group(2), last))
        elif found := CHANGE.fullmatch(line):
            changes = re.findall(r"([a-z-]+) (\d+)->(\d+)", found.group(2))
            steps = {opcode: (int(before), int(after)) for opcode, before, after in changes}
            facts.append(Fact(dump, module, found.group(1), steps))
    return [fact for fact in facts if fact.dump in ARCHIVES]


FACTS = index_facts()
COMPARED = COLLECTIVES | {"while"}


def test_the_index_was_understood() -> None:
    assert len(FACTS) > 250
    assert len({fact.dump for fact in FACTS}) > 40


def test_counts_are_those_of_the_index(dump: tuple[str, DumpContents]) -> None:
    name, contents = dump
    rows = {history.id: describe_dumps(history) for history in contents.modules}
    for fact in FACTS:
        if fact.dump != name or not rows:
            continue
        (module,) = (key for key in rows if fact.module.split(".cl_")[0] == key)
        row = next(row for row in rows[module] if row.file.endswith("." + fact.file))
        for opcode in sorted(COMPARED):
            printed = [fact.counts[o] for o in (opcode, f"{opcode}-start") if o in fact.counts]
            expected = sum(after for _, after in printed)
            counted = row.counts.get(opcode, 0) if printed else 0
            # libtpu prints a collective again in each fusion that drives it onwards.
            if name.startswith("tpu_") and opcode == "all-gather":
                assert counted <= expected
            else:
                assert counted == expected, (str(fact), opcode)
