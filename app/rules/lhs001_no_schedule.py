"""The scheduler that hides latencies dies.

## What it finds
Deaths in the latency-hiding scheduler and what prepares it: limits of overlap that contradict each
other, look-ups of something that is not there, failed checks.

## Why it matters
The messages name no instruction, and often no file.

## How we know
From the message, the file, the frames, or the last pass in the log. Work on the host (computations
of another thread) is known to have led the scheduler astray, and so are pipelined transfers between
peers; such instructions are the suspects.

## What to do
Switch the scheduler off, or the flag that allows collectives to overlap.

## Limits
A schedule that needs too much memory, or lets a program hang, leaves other messages.

## Sources
xla/service/latency_hiding_scheduler.cc, xla/service/gpu/gpu_hlo_schedule.cc; openxla/xla#9065,
openxla/xla#35568, openxla/xla#19026, openxla/xla#40656.
"""

from app.analysis.suspects import on_another_thread, with_opcode
from app.model.facts import Diagnosis, Facts
from app.rules.cited import Named, suspecting, suspects
from app.rules.telling import Story, Try, class_rule

_WHOLE = Try(
    "Do not pipeline transfers between peers.",
    "--xla_gpu_enable_pipelined_p2p=false",
    takes_back=True,
)
_OFF = Try("Schedule without hiding latencies.", "--xla_gpu_enable_latency_hiding_scheduler=false")


_on_the_host = suspecting(on_another_thread, role="runs on the host")


def _suspected(facts: Facts, diagnosis: Diagnosis) -> tuple[Named, ...]:
    """Work on the host; where there is none, transfers between peers that a pass pipelined."""
    found = _on_the_host(facts, diagnosis)
    if found or facts.environment.flags.get("xla_gpu_enable_pipelined_p2p") != "true":
        return found
    role = "a transfer between peers, which were pipelined"
    split = suspects(facts, lambda module: with_opcode(module, ("send", "recv")), role=role)
    # A text from before the passes holds them whole.
    return split or suspects(facts, lambda m: with_opcode(m, ("collective-permute",)), role=role)


STORIES = {
    "overlap-limit": Story(
        title="Two limits of overlapping collectives contradict each other",
        what="The limit of one kind of collective must not be above that of all kinds together.",
        tries=(
            Try(
                "Let only one collective be in flight at a time.",
                "--xla_gpu_experimental_parallel_collective_overlap_limit=1",
            ),
            _OFF,
        ),
        refs=("openxla/xla#19026",),
        flags=("xla_gpu_experimental_parallel_collective_overlap_limit",),
    ),
    "out-of-range": Story(
        title="Something was looked up that is not there, perhaps by the scheduler",
        what="The scheduler has died so on programs with computations of the host.",
        tries=(_OFF, _WHOLE),
        refs=("openxla/xla#9065", "openxla/xla#35568", "openxla/xla#40656"),
        flags=("xla_gpu_enable_latency_hiding_scheduler", "xla_gpu_enable_pipelined_p2p"),
        unknown=("whether it was the scheduler: the message does not say so",),
        suspects=_suspected,
    ),
    "annotations": Story(
        title="Instructions that were marked to run together cannot be",
        what="Between instructions of one scheduling group lie others that depend on them.",
        tries=(
            Try("Give each call of the annotated function a group of its own (set_xla_metadata)."),
        ),
        refs=("openxla/xla#25747",),
    ),
    "profile": Story(
        title="The profile given to the scheduler is of another program",
        what="Instructions of the module are missing from it, so their times are not known.",
        tries=(Try("Record the profile anew with the program, flags and release of this run."),),
        unknown=("whether the profile is old, or of another rank or module",),
    ),
    "": Story(
        title="The scheduler died",
        what="The order in which the program runs could not be made.",
        tries=(_OFF, _WHOLE),
        refs=("openxla/xla#9065", "openxla/xla#35568", "openxla/xla#40656"),
        flags=(
            "xla_gpu_enable_latency_hiding_scheduler",
            "xla_gpu_enable_pipelined_p2p",
            "xla_gpu_experimental_parallel_collective_overlap_limit",
        ),
        unknown=("which instruction the scheduler was placing",),
        suspects=_suspected,
    ),
}

RULE = class_rule(
    code="LHS001",
    slug="no-schedule",
    title="The scheduler dies",
    class_="lhs-scheduler",
    sources=(
        "xla/service/latency_hiding_scheduler.cc",
        "xla/service/gpu/gpu_hlo_schedule.cc",
        "openxla/xla#9065",
        "openxla/xla#35568",
    ),
    stories=STORIES,
)
