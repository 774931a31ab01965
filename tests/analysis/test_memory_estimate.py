"""Memory reckoned from a text alone, held against what XLA assigned where that is known."""

import re

import pytest

from analysis.histories import history_of
from app.analysis import memory_estimate
from app.analysis.buffer_flow import BufferFlow
from app.analysis.buffer_table import TooMuchWork
from app.analysis.loop_history import follow_loops
from app.analysis.memory import estimate_memory, find_memory
from app.analysis.memory_estimate import estimate_assignment
from app.ingest import load_dump
from app.model.memory import Memory
from app.settings import Settings
from hlo_parser import parse_module
from samples import load_sample

KB = "f32[256]{0}"


def estimate(text: str) -> Memory:
    history = history_of(text)
    profile = estimate_memory(history, follow_loops(history))
    assert profile is not None
    assert profile.async_buffers == ()
    return profile.memory


def entry(*lines: str, header: str = "is_scheduled=true", before: str = "") -> str:
    body = "\n".join(f"  {line}" for line in lines)
    return (
        f"HloModule m, {header}\n\n{before}ENTRY %main (x: f32[256]) -> f32[256] {{\n{body}\n}}\n"
    )


def temporaries(*lines: str, before: str = "") -> int:
    return estimate(entry(*lines, before=before)).reserved["temp"]


X = f"%x = {KB} parameter(0)"
X_OUT = f"ROOT %r = {KB} negate(%x)"
ADD = (
    "%add (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n"
    "  ROOT %c = f32[] add(%a, %b)\n}\n\n"
)


def test_what_is_held_and_what_lives_at_the_peak() -> None:
    memory = estimate(
        entry(
            X,
            f"%c = {KB} constant({{...}})",
            f"%a = {KB} reverse(%x), dimensions={{0}}",
            f"%b = {KB} reverse(%a), dimensions={{0}}",
            "%d = f32[512]{0} concatenate(%a, %b), dimensions={0}",
            f"%e = {KB} slice(%d), slice={{[0:256]}}",
            "ROOT %r = f32[4]{0} dot(%e, %c), lhs_contracting_dims={}, rhs_contracting_dims={}",
        )
    )
    assert memory.reserved == {"temp": 4096, "parameter": 1024, "output": 16, "constant": 1024}
    peak = memory.peak
    assert peak is not None
    assert (peak.bytes, peak.instruction, peak.position) == (4096 + 2064, "d", 4)
    assert {buffer.instruction for buffer in peak.largest} == {"d", "x", "c", "a", "b", "r"}
    assert memory.total_bytes == peak.bytes
    assert memory.estimate is not None
    assert (memory.estimate.order, memory.estimate.divided, memory.estimate.limits) == (
        "schedule",
        True,
        (),
    )


@pytest.mark.parametrize(
    ("lines", "size"),
    [
        # Element by element over an operand that nothing needs any more, and over one that is.
        (
            (
                "%b = K negate(%a)",
                "%c = K negate(%b)",
                "ROOT %r = f32[4]{0} reverse(%c), dimensions={0}",
            ),
            1,
        ),
        (("%b = K negate(%a)", "ROOT %r = f32[4]{0} concatenate(%a, %b), dimensions={0}"), 2),
        # A result of other dimensions lies elsewhere.
        (("%b = f32[16,16]{1,0} negate(%a)", "ROOT %r = f32[4]{0} reverse(%b), dimensions={0}"), 2),
        # An update of a slice lies where its operand lay, however often.
        (
            (
                "%i = s32[] constant(0)",
                "%u = f32[1]{0} slice(%a), slice={[0:1]}",
                "%b = K dynamic-update-slice(%a, %u, %i)",
                "%c = K dynamic-update-slice(%b, %u, %i)",
                "ROOT %r = f32[4]{0} reverse(%c), dimensions={0}",
            ),
            1,
        ),
        # Tuple access makes nothing.
        (
            (
                "%t = (K, K) tuple(%a, %a)",
                "%b = K get-tuple-element(%t), index=1",
                "ROOT %r = f32[4]{0} reverse(%b), dimensions={0}",
            ),
            1,
        ),
        # An asynchronous copy holds what it copies until it is done.
        (
            (
                "%s = (K, K, u32[]) copy-start(%a)",
                "%o = K reverse(%x), dimensions={0}",
                "%d = K copy-done(%s)",
                "ROOT %r = f32[4]{0} concatenate(%d, %o), dimensions={0}",
            ),
            3,
        ),
        (
            (
                "%s = (K, f32[1024]{0}) all-gather-start(%a), dimensions={0}",
                "%d = f32[1024]{0} all-gather-done(%s)",
                "ROOT %r = f32[4]{0} slice(%d), slice={[0:256]}",
            ),
            5,
        ),
    ],
)
def test_who_shares_a_place(lines: tuple[str, ...], size: int) -> None:
    made = ("%a = K reverse(%x), dimensions={0}", *lines)
    found = temporaries(X, *(line.replace("K", KB) for line in made))
    assert found // 1024 == size


