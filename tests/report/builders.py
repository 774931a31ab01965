"""Reports made by hand for the tests of rendering: test data, true to no run in every detail."""

import msgspec

from app.model.device import DeviceFigure, FigureName, Standing, TargetDevice
from app.model.mesh import Mesh, MeshAxis
from app.model.report import (
    Coverage,
    Environment,
    Failure,
    Input,
    Module,
    Releases,
    Report,
    Skipped,
    Tool,
    UnparsedLine,
)
from app.model.source import SourceCoverage
from report.crash_findings import overlap_finding, pipeliner_finding
from report.crash_program import (
    MODULE,
    PROGRAM,
    crash_collectives,
    crash_dumps,
    crash_loops,
    loop,
    small_module,
)

__all__ = [
    "HOSTILE",
    "MODULE",
    "PROGRAM",
    "crash_dumps",
    "crash_report",
    "healthy_report",
    "hostile_report",
    "huge_report",
    "log_only_report",
    "loop",
    "small_module",
]


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


def _figure(name: FigureName, value: float, standing: Standing) -> DeviceFigure:
    return DeviceFigure(name=name, value=value, standing=standing, origin="a file")


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
