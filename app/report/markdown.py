"""A report as Markdown for a bug thread or the summary of a CI step.

Takes a report and gives text that a forge renders the same whoever wrote the dump: anything from
the dump or log stands in a code span or with every active character escaped, so it can neither
mention people, nor link, nor open HTML. Stays below the size that such places accept.
"""

import re

from app.model.report import Collective, Evidence, Finding, Report
from app.report.experiments import replay_view
from app.report.loops import is_rewritten, loop_story
from app.report.program_facts import axes_text, heaviest, line_text, sends_text, total_text
from app.report.verdict import culprit_text, ranked_findings, verdict_of
from app.report.wording import (
    CONFIDENCE_WORDS,
    SEVERITY_WORDS,
    counted,
    file_name,
    legible,
    message_text,
    place_text,
    tried_words,
)

MAX_BYTES = 60_000
_MAX_FINDINGS = 10
_MAX_LISTED = 8
_MAX_LOOPS = 12
_MAX_CODE = 400
_MAX_VARIANTS = 40

# What acts in the middle of a line; parentheses do so only behind a bracket. `@` notifies people,
# `#` links to a thread, and forges make links of bare addresses.
_ACTIVE = re.compile(r"[\\`*_{}\[\]<>#!|~@&$]|:(?=//)|(?<=www)\.", re.I)
# With the signs of lists, rulers and underlines, what acts at the start of a line.
_LIST_NUMBER = re.compile(r"\d{1,9}(?=[.)](?:\s|$))")


def report_markdown(report: Report, *, link: str = "") -> str:
    """The report in at most `MAX_BYTES` bytes; `link` is the address of its page."""
    return markdown_of(legible(report), link=link)


def markdown_of(shown: Report, *, link: str = "") -> str:
    """The same for a report whose texts are legible already."""
    verdict = verdict_of(shown)
    findings = ranked_findings(shown)
    # Without a certainty the headline is not that of the first finding.
    weight = _weight(findings[0]) if verdict.confidence else ""
    parts = [f"### {weight}{escaped(verdict.headline)}"]
    if link:
        parts.append(f"<{link}>")
    if verdict.statement:
        parts.append(fenced(verdict.statement[:_MAX_CODE]))
    parts.append(
        "\n".join(f"- **{escaped(label)}:** {code(value)}" for label, value in verdict.facts)
    )
    for position, finding in enumerate(findings[:_MAX_FINDINGS]):
        parts.append(_finding_text(finding, headed=position > 0 or not weight))
    parts.append(_replay_text(shown))
    parts.append(_loops_text(shown))
    parts.append(_collectives_text(shown.collectives))
    if len(findings) > _MAX_FINDINGS:
        parts.append(f"{counted(len(findings) - _MAX_FINDINGS, 'finding')} more in the report.")
    parts.append(_footer(shown))
    return _within_limit([part for part in parts if part])


def _replay_text(shown: Report) -> str:
    """The table of variants, the reduced module left to the report; "" without a replay."""
    if shown.replay is None:
        return ""
    view = replay_view(shown.replay)
    lines = [f"**{escaped(view.heading)}**", "", *(f"- {escaped(line)}" for line in view.lines)]
    for group in view.groups:
        lines += ["", f"| {escaped(group.title)} | outcome | work | collectives | peak |"]
        lines.append("|---|---|---|---|---|")
        for row in group.rows[:_MAX_VARIANTS]:
            notes = "".join(f"; {escaped(note)}" for note in row.notes)
            cells = (row.outcome, row.work, row.collectives, row.peak)
            lines.append(f"| {_cell(row.name)}{notes} | {' | '.join(map(escaped, cells))} |")
        if len(group.rows) > _MAX_VARIANTS:
            lines += ["", f"{len(group.rows) - _MAX_VARIANTS:,} more in the report"]
    if view.reduced:
        lines += ["", escaped(view.reduced)]
    return "\n".join([*lines, "", escaped(view.limits)])