def test_a_temporary_lies_where_the_output_comes_to_lie_later() -> None:
    lines = (
        X,
        f"%a = {KB} reverse(%x), dimensions={{0}}",
        "%b = f32[512]{0} concatenate(%a, %a), dimensions={0}",
        "%c = f32[512]{0} reverse(%b), dimensions={0}",
    )
    assert temporaries(*lines, f"ROOT %r = {KB} slice(%c), slice={{[0:256]}}") == 4096
    assert temporaries(*lines, "ROOT %r = f32[4]{0} slice(%c), slice={[0:4]}") == 4096
    memory = estimate(entry(*lines, f"ROOT %r = {KB} slice(%c), slice={{[0:256]}}"))
    assert memory.temp_values == 2


LOOP = """%cond (q: (s32[], f32[256], f32[256])) -> pred[] {
  %q = (s32[], f32[256]{0}, f32[256]{0}) parameter(0)
  %j = s32[] get-tuple-element(%q), index=0
  %n = s32[] constant(4)
  ROOT %less = pred[] compare(%j, %n), direction=LT
}

%body (p: (s32[], f32[256], f32[256])) -> (s32[], f32[256], f32[256]) {
  %p = (s32[], f32[256]{0}, f32[256]{0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %acc = f32[256]{0} get-tuple-element(%p), index=1
  %kept = f32[256]{0} get-tuple-element(%p), index=2
  %inside = f32[256]{0} reverse(%kept), dimensions={0}
  %sum = f32[256]{0} add(%acc, %inside)
  ROOT %out = (s32[], f32[256]{0}, f32[256]{0}) tuple(%next, %sum, %kept)
}

"""

# The same with two accumulators.
TWO_TOTALS = (
    LOOP.replace("f32[256], f32[256]", "f32[256], f32[256], f32[256]")
    .replace("f32[256]{0}, f32[256]{0}", "f32[256]{0}, f32[256]{0}, f32[256]{0}")
    .replace("index=2\n", "index=3\n")
    .replace(
        "  ROOT %out",
        "  %acc.2 = f32[256]{0} get-tuple-element(%p), index=2\n"
        "  %sum.2 = f32[256]{0} multiply(%acc.2, %sum)\n  ROOT %out",
    )
    .replace("%sum, %kept", "%sum, %sum.2, %kept")
)


def test_a_loop_keeps_its_state_in_one_place() -> None:
    memory = estimate(
        entry(
            X,
            "%zero = s32[] constant(0)",
            "%start = s32[] copy(%zero)",
            f"%a = {KB} reverse(%x), dimensions={{0}}",
            f"%t = (s32[], {KB}, {KB}) tuple(%start, %a, %x)",
            f"%w = (s32[], {KB}, {KB}) while(%t), condition=%cond, body=%body",
            f"%left = {KB} get-tuple-element(%w), index=1",
            "ROOT %r = f32[4]{0} reverse(%left), dimensions={0}",
            before=LOOP,
        )
    )
    # The accumulator and what is made inside; the counter lies where the output will.
    assert memory.reserved["temp"] == 2048
    assert memory.reserved["parameter"] == 1024
    # Where they lie is no more than a guess.
    assert memory.loop_buffers == ()


