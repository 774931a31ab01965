"""A report as terminal text: the verdict on the first screen, the rest below it.

`print_report` writes to a rich `Console` it is handed, in any width from 60 columns on, with or
without colour; colour only repeats what words say. Reads no file: lines of the user's program are
shown when the caller hands them in.
"""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.model.report import Confidence, Culprit, Evidence, Finding, Report, Severity
from app.model.source_lines import NO_SOURCE_LINES, Snippet, SourceLines
from app.report.terminal_columns import Trimmed, indented
from app.report.terminal_experiments import print_replay
from app.report.terminal_tables import print_heading, print_tables
from app.report.verdict import Verdict, ranked_findings, verdict_of
from app.report.wording import (
    CONFIDENCE_WORDS,
    SEVERITY_WORDS,
    file_name,
    legible,
    message_text,
    place_text,
    tried_words,
    visible,
)

_SEVERITY_STYLE: dict[Severity, str] = {"error": "bold red", "warning": "bold yellow", "note": ""}
_TONE_STYLE = {"error": "bold red", "warning": "bold yellow", "note": "bold", "clear": "bold"}
_SURE_STYLE: dict[Confidence, str] = {
    "certain": "bold",
    "likely": "bold",
    "possible": "",
    "ruled_out": "dim",
}

# More than these of one kind are counted, not printed: the JSON report holds them all.
_MAX_FINDINGS = 10
_MAX_EVIDENCE = 6
_MAX_CULPRITS = 8
_MAX_TEXT = 220


def print_report(
    report: Report, console: Console, *, source_lines: SourceLines = NO_SOURCE_LINES
) -> None:
    """Print the whole report; text that came from a dump is printed as text, never as markup."""
    shown = legible(report)
    findings = ranked_findings(shown)
    verdict = verdict_of(shown)
    _print_verdict(verdict, findings, console)
    for position, finding in enumerate(findings[:_MAX_FINDINGS]):
        _print_finding(
            finding, console, source_lines, headed=position > 0 or verdict.tone == "clear"
        )
    _print_rest(len(findings), _MAX_FINDINGS, "findings", console)
    if shown.replay is not None:
        print_replay(shown.replay, console)
    print_tables(shown, console)


def _print_verdict(verdict: Verdict, findings: Sequence[Finding], console: Console) -> None:
    style = _TONE_STYLE[verdict.tone]
    badge = {"clear": "NO FINDING"}.get(verdict.tone, verdict.tone.upper())
    line = Text(f" {badge} ", style=f"{style} reverse")
    if verdict.confidence is not None:
        line.append(f"  {CONFIDENCE_WORDS[verdict.confidence]}", style="bold")
        line.append(f"  {findings[0].rule}", style="dim")
    console.print(line)
    console.print(Trimmed(Text(verdict.headline, style="bold")))
    if verdict.statement:
        console.print()
        console.print(indented(Text(_cut(verdict.statement), style="red")))
    console.print()
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for label, value in verdict.facts:
        facts.add_row(label, Text(value))
    console.print(indented(facts))
    if verdict.lead:
        console.print()
        console.print(Trimmed(Text(verdict.lead)))


def _print_finding(
    finding: Finding, console: Console, snippets: SourceLines, *, headed: bool
) -> None:
    console.print()
    if headed:
        head = Text()
        head.append(SEVERITY_WORDS[finding.severity], style=_SEVERITY_STYLE[finding.severity])
        head.append(", ")
        head.append(CONFIDENCE_WORDS[finding.confidence], style=_SURE_STYLE[finding.confidence])
        head.append(f"  {finding.rule}", style="dim")
        console.print(head)
        console.print(Trimmed(Text(finding.title, style="bold")))
    console.print(Trimmed(Text(message_text(finding))))
    if finding.culprits:
        print_heading("Where", console)
        _print_culprits(finding.culprits, console, snippets)
    if finding.evidence:
        print_heading("Evidence", console)
        _print_evidence(finding.evidence, console)
    if finding.ruled_out:
        print_heading("Ruled out", console)
        for item in finding.ruled_out:
            tried = tried_words(item)
            _print_item(
                Text.assemble((item.hypothesis, "bold"), ": ", item.why, (tried, "bold")), console
            )
            _print_evidence(item.evidence, console, indent=4, most=2)
    if finding.unknown:
        print_heading("Not known", console)
        for text in finding.unknown:
            _print_item(Text(text), console)
    _print_advice(finding, console)


