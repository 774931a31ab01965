"""Reports made by hand for the tests of rendering: test data, true to no run in every detail."""

from collections.abc import Iterable

import msgspec

from app.model.device import DeviceFigure, FigureName, Standing, TargetDevice
from app.model.mesh import Mesh, MeshAxis
from app.model.report import (
    Collective,
    Coverage,
    Culprit,
    Dump,
    Environment,
    Evidence,
    Failure,
    Finding,
    Frame,
    Induction,
    Input,
    Loop,
    LoopEvent,
    LoopEventKind,
    Module,
    Releases,
    Report,
    RuledOut,
    Skipped,
    Source,
    Tool,
    UnparsedLine,
    Upstream,
    Window,
    Workaround,
)
from app.model.source import SourceCoverage

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


def crash_report() -> Report:
    """The crash in the collective pipeliner, with everything a report can hold."""
    return Report(
        tool=Tool(name="hloscope", version="0.1.0"),
        input=Input(name="dump_crash.tar.gz", bytes=2_310_144, sha256="ab" * 32),
        environment=Environment(
            backend="gpu",
            jaxlib=Releases(
                releases=("0.4.29", "0.4.30"),
                how="line 675 of collective_pipeliner.cc holds this check in these releases only",
            ),
            num_partitions=8,
            replica_count=1,
            flags={
                "xla_gpu_enable_pipelined_all_gather": "true",
                "xla_gpu_enable_pipelined_reduce_scatter": "true",
                "xla_gpu_enable_while_loop_double_buffering": "true",
                "xla_gpu_graph_level": "0",
            },
            flags_from=("command line",),
            device=TargetDevice(
                name="NVIDIA H100",
                standing="stated",
                origin="gpu_target_config.pbtxt",
                figures=(
                    _figure("cores", 132, "stated"),
                    _figure("clock_hz", 1.98e9, "stated"),
                    _figure("memory_bytes", 80 << 30, "stated"),
                    _figure("memory_bandwidth", 3.35e12, "stated"),
                    _figure("peak_flops", 989e12, "inferred"),
                    _figure("link_bandwidth", 450e9, "inferred"),
                ),
            ),
        ),
        modules=(
            Module(
                id=MODULE,
                name="jit_train",
                dumps=crash_dumps(),
                sources=(
                    SourceCoverage(dump=0, instructions=1_667, stated=1_000, inferred={}, none=667),
                    SourceCoverage(
                        dump=len(crash_dumps()) - 1,
                        instructions=908,
                        stated=545,
                        inferred={"operand": 300, "users": 27},
                        none=36,
                        none_opcodes={"parameter": 36},
                    ),
                ),
            ),
            small_module(1, "jit__threefry_split"),
            small_module(2, "jit_convert_element_type"),
        ),
        loops=crash_loops(),
        collectives=crash_collectives(),
        meshes=(
            Mesh(
                module=MODULE,
                name="mesh",
                axes=(MeshAxis(name="fsdp", size=8),),
                standing="stated",
                dump=0,
            ),
        ),
        failure=Failure(
            text="2024-07-01 12:57:35.488299: F external/xla/xla/service/collective_pipeliner.cc:"
            "675] Check failed: last_cloned != nullptr (0 vs. nullptr)",
            signature="check:collective_pipeliner.cc:last_cloned != nullptr",
            kind="check",
            file="collective_pipeliner.cc",
            line=675,
            condition="last_cloned != nullptr",
            pass_="collective-pipeliner-backward",
            pipeline="collective-optimizations",
            module=MODULE,
            last_dump=crash_dumps()[-1].file,
            confidence="certain",
            how="only CloneBackwardChain of the backward direction holds this check",
        ),
        findings=(pipeliner_finding(), overlap_finding()),
        coverage=Coverage(
            files=32,
            bytes=16_500_000,
            hlo_files=30,
            lines=71_240,
            unparsed_lines=2,
            unparsed=(
                UnparsedLine(
                    file=crash_dumps()[3].file,
                    line=217,
                    column=14,
                    text="  ROOT custom.4 = f8e3m4fnuz[4]{0} frobnicate(p.1), mood=happy",
                    reason="unknown type",
                ),
            ),
            skipped=(
                Skipped(name="../../etc/passwd", code="bad_path", reason="leaves the folder"),
                Skipped(
                    name="core.17754", code="not_yet_read", reason="no file of XLA", bytes=1 << 31
                ),
            ),
            skipped_count=2,
            remarks=("the log names no jaxlib release",),
            kinds={"hlo": 30, "other": 2},
        ),
    )


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


