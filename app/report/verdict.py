"""The answer in brief, told alike in the terminal, on the page and in Markdown.

Takes a report and gives a headline, the tone it is said in, and a short list of facts. Claims
nothing that no finding or failure of the report states, and never calls a program healthy.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from app.model.report import (
    SEVERITIES,
    Confidence,
    Culprit,
    Environment,
    Failure,
    Finding,
    Module,
    Report,
    Workaround,
)
from app.report.program_facts import device_text, memory_text, meshes_text, sources_text
from app.report.program_sums import collectives_text, loops_text, overlap_text
from app.report.wording import (
    CONFIDENCE_WORDS,
    counted,
    file_name,
    gravity,
    numbered_pass,
    place_text,
    tried_words,
)

Tone = Literal["error", "warning", "note", "clear"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happened, in a sentence, and the facts a reader looks for first.

    `facts` are pairs of label and value; `statement` is what the log said; `confidence` is that of
    the leading finding, and `ruled_out` are what it excludes; `tried` says what a replay made of
    the flags, "" where nobody tried.
    """

    tone: Tone
    headline: str
    facts: tuple[tuple[str, str], ...]
    lead: str = ""
    confidence: Confidence | None = None
    statement: str | None = None
    flags: tuple[str, ...] = ()
    tried: str = ""
    ruled_out: tuple[str, ...] = ()


FIRST_STEP = "First step"
TRY = "Try"
"""The labels of the facts that say what to do: a step, or else the flags to try first."""

_QUIET = frozenset(("jaxlib", "Compiled for", "Device", "Lines known"))


def quiet_labels(report: Report) -> frozenset[str]:
    """The facts that belong to every program, whatever the verdict: shown as small print.

    Memory is one of them where the run failed, and else part of what the program is.
    """
    return _QUIET if report.failure is None else _QUIET | {"Memory"}


def ranked_findings(report: Report) -> tuple[Finding, ...]:
    """All findings, the gravest and surest first; what is ruled out comes last."""
    # A compile that may have died comes before what is sure of the part that it finished.
    return tuple(
        sorted(
            report.findings,
            key=lambda item: gravity(
                item.severity, item.confidence, leads=item.class_ == "dump-incomplete"
            ),
        )
    )


def verdict_of(report: Report) -> Verdict:
    """The verdict on one report."""
    findings = ranked_findings(report)
    leading = findings[0] if findings and findings[0].confidence != "ruled_out" else None
    failure = report.failure
    if leading is not None and (leading.severity != "note" or failure is None):
        return Verdict(
            tone=leading.severity,
            headline=leading.title,
            lead=_others(findings),
            confidence=leading.confidence,
            facts=_facts(report, leading),
            statement=_statement(report, leading.title),
            flags=_flags_to_try(leading),
            tried=tried_words(chosen).strip(" ()") if (chosen := _to_try(leading)) else "",
            ruled_out=tuple(each.hypothesis for each in leading.ruled_out),
        )
    if failure is not None:
        return Verdict(
            tone="error",
            headline=f"The run failed: {failure.condition or failure.kind}",
            lead="No rule explains this failure; what is known about it stands below.",
            facts=_facts(report, None),
            statement=failure.text,
        )
    return Verdict(
        tone="clear",
        headline="No known fault was found" if report.modules else "Nothing was found to judge",
        lead=_what_was_read(report),
        facts=_facts(report, None),
    )


def _statement(report: Report, headline: str) -> str | None:
    """What the log said, where the headline does not have all of it."""
    text = report.failure.text if report.failure else None
    return None if text is None or " ".join(text.split()) in headline else text


def is_beside_the_failure(report: Report, module: Module | None) -> bool:
    """Whether an exception of Python ended the run, which tells nothing of this module."""
    failure = report.failure
    return (
        failure is not None
        and failure.kind == "python"
        and module is not None
        and module.id != failure.module
    )


