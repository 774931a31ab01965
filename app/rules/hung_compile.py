"""A run that hung while a module was being compiled, and what of the program makes that long."""

from app import knowledge
from app.model.dump import ModuleHistory
from app.model.facts import Facts
from app.model.report import Culprit, Finding, RuledOut, Workaround
from app.rules.citing import dump_evidence
from app.rules.unfinished import has_texts_of_passes
from app.rules.unrolled import Copies, copies_in_words


def hung_in_compile(
    facts: Facts, history: ModuleHistory, *, rule: str, stacks: Workaround, in_it: bool
) -> Finding:
    """The finding of `rule` for a module whose compile did not end.

    `stacks` says how to look; `in_it`: nothing says that the run stood elsewhere, so that what
    makes the compile long is told.
    """
    name = history.last.name
    pass_out = (
        (
            Workaround(
                text=f"See whether the compile ends without the pass {name.before}.",
                flags=(f"--xla_disable_hlo_passes={name.before}",),
            ),
        )
        if name.before and knowledge.pass_releases(name.before)
        else ()
    )
    if has_texts_of_passes(facts.modules):
        after = f"after {name.after}" if name.after else "before the first pass"
        then = f"{name.before} was next: it, or any later pass" if name.before else "what came next"
        where, stands = (
            f", {after}",
            f"The newest is from {after}; {then} takes long or never ends.",
        )
    else:
        where = ""
        stands = (
            "No pass was asked for texts (--xla_dump_hlo_pass_re), so that they do not tell how "
            "far the compile came."
        )
    copies = copies_in_words(facts, history) if in_it else Copies()
    texts = "one text" if len(history.dumps) == 1 else f"{len(history.dumps)} texts"
    return Finding(
        rule=rule,
        class_="slow-compile",
        severity="error",
        confidence="likely",
        title=f"The run hung while {history.name} was being compiled{where}",
        message=f"{history.id} has {texts} and none from after all "
        f"optimizations. {stands}{copies.words}",
        culprits=(
            *(one.culprit for one in copies.named),
            Culprit(module=history.id, dump=history.last.index, stated=False, role="module"),
        ),
        evidence=(
            *(one.evidence for one in copies.named if one.evidence is not None),
            dump_evidence(history.last, f"the newest of {len(history.dumps)} texts"),
        ),
        workarounds=(
            *copies.workarounds,
            *pass_out,
            stacks,
            Workaround(
                text="Compile a smaller program of the same kind: fewer layers, no unrolling."
            ),
        ),
        ruled_out=(
            RuledOut(
                hypothesis="devices wait for each other",
                why="the program had not begun to run",
            ),
        ),
        unknown=("whether the compile would have ended later",),
    )
