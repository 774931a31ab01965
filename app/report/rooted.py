"""Links of templates, where the server stands below a path of its host.

Templates say `href="/compare"` as if the server stood at the top. When a template is compiled, what
stands before every such address is put there, so that no template can forget it. Whoever renders
says what that is; it is "" unless said otherwise, and in every page for the disk.
"""

import re
from contextvars import ContextVar
from typing import Any, cast

from jinja2 import Environment
from jinja2.ext import Extension

ROOT: ContextVar[str] = ContextVar("root", default="")
"""What stands before every address of the server that the running code renders for."""

_LITERAL = re.compile(r'\b(href|src|action|formaction)="/(?!/)')


class RootedLinks(Extension):
    """Puts the root before every literal address of the server."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        # Jinja does not say what its globals are.
        cast("Any", environment).globals["root"] = ROOT.get

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """The template as it is compiled."""
        del name, filename
        return _LITERAL.sub(r'\1="{{ root() }}/', source)
