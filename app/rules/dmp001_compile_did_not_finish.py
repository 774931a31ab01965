"""The dump of a module stops before the text after all optimizations.

## What it finds
A module of the program whose texts end in the middle of its passes, in a dump without a log that
states a failure. Of a run that hung HNG003 speaks.

## Why it matters
XLA writes the text after all optimizations when a compile succeeds. Where it is missing, the
compiler may have died, and the log of the run says how.

## How we know
From the names of the module's files: there are texts, and none is from after all optimizations.

Where to look, if the compiler died, is ranked as for an unknown failure (CHK000): what the newest
text made new, and what the pass next in line works on. For releases that can fail PIP001's check
the loop and the all-gather with its structure are named instead, and where the rewriting of
pipelined transfers was next, what PIP002 would name.

## What to do
Give the log of the run (`--log`, or the log box of the page).

## Limits
The dump may as well be cut off, packed while the compile was running, or made with a narrower
filter. Nothing is claimed of the cause: what is named is where to look, no more. A newest text that
XLA cannot go on from is told by VER002.

## Sources
xla/service/dump.cc (DumpHloModuleIfEnabled, names of dump points).
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from app import knowledge
from app.analysis.broken import has_absent_partner, has_circle
from app.analysis.pipelining import find_containments
from app.model.dump import ModuleHistory
from app.model.facts import Facts
from app.model.report import Culprit, Finding, Workaround
from app.rules.candidates import (
    change_evidence,
    changes_in_words,
    pass_in_words,
    ranked_candidates,
    step_of,
)
from app.rules.cited import Named, cited
from app.rules.citing import dump_evidence, instruction_evidence, loop_culprit, place
from app.rules.frame import Rule
from app.rules.pipelined_transfers import loops_with_transfers, why_there
from app.rules.pipeliner_story import in_order
from app.rules.releases import releases_in_words
from app.rules.unfinished import has_texts_of_passes, is_unfinished

_CHECK = ("collective_pipeliner.cc", "last_cloned != nullptr")
_THREAD = "openxla/xla#14332"
_P2P_REWRITER = "pipelined-p2p-rewriter"
_BACKWARD = "collective-pipeliner-backward"
_PIPELINED = "xla_gpu_enable_pipelined_all_gather"


def check(facts: Facts) -> Iterable[Finding]:
    """One note for each unfinished module, unless the log states a failure or the run hung."""
    if facts.log.failures or facts.hung:
        return
    for history in facts.modules:
        # Of a text that XLA refuses VER002 speaks.
        if history.role == "user" and is_unfinished(history) and not _is_broken(history):
            yield _finding(facts, history)


def _is_broken(history: ModuleHistory) -> bool:
    module = history.last.module
    return has_circle(module) or has_absent_partner(module)


def _is_cut(facts: Facts) -> bool:
    return facts.dump is not None and any(
        skipped.code == "truncated" for skipped in facts.dump.coverage.skipped
    )


def _finding(facts: Facts, history: ModuleHistory) -> Finding:
    last = history.last
    following = last.name.before if last.name.before != "pipeline-end" else None
    known = tuple(_known_fault(facts, history))
    candidates = () if known or not last.name.after else _candidates(facts, history, following)
    whole = Culprit(module=history.id, dump=last.index, stated=False, role="module")
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="note",
        confidence="possible",
        title=f"The compile of {history.name} did not reach its end in this dump",
        message=" ".join(
            filter(
                None,
                (
                    *_where(facts, history, following, is_cut=_is_cut(facts)),
                    *_suspicion(facts, known, candidates),
                ),
            )
        ),
        culprits=(whole, *(item.culprit for item in (*known, *candidates))),
        evidence=(
            dump_evidence(last, f"the newest of {len(history.dumps)} texts"),
            *(item.evidence for item in (*known, *candidates) if item.evidence is not None),
            *change_evidence(history),
        ),
        workarounds=(Workaround(text="Send the dump again, with the log of the run."),),
        unknown=("whether the compiler died here",),
        upstream=knowledge.upstream(_THREAD) if known else (),
    )


def _candidates(facts: Facts, history: ModuleHistory, following: str | None) -> tuple[Named, ...]:
    if following == _P2P_REWRITER:
        at_fault = loops_with_transfers(replace(facts, failing=history))
        if why_there(facts, at_fault):
            return at_fault
    return ranked_candidates(facts, history, following)


def _where(
    facts: Facts, history: ModuleHistory, following: str | None, *, is_cut: bool
) -> Iterator[str]:
    last = history.last
    where = "before the first pass"
    if last.name.kind != "before_optimizations":
        where = f"after {step_of(last)}"
    elif not has_texts_of_passes(facts.modules):
        where = "before all passes, none of which was asked for a text (--xla_dump_hlo_pass_re)"
    yield (
        f"The newest text of {history.id} is from {where}; there is none from after all "
        "optimizations."
    )
    if is_cut:
        yield "The archive is cut off, so later texts may be missing."
        return
    yield (
        "If the run died, its log says how: send it together with the dump. The dump may also be "
        "cut off, or made while the compile was running."
    )
    if following is not None:
        yield (
            f"Next in line was {following}: if the compiler died, it was there or in any later "
            "pass, for only passes that change something leave a text."
        )
        yield pass_in_words(following)
    yield changes_in_words(history)


def _suspicion(
    facts: Facts, known: tuple[Named, ...], candidates: tuple[Named, ...]
) -> Iterator[str]:
    if known:
        loop, container = (item.culprit for item in known)
        releases = releases_in_words(_affected(facts))
        yield (
            f"If it died in {_BACKWARD}, the structure for `Check failed: {_CHECK[1]}` is here, "
            f"which jaxlib {releases} print: the operands of {place(container)} in loop "
            f"{place(loop)} run through an inner loop with candidates of its own. It stands in "
            "healthy programs, too."
        )
    elif candidates:
        named = ", ".join(place(candidate.culprit) for candidate in candidates)
        yield f"If it died, the first to look at are {named}."
        yield from why_there(facts, candidates)


def _known_fault(facts: Facts, history: ModuleHistory) -> Iterator[Named]:
    """The loop and the all-gather of PIP001, where release, flags and passes allow that fault."""
    last = history.last
    is_at_it = (last.name.pipeline or "").startswith("collective-")
    ran = any(dump.name.after == _BACKWARD for dump in history.dumps)
    if not is_at_it or ran or not _affected(facts):
        return
    if knowledge.setting(facts.environment.flags, _PIPELINED) == "false":
        return
    tracked = {
        loop.occurrences[last.index].name: loop
        for loop in facts.loops.get(history.id, ())
        if last.index in loop.occurrences
    }
    found = find_containments([loop.occurrences[last.index] for loop in tracked.values()])
    if not found:
        return
    first = found[0]
    outer = first.outer
    yield Named(
        loop_culprit(history, last, tracked[outer.name], role="loop, if it died there"),
        instruction_evidence(last, outer.computation, outer.instruction),
    )
    here = [c.container for c in found if c.outer is outer and c.inner is first.inner]
    candidate = in_order(here, ())[0][0]
    yield cited(
        facts,
        history,
        last,
        candidate.loop.body,
        candidate.instruction,
        role="container, if it died there",
    )


def _affected(facts: Facts) -> tuple[str, ...]:
    """Those releases that may have made the dump and have the check, but not the fix."""
    fix = knowledge.fix_of(_THREAD)
    having = knowledge.releases_of_check(*_CHECK)
    fitting = facts.environment.jaxlib.releases
    return tuple(
        release
        for release in having
        if release in fitting
        and fix is not None
        and knowledge.release_key(release) < knowledge.release_key(fix.fixed_in)
    )


RULE = Rule(
    code="DMP001",
    slug="compile-did-not-finish",
    title="The dump of a module stops before its end",
    class_="dump-incomplete",
    since="0.1.0",
    sources=("xla/service/dump.cc",),
    check=check,
    # Where a compile may have died, what the finished part could do better comes second.
    leads=True,
)
