"""Memory of small modules whose buffer assignments were written by hand."""

from dataclasses import replace

import pytest

from analysis.histories import history_of
from app.analysis.loop_history import follow_loops
from app.analysis.memory import SHOWN_BUFFERS, find_memory
from app.analysis.memory_curve import MOST_POINTS
from app.analysis.peak_shares import MOST_LINES, shares_of
from app.ingest.load import load_dump
from app.ingest.memory_files import read_memory_file
from app.ingest.names import FileKind
from app.model.dump import (
    BufferAssignment,
    DumpContents,
    LiveRanges,
    MemoryReport,
    ModuleHistory,
    ValuePositions,
)
from app.model.facts import MemoryProfile
from app.model.memory import (
    AsyncBuffers,
    BufferClass,
    LoopSpan,
    MemorySpace,
    PeakShare,
    StatedPeak,
)
from app.model.report import Coverage, Frame, Input, Source
from app.settings import Settings
from conftest import Golden
from samples import load_sample

STEM = "m.0"


def contents_of(history: ModuleHistory, *files: tuple[str, str]) -> DumpContents:
    """A dump with side files `(ending, text)` of the one module."""
    kinds: dict[str, FileKind] = {
        "-buffer-assignment.txt": "buffer_assignment",
        "-buffer-assignment-values.txt": "buffer_values",
        "-live-range.txt": "live_range",
        "-memory-usage-report.txt": "memory_report",
    }
    read = [
        replace(entry, module_id=history.id)
        for ending, text in files
        for entry in read_memory_file(kinds[ending], text, file=STEM + ending)
    ]
    return DumpContents(
        input=Input(name="d", bytes=0),
        modules=(history,),
        flags={},
        flags_file=None,
        buffer_assignments=tuple(e for e in read if isinstance(e, BufferAssignment)),
        memory_reports=tuple(e for e in read if isinstance(e, MemoryReport)),
        coverage=Coverage(),
        live_ranges=tuple(e for e in read if isinstance(e, LiveRanges)),
        value_positions=tuple(e for e in read if isinstance(e, ValuePositions)),
    )


def profile(text: str, *files: tuple[str, str]) -> MemoryProfile:
    history = history_of(text)
    (found,) = find_memory(contents_of(history, *files), history, follow_loops(history))
    return found


STEP = """HloModule m, is_scheduled=true

ENTRY main {
  x = f32[256] parameter(0), metadata={op_name="state['x']"}
  w = f32[64] parameter(1)
  big = f32[512] tanh(x), metadata={op_name="jit(f)/big" source_file="a.py" source_line=7}
  c = f32[256] copy(x)
  both = (f32[64], s8[4096]) custom-call(c, w, big), custom_call_target="__cublas$gemm"
  y = f32[64] get-tuple-element(both), index=0
  ROOT out = f32[256] add(c, c)
}
"""

STEP_BUFFERS = """BufferAssignment:
allocation 0: size 1024, parameter 0, shape |f32[256]| at ShapeIndex {}, maybe-live-out:
 value: <0 x @0> (size=1024,offset=0): f32[256]{0}
 value: <6 out @0> (size=1024,offset=0): f32[256]{0}
allocation 1: size 256, parameter 1, shape |f32[64]| at ShapeIndex {}:
 value: <1 w @0> (size=256,offset=0): f32[64]{0}
allocation 2: size 8192, preallocated-temp:
 value: <2 big @0> (size=2048,offset=0): f32[512]{0}
 value: <3 c @0> (size=1024,offset=2048): f32[256]{0}
 value: <4 both{} @0> (size=16,offset=8000): (f32[64]{0}, s8[4096]{0})
 value: <4 both{0} @0> (size=256,offset=7168): f32[64]{0}
 value: <5 both{1} @0> (size=4096,offset=3072): s8[4096]{0}
"""

STEP_LIVE = """HloLiveRange (max 7):
  InstructionSequence:
    0:x
    1:w
    2:big
    3:c
    4:both
    5:y
    6:out
  BufferLiveRange:
    x{}:0-3
    w{}:0-4
    big{}:2-4
    c{}:3-6
    both{}:4-5
    both{0}:4-5
    both{1}:4-4
    out{}:6-7
  Live ranges at 3 (peak):
    x{}: 1024 bytes (cumulative: 1024 bytes)
    big{}: 2048 bytes (cumulative: 3072 bytes)
"""

