"""Templates of the server's own pages, and what `base.html` is given on each of them."""

import functools
from dataclasses import dataclass
from typing import Any

import jinja2

from app.report.html import page_environment


@dataclass(frozen=True, slots=True)
class Owner:
    """What whoever sent a report may do with it; `delete_action` is a path."""

    delete_action: str


@dataclass(frozen=True, slots=True)
class Site:
    """What `base.html` shows around a page."""

    owner: Owner | None = None


def render(name: str, **context: Any) -> str:
    """The page `name`, as HTML; everything in `context` is escaped."""
    return _environment().get_template(name).render(**context)


@functools.cache
def _environment() -> jinja2.Environment:
    return page_environment()


def binary_size(size: int) -> str:
    """`3.4 MiB` for a number of bytes."""
    value = float(size)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{size} bytes" if unit == "bytes" else f"{value:.3g} {unit}"
        value /= 1024
    raise AssertionError