def test_elements_that_begin_as_one_value_have_each_a_place() -> None:
    def temporaries(first: str, second: str) -> int:
        return estimate(
            entry(
                X,
                "%zero = s32[] constant(0)",
                "%start = s32[] copy(%zero)",
                f"%a = {KB} reverse(%x), dimensions={{0}}",
                f"%b = {KB} reverse(%x), dimensions={{0}}",
                f"%t = (s32[], {KB}, {KB}, {KB}) tuple(%start, %{first}, %{second}, %x)",
                f"%w = (s32[], {KB}, {KB}, {KB}) while(%t), condition=%cond, body=%body",
                f"%left = {KB} get-tuple-element(%w), index=1",
                f"%other = {KB} get-tuple-element(%w), index=2",
                f"%sum = {KB} add(%left, %other)",
                "ROOT %r = f32[4]{0} reverse(%sum), dimensions={0}",
                before=TWO_TOTALS,
            )
        ).reserved["temp"]

    assert temporaries("a", "a") >= temporaries("a", "b") >= 2048


def test_a_parameter_that_a_loop_changes_is_copied_and_a_donated_one_is_not() -> None:
    lines = (
        X,
        "%start = s32[] constant(0)",
        f"%k = {KB} reverse(%x), dimensions={{0}}",
        f"%t = (s32[], {KB}, {KB}) tuple(%start, %x, %k)",
        f"%w = (s32[], {KB}, {KB}) while(%t), condition=%cond, body=%body",
        f"ROOT %r = {KB} get-tuple-element(%w), index=1",
    )
    plain = estimate(entry(*lines, before=LOOP)).reserved
    assert (plain["parameter"], plain["output"]) == (1024, 1024)
    alias = "is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }"
    donated = estimate(entry(*lines, before=LOOP, header=alias)).reserved
    assert (donated["donated"], donated.get("output")) == (1024, None)


@pytest.mark.parametrize(
    ("reader", "arrays"),
    [
        # The accumulator and what is made inside.
        ("ROOT %r = f32[4]{0} reverse(%left), dimensions={0}", 2),
        # What the accumulator began as, too.
        ("ROOT %r = f32[4]{0} custom-call(%left, %a)", 3),
        ("ROOT %r = f32[4]{0} custom-call(%left, %begin)", 3),
        # The element that the loop hands on is no other than before.
        ("ROOT %r = f32[4]{0} custom-call(%left, %handed)", 2),
        # A second loop begins with what the first began with; it may take that.
        (
            f"%v = (s32[], {KB}, {KB}) while(%t), condition=%cond.2, body=%body.2\n"
            f"  %second = {KB} get-tuple-element(%v), index=1\n"
            "  ROOT %r = f32[4]{0} custom-call(%left, %second)",
            3,
        ),
        # Unless it is read once more: both accumulators, their beginning, what is made inside.
        (
            f"%v = (s32[], {KB}, {KB}) while(%t), condition=%cond.2, body=%body.2\n"
            f"  %second = {KB} get-tuple-element(%v), index=1\n"
            "  ROOT %r = f32[4]{0} custom-call(%left, %second, %a)",
            4,
        ),
    ],
)
def test_what_is_read_after_a_loop_changed_it_is_kept(reader: str, arrays: int) -> None:
    found = temporaries(
        X,
        "%zero = s32[] constant(0)",
        "%start = s32[] copy(%zero)",
        f"%a = {KB} reverse(%x), dimensions={{0}}",
        f"%t = (s32[], {KB}, {KB}) tuple(%start, %a, %x)",
        f"%w = (s32[], {KB}, {KB}) while(%t), condition=%cond, body=%body",
        f"%left = {KB} get-tuple-element(%w), index=1",
        f"%handed = {KB} get-tuple-element(%w), index=2",
        f"%begin = {KB} get-tuple-element(%t), index=1",
        reader,
        before=LOOP + re.sub(r"%(\w+)", r"%\1.2", LOOP),
    )
    assert found // 1024 == arrays


