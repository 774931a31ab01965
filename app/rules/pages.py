"""The page of a rule as data: its parts under the fixed headings, for whoever shows it.

The text is the docstring of the rule's file. A part is a tuple of paragraphs; a paragraph is plain
text on one line. Nothing here knows HTML.
"""

import re
from dataclasses import dataclass

from app.rules.frame import Rule, load_rules

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PagePart:
    """One part of a page: `heading` (`What it finds`) and its paragraphs."""

    heading: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RulePage:
    """The page of one rule; `summary` is the sentence that it opens with."""

    code: str
    slug: str
    title: str
    class_: str
    since: str
    summary: str
    parts: tuple[PagePart, ...]
    sources: tuple[str, ...]


def rule_pages() -> tuple[RulePage, ...]:
    """The pages of all rules, by the names of their files."""
    return tuple(_page(rule) for rule in load_rules())


def rule_page(code: str) -> RulePage | None:
    """The page of the rule with this code, in any case of letters; None for no such rule."""
    wanted = code.upper()
    return next((_page(rule) for rule in load_rules() if rule.code == wanted), None)


def _page(rule: Rule) -> RulePage:
    summary, *pieces = _HEADING.split(rule.page)
    parts = zip(pieces[::2], pieces[1::2], strict=True)
    return RulePage(
        code=rule.code,
        slug=rule.slug,
        title=rule.title,
        class_=rule.class_,
        since=rule.since,
        summary=" ".join(summary.split()),
        parts=tuple(PagePart(heading.strip(), _paragraphs(text)) for heading, text in parts),
        sources=rule.sources,
    )


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(" ".join(piece.split()) for piece in re.split(r"\n\s*\n", text) if piece.strip())
