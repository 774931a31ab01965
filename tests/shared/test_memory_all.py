"""Memory of every dump at hand, held against what XLA itself wrote beside it."""

from functools import cache

import pytest

from app.analysis.loop_history import follow_loops
from app.analysis.memory import find_memory
from app.model.dump import DumpContents, LiveRange
from app.model.facts import MemoryProfile
from hlo_parser import Module
from shared.final_texts import NAMES, final_contents

# No buffer assignment: died before it, or kept in part.
WITHOUT = frozenset(
    name
    for name in NAMES
    if name.startswith(("crash_", "s000n_crash", "seed1_"))
    or name
    in (
        "fail_autotune_cache_deviceless__jax0.4.34",
        "fail_cycle_nocallinliner__jax0.10.2",
        "fail_hlo_bad_target__jax0.10.2",
        "fail_p2p_cycle_pp__jax0.6.2",
    )
)
# The assignment stands in the proto, which states neither a total nor a peak.
WITHOUT_FIGURES = {"gpt_dp_tp_proto__cpu_jax0.10.2"}


@cache
def memory_of(name: str) -> tuple[DumpContents, tuple[MemoryProfile, ...]]:
    contents = final_contents(name)
    profiles = (
        find_memory(contents, history, follow_loops(history)) for history in contents.modules
    )
    return contents, tuple(profile for found in profiles for profile in found)


@pytest.mark.parametrize("name", NAMES)
def test_totals_are_those_of_the_memory_report_and_of_the_assignment(name: str) -> None:
    contents, profiles = memory_of(name)
    assert bool(profiles) == (name not in WITHOUT)
    assert len(profiles) == len(contents.buffer_assignments)
    reports = {report.module_id: report for report in contents.memory_reports}
    stated = {
        entry.module_id: entry.total_bytes
        for entry in (*contents.buffer_assignments, *contents.value_positions)
        if entry.total_bytes is not None
    }
    for memory in (profile.memory for profile in profiles):
        if name not in WITHOUT_FIGURES:
            assert memory.total_bytes == stated[memory.module]
        assert sum(space.bytes for space in memory.spaces) == memory.total_bytes
        assert sum(memory.reserved.values()) == memory.spaces[0].bytes
        report = reports.get(memory.module)
        if report is not None:
            assert memory.total_bytes == report.total_bytes
            if report.spaces:
                assert memory.spaces == report.spaces


@pytest.mark.parametrize("name", NAMES)
def test_peaks_fit_into_what_is_reserved(name: str) -> None:
    for memory in (profile.memory for profile in memory_of(name)[1]):
        peak = memory.peak
        assert peak is not None
        assert peak.bytes == sum(peak.classes.values()) <= memory.spaces[0].bytes
        assert sum(buffer.bytes for buffer in peak.largest) <= peak.bytes
        assert sum(share.bytes for share in peak.shares) == peak.bytes
        assert sum(share.buffers for share in peak.shares) == peak.buffers
        assert memory.curve is not None
        assert max(memory.curve.bytes) == peak.bytes
        assert peak.position is None or peak.position in memory.curve.at
        for role in ("parameter", "donated", "output", "constant", "thread_local"):
            assert peak.classes.get(role, 0) == memory.reserved.get(role, 0)
        if peak.position is not None:
            assert peak.instruction is not None
            assert peak.computation is not None
        assert all(
            buffer.opcode is not None for buffer in peak.largest if buffer.instruction is not None
        )


@pytest.mark.parametrize("name", NAMES)
def test_what_lives_at_xlas_own_peak_adds_up_to_its_last_figure(name: str) -> None:
    contents, profiles = memory_of(name)
    live = {entry.module_id: entry for entry in contents.live_ranges}
    for profile in profiles:
        memory = profile.memory
        stated = memory.stated_peak
        assert (stated is None) == (name in WITHOUT_FIGURES)
        if stated is None:
            continue
        assert stated.instruction is not None or stated.position == len(
            live[memory.module].sequence
        )
        if stated.bytes is None:
            continue
        entries = [
            entry
            for entry in live[memory.module].ranges
            if entry.start <= stated.position <= entry.end
        ]
        found = sum(_placed_bytes(contents, memory.module, entry) for entry in entries)
        if name.startswith(("tpu_", "fail_tpu_")):
            # The assignment counts tiles and whole blocks of 512 bytes, the live ranges do not.
            module = next(m for m in contents.modules if m.id == memory.module)
            text = module.dumps[memory.dump].module
            assert sum(_dense_bytes(text, entry) for entry in entries) == stated.bytes <= found
        else:
            assert found == stated.bytes


def _placed_bytes(contents: DumpContents, module: str, entry: LiveRange) -> int:
    """The size that the assignment gives a value; every value must have its place."""
    (assignment,) = (e for e in contents.buffer_assignments if e.module_id == module)
    (size,) = (
        value.size
        for allocation in assignment.allocations
        for value in allocation.values
        if (value.name, value.path) == (entry.name, entry.path)
    )
    return size


def _dense_bytes(module: Module, entry: LiveRange) -> int:
    """The size without tiles; of a tuple its table of pointers."""
    (shape,) = (
        instruction.shape
        for computation in module.computations
        for instruction in computation.instructions
        if instruction.name == entry.name
    )
    for index in entry.path:
        shape = shape.elements[index]
    return 8 * len(shape.elements) if shape.kind == "tuple" else shape.byte_size


@pytest.mark.parametrize("name", NAMES)
def test_no_operand_is_overwritten_while_it_is_sent(name: str) -> None:
    for profile in memory_of(name)[1]:
        assert [found for found in profile.async_buffers if found.overwritten_by] == []
        for found in profile.loop_buffers:
            assert found.bytes > 0