@pytest.mark.parametrize(("rounds", "bounds"), [(0, 1), (1, 0), (4, 0)])
def test_copies_that_were_not_reckoned_with_are_told(
    rounds: int, bounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_estimate, "_MOST_ROUNDS", rounds)
    text = entry(
        X,
        "%zero = s32[] constant(0)",
        "%start = s32[] copy(%zero)",
        f"%a = {KB} reverse(%x), dimensions={{0}}",
        f"%t = (s32[], {KB}, {KB}) tuple(%start, %a, %x)",
        f"%w = (s32[], {KB}, {KB}) while(%t), condition=%cond, body=%body",
        f"%left = {KB} get-tuple-element(%w), index=1",
        "ROOT %r = f32[4]{0} custom-call(%left, %a)",
        before=LOOP,
    )
    found = estimate(text).estimate
    assert found is not None
    assert sum("no less than this" in limit for limit in found.limits) == bounds


def test_a_loop_in_one_branch_may_change_what_another_reads() -> None:
    branches = (
        f"%b0 (p0: f32[256]) -> f32[256] {{\n  %p0 = {KB} parameter(0)\n"
        "  %zero = s32[] constant(0)\n  %start = s32[] copy(%zero)\n"
        f"  %t = (s32[], {KB}, {KB}) tuple(%start, %p0, %p0)\n"
        f"  %w = (s32[], {KB}, {KB}) while(%t), condition=%cond, body=%body\n"
        f"  ROOT %q0 = {KB} get-tuple-element(%w), index=1\n}}\n\n"
        f"%b1 (p1: f32[256]) -> f32[256] {{\n  %p1 = {KB} parameter(0)\n"
        f"  ROOT %q1 = {KB} reverse(%p1), dimensions={{0}}\n}}\n\n"
    )
    body = LOOP.replace("tuple(%next, %sum, %kept)", "tuple(%next, %sum, %sum)")

    def size(order: str) -> int:
        return temporaries(
            X,
            "%i = s32[] constant(0)",
            f"%a = {KB} reverse(%x), dimensions={{0}}",
            f"%c = {KB} conditional(%i, %a, %a), branch_computations={{{order}}}",
            "ROOT %r = f32[4]{0} reverse(%c), dimensions={0}",
            before=body + branches,
        )

    assert size("%b0, %b1") == size("%b1, %b0")


def test_a_read_in_another_branch_hides_none_behind_the_loop() -> None:
    loop = (
        f"%b0 (p0: f32[256]) -> f32[4] {{\n  %p0 = {KB} parameter(0)\n"
        "  %zero = s32[] constant(0)\n  %start = s32[] copy(%zero)\n"
        f"  %kb = {KB} reverse(%p0), dimensions={{0}}\n"
        f"  %t = (s32[], {KB}, {KB}) tuple(%start, %p0, %kb)\n"
        f"  %w = (s32[], {KB}, {KB}) while(%t), condition=%cond, body=%body\n"
        f"  %left = {KB} get-tuple-element(%w), index=1\n"
        "  ROOT %q0 = f32[4]{0} custom-call(%left, %READ)\n}\n\n"
    )
    other = (
        f"%b1 (p1: f32[256]) -> f32[4] {{\n  %p1 = {KB} parameter(0)\n"
        "  ROOT %q1 = f32[4]{0} reverse(%p1), dimensions={0}\n}\n\n"
    )

    def size(order: str, read: str) -> int:
        return temporaries(
            X,
            "%i = s32[] constant(0)",
            f"%a = {KB} reverse(%x), dimensions={{0}}",
            f"%c = f32[4]{{0}} conditional(%i, %a, %a), branch_computations={{{order}}}",
            "ROOT %r = f32[4]{0} reverse(%c), dimensions={0}",
            before=LOOP + loop.replace("READ", read) + other,
        )

    assert size("%b0, %b1", "p0") == size("%b1, %b0", "p0")
    assert size("%b0, %b1", "left") == size("%b1, %b0", "left") < size("%b0, %b1", "p0")


