"""Templates of the server's own pages, and what `base.html` is given on each of them."""

import functools
from dataclasses import dataclass
from typing import Any

import jinja2

from app.report.html import page_environment

_UNITS = ("bytes", "KiB", "MiB", "GiB")


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
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    number = f"{value:.1f}" if unit and value < 10 else f"{value:.0f}"
    return f"{number.removesuffix('.0')} {_UNITS[unit]}"