ASSIGNMENT = ("-buffer-assignment.txt", STEP_BUFFERS)
LIVE = ("-live-range.txt", STEP_LIVE)


def test_totals_by_what_allocations_are_for() -> None:
    memory = profile(STEP, ASSIGNMENT).memory
    assert memory.total_bytes == 9472
    assert memory.reserved == {"temp": 8192, "donated": 1024, "parameter": 256}
    assert (memory.temp_values, memory.temp_value_bytes) == (5, 7440)
    assert memory.spaces == (MemorySpace(color=0, bytes=9472),)


def test_without_live_ranges_no_peak_is_claimed() -> None:
    memory = profile(STEP, ASSIGNMENT).memory
    assert memory.peak is None
    assert memory.stated_peak is None


def test_without_an_assignment_nothing_is_claimed() -> None:
    history = history_of(STEP)
    assert find_memory(contents_of(history, LIVE), history, ()) == ()


def test_the_peak_is_where_most_temporaries_live() -> None:
    memory = profile(STEP, ASSIGNMENT, LIVE).memory
    peak = memory.peak
    assert peak is not None
    # What is held all the time, and big, c and both with its table and scratch space.
    assert peak.bytes == 1024 + 256 + 2048 + 1024 + 16 + 256 + 4096
    assert (peak.position, peak.computation, peak.instruction) == (4, "main", "both")
    assert peak.classes == {
        "workspace": 4096,
        "temporary": 2048 + 16 + 256,
        "copy": 1024,
        "donated": 1024,
        "parameter": 256,
    }
    assert sum(peak.classes.values()) == peak.bytes <= memory.total_bytes
    assert memory.stated_peak == StatedPeak(position=3, instruction="c", bytes=3072)


def test_what_lives_at_the_peak_is_told_with_its_source() -> None:
    peak = profile(STEP, ASSIGNMENT, LIVE).memory.peak
    assert peak is not None
    assert peak.buffers == 7
    rows = [(b.instruction, b.index, b.bytes, b.class_, b.op_name) for b in peak.largest]
    assert rows == [
        ("both", "{1}", 4096, "workspace", None),
        ("big", "", 2048, "temporary", "jit(f)/big"),
        ("x", "", 1024, "donated", "state['x']"),
        ("c", "", 1024, "copy", None),
        ("w", "", 256, "parameter", None),
        ("both", "{0}", 256, "temporary", None),
        ("both", "{}", 16, "temporary", None),
    ]
    source = peak.largest[1].source
    assert source is not None
    assert (source.file, source.line) == ("a.py", 7)


def test_bytes_that_two_live_values_share_count_once() -> None:
    # The copy is put into the first half of big while big still lives.
    shared = STEP_BUFFERS.replace("(size=1024,offset=2048)", "(size=1024,offset=0)")
    peak = profile(STEP, ("-buffer-assignment.txt", shared), LIVE).memory.peak
    assert peak is not None
    assert peak.bytes == 1024 + 256 + 2048 + 16 + 256 + 4096
    assert "copy" not in peak.classes


def test_no_temporaries_no_position() -> None:
    text = STEP_BUFFERS.partition("allocation 2")[0]
    peak = profile(STEP, ("-buffer-assignment.txt", text), LIVE).memory.peak
    assert peak is not None
    assert (peak.bytes, peak.position, peak.instruction) == (1280, None, None)


def test_other_memory_spaces_count_for_the_total_alone() -> None:
    more = STEP_BUFFERS + "allocation 3: size 500, color 1, preallocated-temp:\n"
    report = """Memory Space: default (color=0)
Total bytes: 9472 (9.2KiB)
Memory Space: vmem (color=1)
Total bytes: 500 (500B)
"""
    memory = profile(
        STEP, ("-buffer-assignment.txt", more), LIVE, ("-memory-usage-report.txt", report)
    ).memory
    assert memory.total_bytes == 9972
    assert memory.reserved["temp"] == 8192
    assert memory.spaces == (
        MemorySpace(color=0, name="default", bytes=9472),
        MemorySpace(color=1, name="vmem", bytes=500),
    )


