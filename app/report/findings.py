"""Findings as a page shows them.

Takes a report whose texts are legible and gives `FindingView`s in order of gravity. Everything
shown of a culprit or a line of evidence is taken from the finding itself and the report's modules.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlencode

from app.model.report import Culprit, Evidence, Finding, Report, Upstream
from app.model.source_lines import Snippet, SourceLines
from app.report.page import (
    CulpritView,
    EvidenceLine,
    EvidenceView,
    FindingView,
    RuledOutView,
    SourceLineView,
    UpstreamView,
    WorkaroundView,
)
from app.report.rows import Rows, rows_of
from app.report.verdict import ranked_findings
from app.report.wording import (
    CONFIDENCE_WORDS,
    LINE_ORIGINS,
    SEVERITY_WORDS,
    code_line,
    counted,
    file_name,
    message_text,
    more_text,
    numbered_pass,
    place_text,
    tried_words,
)

TextLinks = Mapping[str, str]

MAX_FINDINGS = 60
FIRST_FINDINGS = 10
MAX_LISTED = 50
# What the leading finding shows of each at once, and what any other does.
_LEADING_FIRST = 3
_OTHER_FIRST = 1

# A reference to a thread, as the tables of fixes write it: `openxla/xla#14332`.
_THREAD = re.compile(r"([A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100})#(\d{1,9})")


def finding_views(
    report: Report,
    source_lines: SourceLines,
    *,
    outside_links: bool,
    text_links: TextLinks,
    server: str = "",
) -> Rows[FindingView]:
    """All findings; links to public threads only where the page may have outside addresses.

    `text_links` are the addresses of texts in the page, by file, to which a line number is added;
    `server` is the report's own address, below which graphs and lines have pages.
    """
    passes = {
        (module.id, position): numbered_pass(dump)
        for module in report.modules
        for position, dump in enumerate(module.dumps)
    }
    findings = ranked_findings(report)
    views = tuple(
        _finding_view(position, finding, passes, source_lines, outside_links, text_links, server)
        for position, finding in enumerate(findings[:MAX_FINDINGS])
    )
    first = min(FIRST_FINDINGS, _weighty(findings))
    rows = rows_of(views, total=len(findings), first=first, most=MAX_FINDINGS)
    more = counted(len(rows.more), "more finding", "more findings")
    return replace(rows, more_label=f"Show {more}" if rows.more else "")


def _weighty(findings: Sequence[Finding]) -> int:
    """How many are read at once: beside an error or a warning, notes wait to be asked for."""
    if not findings or findings[0].severity == "note":
        return len(findings)
    return sum(finding.severity != "note" for finding in findings)


def _finding_view(
    position: int,
    finding: Finding,
    passes: dict[tuple[str, int], str],
    source_lines: SourceLines,
    outside_links: bool,
    text_links: TextLinks,
    server: str,
) -> FindingView:
    first = _OTHER_FIRST if position else _LEADING_FIRST
    evidence = finding.evidence[:MAX_LISTED]
    more_evidence = evidence[first:]
    return FindingView(
        anchor=f"finding-{position + 1}",
        rule=finding.rule,
        class_name=finding.class_,
        severity=finding.severity,
        severity_word=SEVERITY_WORDS[finding.severity],
        confidence=finding.confidence.replace("_", "-"),
        confidence_word=CONFIDENCE_WORDS[finding.confidence],
        title=finding.title,
        paragraphs=tuple(part for part in message_text(finding).split("\n") if part.strip()),
        culprits=rows_of(
            tuple(_culprit_view(item, passes, source_lines, server) for item in finding.culprits),
            first=first,
            most=MAX_LISTED,
        ),
        evidence=_evidence_views(evidence[:first], text_links),
        more_evidence=_evidence_views(more_evidence, text_links),
        more_evidence_label=f"Show {len(more_evidence):,} more",
        evidence_note=more_text(len(finding.evidence) - MAX_LISTED),
        ruled_out=tuple(
            RuledOutView(
                hypothesis=item.hypothesis,
                why=f"{item.why}{tried_words(item)}",
                evidence=_evidence_views(item.evidence, text_links),
            )
            for item in finding.ruled_out
        ),
        unknown=finding.unknown,
        workarounds=tuple(
            WorkaroundView(
                text=item.text,
                flags=item.flags,
                releases=f"jaxlib {item.releases}" if item.releases else "",
                tried=tried_words(item).strip(" ()"),
            )
            for item in finding.workarounds
        ),
        flags=finding.flags,
        upstream=tuple(_upstream_view(item, outside_links) for item in finding.upstream),
        leading=position == 0,
    )


def _culprit_view(
    culprit: Culprit,
    passes: dict[tuple[str, int], str],
    source_lines: SourceLines,
    server: str,
) -> CulpritView:
    source = culprit.source
    name = culprit.instruction or culprit.loop or culprit.computation or culprit.module or ""
    standing = ""
    if culprit.module is not None and culprit.dump is not None:
        standing = passes.get((culprit.module, culprit.dump), "")
    origin = ""
    if source is not None:
        plain = "line stated in the dump" if culprit.stated else "line inferred"
        origin = LINE_ORIGINS.get(culprit.source_how or "stated", plain)
    snippet = source_lines.get((source.file, source.line)) if source else None
    return CulpritView(
        role=culprit.role,
        name=name,
        where=_where(culprit, standing),
        place=place_text(source) if source else "",
        path=source.file if source else "",
        origin=origin,
        stated=culprit.stated,
        op_name=culprit.op_name or "",
        frames=tuple(
            f"{file_name(frame.file)}:{frame.line}"
            + (f" in {frame.function}" if frame.function else "")
            for frame in (source.frames if source else ())
        ),
        snippet=_snippet_view(snippet, source.line) if snippet and source else (),
        snippet_file=snippet.file if snippet else "",
        line_href=_line_href(culprit, server),
        graph_href=_instruction_href(culprit, server, "graph"),
        history_href=_instruction_href(culprit, server, "history"),
    )


def _line_href(culprit: Culprit, server: str) -> str:
    if not server or culprit.source is None:
        return ""
    source = culprit.source
    query = {"module": culprit.module or "", "file": source.file, "line": source.line}
    return f"{server}/source?{urlencode(query, errors='replace')}#L{source.line}"


def _instruction_href(culprit: Culprit, server: str, page: str) -> str:
    if not (server and culprit.instruction and culprit.computation):
        return ""
    if culprit.module is None or culprit.dump is None:
        return ""
    query = {
        "module": culprit.module,
        "text": culprit.dump,
        "computation": culprit.computation,
        "instruction": culprit.instruction,
    }
    return f"{server}/{page}?{urlencode(query, errors='replace')}"


def _where(culprit: Culprit, standing: str) -> str:
    """`all-gather in region_0.1599_spmd, after 0071 reduce-scatter-creator`."""
    parts = [culprit.opcode or ""] if culprit.opcode else []
    if culprit.instruction and culprit.computation:
        parts.append(f"in {culprit.computation}")
    where = " ".join(parts)
    # Some dump points are called `after optimizations` or `before optimizations` already.
    when = standing if standing.startswith(("after ", "before ")) else f"after {standing}"
    return ", ".join(part for part in (where, when if standing else "") if part)


def _snippet_view(snippet: Snippet, here: int) -> tuple[SourceLineView, ...]:
    return tuple(
        SourceLineView(number=number, text=code_line(text), here=number == here)
        for number, text in enumerate(snippet.lines, start=snippet.first_line)
    )


def _evidence_views(
    evidence: tuple[Evidence, ...], text_links: TextLinks
) -> tuple[EvidenceView, ...]:
    """The evidence in the order given, what follows on one another in a file under one heading."""
    by_file = itertools.groupby(evidence[:MAX_LISTED], key=lambda item: item.file)
    return tuple(
        EvidenceView(
            folder=file.removesuffix(file_name(file)),
            name=file_name(file),
            lines=tuple(
                EvidenceLine(
                    number="" if item.line is None else f"{item.line}",
                    text=item.text.strip(),
                    href=f"{text_links[file]}/{item.line}"
                    if file in text_links and item.line is not None
                    else "",
                )
                for item in items
            ),
        )
        for file, items in by_file
    )


def _upstream_view(upstream: Upstream, outside_links: bool) -> UpstreamView:
    thread = _THREAD.fullmatch(upstream.ref)
    details = [f"affects {upstream.affects}"] if upstream.affects else []
    details += [f"fixed in {upstream.fixed_in}"] if upstream.fixed_in else []
    return UpstreamView(
        ref=upstream.ref,
        url=f"https://github.com/{thread[1]}/issues/{thread[2]}"
        if thread and outside_links
        else "",
        detail=", ".join(details),
    )
