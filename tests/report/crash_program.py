"""The program of a crash made by hand: its texts, loops and collectives, and a module beside it."""

from collections.abc import Iterable

from app.model.report import (
    Collective,
    Dump,
    Induction,
    Loop,
    LoopEvent,
    LoopEventKind,
    Module,
    Source,
    Window,
)

MODULE = "module_0000.jit_train"
PROGRAM = "/home/me/job/prog1.py"

# pipeline, pass, next pass, instructions, computations, bytes: a compile on jaxlib 0.4.30 that
# ended in the collective pipeliner. Some passes that changed little are left out.
_PASSES = """
- - - 1667 97 335027
pre-spmd-partitioner pipeline-start convert-memory-placement 1667 97 335027
pre-spmd-partitioner CallInliner zero_sized_hlo_elimination 1408 60 277796
spmd-partitioner pipeline-start spmd-simplify 1408 60 277796
spmd-simplify pipeline-start algsimp 1408 60 277796
spmd-simplify algsimp simplify-sorts 1262 60 255708
spmd-simplify simplify-while-loops reshape-mover 1267 46 253619
spmd-simplify reshape-mover algsimp 1366 46 273303
spmd-simplify algsimp constant_folding 1169 46 234330
spmd-simplify dce pipeline-end 1108 46 227414
spmd-simplify while-loop-constant-sinking simplify-while-loops 1086 46 222120
spmd-simplify simplify-while-loops reshape-mover 1206 46 237032
spmd-simplify algsimp constant_folding 1088 46 221982
spmd-simplify simplify-while-loops reshape-mover 1132 46 227070
spmd-simplify simplify-while-loops reshape-mover 1137 46 227083
spmd-partitioner sharding-propagation spmd-partitioning 1180 46 257824
spmd-cleanup pipeline-start dce 1578 69 359840
spmd-cleanup dce tuple-simplifier 1384 59 323558
spmd-cleanup cse flatten-call-graph 1012 59 256981
optimization dot_decomposer operand_upcaster 1177 59 269442
optimization dynamic_padder simplification 1133 54 258220
simplification algsimp bitcast_dtypes_expander 1059 54 234770
simplification simplify-while-loops slice-sinker 1087 53 238729
simplification cse dce 1056 53 230401
simplification simplify-while-loops slice-sinker 1057 53 231515
simplification algsimp bitcast_dtypes_expander 1011 53 223569
optimization computation-deduplicator pipeline-end 919 23 207315
collective-optimizations reduce-scatter-creator all-gather-optimizer 908 23 202243
"""


def crash_dumps() -> tuple[Dump, ...]:
    dumps: list[Dump] = []
    for index, row in enumerate(_PASSES.strip().splitlines()):
        pipeline, after, before, instructions, computations, size = row.split()
        first = after == "-"
        point = (
            "before_optimizations"
            if first
            else f"{index - 1:04d}.{pipeline}.after_{after}.before_{before}"
        )
        counts = {"while": 3}
        if index >= 16:
            counts |= {"all-gather": 21, "all-reduce": 12}
        if after == "reduce-scatter-creator":
            counts |= {"all-reduce": 1, "reduce-scatter": 11}
        dumps.append(
            Dump(
                index=index,
                file=f"dump_crash/{MODULE}.{point}.txt",
                bytes=int(size),
                pipeline=None if first else pipeline,
                after=None if first else after,
                before=None if first else before,
                instructions=int(instructions),
                computations=int(computations),
                changed=int(computations) if first else (0 if after == "pipeline-start" else 4),
                counts=counts,
            )
        )
    return tuple(dumps)


