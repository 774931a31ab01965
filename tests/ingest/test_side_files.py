"""Flags, buffer assignments and memory reports of every era."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ingest import parse_flags
from app.ingest.flags import flags_in_line, flags_of_debug_options, remarks_on_flags
from app.ingest.memory_files import (
    MEMORY_KINDS,
    read_buffer_assignment,
    read_live_ranges,
    read_memory_file,
    read_memory_report,
    read_value_positions,
)
from app.model.dump import (
    Allocation,
    BufferAssignment,
    BufferValue,
    LiveRange,
    LiveRanges,
    MemoryReport,
    ValuePositions,
)
from app.model.memory import MemorySpace
from ingest.archives import FIRST, LAST, WHOLE, load, tar_of


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("", {}),
        ("--xla_a=true --xla_b --xla_c=", {"xla_a": "true", "xla_b": "true", "xla_c": ""}),
        ("-xla_a=1", {"xla_a": "1"}),
        ("XLA_FLAGS='--xla_a=1\n --xla_b=x,y' python t.py --lr=3", {"xla_a": "1", "xla_b": "x,y"}),
        ('export XLA_FLAGS="$XLA_FLAGS --xla_dump_to=/a b"', {"xla_dump_to": "/a"}),
        (
            '--xla_dump_hlo_pass_re=".*" --xla_a="x y"',
            {"xla_dump_hlo_pass_re": ".*", "xla_a": "x y"},
        ),
        ("--xla_a=1 --xla_a=2", {"xla_a": "2"}),
        ("--xla_a='unclosed --xla_b=2", {"xla_a": "unclosed", "xla_b": "2"}),
        ("--tf_xla_a=1 xla_b=2 --xlab", {}),
    ],
)
def test_parse_flags(text: str, flags: dict[str, str]) -> None:
    assert parse_flags(text) == flags


@pytest.mark.parametrize(
    ("text", "remarks"),
    [
        ("", ()),
        ('XLA_FLAGS="--xla_b=2 --xla_c"', ()),
        ("export XLA_FLAGS=--xla_b", ()),
        ('not a "flag', ("flags: no XLA flag, and passed over: not a flag",)),
        ("--xla_a=1 oops", ("flags: no XLA flag, and passed over: oops",)),
        ("x" * 200, (f"flags: no XLA flag, and passed over: {'x' * 80}...",)),
    ],
)
def test_words_that_are_no_flags_are_remarked_on(text: str, remarks: tuple[str, ...]) -> None:
    assert remarks_on_flags(text) == remarks


@given(st.text(max_size=200))
def test_parse_flags_takes_any_text(text: str) -> None:
    assert all(name.startswith("xla_") for name in parse_flags(text))


@given(
    st.dictionaries(
        st.from_regex(r"xla_[a-z_]{1,20}", fullmatch=True),
        st.from_regex(r"[a-z0-9,.*/=]{0,10}", fullmatch=True),
        max_size=5,
    )
)
def test_flags_come_back(flags: dict[str, str]) -> None:
    assert parse_flags(" ".join(f"--{name}={value}" for name, value in flags.items())) == flags


@pytest.mark.parametrize(
    ("line", "flags"),
    [
        ("XLA_FLAGS=--xla_a=1 --xla_b=2", {"xla_a": "1", "xla_b": "2"}),
        ("XLA_FLAGS: '--xla_a=1'", {"xla_a": "1"}),
        ('os.environ["XLA_FLAGS"] = "--xla_a=1"', {"xla_a": "1"}),
        ("+ python train.py --xla_a=1", {"xla_a": "1"}),
        ("declare -x XLA_FLAGS=\"--xla_a=1 --xla_b='x y'\"", {"xla_a": "1", "xla_b": "x y"}),
        ("run with envvar XLA_FLAGS=--xla_dump_to=/tmp/foo and attach the results.", {}),
        ("You can set XLA_FLAGS=--xla_gpu_autotune_level=0 to work around this.", {}),
        ("Unknown flag in --xla_a=1", {}),
    ],
)
def test_flags_that_a_line_says_were_given(line: str, flags: dict[str, str]) -> None:
    assert flags_in_line(line) == flags


def test_debug_options() -> None:
    text = """xla_gpu_enable_triton_gemm: false