def test_a_text_that_is_not_the_compiled_one_still_gives_the_sums() -> None:
    memory = profile(
        "HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n", ASSIGNMENT, LIVE
    )
    peak = memory.memory.peak
    assert peak is not None
    assert peak.bytes == 8720
    assert (peak.position, peak.instruction) == (4, None)
    assert {b.computation for b in peak.largest} == {None}


def test_the_list_of_buffers_is_cut_and_the_sums_are_not() -> None:
    count = SHOWN_BUFFERS + 5
    values = "".join(
        f" value: <{n} v{n} @0> (size=8,offset={8 * n}): f32[2]{{0}}\n" for n in range(count)
    )
    ranges = "".join(f"    v{n}{{}}:0-9\n" for n in range(count))
    peak = profile(
        STEP,
        (
            "-buffer-assignment.txt",
            f"BufferAssignment:\nallocation 0: size 4096, preallocated-temp:\n{values}",
        ),
        ("-live-range.txt", f"HloLiveRange (max 9):\n  BufferLiveRange:\n{ranges}"),
    ).memory.peak
    assert peak is not None
    assert (peak.buffers, len(peak.largest)) == (count, SHOWN_BUFFERS)
    assert peak.bytes == sum(peak.classes.values()) == 8 * count


def test_the_curve_goes_through_the_peak() -> None:
    memory = profile(STEP, ASSIGNMENT, LIVE).memory
    curve, peak = memory.curve, memory.peak
    assert curve is not None
    assert peak is not None
    assert (curve.positions, curve.step, curve.held) == (7, 1, 1280)
    # x and w lie in allocations of their own, as does what replaces x.
    assert curve.bytes == tuple(1280 + n for n in (0, 0, 2048, 3072, 7440, 1296, 1024))
    assert curve.at == tuple(range(7))
    assert curve.instructions == ("x", "w", "big", "c", "both", "y", "out")
    assert (curve.at[4], curve.bytes[4]) == (peak.position, peak.bytes)
    assert profile(STEP, ASSIGNMENT).memory.curve is None


def test_a_curve_over_very_many_positions_has_few_points() -> None:
    count = 3 * MOST_POINTS - 2
    sequence = "".join(f"    {n}:v{n}\n" for n in range(count))
    live = f"HloLiveRange (max {count}):\n  InstructionSequence:\n{sequence}"
    live += f"  BufferLiveRange:\n    big{{}}:5-6\n    c{{}}:6-{count - 1}\n"
    curve = profile(STEP, ASSIGNMENT, ("-live-range.txt", live)).memory.curve
    assert curve is not None
    assert (curve.step, len(curve.bytes)) == (3, MOST_POINTS)
    assert curve.bytes[:4] == tuple(1280 + n for n in (0, 2048, 3072, 1024))
    assert (curve.at[:3], curve.instructions[2]) == ((0, 5, 6), "v6")


def test_lines_share_the_peak_and_what_has_none_is_told() -> None:
    peak = profile(STEP, ASSIGNMENT, LIVE).memory.peak
    assert peak is not None
    unplaced, line = peak.shares
    assert unplaced == PeakShare(
        bytes=6672,
        buffers=6,
        classes={
            "workspace": 4096,
            "copy": 1024,
            "donated": 1024,
            "temporary": 272,
            "parameter": 256,
        },
    )
    assert line == PeakShare(
        source=Source(file="a.py", line=7), bytes=2048, buffers=1, classes={"temporary": 2048}
    )


def test_the_smallest_of_very_many_lines_are_one_share() -> None:
    lines = [Source(file="a.py", line=n, frames=(Frame(file="a.py", line=n),)) for n in range(500)]
    buffers: list[tuple[BufferClass, int, Source | None]] = [("copy", 7, None)]
    buffers.extend(("temporary", 1 + line.line, line) for line in lines)
    shares = shares_of(buffers)
    assert len(shares) == MOST_LINES + 2
    assert sum(share.bytes for share in shares) == sum(range(501)) + 7
    assert [share.bytes for share in shares] == sorted((s.bytes for s in shares), reverse=True)
    rest = [share for share in shares if share.source is None]
    assert [(s.rest, s.buffers, s.bytes) for s in rest] == [(True, 100, 5050), (False, 1, 7)]
    assert shares[1].source == Source(file="a.py", line=499)


