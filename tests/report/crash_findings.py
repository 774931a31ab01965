"""What was found in a crash made by hand: the fault itself, and a transfer that hides nowhere."""

from app.model.report import (
    Culprit,
    Evidence,
    Finding,
    Frame,
    RuledOut,
    Source,
    Upstream,
    Workaround,
)
from report.crash_program import MODULE, PROGRAM, crash_dumps


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
