"""Who sends a request: a program with a token, a person whom a proxy names, or anybody.

Secrets come in headers only, never in an address. The header that names a person is believed as it
stands here: `proxies.py` has taken it from every request that no trusted proxy handed on.
"""

import hmac
import ipaddress
import time
from dataclasses import dataclass, field
from typing import Literal

from starlette.requests import Request
from starlette.types import Scope as AsgiScope

from app.errors import UsageError
from app.settings import Settings
from app.store import Owner, Scope, Store
from app.store.tokens import PREFIX

Need = Literal["read", "change", "upload", "admin"]
"""What a request is for; `change` concerns one report or upload, whose own secret counts, too."""

_SCOPE_FOR: dict[Need, Scope] = {
    "read": "read",
    "change": "upload",
    "upload": "upload",
    "admin": "admin",
}
_MOST_NAME_CHARACTERS = 256


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever sends a request; `name` is fit for logs, and "" for anybody."""

    name: str = ""
    owner: Owner | None = field(default=None, repr=False)
    scopes: frozenset[Scope] = frozenset()

    def may(self, need: Need) -> bool:
        """Their scopes allow it."""
        return _SCOPE_FOR[need] in self.scopes or "admin" in self.scopes


ANYBODY = Caller()


def bearer_of(request: Request) -> str:
    """The bearer token of a request, or ""."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def find_caller(request: Request, settings: Settings, store: Store) -> Caller:
    """Whoever the request says sends it; asks the database where it carries a token of the API.

    Raises:
        UsageError: the token was never made, has had its time or was taken back (`bad_token`), or
            a person's request may be that of another site (`cross_site`).
    """
    bearer = bearer_of(request)
    if bearer.startswith(PREFIX):
        row = store.tokens.find(bearer, now=time.time())
        if row is None:
            raise UsageError(
                "that token is not known, has had its time, or was taken back",
                place="Authorization",
                next_step="Whoever runs the server makes another: `hloscope admin tokens create`.",
                code="bad_token",
            )
        return Caller(f"token {row.handle}", Owner(bearer), row.scopes)
    expected = settings.upload_token
    if expected and hmac.compare_digest(bearer.encode(), expected.encode()):
        return Caller("upload token", None, frozenset({"upload"}))
    person = request.headers.get(settings.login_header, "") if settings.login_header else ""
    if person:
        _refuse_hidden_origin(request)
        return _person(person.strip()[:_MOST_NAME_CHARACTERS], settings)
    return ANYBODY


def _refuse_hidden_origin(request: Request) -> None:
    # A proxy signs in whatever the browser sends, the forms of other sites too. Those can hide
    # where they stand, but not from `Sec-Fetch-Site`, which browsers send over https.
    headers = request.headers
    if (
        request.method not in ("GET", "HEAD", "OPTIONS")
        and headers.get("origin") == "null"
        and "sec-fetch-site" not in headers
    ):
        raise UsageError(
            "nothing tells whether this server's own page made the request",
            place="Origin",
            next_step="Open the server over https: browsers then say which site asks.",
            code="cross_site",
        )


def caller_of(request: Request) -> Caller:
    """Whoever was let in with this request."""
    caller: Caller = getattr(request.state, "caller", ANYBODY)
    return caller


def sender_of(request: Request) -> str:
    """For whom uploads are counted: a member, wherever they are, or else an address."""
    return caller_of(request).name or client_of(request.scope)


def client_of(scope: AsgiScope) -> str:
    """The address that limits are counted for: all of a home's IPv6 network is one."""
    client = scope.get("client")
    if client is None:
        return ""
    host: str = client[0]
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return host
    return str(ipaddress.ip_network((address, 64), strict=False))


def _person(name: str, settings: Settings) -> Caller:
    # Their reports are theirs from any browser; without the server's secret nobody can tell which.
    digest = hmac.digest(settings.login_secret.encode(), name.encode("utf-8", "replace"), "sha256")
    return Caller(f"person {digest.hex()[:12]}", Owner(digest.hex()), frozenset({"read", "upload"}))