def _figure(name: FigureName, value: float, standing: Standing) -> DeviceFigure:
    return DeviceFigure(name=name, value=value, standing=standing, origin="a file")


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


def pipeliner_finding() -> Finding:
    last = len(crash_dumps()) - 1
    outer = Source(
        file=PROGRAM,
        line=55,
        function="train",
        frames=(
            Frame(file=PROGRAM, line=55, function="train"),
            Frame(file=PROGRAM, line=63, function="<module>"),
        ),
    )
    last_file = crash_dumps()[-1].file
    return Finding(
        rule="PIP001",
        class_="collective-pipeliner",
        severity="error",
        confidence="likely",
        title="The backward pipeliner met an all-gather whose whole chain was already cloned",
        message="XLA hoists all-gathers out of a loop by cloning the chain of operands that leads "
        "to them. In the loop while.17 the chain of all-gather.20 runs through the layer scan "
        "while.19, whose own all-gathers had been placed in front of it by the same pass; the "
        "chain took them along, and when the turn of one of them came nothing was left to clone.",
        fingerprint="9f3c1d",
        culprits=(
            Culprit(
                module=MODULE,
                dump=last,
                computation="main.1900_spmd",
                instruction="while.17",
                opcode="while",
                op_name="jit(train)/jit(main)/while[cond_nconsts=0 body_nconsts=1]",
                loop="loop-0",
                source=outer,
                role="loop at fault",
            ),
            Culprit(
                module=MODULE,
                dump=last,
                computation="region_0.1599_spmd",
                instruction="all-gather.20",
                opcode="all-gather",
                op_name="jit(train)/jit(main)/while/body/scatter-add[update_consts=()]",
                loop="loop-0",
                source=Source(file=PROGRAM, line=38),
                role="container",
            ),
            Culprit(
                module=MODULE,
                dump=last,
                computation="region_1.334_spmd",
                instruction="all-gather.29",
                opcode="all-gather",
                loop="loop-1",
                source=Source(file=PROGRAM, line=25),
                stated=False,
                source_how="users",
                role="original of the clone that died",
            ),
        ),
        evidence=(
            Evidence(
                file="run.log",
                line=3,
                text="F external/xla/xla/service/collective_pipeliner.cc:675] Check failed: "
                "last_cloned != nullptr (0 vs. nullptr)",
            ),
            Evidence(
                file=last_file,
                line=841,
                text="  all-gather.20 = bf16[16,512,1024]{2,1,0} all-gather(get-tuple-element.707),"
                " channel_id=47, replica_groups={{0,1,2,3,4,5,6,7}}, dimensions={0}",
            ),
            Evidence(file=last_file, text="no text of a later pass was written"),
        ),
        flags=("xla_gpu_enable_pipelined_all_gather",),
        workarounds=(
            Workaround(
                text="Do not pipeline all-gathers",
                flags=("--xla_gpu_enable_pipelined_all_gather=false",),
                releases="0.4.14 and later",
                verified=True,
            ),
            Workaround(
                text="Leave out the backward pass alone",
                flags=("--xla_disable_hlo_passes=collective-pipeliner-backward",),
                releases="0.4.29 and later",
            ),
            Workaround(text="Unroll the accumulation loop (fori_loop, unroll=True)"),
        ),
        ruled_out=(
            RuledOut(
                hypothesis="Double buffering of while loops",
                why="it runs after the pass that died, and no loop has been doubled yet",
                evidence=(Evidence(file=last_file, text="three whiles, none doubled"),),
            ),
        ),
        unknown=("which clone's turn it was: the clones stand in no dump",),
        upstream=(
            Upstream(ref="openxla/xla#14332", fixed_in="0.4.31", affects="0.4.29 to 0.4.30"),
        ),
    )


