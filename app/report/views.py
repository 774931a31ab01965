"""The ways from one view of a report to the others, as every page of a report shows them.

Knows the addresses below the report's own and the words for them; makes no page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

View = Literal["report", "passes", "diff", "loops", "collectives", "source", "memory", "graph"]

_PATHS: dict[View, tuple[str, str]] = {
    "report": ("", "Report"),
    "passes": ("/passes", "Passes"),
    "diff": ("/diff", "Diff"),
    "loops": ("/loops", "Loops"),
    "collectives": ("/collectives", "Collectives"),
    "source": ("/source", "Source"),
    "memory": ("/memory", "Memory"),
    "graph": ("/graph", "Graph"),
}


@dataclass(frozen=True, slots=True)
class ViewLink:
    """A way to a view; `here` is the one that is shown."""

    href: str
    word: str
    here: bool


def view_links(report: str, here: View) -> tuple[ViewLink, ...]:
    """All views below the address `report`; none where there is no server ("")."""
    if not report:
        return ()
    return tuple(
        ViewLink(f"{report}{path}", word, view == here) for view, (path, word) in _PATHS.items()
    )


def address_of(page: str, query: Mapping[str, object]) -> str:
    """The address of a page with what the query says; what is empty there is left out."""
    kept = {name: value for name, value in query.items() if value not in ("", ())}
    return f"{page}?{urlencode(kept, doseq=True, errors='replace')}"