def crash_loops() -> tuple[Loop, ...]:
    return (
        loop(
            "loop-0",
            ("while.1688", "while.4", "while.9", "while.14", "while.17"),
            line=55,
            construct="fori_loop",
            trips=4,
            collectives={"all-gather": 5, "reduce-scatter": 3, "all-reduce": 1},
            events=(
                (0, "created", ""),
                (6, "carry_changed", "27 to 26 elements: element 14 was never read"),
                (6, "renamed", "while.1688 to while.4"),
                (11, "simplified", "two counters merged: element 1 is now an invariant 0"),
                (14, "carry_changed", "26 to 25 elements"),
                (14, "renamed", "while.9 to while.14"),
                (16, "renamed", "while.14 to while.17"),
            ),
        ),
        loop(
            "loop-1",
            ("while.1451", "while.0", "while.2", "while.11", "while.15", "while.19"),
            line=39,
            parent="loop-0",
            construct="scan",
            trips=8,
            collectives={"all-gather": 8},
            events=(
                (0, "created", ""),
                (2, "moved", "call None.1364 inlined into region_0.1599"),
                (6, "renamed", "while.0 to while.2"),
                (10, "simplified", "elements 11 and 16 are now literals in the body"),
                (13, "carry_changed", "19 to 17 elements"),
                (16, "renamed", "while.13 to while.15"),
                (24, "carry_changed", "16 to 15 elements: f32[2,512,1]"),
            ),
        ),
        loop(
            "loop-2",
            ("while.1552", "while.1", "while.3", "while.16"),
            line=39,
            parent="loop-0",
            construct="scan",
            trips=8,
            collectives={"all-gather": 8, "reduce-scatter": 8},
            events=(
                (0, "created", ""),
                (2, "moved", "call None.1364 inlined into region_0.1599"),
                (16, "renamed", "while.12 to while.16"),
            ),
        ),
    )


def loop(
    loop_id: str,
    names: tuple[str, ...],
    *,
    line: int | None,
    trips: int | None = None,
    parent: str | None = None,
    construct: str | None = None,
    collectives: dict[str, int] | None = None,
    events: Iterable[tuple[int, LoopEventKind, str]] = (),
    dumps: tuple[Dump, ...] | None = None,
) -> Loop:
    dumps = crash_dumps() if dumps is None else dumps
    return Loop(
        id=loop_id,
        module=MODULE,
        parent=parent,
        name=names[-1],
        names=names,
        source=None if line is None else Source(file=PROGRAM, line=line),
        op_name="jit(train)/jit(main)/while[cond_nconsts=0 body_nconsts=1]",
        construct=construct,
        trip_count=trips,
        trip_count_how=None if trips is None else "condition",
        induction=Induction(index=0, init=0, step=1, bound=trips),
        first_dump=0,
        last_dump=len(dumps) - 1,
        collectives=collectives or {},
        events=tuple(
            LoopEvent(dump=at, pass_=dumps[at].after, kind=kind, detail=detail)
            for at, kind, detail in events
        ),
    )


def crash_collectives() -> tuple[Collective, ...]:
    last = len(crash_dumps()) - 1
    return (
        Collective(
            module=MODULE,
            dump=last,
            computation="region_0.1599_spmd",
            instruction="all-gather.20",
            opcode="all-gather",
            bytes=14_680_064,
            replica_groups="{{0,1,2,3,4,5,6,7}}",
            channel_id=47,
            loop="loop-0",
            source=Source(file=PROGRAM, line=38),
            axes=("fsdp",),
            axes_from="mesh",
            executions=44,
            total_bytes=44 * 14_680_064,
        ),
        Collective(
            module=MODULE,
            dump=last,
            computation="region_1.334_spmd",
            instruction="all-gather.29",
            opcode="all-gather",
            bytes=3_584,
            replica_groups="{{0,1,2,3,4,5,6,7}}",
            channel_id=8,
            loop="loop-1",
            source=Source(file=PROGRAM, line=25),
            axes=("axis_0", "axis_1"),
            axes_from="shardings",
            source_how="operand",
            executions=2,
            conditional=True,
            total_bytes=7_168,
        ),
        Collective(
            module=MODULE,
            dump=last,
            computation="region_27.1214_spmd",
            instruction="reduce-scatter.4",
            opcode="reduce-scatter",
            bytes=29_360_128,
            replica_groups="[1,8]<=[8]",
            loop="loop-2",
            is_async=True,
            window=Window(
                start="reduce-scatter-start",
                done="reduce-scatter-done",
                instructions=14,
                flops=8_589_934_592,
            ),
        ),
        Collective(
            module=MODULE,
            dump=last,
            computation="main.1900_spmd",
            instruction="all-reduce.7",
            opcode="all-reduce",
            bytes=8,
            is_async=True,
            window=Window(start="all-reduce-start", done="all-reduce-done", instructions=0),
        ),
    )


def small_module(number: int, name: str) -> Module:
    module_id = f"module_{number:04d}.{name}"
    points = ("before_optimizations", "cpu_after_optimizations")
    return Module(
        id=module_id,
        name=name,
        role="helper",
        complete=True,
        dumps=tuple(
            Dump(
                index=index,
                file=f"dump_crash/{module_id}.{point}.txt",
                bytes=900,
                instructions=9,
                computations=1,
                changed=1,
            )
            for index, point in enumerate(points)
        ),
    )