def _others(findings: tuple[Finding, ...]) -> str:
    rest = [finding for finding in findings[1:] if finding.confidence != "ruled_out"]
    counts = {
        severity: sum(finding.severity == severity for finding in rest) for severity in SEVERITIES
    }
    words = [counted(number, severity) for severity, number in counts.items() if number]
    return f"Beside it: {', '.join(words)}." if words else ""


def _what_was_read(report: Report) -> str:
    if not report.modules:
        return "The input holds no module text and no failure that is known."
    own = [module for module in report.modules if module.role == "user"]
    others = len(report.modules) - len(own)
    texts = counted(sum(len(module.dumps) for module in report.modules), "text")
    read = f"{counted(len(own), 'module')} of the program"
    read += f" and {counted(others, 'small one')}" if others else ""
    return f"Read: {read}, {texts}. That no rule fired does not prove the program right or fast."


def _facts(report: Report, finding: Finding | None) -> tuple[tuple[str, str], ...]:
    facts = list(_of_input(report))
    module = main_module(report)
    if report.failure is not None:
        facts.append(("Died in", died_in(report.failure)))
    if finding is not None:
        facts += _culprit_facts(report, finding)
    elif module is not None:
        facts.append(("Program", f"{module.name}, {counted(len(module.dumps), 'text')}"))
    last = last_text(report)
    if last:
        facts.append((last_text_label(report), last))
    environment = report.environment
    if environment.jaxlib.releases:
        facts.append(("jaxlib", releases_text(environment.jaxlib.releases)))
    target = target_text(environment)
    meshes = meshes_text(report.meshes, module.id) if module else ""
    if target or meshes:
        facts.append(("Compiled for", ", ".join(part for part in (target, meshes) if part)))
    if report.failure is None and module is not None:
        program = (
            ("Loops", loops_text(report, module)),
            ("Collectives", collectives_text(report, module)),
            ("Overlap", overlap_text(report, module)),
        )
        facts += [(label, value) for label, value in program if value]
    facts += [(label, value) for label, value in _figures(report, module) if value]
    if finding is not None:
        first = ((FIRST_STEP, _first_step(finding)), (TRY, " ".join(_flags_to_try(finding))))
        facts += [(label, value) for label, value in first if value]
    return tuple(facts)


def _of_input(report: Report) -> Iterator[tuple[str, str]]:
    """What is wrong with what was given, before anything is said of what it holds."""
    if cut := cut_text(report):
        yield "Dump", cut
    if other := next((f for f in report.findings if f.class_ == _OTHER_RUN), None):
        yield "Log", other.title


def _figures(report: Report, module: Module | None) -> tuple[tuple[str, str], ...]:
    if is_beside_the_failure(report, module):
        return ()
    return (
        ("Memory", memory_text(report, module)),
        ("Device", device_text(report.environment.device)),
        ("Lines known", sources_text(module)),
    )


# The class of the finding that log and dump are not of one run.
_OTHER_RUN = "another-run"
# What is said of a file or archive by the code of what was left out of it (app/ingest).
_BROKEN = {
    "truncated": "breaks off",
    "bad_header": "is damaged",
    "bad_crc": "is damaged",
    "bad_data": "is damaged",
}


def last_text_label(report: Report) -> str:
    """What `last_text` is: of a broken input there may have been later ones."""
    return "Last text read" if cut_text(report) else "Last text written"


def cut_text(report: Report) -> str:
    """`the archive breaks off: 41 texts read`; "" for an input that is whole."""
    cut = [skipped for skipped in report.coverage.skipped if skipped.code in _BROKEN]
    if not cut:
        return ""
    whole = any(
        skipped.name == report.input.name or skipped.reason.startswith("the archive")
        for skipped in cut
    )
    read = sum(len(module.dumps) for module in report.modules)
    what = "the archive" if whole else "a file"
    return f"{what} {_BROKEN[cut[0].code]}: {counted(read, 'text')} read"