xla_gpu_pipeline_all_gather: COLLECTIVE_PIPELINING_MODE_ON
xla_disable_hlo_passes: "rematerialization"
xla_disable_hlo_passes: "algsimp"
xla_dump_to: "/home/me/\\"x\\""
xla_backend_extra_options {
  key: "xla_cpu_a"
  value: "1"
}
xla_backend_extra_options {
  key: "bare"
  value: ""
}
"""
    assert flags_of_debug_options(text) == {
        "xla_gpu_enable_triton_gemm": "false",
        "xla_gpu_pipeline_all_gather": "COLLECTIVE_PIPELINING_MODE_ON",
        "xla_disable_hlo_passes": "rematerialization,algsimp",
        "xla_dump_to": '/home/me/"x"',
        "xla_backend_extra_options": "xla_cpu_a=1,bare",
    }


def test_flags_are_those_of_the_users_module() -> None:
    side = {
        "d/module_0009.jit_tiny.debug_options": b"xla_a: 1\n",
        "d/module_0001.jit_f.debug_options": b"xla_a: 2\n",
    }
    contents = load(tar_of(side | WHOLE))
    assert contents.flags == {"xla_a": "2"}
    assert contents.flags_file == "d/module_0001.jit_f.debug_options"


ASSIGNMENT = """BufferAssignment:
allocation 0: size 25165824, output shape is |bf16[12,1024,1024]|, maybe-live-out:
 value: <33 loop_fusion @0> (size=1,offset=0): pred[]
 value: <334 all-gather-start{1} @0> (size=2097152,offset=0): bf16[1024,1024]{1,0}
allocation 1: size 64, parameter 0, shape |f32[4,4]| at ShapeIndex {}:
allocation 2: size 4, color 1, page 3, constant:
allocation 4: size 13504256, preallocated-temp:
 value: <477 param.6{6} (phi) @0> (size=2097152,offset=2097152): bf16[1024,1024]{1,0}
 reused by buffers of a different color:
  value: <9 x @1> (color=1)
"""


def test_buffer_assignment() -> None:
    found = read_buffer_assignment(ASSIGNMENT, file="f", module_id="m")
    assert found == BufferAssignment(
        "f",
        "m",
        (
            Allocation(
                0,
                25165824,
                "output shape is |bf16[12,1024,1024]|, maybe-live-out",
                (
                    BufferValue("loop_fusion", "", 1, 0, "pred[]"),
                    BufferValue("all-gather-start", "{1}", 2097152, 0, "bf16[1024,1024]{1,0}"),
                ),
                role="output",
            ),
            Allocation(
                1,
                64,
                "parameter 0, shape |f32[4,4]| at ShapeIndex {}",
                (),
                role="parameter",
                parameter=0,
            ),
            Allocation(2, 4, "color 1, page 3, constant", (), role="constant", color=1),
            Allocation(
                4,
                13504256,
                "preallocated-temp",
                (BufferValue("param.6", "{6}", 2097152, 2097152, "bf16[1024,1024]{1,0}"),),
            ),
        ),
    )


def test_buffer_assignment_of_2022_goes_on_with_values() -> None:
    text = """BufferAssignment:
allocation 0: 0x55d0c8e2a1b0, size 64, thread-local:
 value: <0 x @0> (size=64,offset=0): f32[4,4]{1,0}

Total bytes used: 64 (64B)

Used values:
<0 x @0>
 positions:
  x
 from instruction: %x = f32[] parameter(0)
