"""Meshes, axes, executions and source places of the smaller dumps at hand, read whole."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from app.analysis.collectives import find_collectives
from app.analysis.loop_history import follow_loops
from app.analysis.meshes import find_meshes
from app.analysis.source_repair import SourceRepairer, source_coverage
from app.ingest import load_dump
from app.model.dump import ModuleHistory
from app.model.facts import LoopHistory
from app.model.mesh import Mesh
from app.settings import Settings
from shared.final_texts import DUMPS, NAMES

SMALL = tuple(name for name in NAMES if (DUMPS / f"{name}.tar.gz").stat().st_size < 3_000_000)

# The meshes of the programs, by a part of the dump's name; the texts of older releases have the
# sizes alone.
MESHES = {
    "gpt_dp_tp": (("dp", 2), ("tp", 4)),
    "own_fsdp": (("fsdp", 8),),
    "s000": (("fsdp", 8),),
    "own_ring": (("ring", 4),),
    "moe_": (("expert", 8),),
    "heapsim_moe": (("expert", 8),),
    "decode": (("tp", 8),),
    "fp8": (("tp", 8),),
    "pallas": (("dp", 8),),
    "pipeline": (("stage", 8),),
    "p2p_cycle": (("stage", 8),),
    "pipelined_p2p": (("stage", 8),),
    "s001": (("i", 4),),
    "own_uneven": (("d", 4),),
}


@cache
def modules_of(name: str) -> tuple[tuple[ModuleHistory, tuple[LoopHistory, ...]], ...]:
    contents = load_dump(DUMPS / f"{name}.tar.gz", settings=Settings())
    return tuple((h, follow_loops(h)) for h in contents.modules if h.role == "user")


def axes_of(mesh: Mesh) -> tuple[tuple[str, int], ...]:
    return tuple((axis.name, axis.size) for axis in mesh.axes)


@pytest.mark.parametrize("name", SMALL)
def test_meshes_are_those_of_the_programs(name: str) -> None:
    expected = next((mesh for part, mesh in MESHES.items() if part in name), None)
    if expected is None:
        return
    for history, _ in modules_of(name):
        for mesh in find_meshes(history):
            if mesh.standing == "stated":
                assert axes_of(mesh) == expected
            else:
                # Shardings over one axis at a time do not tell the other from it.
                sizes = tuple(size for _, size in axes_of(mesh))
                assert sizes == tuple(size for _, size in expected)


@pytest.mark.parametrize("name", SMALL)
def test_every_collective_of_a_mesh_has_its_axis(name: str) -> None:
    for history, loops in modules_of(name):
        meshes = find_meshes(history)
        found = find_collectives(history, loops, meshes=meshes)
        without = [c.instruction for c in found if not c.axes]
        if meshes and "bad_target" not in name:
            assert without == []
        for collective in found:
            assert collective.groups or collective.opcode in ("send", "recv")
            if collective.executions is not None:
                assert collective.total_bytes == collective.executions * collective.bytes


def _agreements(name: str) -> Iterator[tuple[str, bool]]:
    for history, loops in modules_of(name):
        repairer = SourceRepairer(history, loops)
        position = len(history.dumps) - 1
        for computation in history.last.module.computations:
            for instruction in computation.instructions:
                placed = repairer.of(position, computation, instruction)
                if placed is None or placed.how != "stated":
                    continue
                line = placed.source.file, placed.source.line
                for guess in repairer.around(position, computation, instruction):
                    yield guess.how, (guess.source.file, guess.source.line) == line


def test_inferred_lines_are_mostly_those_that_are_stated() -> None:
    """Asked of instructions that state their line, as if they did not."""
    counts = Counter(each for name in SMALL for each in _agreements(name))
    for how, least in (("operand", 0.8), ("users", 0.7), ("caller", 0.6)):
        right, wrong = counts[how, True], counts[how, False]
        print(f"{how}: {right} of {right + wrong}")
        assert right / (right + wrong) > least


@pytest.mark.parametrize("name", SMALL)
def test_coverage_adds_up(name: str) -> None:
    for history, loops in modules_of(name):
        for found in source_coverage(history, SourceRepairer(history, loops)):
            module = history.dumps[found.dump].module
            assert found.instructions == module.instruction_count
            assert found.stated + sum(found.inferred.values()) + found.none == found.instructions
            assert sum(found.none_opcodes.values()) <= found.none
