"""A rewrite of loops made the program do the same work again, and nothing took it back.

## What it finds
A program that compiled, whose final text takes at least one and a half times the operations that
it took before a pass copied loops inside another loop.

## Why it matters
Nothing fails and the results are right, but each step computes inner loops twice: it takes up to
twice the time, and collectives inside the loops are sent twice.

## How we know
Operations of matrix products and convolutions are added up for each text, loops as often as they
run. A collective pipeliner that moves a collective of an outer loop to the iteration before takes
along what the collective depends on. Where that is the result of an inner loop, the inner loop is
copied, and normally removed again as dead code soon after. The rule compares the text before the
copies with the final one, both partitioned, and wants the copies to stand beside their originals
at the end. Work that the program itself asks for twice (rematerialisation) stands in both.

## What to do
Switch the pipelining of all-gathers off, or the backward direction of the pass, or have collectives
weighed by their time, or unroll the outer loop (with any of these the program on which this was
seen does its work once); or move to a release that has the fix.

## Limits
Estimates: products and convolutions only. Where the trip count of a loop is not known before the
copies, or the dump holds no text between partitioning and the copies, nothing is said. In a dump of
some passes only, another pass may have made the copies: likely then, not certain.

## Sources
xla/service/collective_pipeliner.cc (TransformLoopBackward). Seen with jaxlib 0.4.31 on programs on
which 0.4.29 and 0.4.30 die (openxla/xla#14332); 0.4.33 and 0.4.35 compile them without copies.
"""

from collections.abc import Iterable, Iterator, Sequence

from app import knowledge
from app.analysis.repeated_work import RepeatedWork, find_repeated_work
from app.model.dump import ModuleHistory
from app.model.facts import Facts, LoopHistory
from app.model.report import Culprit, Evidence, Finding, RuledOut, Workaround
from app.rules.citing import dump_evidence, instruction_evidence, loop_culprit, place
from app.rules.frame import Rule
from app.rules.releases import flag_workarounds

