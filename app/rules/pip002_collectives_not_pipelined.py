"""The pipelining of collectives across iterations fails on a loop.

## What it finds
A compile that dies in the collective pipeliner or in the rewriting of pipelined transfers between
peers (send and recv), other than by the check that PIP001 explains.

## Why it matters
The passes are switched on by flags for speed; the failed check names neither loop nor collective.

## How we know
The C++ file of the check belongs to these passes. The loops that hold collectives in their body are
read from the newest text of the module; they are suspects, since the check does not say which it
was. For the rewriting of transfers the text tells more: the pass goes through the scheduled module
and dies at the first instruction that calls a computation in which no collective is, such as a
`cond` or a sort. Where the newest text holds one, it is named, and the loop around it first.

## What to do
Switch the pipelining off that the flags switched on, one kind at a time; unroll the loop; or take a
newer release: the rewriting of peer transfers of 2024 compiles the program on which this was seen
from 0.6.2 on.

## Limits
Which of the loops the pass was working on is not printed.

## Sources
xla/service/collective_pipeliner.cc, xla/service/gpu/transforms/pipelined_p2p_rewriter.cc.
"""

from collections.abc import Iterable

from app.analysis.opcodes import collective_opcode
from app.model.facts import Diagnosis, Facts
from app.model.report import Finding
from app.rules.cited import Named, loop_suspects
from app.rules.frame import Rule
from app.rules.pipelined_transfers import loops_with_transfers, run_by, why_there
from app.rules.telling import Story, Try, diagnosis_of, tell

# PIP001 explains this one.
_CLONED_TWICE = "last_cloned != nullptr"


def check(facts: Facts) -> Iterable[Finding]:
    """One finding where the log speaks of the class, else none."""
    diagnosis = diagnosis_of(facts, RULE.class_)
    if diagnosis is None or (diagnosis.failure and diagnosis.failure.condition == _CLONED_TWICE):
        return ()
    return tell(facts, RULE.code, RULE.class_, STORIES)


def _loops(facts: Facts, _: Diagnosis) -> tuple[Named, ...]:
    return loop_suspects(facts, lambda body: any(map(collective_opcode, run_by(facts, body))))


STORIES = {
    "p2p-rewriter": Story(
        title="Transfers between peers could not be pipelined in a loop",
        what=(
            "A pass that splits the transfers of a loop over two iterations met computations it "
            "had not looked at."
        ),
        tries=(
            Try(
                "Do not pipeline transfers between peers.",
                "--xla_gpu_enable_pipelined_p2p=false",
                takes_back=True,
            ),
            Try("Move to jaxlib 0.6.2 or newer, where the pass is another one."),
            Try(
                "Unroll the loop around the ppermute, or take the conditional or the sort out of "
                "it (jnp.where instead of lax.cond)."
            ),
        ),
        flags=("xla_gpu_enable_pipelined_p2p", "xla_gpu_collective_permute_decomposer_threshold"),
        unknown=("which of the loops the pass was working on",),
        suspects=lambda facts, _: loops_with_transfers(facts),
        adds=why_there,
    ),
    "": Story(
        title="Collectives of a loop could not be pipelined",
        what="A pass that moves collectives to another iteration met a loop it could not handle.",
        tries=(
            Try(
                "Do not pipeline all-gathers.",
                "--xla_gpu_enable_pipelined_all_gather=false",
                takes_back=True,
            ),
            Try(
                "Do not pipeline reduce-scatters.",
                "--xla_gpu_enable_pipelined_reduce_scatter=false",
                takes_back=True,
            ),
            Try(
                "Do not pipeline all-reduces.",
                "--xla_gpu_enable_pipelined_all_reduce=false",
                takes_back=True,
            ),
            Try("Unroll the loop; it costs memory and compile time."),
        ),
        refs=("openxla/xla#14332", "openxla/xla#16953"),
        flags=(
            "xla_gpu_enable_pipelined_all_gather",
            "xla_gpu_enable_pipelined_reduce_scatter",
            "xla_gpu_enable_pipelined_all_reduce",
            "xla_gpu_enable_pipelined_collectives",
        ),
        unknown=("which of the loops the pass was working on",),
        suspects=_loops,
    ),
}

RULE = Rule(
    code="PIP002",
    slug="collectives-not-pipelined",
    title="The pipelining of collectives fails on a loop",
    class_="collective-pipeliner",
    since="0.1.0",
    sources=(
        "xla/service/collective_pipeliner.cc",
        "xla/service/gpu/transforms/pipelined_p2p_rewriter.cc",
    ),
    check=check,
)