def test_branches_leave_their_results_in_one_place() -> None:
    branches = "".join(
        f"%b{n} (p: f32[256]) -> f32[256] {{\n  %p{n} = {KB} parameter(0)\n"
        f"  ROOT %q{n} = {KB} reverse(%p{n}), dimensions={{0}}\n}}\n\n"
        for n in (0, 1)
    )
    size = temporaries(
        X,
        "%i = s32[] constant(0)",
        f"%c = {KB} conditional(%i, %x, %x), branch_computations={{%b0, %b1}}",
        f"ROOT %r = {KB} reverse(%c), dimensions={{0}}",
        before=branches,
    )
    assert size == 1024


def test_other_memory_spaces_are_left_out_and_tiles_are_filled() -> None:
    memory = estimate(
        entry(
            X,
            "%far = f32[256]{0:S(5)} reverse(%x), dimensions={0}",
            "%tiled = bf16[10,100]{1,0:T(8,128)(2,1)} broadcast(%far), dimensions={}",
            f"ROOT %r = {KB} reverse(%tiled), dimensions={{0}}",
        )
    )
    assert memory.reserved["temp"] == 16 * 128 * 2
    assert memory.estimate is not None
    assert memory.estimate.limits == ("arrays in other memory spaces are left out",)


def test_limits_of_a_text_before_partitioning_and_without_a_schedule() -> None:
    shared = f"{X}, sharding={{devices=[8]<=[8]}}"
    memory = estimate(entry(shared, f"ROOT %r = {KB} negate(%x)", header="num_partitions=8"))
    assert memory.estimate is not None
    assert (memory.estimate.order, memory.estimate.divided) == ("text", False)
    schedule, division = memory.estimate.limits
    assert "no schedule" in schedule
    assert "8 devices" in division


SUM = f"ROOT %r = {KB} all-reduce(%x), channel_id=1, to_apply=%add, replica_groups={{{{0,1}}}}"
SHARED = "sharding={devices=[8]<=[8]}"
MARK = f'%m = {KB} custom-call(%x), custom_call_target="Sharding", {SHARED}'
HOST = f'%h = {KB} custom-call(%x), custom_call_target="log", sharding={{maximal device=0}}'


@pytest.mark.parametrize(
    ("lines", "header", "is_divided"),
    [
        # Partitioned: shardings stand on parameters alone, and devices talk to each other.
        ((f"{X}, {SHARED}", SUM), "num_partitions=8", True),
        ((f"{X}, {SHARED}", "%d = u32[] partition-id()", X_OUT), "num_partitions=8", True),
        ((f"{X}, {SHARED}", HOST, SUM), "num_partitions=8", True),
        ((f"{X}, {SHARED}", X_OUT), "num_partitions=8, is_scheduled=true", True),
        # Nothing says how anything is to be divided, so nothing is.
        ((X, X_OUT), "num_partitions=8", True),
        ((f"{X}, {SHARED}", X_OUT), "num_partitions=1", True),
        ((f"{X}, {SHARED}", X_OUT), "num_partitions=8", False),
        ((X, f"{X_OUT}, {SHARED}"), "num_partitions=8", False),
        # In a part that is divided by hand devices talk before the rest is divided.
        ((f"{X}, {SHARED}", MARK, SUM), "num_partitions=8", False),
        (
            (
                f"{X}, {SHARED}",
                MARK.replace('"Sharding"', '"xla.sdy.GlobalToLocalShape"').partition(", shar")[0],
                SUM,
            ),
            "num_partitions=8",
            False,
        ),
    ],
)
def test_a_text_tells_whether_it_is_divided(
    lines: tuple[str, ...], header: str, is_divided: bool
) -> None:
    memory = estimate(entry(*lines, header=header, before=ADD))
    assert memory.estimate is not None
    assert memory.estimate.divided is is_divided


