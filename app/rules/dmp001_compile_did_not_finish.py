"""The dump of a module stops before the text after all optimizations.

## What it finds
A module of the program whose texts end in the middle of its passes, in a dump without a log that
states a failure. Of a run that hung HNG003 speaks.

## Why it matters
XLA writes the text after all optimizations when a compile succeeds. Where it is missing, the
compiler may have died, and the log of the run says how.

## How we know
From the names of the module's files: there are texts, and none is from after all optimizations.

## What to do
Give the log of the run (`--log`, or the log box of the page).

## Limits
The dump may as well be cut off, packed while the compile was running, or made with a narrower
filter. Nothing is claimed of the cause.

## Sources
xla/service/dump.cc (DumpHloModuleIfEnabled, names of dump points).
"""

from collections.abc import Iterable

from app.model.dump import ModuleHistory
from app.model.facts import Facts
from app.model.report import Culprit, Finding, Workaround
from app.rules.citing import dump_evidence
from app.rules.frame import Rule
from app.rules.unfinished import is_unfinished


def check(facts: Facts) -> Iterable[Finding]:
    """One note for each unfinished module, unless the log states a failure or the run hung."""
    if facts.log.failures or facts.hung:
        return
    for history in facts.modules:
        if history.role == "user" and is_unfinished(history):
            yield _finding(history, is_cut=_is_cut(facts))


def _is_cut(facts: Facts) -> bool:
    return facts.dump is not None and any(
        skipped.code == "truncated" for skipped in facts.dump.coverage.skipped
    )


def _finding(history: ModuleHistory, *, is_cut: bool) -> Finding:
    last = history.last
    where = f"after {last.name.after}" if last.name.after else "before the first pass"
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="note",
        confidence="possible",
        title=f"The compile of {history.name} did not reach its end in this dump",
        message=(
            f"The newest text of {history.id} is from {where}, and there is none from after all "
            "optimizations. "
            + (
                "The archive is cut off, so later texts may be missing."
                if is_cut
                else "If the run died, its log says how: send it together with the dump. The dump "
                "may also be cut off, or made while the compile was running."
            )
        ),
        culprits=(Culprit(module=history.id, dump=last.index, stated=False, role="module"),),
        evidence=(dump_evidence(last, f"the newest of {len(history.dumps)} texts"),),
        workarounds=(Workaround(text="Send the dump again, with the log of the run."),),
        unknown=("whether the compiler died here",),
    )


RULE = Rule(
    code="DMP001",
    slug="compile-did-not-finish",
    title="The dump of a module stops before its end",
    class_="dump-incomplete",
    since="0.1.0",
    sources=("xla/service/dump.cc",),
    check=check,
)
