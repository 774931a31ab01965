"""The story of each loop in eight real dumps, against the story read by hand from their texts.

A row is one loop. Its events are `STEP PASS: what ...`, where STEP is the number in the name of
the pass file (B: before any pass) and `what` one of

    created moved simplified double_buffered pipelined_forward pipelined_backward
    peeled=front|behind  trips=OLD>NEW  carry=OLD>NEW  renamed=NEW

Nothing may be missing and nothing may be added. What the truth leaves open (shapes that were
partitioned, the order of carried elements) is no event of ours.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from app.analysis.loop_history import follow_loops
from app.ingest import load_dump
from app.model.dump import ModuleHistory
from app.model.facts import LoopHistory, TrackedEvent
from app.settings import Settings

DUMPS = Path(__file__).resolve().parents[3] / "shared" / "dumps"


@dataclass(frozen=True, slots=True)
class Row:
    """What is true of one loop.

    `name` is the one it begins with, `parent` and `origin` the first names of other loops, `line`
    that of the loop (for a copy that of its original), `trips` what is known at the end.
    """

    dump: str
    module: str
    name: str
    parent: str | None
    line: int
    carry: int
    trips: int | None
    origin: str | None
    events: str


def rows() -> list[Row]:
    return [
        Row(dump, module, name, parent, line, carry, trips, origin, events)
        for (dump, module), loops in TRUTH.items()
        for name, parent, line, carry, trips, origin, events in loops
    ]


TRUTH: dict[
    tuple[str, str],
    list[tuple[str, str | None, int, int, int | None, str | None, str]],
] = {
    ("seed1_crash_0.4.30", "jit_train"): [
        (
            "while.1451", "while.1688", 39, 19, 8, None,
            """
            B: created
            0001 CallInliner: moved renamed=while.0
            0005 simplify-while-loops: renamed=while.2
            0012 while-loop-constant-sinking: simplified
            0013 simplify-while-loops: renamed=while.7
            0020 simplify-while-loops: carry=19>17 renamed=while.11
            0026 simplify-while-loops: renamed=while.13
            0032 spmd-partitioning: renamed=while.15
            0045 simplify-while-loops: carry=17>16 renamed=while.18
            0053 simplify-while-loops: carry=16>15 renamed=while.19
            """,
        ),
        (
            "while.1552", "while.1688", 39, 19, 8, None,
            """
            B: created
            0001 CallInliner: moved renamed=while.1
            0005 simplify-while-loops: renamed=while.3
            0013 simplify-while-loops: renamed=while.8
            0026 simplify-while-loops: renamed=while.12
            0032 spmd-partitioning: renamed=while.16
            """,
        ),
        (
            "while.1688", None, 55, 27, 4, None,
            """
            B: created
            0005 simplify-while-loops: carry=27>26 renamed=while.4
            0013 simplify-while-loops: simplified renamed=while.9
            0026 simplify-while-loops: carry=26>25 renamed=while.14
            0032 spmd-partitioning: renamed=while.17
            """,
        ),
    ],
    ("s000_fsdp_gradacc__jax0.5.3", "jit_train_step"): [
        (
            "while.291", "while.373", 59, 5, 5, None,
            """
            B: created
            0001 call-inliner: moved renamed=while.0
            0005 simplify-while-loops: renamed=while.4
            0015 simplify-while-loops: renamed=while.7
            0021 spmd-partitioning: renamed=while.10
            0057 collective-pipeliner-backward: pipelined_backward peeled=behind trips=12>11
             carry=5>8 renamed=while.15
            0101 priority-fusion: renamed=while.15.0
            0114 simplify-while-loops: renamed=while.15.1
            0115 loop-double-buffer-transformer: double_buffered peeled=front trips=11>5
            """,
        ),
        (
            "while.318", "while.373", 59, 7, 5, None,
            """
            B: created
            0001 call-inliner: moved renamed=while.1
            0005 simplify-while-loops: renamed=while.5
            0015 simplify-while-loops: renamed=while.8
            0021 spmd-partitioning: renamed=while.11
            0056 collective-pipeliner-forward: pipelined_forward peeled=front trips=12>11
             carry=7>10 renamed=while.13
            0057 collective-pipeliner-backward: renamed=while.16
            0101 priority-fusion: renamed=while.16.0
            0114 simplify-while-loops: renamed=while.16.1
            0115 loop-double-buffer-transformer: double_buffered peeled=front trips=11>5
            """,
        ),
        (
            "while.373", None, 78, 10, 1, None,
            """
            B: created
            0005 simplify-while-loops: simplified renamed=while.6
            0015 simplify-while-loops: carry=10>9 renamed=while.9
            0021 spmd-partitioning: renamed=while.12
            0057 collective-pipeliner-backward: pipelined_backward peeled=behind trips=4>3
             carry=9>13 renamed=while.17
            0101 priority-fusion: renamed=while.17.0
            0114 simplify-while-loops: carry=13>12 renamed=while.20
            0115 loop-double-buffer-transformer: double_buffered peeled=front trips=3>1
            """,
        ),
        (
            "while.18", None, 59, 8, 5, "while.291",
            """
            0057 collective-pipeliner-backward: created
            0101 priority-fusion: renamed=while.18.0
            0115 loop-double-buffer-transformer: double_buffered peeled=front trips=11>5
            """,
        ),
        (
            "while.19", None, 59, 10, 5, "while.318",
            """
            0057 collective-pipeliner-backward: created
            0101 priority-fusion: renamed=while.19.0
            0115 loop-double-buffer-transformer: double_buffered peeled=front trips=11>5
            """,
        ),
        (
            "while.15.1.peeled_double_buffer", None, 59, 8, 5, "while.291",
            "0115 loop-double-buffer-transformer: created",
        ),
        (
            "while.16.1.peeled_double_buffer", None, 59, 10, 5, "while.318",
            "0115 loop-double-buffer-transformer: created",
        ),
        (
            "while.15.1.double_buffer_clone", "while.373", 59, 8, 5, "while.291",
            "0115 loop-double-buffer-transformer: created",
        ),
        (
            "while.16.1.double_buffer_clone", "while.373", 59, 10, 5, "while.318",
            "0115 loop-double-buffer-transformer: created",
        ),
    ],
    ("s000_fsdp_gradacc__jax0.10.2", "jit_train_step"): [
        (
            "while.13", "while.34", 59, 6, 5, None,
            """
            B: created
            0003 call-inliner: moved renamed=while.1
            0007 simplify-while-loops: renamed=while.44
            0018 simplify-while-loops: renamed=while.55
            0023 shardy-xla: renamed=while.66
            0024 spmd-partitioning: renamed=while.85
            0056 collective-pipeliner-backward: pipelined_backward peeled=behind trips=12>11
             carry=6>10 renamed=while.90
            0109 simplify-while-loops: renamed=while.95
            0110 loop-double-buffer-transformer: double_buffered peeled=front trips=11>5
            """,
        ),
        (
            "while.18", "while.34", 59, 9, 5, None,
            """
            B: created
            0003 call-inliner: moved renamed=while.6
            0007 simplify-while-loops: renamed=while.48
            0018 simplify-while-loops: renamed=while.59
            0023 shardy-xla: renamed=while.71
            0024 spmd-partitioning: renamed=while.86
            0055 collective-pipeliner-forward: pipelined_forward peeled=front trips=12>11
             carry=9>13 renamed=while.88
            0056 collective-pipeliner-backward: renamed=while.91
            0109 simplify-while-loops: renamed=while.96
            0110 loop-double-buffer-transformer: double_buffered peeled=front trips=11>5
            """,
        ),
        (
            "while.34", None, 78, 12, 3, None,
            """
            B: created
            0007 simplify-while-loops: simplified renamed=while.53
            0018 simplify-while-loops: carry=12>11 renamed=while.64
            0023 shardy-xla: renamed=while.78
            0024 spmd-partitioning: renamed=while.87
            0056 collective-pipeliner-backward: pipelined_backward peeled=behind trips=4>3
             carry=11>16 renamed=while.92
            0109 simplify-while-loops: carry=16>15 renamed=while.97
            """,
        ),
        (
            "while.93", None, 59, 10, 5, "while.13",
            """
            0056 collective-pipeliner-backward: created
            0110 loop-double-buffer-transformer: double_buffered peeled=front trips=11>5
            """,
        ),
        (
            "while.94", None, 59, 13, 5, "while.18",
            """
            0056 collective-pipeliner-backward: created
            0110 loop-double-buffer-transformer: double_buffered peeled=front trips=11>5
            """,
        ),
    ],
    ("pipeline_parallel__jax0.10.2", "jit_loss_fn"): [
        (
            "while.8", "while.25", 12, 7, 2, None,
            """
            B: created
            0003 call-inliner: moved renamed=while.1
            0015 shardy-xla: renamed=while.22
            0016 spmd-partitioning: renamed=while.75
            """,
        ),
        (
            "while.25", None, 32, 14, 23, None,
            """
            B: created
            0015 shardy-xla: renamed=while.39
            0016 spmd-partitioning: renamed=while.76
            0020 call-inliner: moved renamed=while.79
            """,
        ),
        (
            "while.41", "while.54", 12, 9, 2, None,
            """
            B: created
            0003 call-inliner: moved renamed=while.15
            0015 shardy-xla: renamed=while.63
            0016 spmd-partitioning: renamed=while.77
            """,
        ),
        (
            "while.54", None, 32, 13, 23, None,
            """
            B: created
            0015 shardy-xla: renamed=while.69
            0016 spmd-partitioning: renamed=while.78
            0020 call-inliner: moved renamed=while.80
            """,
        ),
    ],
    ("decode_kv_cache__jax0.12.0", "jit_generate"): [
        (
            "while.7", "while.21", 38, 13, 16, None,
            """
            B: created
            0010 shardy-xla: renamed=while.1
            0011 spmd-partitioning: renamed=while.28
            """,
        ),
        (
            "while.21", None, 45, 13, None, None,
            """
            B: created
            0010 shardy-xla: renamed=while.13
            0011 spmd-partitioning: renamed=while.29
            """,
        ),
    ],
    ("moe_all_to_all__jax0.10.2", "jit_loss_fn"): [
        (
            "while.28", None, 30, 31, 4, None,
            """
            B: created
            0028 shardy-xla: carry=31>33 renamed=while.1
            0029 spmd-partitioning: renamed=while.68
            0033 call-inliner: moved renamed=while.70
            0041 simplify-while-loops: carry=33>31 renamed=while.72
            """,
        ),
        (
            "while.62", None, 30, 29, 4, None,
            """
            B: created
            0028 shardy-xla: renamed=while.55
            0029 spmd-partitioning: renamed=while.69
            0033 call-inliner: moved renamed=while.71
            """,
        ),
    ],
    ("s001_collective_matmul__jax0.10.2", "jit_collective_matmul_stacked"): [
        (
            "while.7", None, 53, 6, 1, None,
            """
            B: created
            0007 simplify-while-loops: simplified renamed=while
            0016 simplify-while-loops: carry=6>5 renamed=while.1
            0020 shardy-xla: renamed=while.2
            0021 spmd-partitioning: renamed=while.13
            0024 call-inliner: moved renamed=while.14
            0057 loop-double-buffer-transformer: double_buffered peeled=front trips=3>1
            """,
        ),
    ],
    ("tpu_gpt_dp_tp__jax0.12.0.1", "jit_train_step"): [
        (
            "while.25", None, 64, 20, 24, None,
            """
            B: created
            0021 while-loop-constant-sinking: simplified
            0022 simplify-while-loops: carry=20>19 renamed=while
            0052 shardy-xla: renamed=while.7
            0053 tpu-spmd-partitioning: renamed=while.54
            0092 while-loop-fusible-sinking: carry=19>20
            0094 simplify-while-loops: carry=20>19 renamed=while.56
            0151 while-loop-invariant-code-motion: carry=19>20 renamed=while.58
            0155 while-initializer-removal: simplified
            """,
        ),
        (
            "while.35", None, 64, 28, 24, None,
            """
            B: created
            0023 while-loop-invariant-code-motion: carry=28>32 renamed=while.1
            0028 while-loop-constant-sinking: simplified
            0029 simplify-while-loops: carry=32>31 renamed=while.2
            0034 simplify-while-loops: carry=31>28 renamed=while.3
            0035 while-loop-invariant-code-motion: carry=28>29 renamed=while.4
            0039 while-loop-constant-sinking: simplified
            0040 simplify-while-loops: carry=29>28 renamed=while.5
            0052 shardy-xla: renamed=while.17
            0053 tpu-spmd-partitioning: renamed=while.55
            0151 while-loop-invariant-code-motion: carry=28>31 renamed=while.57
            0155 while-initializer-removal: simplified
            """,
        ),
    ],
}  # fmt: skip

# Whiles in the texts from the given step on: (first step, count).
COUNTS = {
    ("s000_fsdp_gradacc__jax0.5.3", "jit_train_step"): ((0, 3), (57, 5), (115, 9)),
    ("s000_fsdp_gradacc__jax0.10.2", "jit_train_step"): ((0, 3), (56, 5)),
}


@cache
def followed(dump: str, module: str) -> tuple[ModuleHistory, dict[str, LoopHistory]]:
    contents = load_dump(DUMPS / f"{dump}.tar.gz", settings=Settings())
    history = max((m for m in contents.modules if m.name == module), key=lambda m: len(m.dumps))
    loops = follow_loops(history)
    by_name = {first(loop).name: loop for loop in loops}
    assert len(by_name) == len(loops)
    return history, by_name


def first(loop: LoopHistory):
    return loop.occurrences[loop.first_dump]


def story(history: ModuleHistory, loop: LoopHistory) -> list[str]:
    lines: dict[int, list[str]] = {}
    for event in loop.events:
        lines.setdefault(event.dump, []).append(word(loop, event))
    told: list[str] = []
    for position, words in lines.items():
        step = history.dumps[position].name.step
        (by,) = {event.pass_name for event in loop.events if event.dump == position}
        head = "B" if step is None else f"{step:04d} {by}"
        told.append(f"{head}: {' '.join(sorted(words))}")
    return told


def word(loop: LoopHistory, event: TrackedEvent) -> str:
    match event.kind:
        case "renamed":
            return f"renamed={loop.occurrences[event.dump].name}"
        case "carry_changed":
            old, new = (loop.occurrences[event.dump - back].carry for back in (1, 0))
            return f"carry={old}>{new}"
        case "trip_count_changed":
            old, new = (loop.occurrences[event.dump - back].trip_count for back in (1, 0))
            return f"trips={old}>{new}"
        case "peeled":
            front, behind = "in front" in event.detail, "behind" in event.detail
            return "peeled=" + "+".join(["front"] * front + ["behind"] * behind)
        case kind:
            return kind


def expected(row: Row) -> list[str]:
    told: list[tuple[str, list[str]]] = []
    for line in row.events.strip().splitlines():
        head, _, words = line.rpartition(": ")
        if head:
            told.append((head.strip(), words.split()))
        else:
            # The rest of a line that was too long.
            told[-1][1].extend(words.split())
    return [f"{head}: {' '.join(sorted(words))}" for head, words in told]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.dump}-{row.name}")
def test_loop(row: Row) -> None:
    history, loops = followed(row.dump, row.module)
    loop = loops[row.name]

    assert story(history, loop) == expected(row)

    ids = {name: other.id for name, other in loops.items()}
    assert first(loop).carry == row.carry
    assert loop.parent == (None if row.parent is None else ids[row.parent])
    assert loop.origin == (None if row.origin is None else ids[row.origin])
    assert loop.source is not None
    assert loop.source.line == row.line
    assert loop.last.trip_count == row.trips


@pytest.mark.parametrize(("dump", "module"), list(TRUTH), ids=[dump for dump, _ in TRUTH])
def test_no_other_loop(dump: str, module: str) -> None:
    history, loops = followed(dump, module)

    assert set(loops) == {row.name for row in rows() if row.dump == dump}
    for loop in loops.values():
        assert set(loop.occurrences) == set(range(loop.first_dump, len(history.dumps)))


@pytest.mark.parametrize(("dump", "module"), list(COUNTS), ids=[dump for dump, _ in COUNTS])
def test_count_in_every_text(dump: str, module: str) -> None:
    history, loops = followed(dump, module)
    step = 0
    for position, text in enumerate(history.dumps):
        step = step if text.name.step is None else text.name.step
        counts = [count for start, count in COUNTS[dump, module] if start <= step]
        assert sum(position in loop.occurrences for loop in loops.values()) == counts[-1], text.file


def test_trip_count_that_xla_never_states_is_proven() -> None:
    _, loops = followed("s000_fsdp_gradacc__jax0.10.2", "jit_train_step")
    outer = loops["while.34"]

    assert outer.last.trip_count_how == "condition"
    induction = outer.last.induction
    assert induction is not None
    assert (induction.init, induction.step, induction.bound) == (0, 1, 3)


def test_data_dependent_condition_stays_unknown() -> None:
    _, loops = followed("decode_kv_cache__jax0.12.0", "jit_generate")

    assert {here.trip_count for here in loops["while.21"].occurrences.values()} == {None}


def test_trip_counts_are_known_in_every_text() -> None:
    """Also before XLA states them, and after counters and conditions became fusions."""
    for dump, module in TRUTH:
        _, loops = followed(dump, module)
        for name, loop in loops.items():
            if name != "while.21":
                assert None not in {here.trip_count for here in loop.occurrences.values()}, name


def test_collectives_in_the_bodies_of_a_crash() -> None:
    history, loops = followed("seed1_crash_0.4.30", "jit_train")
    at_end = {
        "while.1451": {"all-gather": 8},
        "while.1552": {"all-gather": 8, "reduce-scatter": 8},
        "while.1688": {"all-gather": 5, "reduce-scatter": 3, "all-reduce": 1},
    }
    for name, counts in at_end.items():
        loop = loops[name]
        assert loop.last_dump == len(history.dumps) - 1
        opcodes = [i.opcode for i in loop.last.body.instructions]
        assert {
            o: opcodes.count(o)
            for o in ("all-gather", "reduce-scatter", "all-reduce")
            if o in opcodes
        } == counts


LAST_TEXTS = {
    ("seed1_crash_0.4.30", "jit_train"): {
        "while.17": (55, 4, "fori_loop"),
        "while.19": (39, 8, "scan"),
        "while.16": (39, 8, "scan"),
    },
    ("seed1_crash_0.4.30_plain_dump", "jit_train"): {
        "while.1688": (55, 4, "fori_loop"),
        "while.1451": (39, 8, "scan"),
        "while.1552": (39, 8, "scan"),
    },
    ("s000n_crash__jax0.4.30", "jit_train_step"): {
        "while.12": (78, 4, "fori_loop"),
        "while.10": (59, 12, "scan"),
        "while.13": (59, 11, "scan"),
    },
    ("crash_s000_full__jax0.4.30", "jit_train_step"): {
        "while.12": (77, 4, "fori_loop"),
        "while.10": (58, 12, "scan"),
        "while.13": (58, 11, "scan"),
    },
}


@pytest.mark.parametrize(("dump", "module"), list(LAST_TEXTS), ids=[d for d, _ in LAST_TEXTS])
def test_last_text_of_a_crash(dump: str, module: str) -> None:
    """No text of these states a trip count, and one loop has lost its metadata."""
    history, loops = followed(dump, module)
    found = {
        loop.last.name: (
            None if loop.source is None else loop.source.line,
            loop.last.trip_count,
            loop.construct,
        )
        for loop in loops.values()
        if loop.last_dump == len(history.dumps) - 1
    }

    assert found == LAST_TEXTS[dump, module]
    assert {loop.last.trip_count_how for loop in loops.values()} == {"condition"}


@pytest.mark.parametrize(
    ("dump", "module", "counts"),
    [
        ("seed1_ok_0.4.31_doubled", "jit_train", [3, 9, 17]),
        ("s000n_nodblbuf__jax0.4.31", "jit_train_step", [3, 7, 5]),
    ],
)
def test_work_that_is_doubled_for_good_or_for_a_while(
    dump: str, module: str, counts: list[int]
) -> None:
    history, loops = followed(dump, module)
    seen: list[int] = []
    for position in range(len(history.dumps)):
        count = sum(position in loop.occurrences for loop in loops.values())
        if not seen or seen[-1] != count:
            seen.append(count)

    assert seen == counts


def test_first_and_last_text_alone_are_still_one_story() -> None:
    """What most people send: three loops of the program, two copies, no pass between."""
    _, loops = followed("s000_fsdp_gradacc_nopassre__jax0.10.2", "jit_train_step")

    assert {name: loop.last.name for name, loop in loops.items()} == {
        "while.34": "while.97",
        "while.13": "while.95",
        "while.18": "while.96",
        "while.93": "while.93",
        "while.94": "while.94",
    }
    assert loops["while.93"].origin == loops["while.13"].id
    assert loops["while.94"].origin == loops["while.18"].id
    passes = {event.pass_name for loop in loops.values() for event in loop.events}
    assert passes == {None}
