"""A small report for the tests of views."""

from app.model.report import (
    Coverage,
    Culprit,
    Dump,
    Environment,
    Failure,
    Finding,
    Input,
    Loop,
    LoopEvent,
    Module,
    Releases,
    Report,
    Source,
    Tool,
)

LINE = Source(file="/job/train.py", line=40)


def loop(name: str, *events: LoopEvent, last: int = 9, parent: str | None = None) -> Loop:
    return Loop(
        id=name,
        module="m.user",
        name=f"while.{name}",
        parent=parent,
        first_dump=0,
        last_dump=last,
        events=events,
        source=LINE,
    )


REPORT = Report(
    tool=Tool(name="hloscope", version="0"),
    input=Input(name="dump.tar.gz", bytes=1234),
    environment=Environment(
        backend="GPU", jaxlib=Releases(releases=("0.4.30", "0.4.31", "0.4.33")), num_partitions=8
    ),
    modules=(
        Module(
            id="m.user",
            name="jit_step",
            dumps=tuple(
                Dump(index=n, file=f"m.{n}.txt", bytes=1, pipeline="p", after=f"pass{n}")
                for n in range(10)
            ),
        ),
        Module(id="m.other", name="jit_other"),
    ),
    loops=(
        loop(
            "L1",
            LoopEvent(dump=0, kind="created"),
            LoopEvent(dump=4, pass_="unroll", kind="double_buffered"),
            LoopEvent(dump=4, pass_="unroll", kind="peeled"),
            LoopEvent(dump=5, kind="renamed"),
        ),
        loop("L2", LoopEvent(dump=7, kind="removed"), last=6, parent="L1"),
        loop("L3", parent="gone"),
    ),
    failure=Failure(text="Check failed: x", signature="s", kind="check", pass_="pipeliner"),
    findings=(
        Finding(
            rule="PIP001",
            class_="c",
            severity="error",
            confidence="likely",
            title="a title",
            message="m",
            culprits=(Culprit(instruction="all-gather.3", source=LINE),),
        ),
        Finding(
            rule="X1", class_="c", severity="note", confidence="ruled_out", title="t", message="m"
        ),
        Finding(
            rule="X2", class_="c", severity="note", confidence="certain", title="t", message="m"
        ),
    ),
    coverage=Coverage(unparsed_lines=2, skipped_count=3),
)
