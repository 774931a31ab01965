"""A server that stands below a path of its host (`https://tools.example/hlo/`), behind a proxy.

The path is that of the server's address in the settings. A proxy may hand requests on with it or
without: it is taken off here, and everything behind knows the server's own addresses only. Whoever
writes one of these down for a reader puts `root()` in front; literal links of templates have it
from `app.report.rooted`.
"""

from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from app.report.rooted import ROOT
from app.settings import Settings


def root() -> str:
    """What stands before every address of the server, without a slash at its end; "" at the top."""
    return ROOT.get()


class SubPath:
    """Wraps the application `app`."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._root = urlsplit(settings.base_url).path.rstrip("/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or serve one lifespan."""
        if scope["type"] != "http" or not self._root:
            await self._app(scope, receive, send)
            return
        before = ROOT.set(self._root)
        try:
            await self._app(self._without_root(scope), receive, send)
        finally:
            ROOT.reset(before)

    def _without_root(self, scope: Scope) -> Scope:
        path: str = scope["path"]
        if path != self._root and not path.startswith(self._root + "/"):
            return scope
        raw: bytes = scope.get("raw_path") or path.encode()
        own = self._root.encode()
        return {
            **scope,
            "path": path.removeprefix(self._root) or "/",
            "raw_path": raw.removeprefix(own) or b"/",
        }
