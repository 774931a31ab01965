"""Which words of a proxy are believed: the client's address, the scheme, and who is signed in.

Stands before everything else. What says who a client is, or where it comes from, is taken out of
every request that did not come from a proxy named in the settings, so nothing behind has to ask
again. uvicorn's own middleware then puts the client's address in its place.
"""

import ipaddress
from typing import Any, cast

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app.settings import Settings, networks_from

_FORWARDED = (b"x-forwarded-for", b"x-forwarded-proto", b"x-request-id")


class Proxies:
    """Wraps the application `app`."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._plain = app
        self._networks = networks_from(settings.trusted_proxies)
        # uvicorn's words for a scope are stricter than Starlette's, and mean the same.
        behind = ProxyHeadersMiddleware(cast("Any", app), trusted_hosts=settings.trusted_proxies)
        self._forwarded = cast("ASGIApp", behind)
        own = settings.login_header.lower().encode("latin-1")
        self._believed = frozenset({*_FORWARDED, own} - {b""})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or serve one lifespan."""
        if scope["type"] != "http":
            await self._plain(scope, receive, send)
        elif self._is_trusted(scope):
            await self._forwarded(scope, receive, send)
        else:
            headers = [pair for pair in scope["headers"] if pair[0] not in self._believed]
            await self._plain({**scope, "headers": headers}, receive, send)

    def _is_trusted(self, scope: Scope) -> bool:
        if not self._networks:
            return False
        try:
            peer = ipaddress.ip_address((scope.get("client") or ("",))[0])
        except ValueError:
            return False
        return any(peer in network for network in self._networks)
