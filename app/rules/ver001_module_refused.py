"""The verifier, or a check that every pass shares, refuses an instruction.

## What it finds
A compile that ends with a message of the HLO verifier, with a circle of dependences, with an
operation that the back end has no code for, or with a failed check in code that all passes share
(instructions, computations, shapes).

## Why it matters
The message is about the module as a pass left it. The line of the user's program, and the pass
that is to blame, stand elsewhere.

## How we know
`Failed after X` names the pass; `pipeline-start` means that the module came in broken. Without that
line the newest text bounds it. The instruction that the message names is found in the newest text,
in older ones, or by the operation of the program that it was made for.

## What to do
Run without the pass that is named, without passes that the run itself switched off, or on a
neighbouring release; send the report upstream. A module that was broken from the start was mostly
edited or converted by hand: repair the instruction named.

## Limits
A pass that breaks a module late may have been led astray by an earlier one.

## Sources
xla/service/hlo_verifier.cc; xla/hlo/pass/hlo_pass_pipeline.cc (Failed after); openxla/xla#39830,
openxla/xla#47392.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from app.analysis.broken import has_circle
from app.model.dump import PythonFrame
from app.model.facts import Facts
from app.model.report import Finding
from app.rules.cited import Named
from app.rules.citing import line_culprit
from app.rules.first_text import first_with, in_words
from app.rules.frame import Rule
from app.rules.naming import named_instructions
from app.rules.telling import Story, Try, diagnosis_of, tell

_MOST_READ = 4000
_WHO_CLOSED = "which pass closed the circle: no text that was read shows it"
_WHO_BROKE = "which pass broke the module: no `Failed after` line says it"
# mlir/lib/IR/Location.cpp and AsmPrinter.cpp: `callsite("f"("train.py":43:8 to :70) at ...)`.
_PLACE = re.compile(
    r'(?:"(?P<function>[^"\n]{0,200})"\()?"(?P<file>[^"\n]{1,400}\.py)":(?P<line>\d{1,9}):\d'
)


def check(facts: Facts) -> Iterable[Finding]:
    """One finding where the log speaks of the class, else none."""
    diagnosis = diagnosis_of(facts, RULE.class_)
    failure = diagnosis.failure if diagnosis else None
    if failure is not None and failure.failed_after == "pipeline-start":
        return tell(facts, RULE.code, RULE.class_, {"": _BROKEN_INPUT})
    known = {_WHO_CLOSED} if _holds_a_circle(facts) else set[str]()
    if failure is not None and failure.failed_after:
        known.add(_WHO_BROKE)
    return tell(
        facts,
        RULE.code,
        RULE.class_,
        {
            sign: replace(story, unknown=tuple(u for u in story.unknown if u not in known))
            for sign, story in STORIES.items()
        },
    )


def _holds_a_circle(facts: Facts) -> bool:
    history = facts.failing
    return history is not None and has_circle(history.last.module)


def _where_from(facts: Facts, _: tuple[Named, ...]) -> tuple[str, ...]:
    """Which text first holds a circle, where the newest one does."""
    history = facts.failing
    if history is None or not _holds_a_circle(facts):
        return ()
    return (f"As for the circle: {in_words(history, first_with(history, has_circle))}",)


def _line_of_mlir(facts: Facts, texts: Sequence[str]) -> tuple[Named, ...]:
    """The innermost line of the program that a place of MLIR names, where no instruction is."""
    named = named_instructions(facts, texts)
    found = None if named or not texts else _PLACE.search(texts[0][:_MOST_READ])
    if found is None:
        return named
    frame = PythonFrame(found["file"], int(found["line"]), found["function"] or "", 0)
    return (Named(line_culprit(frame, role="line named by the message")),)


_BROKEN_INPUT = Story(
    title="The module was broken when a pipeline began",
    what="XLA refused the module before the first pass of that pipeline: it was given so, or an "
    "earlier pass broke it unseen.",
    tries=(
        Try("Repair the instruction that the message names; its line is given where known."),
        Try("If no one edited or converted the module, update jax and jaxlib together."),
    ),
    refs=("openxla/xla#39830",),
    unknown=("who made the module: jax itself, a plugin, a conversion or an edit",),
)

STORIES = {
    "cycle": Story(
        title="Instructions depend on each other in a circle",
        what="No order of these instructions satisfies both their operands and the added edges.",
        tries=(
            Try(
                "Do not pipeline transfers between peers.",
                "--xla_gpu_enable_pipelined_p2p=false",
                takes_back=True,
            ),
            Try(
                "Leave collective permutes whole.",
                "--xla_gpu_collective_permute_decomposer_threshold=9223372036854775807",
                takes_back=True,
            ),
            Try(
                "Schedule without hiding latencies.",
                "--xla_gpu_enable_latency_hiding_scheduler=false",
            ),
        ),
        flags=(
            "xla_gpu_enable_pipelined_p2p",
            "xla_gpu_collective_permute_decomposer_threshold",
            "xla_gpu_enable_latency_hiding_scheduler",
        ),
        unknown=(_WHO_CLOSED,),
        adds=_where_from,
    ),
    "mixed-precision": Story(
        title="An instruction mixes types of different precisions",
        what="Some instructions take operands of one precision only, and were given two.",
        tries=(Try("Cast the operands to one dtype at the line where they are made."),),
        unknown=("who mixed them: the program, or a pass that changed the type of one",),
    ),
    "not-flattened": Story(
        title="A computation is still called from several places",
        what="Later passes count on one caller for each, and the pass that makes copies of shared "
        "ones did not run or left one out.",
        tries=(
            Try("Take flatten-call-graph and call-inliner out of --xla_disable_hlo_passes."),
            Try("Try a neighbouring release of jaxlib, and send this report to openxla/xla."),
        ),
        unknown=("which of the computations it is, where the message names none",),
    ),
    "no-code": Story(
        title="The back end has no code for an operation",
        what="The passes were over and left an operation that one of them should have replaced.",
        tries=(
            Try("Write the operation in another way, or on another type, at the line named."),
            Try("Try a neighbouring release of jaxlib, and send this report to openxla/xla."),
        ),
        unknown=("which pass should have replaced it",),
    ),
    "dialect": Story(
        title="The program is refused in the form in which JAX hands it to XLA",
        what="An operation breaks a rule of StableHLO, before XLA compiled anything.",
        tries=(
            Try("Look at the operation that the message names, at the line where it is made."),
            Try("If no one edited or converted the module, update jax and jaxlib together."),
        ),
        unknown=("who made the operation so: the program, jax, a conversion or an edit",),
        names=_line_of_mlir,
    ),
    "": Story(
        title="XLA refuses an instruction that one of its passes made",
        what="A pass left an instruction behind that breaks a rule which every module must keep.",
        tries=(Try("Try a neighbouring release of jaxlib, and send this report to openxla/xla."),),
        refs=("openxla/xla#47392", "openxla/xla#47385"),
        unknown=(_WHO_BROKE,),
    ),
}

RULE = Rule(
    code="VER001",
    slug="module-refused",
    title="XLA refuses an instruction of the module",
    class_="hlo-verifier",
    since="0.1.0",
    sources=("xla/service/hlo_verifier.cc", "openxla/xla#39830", "openxla/xla#47392"),
    check=check,
)