def _culprit_facts(report: Report, finding: Finding) -> list[tuple[str, str]]:
    loops = {loop.id: loop for loop in report.loops}
    facts: list[tuple[str, str]] = []
    first = next(iter(finding.culprits), None)
    if first is not None:
        facts.append((first.role[:1].upper() + first.role[1:] or "Culprit", culprit_text(first)))
        loop = loops.get(first.loop or "")
        if loop is not None and loop.name != first.instruction:
            where = f", {place_text(loop.source)}" if loop.source else ""
            facts.append(("Loop", f"{loop.name}{where}"))
    return facts


def _first_step(finding: Finding) -> str:
    """What comes before all flags, such as a look at something; "" where a flag comes first."""
    first = next(iter(finding.workarounds), None)
    is_proved = any(each.flags and each.verified for each in finding.workarounds)
    return first.text if first is not None and not first.flags and not is_proved else ""


def _flags_to_try(finding: Finding) -> tuple[str, ...]:
    chosen = _to_try(finding)
    return chosen.flags if chosen else ()


def _to_try(finding: Finding) -> Workaround | None:
    """The first workaround with flags that was tried and works, else the first untried one.

    None where something else comes first.
    """
    if _first_step(finding):
        return None
    open_ = [each for each in finding.workarounds if each.flags and each.verified is not False]
    proved = (each for each in open_ if each.verified)
    return next(proved, open_[0] if open_ else None)


def culprit_text(culprit: Culprit) -> str:
    """`while.17, prog1.py:55`, and whether the line was inferred."""
    name = culprit.instruction or culprit.loop or culprit.computation or culprit.module or ""
    if culprit.source is None:
        return name or "unnamed"
    inferred = "" if culprit.stated else " (inferred)"
    return f"{f'{name}, ' if name else ''}{place_text(culprit.source)}{inferred}"


def died_in(failure: Failure) -> str:
    """The pass XLA died in and how sure that is, as far as it is known."""
    if failure.pass_ is None:
        known = failure.confidence in ("certain", "likely") and failure.how
        if known:
            return f"no pass: {known.partition('; ')[0]}"
        return "a pass that neither log nor dump names"
    return f"{failure.pass_} ({CONFIDENCE_WORDS[failure.confidence]})"


def last_text(report: Report) -> str:
    """`0071 reduce-scatter-creator of jit_train`, or "" where no text was written."""
    failure = report.failure
    if failure is None or failure.last_dump is None:
        return ""
    for module in report.modules:
        for dump in reversed(module.dumps):
            if dump.file == failure.last_dump:
                return f"{numbered_pass(dump)} of {module.name}"
    return file_name(failure.last_dump)


def main_module(report: Report) -> Module | None:
    """The module that failed, else the user's own with the most texts."""
    failing = report.failure.module if report.failure else None
    for module in report.modules:
        if module.id == failing:
            return module
    users = [module for module in report.modules if module.role == "user"] or report.modules
    return max(users, key=lambda module: len(module.dumps), default=None)


def module_labels(report: Report) -> dict[str, str]:
    """What each module is called, by id: its name, or its id where several share the name."""
    names = Counter(module.name for module in report.modules)
    return {
        module.id: module.name if names[module.name] == 1 else module.id
        for module in report.modules
    }


def releases_text(releases: tuple[str, ...]) -> str:
    """`0.4.29 to 0.4.30` for releases, oldest first."""
    if len(releases) < 3:
        return ", ".join(releases)
    return f"{releases[0]} to {releases[-1]} ({len(releases)} releases)"


def target_text(environment: Environment) -> str:
    """`gpu, 8 partitions`."""
    parts = [environment.backend] if environment.backend else []
    if environment.num_partitions is not None and environment.num_partitions > 1:
        parts.append(counted(environment.num_partitions, "partition"))
    if environment.replica_count is not None and environment.replica_count > 1:
        parts.append(counted(environment.replica_count, "replica"))
    return ", ".join(parts)