def _print_culprits(culprits: Sequence[Culprit], console: Console, snippets: SourceLines) -> None:
    shown_places: set[tuple[str, int]] = set()
    for culprit in culprits[:_MAX_CULPRITS]:
        name = culprit.instruction or culprit.computation or culprit.loop or culprit.module or ""
        line = Text()
        if culprit.role:
            line.append(f"{culprit.role}: ")
        line.append(name, style="bold")
        if culprit.source is not None:
            line.append("  ")
            line.append(place_text(culprit.source), style="cyan")
            line.append("" if culprit.stated else "  (line inferred)", style="dim")
        _print_item(line, console)
        if culprit.op_name:
            console.print(indented(Text(_cut(culprit.op_name, 120), style="dim"), 4))
        if culprit.source is None:
            continue
        place = (culprit.source.file, culprit.source.line)
        if place in snippets and place not in shown_places:
            shown_places.add(place)
            _print_snippet(snippets[place], culprit.source.line, console)
    _print_rest(len(culprits), _MAX_CULPRITS, "places", console)


def _print_snippet(snippet: Snippet, marked: int, console: Console) -> None:
    if snippet.file:
        console.print(indented(Text(f"as {visible(snippet.file)} has it", style="dim"), 4))
    for number, line in enumerate(snippet.lines, start=snippet.first_line):
        here = number == marked
        text = Text(f"{'>' if here else ' '} {number:5} | ", style="bold" if here else "dim")
        text.append(_cut(visible(line.expandtabs(4))), style="bold" if here else "")
        text.no_wrap = True
        text.overflow = "ellipsis"
        console.print(indented(text, 4))


def _print_evidence(
    evidence: Sequence[Evidence], console: Console, *, indent: int = 2, most: int = _MAX_EVIDENCE
) -> None:
    file = None
    for item in evidence[:most]:
        if item.file != file:
            file = item.file
            # On one line of its own, however long: it is there to be copied.
            console.print(Text(f"{' ' * indent}{file_name(file)}", style="cyan"), soft_wrap=True)
        if item.line is None:
            line = Text(_cut(item.text.strip()), overflow="fold")
        else:
            # A line of a dump runs over many lines here; its head says which instruction it is.
            line = Text(f"{item.line}: ", style="cyan", no_wrap=True, overflow="ellipsis")
            told = _cut(" ".join(item.text.split()), min(console.width, _MAX_TEXT))
            line.append(told, style="none")
        if line:
            console.print(indented(line, indent + 2))
    _print_rest(len(evidence), most, "pieces of evidence", console)


def _print_advice(finding: Finding, console: Console) -> None:
    if finding.workarounds:
        print_heading("What to try", console)
        for workaround in finding.workarounds:
            line = Text(workaround.text)
            line.append(tried_words(workaround), style="bold")
            _print_item(line, console)
            for flag in workaround.flags:
                console.print(Text(f"    {flag}", style="green"), soft_wrap=True)
            if workaround.releases:
                console.print(indented(Text(f"jaxlib {workaround.releases}", style="dim"), 4))
    if finding.upstream:
        print_heading("Upstream", console)
        for item in finding.upstream:
            parts = [item.ref]
            parts += [f"affects {item.affects}"] if item.affects else []
            parts += [f"fixed in {item.fixed_in}"] if item.fixed_in else []
            _print_item(Text(", ".join(parts)), console)


def _print_item(text: Text, console: Console) -> None:
    row = Table.grid(padding=(0, 1))
    row.add_column(width=3)
    row.add_column(overflow="fold")
    row.add_row("  -", text)
    console.print(Trimmed(row))


def _print_rest(total: int, shown: int, noun: str, console: Console) -> None:
    if total > shown:
        console.print(indented(Text(f"and {total - shown:,} more {noun}", style="dim")))


def _cut(text: str, limit: int = _MAX_TEXT) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