# ---- loops -----------------------------------------------------------------------------------

SCAN = """HloModule m, is_scheduled=true, num_partitions=2

body {
  p = (s32[], f32[8], f32[4,8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[8] get-tuple-element(p), index=1
  ys = f32[4,8] get-tuple-element(p), index=2
  one = s32[] constant(1)
  zero = s32[] constant(0)
  next = s32[] add(i, one)
  h = f32[8] tanh(x)
  row = f32[1,8] bitcast(h)
  u = f32[4,8] dynamic-update-slice(ys, row, i, zero), metadata={source_file="a.py" source_line=3}
  ROOT t = (s32[], f32[8], f32[4,8]) tuple(next, h, u)
}

condition {
  q = (s32[], f32[8], f32[4,8]) parameter(0)
  n = s32[] get-tuple-element(q), index=0
  bound = s32[] constant(4)
  ROOT less = pred[] compare(n, bound), direction=LT
}

ENTRY main {
  x0 = f32[8] parameter(0)
  start = s32[] constant(0)
  filled = f32[4,8] custom-call(), custom_call_target="AllocateBuffer"
  init = (s32[], f32[8], f32[4,8]) tuple(start, x0, filled)
  loop = (s32[], f32[8], f32[4,8]) while(init), condition=condition, body=body
  stack = f32[4,8] get-tuple-element(loop), index=2
  s = (f32[4,8], f32[4,8]) all-reduce-start(stack), replica_groups={{0,1}}, to_apply=condition
  d = f32[4,8] all-reduce-done(s)
  ROOT r = f32[4,8] negate(d)
}
"""

SCAN_BUFFERS = """BufferAssignment:
allocation 0: size 32, parameter 0, shape |f32[8]| at ShapeIndex {}:
 value: <0 x0 @0> (size=32,offset=0): f32[8]{0}
allocation 1: size 128, output shape is |f32[4,8]|, maybe-live-out:
 value: <1 r @0> (size=128,offset=0): f32[4,8]{1,0}
allocation 2: size 1024, preallocated-temp:
 value: <2 filled @0> (size=128,offset=0): f32[4,8]{1,0}
 value: <3 p{2} (phi) @0> (size=128,offset=0): f32[4,8]{1,0}
 value: <4 u @0> (size=128,offset=0): f32[4,8]{1,0}
 value: <5 loop{2} (phi) @0> (size=128,offset=0): f32[4,8]{1,0}
 value: <6 s @0> (size=128,offset=0): f32[4,8]{1,0}
 value: <7 p{1} (phi) @0> (size=32,offset=256): f32[8]{0}
 value: <8 h @0> (size=32,offset=320): f32[8]{0}
"""

SCAN_VALUES = """
Used values:
<2 filled @0>
 positions:
  filled
  init {2}
 uses:
  init, operand 2
<3 p{2} (phi) @0>
 positions:
  p {2}
  q {2}
  ys
<4 u @0>
 positions:
  u
  t {2}
<5 loop{2} (phi) @0>
 positions:
  loop {2}
  stack
<6 s @0>
 positions:
  s
  d
<7 p{1} (phi) @0>
 positions:
  p {1}
  x
<8 h @0>
 positions:
  h
  row
  t {1}
"""

SCAN_LIVE = """HloLiveRange (max 20):
  InstructionSequence:
    0:x0
    1:filled
    2:h
    3:u
    4:loop
    5:s
    6:d
    7:r
  BufferLiveRange:
    x0{}:0-1
    filled{}:1-1
    p{1}:2-2
    p{2}:2-3
    h{}:2-3
    u{}:3-4
    loop{2}:4-5
    s{}:5-7
    r{}:7-20
"""

SCAN_FILES = (
    ("-buffer-assignment.txt", SCAN_BUFFERS),
    ("-buffer-assignment-values.txt", SCAN_VALUES),
    ("-live-range.txt", SCAN_LIVE),
)