"""
    found = read_buffer_assignment(text, file="f", module_id="")
    assert found.allocations == (
        Allocation(
            0,
            64,
            "thread-local",
            (BufferValue("x", "", 64, 0, "f32[4,4]{1,0}"),),
            role="thread_local",
        ),
    )
    assert found.total_bytes == 64


def test_an_allocation_may_be_parameter_and_output() -> None:
    shape = "shape |(s32[], f32[2])| at ShapeIndex {1}"
    text = f"allocation 7: size 8, parameter 3, {shape}, maybe-live-out:\n"
    (found,) = read_buffer_assignment(text, file="f", module_id="").allocations
    assert (found.role, found.parameter) == ("donated", 3)


VALUES = """
Total bytes used: 472 (472B)

Used values:
<0 copy.9 @0>
 positions:
  copy.9
  tuple.16 {0}
 uses:
  wrapped_add, operand 0
 from instruction: %copy.9 = s32[] copy(%g)
<477 param.6{6,0} (phi) @0>
 positions:
  param.6 {6,0}
  get-tuple-element.2
 uses:
  (none)
 from instruction: %param.6 = (f32[]) parameter(0)
"""

LIVE = """HloLiveRange (max 3):
  InstructionSequence:
    0:param.6
    1:copy.9
    2:tuple.16
  BufferLiveRange:
    param.6{6,0}:0-3
    copy.9{}:1-2
  Live ranges at 1 (peak):
"""
PEAK_2024 = "    param.6: 512 bytes\n    copy.9: 4 bytes\n"
PEAK_2026 = """    param.6{6,0}: 512 bytes (cumulative: 512 bytes)
    copy.9{}: 4 bytes (cumulative: 516 bytes)
  Stack trace breakdown for peak usage: 516 bytes
    main.9_spmd (100.0%, total: 516 bytes, current: 0 bytes, remaining: 516 bytes)
"""
POSITIONS = {
    ("tuple.16", (0,)): ("copy.9", ()),
    ("get-tuple-element.2", ()): ("param.6", (6, 0)),
}
SEQUENCE = ("param.6", "copy.9", "tuple.16")
RANGES = (LiveRange("param.6", (6, 0), 0, 3), LiveRange("copy.9", (), 1, 2))


def test_values_and_their_positions() -> None:
    found = read_value_positions(VALUES, file="f", module_id="m")
    assert found == ValuePositions("f", "m", POSITIONS, 472)
    assert read_value_positions(LIVE, file="f", module_id="m") is None
    # jaxlib 0.4.30 and 0.4.31.
    joined = VALUES.replace(" copy(%g)\n<477", " copy(%g)<477")
    assert joined != VALUES
    assert read_value_positions(joined, file="f", module_id="m") == found


def test_live_ranges_since_2026_state_the_bytes_of_the_peak() -> None:
    found = read_live_ranges(LIVE + PEAK_2026, file="f", module_id="m")
    assert found == LiveRanges("f", "m", SEQUENCE, RANGES, peak_position=1, peak_bytes=516)


def test_live_ranges_of_2024_state_only_the_position() -> None:
    found = read_live_ranges(LIVE + PEAK_2024, file="f", module_id="m")
    assert found == LiveRanges("f", "m", SEQUENCE, RANGES, peak_position=1, peak_bytes=None)


def test_a_sequence_with_a_gap_is_known_up_to_the_gap() -> None:
    found = read_live_ranges(LIVE.replace("    1:copy.9\n", ""), file="f", module_id="m")
    assert found is not None
    assert found.sequence == ("param.6",)


def test_one_file_held_it_all_until_2026() -> None:
    text = ASSIGNMENT + VALUES + "\n\n" + LIVE + PEAK_2024
    positions, live, assignment = read_memory_file("buffer_assignment", text, file="f")
    assert isinstance(positions, ValuePositions)
    assert positions.values == POSITIONS
    assert isinstance(live, LiveRanges)
    assert live.ranges == RANGES
    assert isinstance(assignment, BufferAssignment)
    assert assignment.total_bytes == 472
    assert [allocation.number for allocation in assignment.allocations] == [0, 1, 2, 4]


def test_live_ranges_and_values_of_a_dump_know_their_module() -> None:
    stem = LAST.removesuffix(".txt")
    side = {
        f"{stem}-buffer-assignment-values.txt": VALUES.encode(),
        f"{stem}-live-range.txt": LIVE.encode(),
    }
    contents = load(tar_of(side | WHOLE))
    assert [entry.module_id for entry in contents.live_ranges] == ["module_0001.jit_f"]
    assert [entry.module_id for entry in contents.value_positions] == ["module_0001.jit_f"]
    assert contents.buffer_assignments == ()


def test_memory_report_since_2026() -> None:
    text = """Memory Space: default (color=0)
