"""Templates of the server's own pages, and what `base.html` is given on each of them."""

import functools
from dataclasses import dataclass
from typing import Any

import jinja2

from app.report.html import page_environment

_UNITS = ("bytes", "KiB", "MiB", "GiB")


@dataclass(frozen=True, slots=True)
class Owner:
    """What whoever sent a report may do with it; paths, of which those of pages may be missing."""

    delete_action: str
    share_page: str = ""
    replay_page: str = ""


@dataclass(frozen=True, slots=True)
class About:
    """What is said of a report beside its contents; what nobody said is empty.

    `commit` is a digest or an address, `run` an address, `ends` a day.
    """

    label: str = ""
    commit: str = ""
    run: str = ""
    ends: str = ""
    is_share: bool = False
    is_redacted: bool = False

    @property
    def says_anything(self) -> bool:
        """There is something to tell a reader."""
        return bool(self.label or self.commit or self.run or self.is_share)


@dataclass(frozen=True, slots=True)
class Site:
    """What `base.html` shows around a page."""

    owner: Owner | None = None
    about: About = About()


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