@pytest.mark.parametrize("files", [SCAN_FILES, (SCAN_FILES[0], SCAN_FILES[2])])
def test_the_state_of_a_loop_is_told_apart(files: tuple[tuple[str, str], ...]) -> None:
    """With the positions of the values and, where they are missing, by following the text."""
    peak = profile(SCAN, *files).memory.peak
    assert peak is not None
    assert (peak.position, peak.instruction) == (2, "h")
    assert peak.classes == {"stacked": 128, "output": 128, "carried": 64, "parameter": 32}
    stack = next(b for b in peak.largest if b.class_ == "stacked")
    assert (stack.instruction, stack.index, stack.loop) == ("p", "{2}", "module_0000.m/loop")
    assert stack.source is not None
    assert stack.source.line == 3


def test_the_curve_tells_where_the_body_of_a_loop_runs() -> None:
    curve = profile(SCAN, *SCAN_FILES).memory.curve
    assert curve is not None
    assert curve.loops == (LoopSpan(loop="module_0000.m/loop", first=2, last=3),)


def test_buffers_of_a_loop_stay_where_they_are_over_its_iterations() -> None:
    found = {buffer.element: buffer for buffer in profile(SCAN, *SCAN_FILES).loop_buffers}
    assert (found[2].allocation, found[2].offset, found[2].bytes) == (2, 0, 128)
    assert found[2].writers == ("u",)
    # h is copied to where the next iteration looks for x: they lie apart.
    assert (found[1].offset, found[1].writers) == (256, ())
    assert 0 not in found


def test_an_operand_that_is_overwritten_by_the_result_is_in_place() -> None:
    assert profile(SCAN, *SCAN_FILES).async_buffers == (
        AsyncBuffers(computation="main", start="s", done="d", opcode="all-reduce", in_place=True),
    )
    apart = SCAN_BUFFERS.replace("<6 s @0> (size=128,offset=0)", "<6 s @0> (size=128,offset=512)")
    files = (("-buffer-assignment.txt", apart), *SCAN_FILES[1:])
    assert profile(SCAN, *files).async_buffers == ()


def test_an_operand_that_another_instruction_overwrites_meanwhile_is_told() -> None:
    text = SCAN.replace("  d = f32[4,8] all", "  v = f32[8] tanh(x0)\n  d = f32[4,8] all")
    apart = SCAN_BUFFERS.replace("<6 s @0> (size=128,offset=0)", "<6 s @0> (size=128,offset=512)")
    apart += " value: <9 v @0> (size=32,offset=96): f32[8]{0}\n"
    files = (("-buffer-assignment.txt", apart), *SCAN_FILES[1:])
    (found,) = profile(text, *files).async_buffers
    assert (found.in_place, found.overwritten_by) == (False, ("v",))


# ---- real dumps ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sample", ["fsdp_pipelined", "ring_local_p2p", "psum_under_cond", "pmap_of_cond"]
)
def test_memory_of_real_dumps(sample: str, golden: Golden) -> None:
    contents = load_dump(load_sample(sample).archive, settings=Settings())
    rows: list[str] = []
    for history in contents.modules:
        for found in find_memory(contents, history, follow_loops(history)):
            rows += _rows(found)
    golden(f"{sample}_memory.txt", "\n".join(rows))


def _rows(found: MemoryProfile) -> list[str]:
    memory = found.memory
    peak = memory.peak
    rows = [f"{memory.module}: {memory.total_bytes} bytes, {_sums(memory.reserved)}"]
    if peak is not None:
        rows.append(f"  peak {peak.bytes} at {peak.position} {peak.instruction}")
        rows.append(f"  {_sums(peak.classes)}")
        for b in peak.largest[:10]:
            place = f"{b.source.file.rpartition('/')[2]}:{b.source.line}" if b.source else "-"
            rows.append(
                f"    {b.bytes} {b.class_} {b.instruction}{b.index} {b.op_name or '-'} "
                f"{b.loop or '-'} {place}"
            )
    rows += [f"  in place: {a.start}" for a in found.async_buffers if a.in_place]
    rows += [f"  overwritten: {a.start}" for a in found.async_buffers if a.overwritten_by]
    rows += [
        f"  {b.loop} [{b.element}] at {b.allocation}+{b.offset} written by {', '.join(b.writers)}"
        for b in found.loop_buffers[:12]
    ]
    return rows


def _sums(sums: dict[str, int]) -> str:
    return ", ".join(f"{key} {size}" for key, size in sums.items())
