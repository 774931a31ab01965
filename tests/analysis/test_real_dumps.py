"""What the sample dumps hold, pass by pass; the goldens were read against programs and logs."""

from functools import cache

import pytest

from app.analysis.async_pairs import find_async_pairs
from app.analysis.collectives import find_collectives
from app.analysis.diff import diff_modules
from app.analysis.graphs import Node, module_graph
from app.analysis.history import describe_dumps
from app.analysis.loop_history import follow_loops
from app.analysis.opcodes import COLLECTIVES
from app.ingest.load import load_dump
from app.model.dump import ModuleHistory
from app.settings import Settings
from conftest import Golden
from samples import load_sample


@cache
def user_module(sample: str) -> ModuleHistory:
    return load_dump(load_sample(sample).archive, settings=Settings()).modules[0]


def position_after(history: ModuleHistory, pass_name: str) -> int:
    """Where the only text after that pass stands."""
    (position,) = (i for i, dump in enumerate(history.dumps) if dump.name.after == pass_name)
    return position


@pytest.mark.parametrize("sample", ["fsdp_pipelined", "ring_local_p2p", "pipeliner_crash"])
def test_passes_that_change_loops_and_collectives(sample: str, golden: Golden) -> None:
    rows = describe_dumps(user_module(sample))
    watched = COLLECTIVES | {"while"}
    changes: dict[str, dict[str, str]] = {}
    before: dict[str, int] = {}
    for row in rows:
        counts = {opcode: n for opcode, n in row.counts.items() if opcode in watched}
        if counts != before:
            changes[row.after or "before_optimizations"] = {
                opcode: f"{before.get(opcode, 0)} -> {counts.get(opcode, 0)}"
                for opcode in sorted(before.keys() | counts.keys())
                if before.get(opcode) != counts.get(opcode)
            }
        before = counts
    golden(f"{sample}_counts.json", changes)


@pytest.mark.parametrize("sample", ["fsdp_pipelined", "ring_local_p2p"])
def test_collectives_of_the_last_text(sample: str, golden: Golden) -> None:
    history = user_module(sample)
    rows = [
        " ".join(
            (
                found.opcode,
                f"{found.computation}/{found.instruction}",
                f"{found.bytes} bytes",
                "async" if found.is_async else "sync",
                f"in {found.loop}" if found.loop else "in no loop",
                f"{found.window.instructions} between, {found.window.flops} flops"
                if found.window
                else "no window",
                f"line {found.source.line}" if found.source else "no line",
            )
        )
        for found in find_collectives(history, follow_loops(history))
    ]
    golden(f"{sample}_collectives.txt", "\n".join(rows))


@pytest.mark.parametrize(
    "pass_name", ["collective-pipeliner-backward", "loop-double-buffer-transformer"]
)
def test_diff_of_a_pass(pass_name: str, golden: Golden) -> None:
    history = user_module("fsdp_pipelined")
    position = position_after(history, pass_name)
    found = diff_modules(history.dumps[position - 1].module, history.dumps[position].module)
    rows = [
        f"{c.before} -> {c.after} ({c.how}): +{len(c.added)} -{len(c.removed)} "
        f"~{len(c.changed)} renamed {len(c.renamed)} same {c.unchanged} "
        f"copies {sum(len(copied.copies) for copied in c.copies)}"
        for c in found.computations
        if c.before is not None or len(c.added) > 10
    ]
    golden(f"fsdp_pipelined_{pass_name}.txt", "\n".join([*rows, f"unchanged {found.unchanged}"]))


def test_a_schedule_only_moves() -> None:
    history = user_module("fsdp_pipelined")
    position = position_after(history, "latency-hiding-scheduler")
    found = diff_modules(history.dumps[position - 1].module, history.dumps[position].module)
    assert found.computations
    for computation in found.computations:
        assert computation.moved
        assert (computation.added, computation.removed, computation.renamed) == ((), (), ())


def test_the_first_permute_of_the_ring_waits_at_once() -> None:
    """`is_sync` stands on it: its done follows its start, so nothing hides behind it."""
    pairs = find_async_pairs(user_module("ring_local_p2p").last.module)
    assert [(p.start, p.is_sync, len(p.between or ())) for p in pairs] == [
        ("collective-permute-start", True, 0),
        ("collective-permute-start.1", False, 12),
        ("collective-permute-start.2", False, 8),
    ]


def test_the_ring_in_one_graph() -> None:
    module = user_module("ring_local_p2p").last.module
    graph = module_graph(module)
    body, start = "region_0.1_spmd", "collective-permute-start.1"
    assert Node(body, "collective-permute-done") in graph.ancestors(Node(body, start))
    assert Node(module.entry.name, module.entry.root.name) in graph.descendants(Node(body, start))