Total bytes: 472 (472B)
  cumulative_size;       size;       offset; used_by_n_values; shapes_list
  ------------------------------------------------------------
        64B( 62%);        64B;            0;                2; f32[4,4], pred[]
    1.25MiB( 92%);    1.25MiB;          192;                5; 5\u00d7(s32[], f32[4,4])
  The rest 12 values are less than 5% of the total size and not shown.
Memory Space: host (color=5)
Total bytes: 28 (28B)
"""
    assert read_memory_report(text, file="f", module_id="m") == MemoryReport(
        "f",
        "m",
        500,
        ((64, "f32[4,4], pred[]"), (1310720, "5\u00d7(s32[], f32[4,4])")),
        (
            MemorySpace(color=0, name="default", bytes=472),
            MemorySpace(color=5, name="host", bytes=28),
        ),
    )


def test_memory_report_of_2024() -> None:
    text = """Total bytes used: 1006633216 (960.00MiB)

Allocations sorted by size:

cumulative_size; total_size - cumulative_size; allocation
------------------------------------------------------------------------------
 416.00MiB( 43%);  544.00MiB; allocation 3: size 416.00MiB, preallocated-temp:
 672.00MiB( 70%);  288.00MiB; allocation 0: size 256.00MiB, output shape is |bf16[16384,8192]|:

Allocations sorted by size with their values:
allocation 3: size 416.00MiB, preallocated-temp:

\tcumulative_size;       size;       offset; used_by_n_values; shapes_list
\t384.00MiB( 92%);  384.00MiB;          256;                1; bf16[16384,12288]
"""
    assert read_memory_report(text, file="f", module_id="m") == MemoryReport(
        "f",
        "m",
        1006633216,
        (
            (416 << 20, "preallocated-temp"),
            (256 << 20, "output shape is |bf16[16384,8192]|"),
        ),
    )


@pytest.mark.parametrize("size", [".B", "1.2.3B", "9" * 400 + "TiB", "4.B", "\u0663B", "5XB"])
def test_a_size_of_no_known_form_counts_nothing(size: str) -> None:
    text = f"""Total bytes: 28 (28B)
  cumulative_size;       size;       offset; used_by_n_values; shapes_list
  ------------------------------------------------------------
         4B(100%);         {size};            0;                1; f32[]
"""
    assert read_memory_report(text, file="f", module_id="m").allocations == ((0, "f32[]"),)


def test_memory_files_know_their_module() -> None:
    stem = LAST.removesuffix(".txt")
    side = {
        f"{stem}-buffer-assignment.txt": ASSIGNMENT.encode(),
        f"{stem}-memory-usage-report.txt": b"Total bytes used: 9 (9B)\n",
    }
    contents = load(tar_of(side | WHOLE))
    assert [entry.module_id for entry in contents.buffer_assignments] == ["module_0001.jit_f"]
    assert [entry.total_bytes for entry in contents.memory_reports] == [9]
    assert contents.coverage.kinds == {
        "buffer_assignment": 1,
        "hlo_text": 2,
        "memory_report": 1,
    }
    assert contents.modules[0].dumps[0].file == FIRST


@given(st.text(alphabet="allocation 0:size,value<>@{}()=;|\n\t9.KiBM", max_size=300))
def test_memory_files_take_any_text(text: str) -> None:
    for kind in MEMORY_KINDS:
        read_memory_file(kind, text, file="f")
    read_live_ranges(LIVE + text, file="f", module_id="")
    read_value_positions(VALUES + text, file="f", module_id="")