def test_tuples_that_hold_one_another_again_and_again_are_given_up() -> None:
    lines = [f"%t0 = ({KB}) tuple(%x)"]
    lines += [f"%t{n} = (f32[]) tuple(%t{n - 1}, %t{n - 1})" for n in range(1, 60)]
    text = entry(X, *lines, f"ROOT %r = {KB} custom-call(%t59)")
    with pytest.raises(TooMuchWork):
        BufferFlow(parse_module(text))
    history = history_of(text)
    assert estimate_assignment(history, history.last) is None
    assert estimate_memory(history, ()) is None


def test_long_chains_take_time_in_proportion() -> None:
    lines = [f"%a{n} = {KB} negate(%a{n - 1})" for n in range(1, 30_000)]
    first = f"%a0 = {KB} reverse(%x), dimensions={{0}}"
    last = f"ROOT %r = {KB} reverse(%a29999), dimensions={{0}}"
    assert temporaries(X, first, *lines, last) == 1024


def test_odd_texts_are_estimated_all_the_same() -> None:
    memory = estimate(
        "HloModule m\n\nENTRY %main (x: f32[4]) -> f32[4] {\n  %x = f32[4]{0} parameter(0)\n"
        "  %d = f32[4]{0} all-gather-done(%gone)\n  %g = f32[4]{0} get-tuple-element(%x), index=7\n"
        "  %w = (f32[4]{0}) while(%x), condition=%none, body=%none\n"
        "  ROOT %r = f32[4]{0} async-done(%d)\n}\n"
    )
    assert memory.peak is not None


@pytest.mark.parametrize("name", ["fsdp_pipelined", "ring_local_p2p"])
def test_the_estimate_is_what_xla_assigned_but_for_tables_of_pointers(name: str) -> None:
    contents = load_dump(load_sample(name).archive, settings=Settings())
    history = contents.modules[0]
    loops = follow_loops(history)
    (assigned,) = find_memory(contents, history, loops)
    found = estimate_memory(history, loops)
    assert found is not None
    assert assigned.memory.peak is not None
    assert found.memory.peak is not None
    ratio = found.memory.peak.bytes / assigned.memory.peak.bytes
    print(f"{name}: {ratio:.4f}")
    assert 0.999 <= ratio <= 1.001
    shown = [
        [buffer.bytes for buffer in memory.peak.largest if buffer.bytes > 1024]
        for memory in (found.memory, assigned.memory)
        if memory.peak is not None
    ]
    assert shown[0] == shown[1]


def test_work_does_not_grow_with_outputs_times_temporaries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[None] = []

    def are_apart(*_: object) -> bool:
        looks.append(None)
        return False

    monkeypatch.setattr("app.analysis.memory_estimate._are_apart", are_apart)
    monkeypatch.setattr("app.analysis.memory_estimate._MOST_LOOKS", 100)
    made = [f'%o{i} = {KB} custom-call(%x), custom_call_target="o"' for i in range(20)]
    used = [f'%t{i} = {KB} custom-call(%x), custom_call_target="t"' for i in range(20)]
    names = ", ".join(f"%o{i}" for i in range(20))
    root = f"ROOT %r = ({', '.join([KB] * 20)}) tuple({names})"
    memory = estimate(entry(X, *made, *used, root))
    assert len(looks) == 100
    assert memory.reserved["output"] == 20 * 1024