def overlap_finding() -> Finding:
    return Finding(
        rule="OVL001",
        class_="overlap",
        severity="warning",
        confidence="likely",
        title="1 asynchronous all-reduce hides behind nothing",
        message="all-reduce.7 starts and ends with no instruction between.",
        fingerprint="11aa",
        culprits=(
            Culprit(
                module=MODULE,
                dump=27,
                computation="main.1900_spmd",
                instruction="all-reduce.7",
                opcode="all-reduce",
                role="collective",
            ),
        ),
        evidence=(Evidence(file=crash_dumps()[-1].file, line=12, text="all-reduce-start = ..."),),
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


def healthy_report() -> Report:
    """A compile that ended well, with nothing found."""
    crash = crash_report()
    whole = msgspec.structs.replace(crash.modules[0], complete=True)
    return msgspec.structs.replace(
        crash,
        modules=(whole, *crash.modules[1:]),
        failure=None,
        findings=(),
        coverage=Coverage(files=30, bytes=16_000_000, hlo_files=30, lines=70_000),
    )


def log_only_report() -> Report:
    """A crash log without a dump: no module, no culprit."""
    crash = crash_report()
    finding = msgspec.structs.replace(
        pipeliner_finding(),
        culprits=(),
        confidence="possible",
        evidence=crash.findings[0].evidence[:1],
    )
    return Report(
        tool=crash.tool,
        input=Input(name="run.log", bytes=412),
        environment=Environment(jaxlib=crash.environment.jaxlib),
        failure=msgspec.structs.replace(crash.failure, module=None, last_dump=None)
        if crash.failure
        else None,
        findings=(finding,),
        coverage=Coverage(files=1, bytes=412, kinds={"log": 1}),
    )


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "{{7*7}}",
    "${x}",
    "javascript:alert(3)",
    "</script><b>",
    "`tick` | [a](b) @team #12",
    "\x1b[31mred\x07\x00",
    "right\u202eto left\u2028line",
)


def hostile_report() -> Report:
    """The crash with hostile text in every place that a dump or log can reach."""
    text = " ".join(HOSTILE)
    data = msgspec.to_builtins(crash_report())
    kept = {
        "schema_version",
        "severity",
        "confidence",
        "kind",
        "rule",
        "id",
        "module",
        "loop",
        "parent",
        "trip_count_how",
        "axes_from",
        "source_how",
        "standing",
    }

    def spoil(value: object, key: str) -> object:
        if isinstance(value, dict):
            items: dict[str, object] = value
            if key == "inferred":
                return items
            if key == "figures":
                return {**{n: spoil(i, n) for n, i in items.items()}, "name": items["name"]}
            if key in ("flags", "counts", "collectives", "kinds"):
                return {f"{name}{text}": spoil(item, "value") for name, item in items.items()}
            return {name: spoil(item, name) for name, item in items.items()}
        if isinstance(value, list | tuple):
            inner = key if key == "figures" else ""
            return [spoil(item, key if isinstance(item, str) else inner) for item in value]
        # `role` is a fixed word in a module and free text in a culprit.
        fixed = key in kept or (key == "role" and value in ("user", "helper", "autotuning"))
        return f"{value}{text}" if isinstance(value, str) and not fixed else value

    return msgspec.convert(spoil(data, ""), Report)


def huge_report(rows: int = 10_000) -> Report:
    """The crash with `rows` loops, collectives, findings, dumps of one module and skipped files."""
    crash = crash_report()
    dump = crash.modules[0].dumps[1]
    module = msgspec.structs.replace(
        crash.modules[0],
        dumps=tuple(msgspec.structs.replace(dump, index=index) for index in range(rows)),
    )
    loops = tuple(
        msgspec.structs.replace(crash.loops[1], id=f"loop-{number}", name=f"while.{number}")
        for number in range(rows)
    )
    return msgspec.structs.replace(
        crash,
        modules=(module, *(small_module(number, f"jit_f{number}") for number in range(1, rows))),
        loops=loops,
        collectives=tuple(
            msgspec.structs.replace(crash.collectives[0], instruction=f"all-gather.{number}")
            for number in range(rows)
        ),
        findings=tuple(
            msgspec.structs.replace(overlap_finding(), fingerprint=str(number))
            for number in range(rows)
        ),
        coverage=msgspec.structs.replace(
            crash.coverage,
            skipped=tuple(
                Skipped(name=f"core.{number}", code="other", reason="no file of XLA")
                for number in range(rows)
            ),
            skipped_count=rows,
            unparsed=crash.coverage.unparsed * rows,
            unparsed_lines=rows,
        ),
    )
