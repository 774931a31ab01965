"""What a child is told of an upload: where its files are, and what its sender said of the run."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload as JSON values, which is how it comes to a child.

    `archive` is the file of the dump, called `name`, `logs` are labels and files; `flags`,
    `release` and `hung` are those of a `Question`, `settings` the budgets as `portable_settings`
    gives them.
    """

    archive: str | None
    name: str
    logs: tuple[tuple[str, str], ...] = ()
    flags: str = ""
    release: str | None = None
    hung: bool = False
    settings: dict[str, Any] | None = None