_PIPELINER = "collective-pipeliner"
_AFFECTED = "0.4.31"
_FIXED = "0.4.33"
_UNITS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for each finished module of the user that does its work again."""
    for history in facts.modules:
        if history.role == "user":
            loops = facts.loops.get(history.id, ())
            repeated = find_repeated_work(history, loops, facts.work.get(history.id, ()))
            if repeated is not None:
                yield _finding(facts, history, repeated)


def _finding(facts: Facts, history: ModuleHistory, repeated: RepeatedWork) -> Finding:
    outer = None if repeated.outer is None else _culprit(history, repeated.outer, role="outer loop")
    pairs = [
        (
            _culprit(history, pair.original, role="inner loop"),
            _culprit(history, pair.copy, role="copy"),
        )
        for pair in repeated.copies
    ]
    culprits = (*((outer,) if outer else ()), *(culprit for pair in pairs for culprit in pair))
    releases = facts.environment.jaxlib.releases
    around = f" inside loop {place(outer)}" if outer else ""
    by = repeated.pass_name or "a pass (texts are missing here)"
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="warning",
        confidence="certain" if repeated.is_sure else "likely",
        title=f"The finished program does {repeated.times:.1f} times the work it did before {by}",
        message=(
            f"{by} copied {_listed(pairs)}{around}, and no later pass removed the copies: one "
            f"execution takes {_amount(repeated.work_last.flops)} operations at the end and took "
            f"{_amount(repeated.work_before.flops)} before.{_traffic(repeated)} The results are "
            "right; time is lost."
        ),
        culprits=culprits,
        evidence=tuple(_evidence(history, repeated)),
        flags=_flags_involved(facts),
        workarounds=tuple(_workarounds(repeated, outer, releases)),
        ruled_out=tuple(_double_buffering(facts, history, repeated)),
        unknown=() if releases else ("the jaxlib release: give it with --release",),
        upstream=knowledge.upstream("openxla/xla#14332"),
    )


def _culprit(history: ModuleHistory, loop: LoopHistory, *, role: str) -> Culprit:
    return loop_culprit(history, history.last, loop, role=role)


def _listed(pairs: Sequence[tuple[Culprit, Culprit]]) -> str:
    return ", ".join(f"{place(original)} as {copy.instruction}" for original, copy in pairs)


def _traffic(repeated: RepeatedWork) -> str:
    before = sum(repeated.work_before.collective_bytes.values())
    after = sum(repeated.work_last.collective_bytes.values())
    if after <= before:
        return ""
    return f" Collectives send {_amount(after)} bytes a device, {_amount(before)} before."


def _amount(number: int) -> str:
    for size, unit in _UNITS:
        if number >= size:
            return f"{number / size:.2f} {unit}"
    return str(number)


def _evidence(history: ModuleHistory, repeated: RepeatedWork) -> Iterator[Evidence]:
    dumps = history.dumps
    yield dump_evidence(
        dumps[repeated.before],
        f"{repeated.work_before.flops:,} operations in one execution, before the copies",
    )
    made = dumps[repeated.made]
    for pair in repeated.copies:
        loop = pair.copy.occurrences[repeated.made]
        yield instruction_evidence(made, loop.computation, loop.instruction)
    yield dump_evidence(
        dumps[repeated.last],
        f"{repeated.work_last.flops:,} operations in one execution, at the end",
    )
    shown = () if repeated.outer is None else (repeated.outer,)
    for loop in (*shown, *(loop for p in repeated.copies for loop in (p.original, p.copy))):
        here = loop.occurrences[repeated.last]
        yield instruction_evidence(dumps[repeated.last], here.computation, here.instruction)


def _flags_involved(facts: Facts) -> tuple[str, ...]:
    flags = facts.environment.flags
    written = (
        knowledge.flag_as_set(flags, name)
        for name, value in sorted(knowledge.settings_of(flags).items())
        if name.startswith("xla_gpu_enable_pipelined_") and value != "false"
    )
    return tuple(filter(None, written))


def _workarounds(
    repeated: RepeatedWork, outer: Culprit | None, releases: Sequence[str]
) -> Iterator[Workaround]:
    if repeated.pass_name is not None and repeated.pass_name.startswith(_PIPELINER):
        yield from (
            *flag_workarounds(
                "Do not pipeline all-gathers.",
                "--xla_gpu_enable_pipelined_all_gather=false",
                releases,
            ),
            *flag_workarounds(
                "Keep pipelining, but treat collectives as costly by an estimate of their time.",
                "--xla_gpu_enable_approx_costly_collectives=true",
                releases,
            ),
            *flag_workarounds(
                f"Leave the pass out that made the copies ({repeated.pass_name}).",
                f"--xla_disable_hlo_passes={repeated.pass_name}",
                releases,
            ),
        )
        if _may_be_older_than_the_fix(releases):
            yield Workaround(
                text=f"Move to jaxlib {_FIXED} or newer; {_AFFECTED} is known to leave the copies.",
                releases=f"{_FIXED} and newer",
            )
    where = f" at {place(outer)}" if outer else ""
    yield Workaround(
        text=f"Unroll the outer loop{where} (fori_loop(..., unroll=True)); it costs memory and "
        "compile time."
    )


def _may_be_older_than_the_fix(releases: Sequence[str]) -> bool:
    fix = knowledge.release_key(_FIXED)
    return not releases or any(knowledge.release_key(release) < fix for release in releases)


def _double_buffering(
    facts: Facts, history: ModuleHistory, repeated: RepeatedWork
) -> Iterator[RuledOut]:
    """Double buffering copies loops too; the counts around it show that it is not the cause."""
    work = facts.work[history.id]
    positions = {
        event.dump
        for loop in facts.loops[history.id]
        for event in loop.events
        if event.kind == "double_buffered" and event.dump > repeated.made
    }
    for position in sorted(positions)[:1]:
        before, after = work[position - 1].flops, work[position].flops
        if after <= before:
            yield RuledOut(
                hypothesis="Double buffering of a while loop doubled the work",
                why=(
                    "It copied the bodies of loops later and halved their trips: one execution "
                    f"took {_amount(before)} operations before it and {_amount(after)} after it."
                ),
                evidence=(
                    dump_evidence(
                        history.dumps[position], f"{after:,} operations in one execution"
                    ),
                ),
            )


RULE = Rule(
    code="DBL001",
    slug="work-done-twice",
    title="A rewrite of loops made the program do the same work again",
    class_="repeated-work",
    since="0.1.0",
    sources=("xla/service/collective_pipeliner.cc", "openxla/xla#14332"),
    check=check,
)