def _loops_text(shown: Report) -> str:
    """The loops that passes rewrote, in the words of the page and the terminal; "" for none."""
    told = [loop for loop in shown.loops if is_rewritten(loop)]
    if not told:
        return ""
    lines = ["**Loops that passes rewrote**", ""]
    for loop in told[:_MAX_LOOPS]:
        place = f" at {code(place_text(loop.source))}" if loop.source else ""
        lines.append(f"- {code(loop.name)}{place}: {escaped(loop_story(loop))}")
    if len(told) > _MAX_LOOPS:
        lines.append(f"- {counted(len(told) - _MAX_LOOPS, 'loop')} more in the report")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Plain words: every character that Markdown or a forge acts on is made harmless."""
    one_line = " ".join(text.split())

    def neutral(match: re.Match[str]) -> str:
        char = match[0]
        if char in "@#:.":
            # A backslash does not keep forges from linking; an entity does.
            return f"&#{ord(char)};"
        return {"<": "&lt;", ">": "&gt;", "&": "&amp;"}.get(char, f"\\{char}")

    text = _ACTIVE.sub(neutral, one_line)
    if text[:1] in ("-", "+", "="):
        return f"\\{text}"
    number = _LIST_NUMBER.match(text)
    return f"{number[0]}\\{text[number.end() :]}" if number else text


def code(text: str) -> str:
    """A code span that its content cannot end."""
    one_line = " ".join(text.split())
    if not one_line:
        return ""
    longest = max((len(run) for run in re.findall(r"`+", one_line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if one_line[0] == "`" or one_line[-1] == "`" else ""
    return f"{fence}{pad}{one_line}{pad}{fence}"


def fenced(text: str) -> str:
    """A code block that its content cannot end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _finding_text(finding: Finding, *, headed: bool) -> str:
    lines: list[str] = []
    if headed:
        lines.append(f"#### {_weight(finding)}{escaped(finding.title)}")
    lines.append(f"{escaped(message_text(finding))} ({code(finding.rule)})")
    if finding.culprits:
        lines.append("")
        for culprit in finding.culprits[:_MAX_LISTED]:
            role = f"{escaped(culprit.role)}: " if culprit.role else ""
            lines.append(f"- {role}{code(culprit_text(culprit))}")
    lines += _advice(finding)
    lines += _folded("Evidence", finding.evidence)
    if finding.ruled_out:
        lines.append("")
        for item in finding.ruled_out:
            lines.append(
                f"- Ruled out: {escaped(item.hypothesis)}: {escaped(item.why + tried_words(item))}"
            )
    if finding.unknown:
        lines.append("")
        lines += [f"- Not known: {escaped(text)}" for text in finding.unknown]
    return "\n".join(lines)


def _weight(finding: Finding) -> str:
    return f"{SEVERITY_WORDS[finding.severity]}, {CONFIDENCE_WORDS[finding.confidence]}: "


def _advice(finding: Finding) -> list[str]:
    lines: list[str] = []
    for workaround in finding.workarounds:
        parts = [escaped(workaround.text), *(code(flag) for flag in workaround.flags)]
        parts += [f"(jaxlib {escaped(workaround.releases)})"] if workaround.releases else []
        lines.append(f"- To try: {' '.join(parts)}{tried_words(workaround)}")
    for item in finding.upstream:
        parts = [code(item.ref)]
        parts += [f"affects {escaped(item.affects)}"] if item.affects else []
        parts += [f"fixed in {escaped(item.fixed_in)}"] if item.fixed_in else []
        lines.append(f"- Upstream: {', '.join(parts)}")
    return ["", *lines] if lines else []


def _folded(title: str, evidence: tuple[Evidence, ...]) -> list[str]:
    if not evidence:
        return []
    lines = ["", f"<details><summary>{title}</summary>", ""]
    for item in evidence[:_MAX_LISTED]:
        name = file_name(item.file)
        lines.append(f"- {code(name if item.line is None else f'{name}:{item.line}')}")
        if item.text:
            text = " ".join(item.text.split())
            lines.append(f"  {code(text[:_MAX_CODE])}")
    left_out = len(evidence) - _MAX_LISTED
    if left_out > 0:
        lines.append(f"- {left_out:,} more in the report")
    return [*lines, "", "</details>"]


def _collectives_text(collectives: tuple[Collective, ...]) -> str:
    if not collectives:
        return ""
    lines = [
        f"<details><summary>{counted(len(collectives), 'collective')}</summary>",
        "",
        "| collective | mesh axis | sends | in one run | line |",
        "|---|---|---|---|---|",
    ]
    for item in heaviest(collectives)[:_MAX_LISTED]:
        cells = (
            item.instruction,
            axes_text(item),
            sends_text(item),
            total_text(item),
            line_text(item),
        )
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    left_out = len(collectives) - _MAX_LISTED
    if left_out > 0:
        lines += ["", f"{left_out:,} more in the report"]
    return "\n".join([*lines, "", "</details>"])


def _cell(text: str) -> str:
    return code(text).replace("|", "\\|")


def _footer(report: Report) -> str:
    coverage = report.coverage
    read = counted(coverage.files, "file")
    if coverage.lines:
        # Of a log alone, its own lines are counted.
        read += (
            f", {counted(coverage.lines, 'line')} of {'HLO' if coverage.hlo_files else 'the log'}"
        )
    return (
        f"{escaped(report.tool.name)} {escaped(report.tool.version)} read {read}; "
        f"{counted(coverage.unparsed_lines, 'line')} not understood, "
        f"{counted(coverage.skipped_count, 'file')} left out."
    )


def _within_limit(parts: list[str]) -> str:
    note = "The rest is in the report."
    kept: list[str] = []
    size = 0
    for part in parts:
        size += len(part.encode()) + 2
        if size > MAX_BYTES - len(note) - 2:
            kept.append(note)
            break
        kept.append(part)
    return "\n\n".join(kept) + "\n"
