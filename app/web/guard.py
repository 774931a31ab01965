"""The outermost layer: who may ask, what no answer may lack, and what is logged of a request.

Turns away strange hosts, cross-site posts, compressed bodies, secrets in the address and too many
requests, before anything reads a body. Adds the security headers to every answer, and turns what
nothing else caught into one that shows only an id.
"""

import ipaddress
import logging
import re
import socket
import time
import uuid
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import LimitExceeded, UsageError
from app.logs import request_id
from app.settings import Settings
from app.web.callers import ANYBODY, Caller, client_of
from app.web.metrics import Metrics
from app.web.problems import response_to
from app.web.rates import Rate, too_many

_LOG = logging.getLogger("app.web.access")

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_UPLOADS = "/api/v1/uploads"
TUS_VERSION = "1.0.0"
"""Of the protocol that `resumable.py` speaks; every answer there says it."""

_UNLISTED = ("/r/", "/api/", "/compare")
_UNCOUNTED = ("/static/", "/healthz", "/readyz")
# Addresses that take a body of any size; all others take a small form at most.
_TAKES_DUMPS = re.compile(r"/(?:api/v1/(?:reports(?:/[^/]*)?|uploads/[^/]*))?")
_MOST_FORM_BYTES = 1 << 20
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_SECRET_NAMES = frozenset({"token", "access_token", "delete_token", "authorization", "api_key"})
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{8,64}")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::\d{1,5})?")


class Guard:
    """Wraps the application `app`."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._hosts = known_hosts(settings)
        self._answers_to_addresses = not settings.allowed_hosts
        self._rate = Rate(settings.max_requests_per_minute, 60.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.monotonic()
        status = 0
        own_id = _request_id(scope)
        in_log = request_id.set(own_id)

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                _add_headers(scope, headers)
                headers["X-Request-ID"] = own_id
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, receive, send_with_headers)
        except Exception as error:
            if status:
                raise  # half an answer is out: the connection has to break
            await response_to(scope, error)(scope, receive, send_with_headers)
        finally:
            self._note(scope, status, time.monotonic() - started)
            request_id.reset(in_log)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        method, route = scope["method"], _route(scope)
        self._metrics.observe(method, route, status, seconds)
        caller: Caller = scope.get("state", {}).get("caller", ANYBODY)
        told = {"method": method, "route": route, "status": status, "seconds": round(seconds, 4)}
        if caller.name:
            told["caller"] = caller.name
        words = f"{method} {route} {status} {1000 * seconds:.0f} ms"
        _LOG.info("%s", words, extra=told)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if not self._is_known(headers.get("host", "")):
            raise UsageError(
                "this server does not answer to that host name",
                place="Host",
                next_step="Whoever runs the server can allow it with HLOSCOPE_ALLOWED_HOSTS.",
                code="bad_host",
            )
        if not scope["path"].startswith(_UNCOUNTED) and not self._rate.spend(client_of(scope)):
            raise too_many("too many requests came from this address", "Wait a minute.")
        _check_request(scope, headers)

    def _is_known(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = match[1].lower().rstrip(".")
        return name in self._hosts or (self._answers_to_addresses and _is_address(name))


def known_hosts(settings: Settings) -> frozenset[str]:
    """The host names the server answers to, in lower case."""
    given = {name.strip().lower() for name in settings.allowed_hosts.split(",")} - {""}
    names = given or {"localhost", socket.gethostname().lower(), socket.getfqdn().lower()}
    own = urlsplit(settings.base_url).hostname
    return frozenset(names | ({own} if own else set()))


def _is_address(name: str) -> bool:
    # An address cannot be made to point elsewhere, as a name can (DNS rebinding).
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _check_request(scope: Scope, headers: Headers) -> None:
    secrets = _SECRET_NAMES & {
        name.lower() for name, _ in parse_qsl(scope["query_string"].decode("latin-1"))
    }
    if secrets:
        raise UsageError(
            "a secret stands in the address, where logs and histories keep it",
            place=min(secrets),
            next_step="Send it as `Authorization: Bearer ...`, and take it out of use.",
            code="secret_in_address",
        )
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise UsageError(
            "compressed bodies are not accepted",
            place="Content-Encoding",
            next_step="Send the archive as it is, without the header.",
            code="content_encoding",
        )
    length = headers.get("content-length", "0")
    is_long = length.isdecimal() and int(length[:20]) > _MOST_FORM_BYTES
    if is_long and not _takes_dumps(scope):
        raise LimitExceeded(
            "no such body is taken at this address",
            place="Content-Length",
            next_step="Dumps go to /api/v1/reports.",
        )
    if scope["method"] not in _SAFE_METHODS and _is_cross_site(headers):
        raise UsageError(
            "the request was made by a page of another site",
            place="Origin",
            next_step="Open this server's own page.",
            code="cross_site",
        )


def _takes_dumps(scope: Scope) -> bool:
    return (
        scope["method"] in ("PATCH", "POST", "PUT")
        and _TAKES_DUMPS.fullmatch(scope["path"]) is not None
    )


def _is_cross_site(headers: Headers) -> bool:
    fetched_from = headers.get("sec-fetch-site")
    if fetched_from is not None:
        return fetched_from not in ("same-origin", "none")
    # Without Sec-Fetch-Site (plain http to an address) forms of our own pages say "null", since
    # these are sent with `Referrer-Policy: no-referrer`. A stranger's may say so too, but comes
    # without the strictly same-site cookie; persons whom a proxy signs in are looked at apart.
    origin = headers.get("origin", "null")
    return origin != "null" and urlsplit(origin).netloc != headers.get("host", "")


def _add_headers(scope: Scope, headers: MutableHeaders) -> None:
    for name, value in _HEADERS.items():
        headers.setdefault(name, value)
    if scope["scheme"] == "https":
        # Browsers complain of it where the connection is not trusted.
        headers["Cross-Origin-Opener-Policy"] = "same-origin"
    path: str = scope["path"]
    if path.startswith("/static/"):
        headers.setdefault("Cache-Control", "no-cache")
    else:
        headers.setdefault("Cache-Control", "private, no-store")
    if path.startswith(_UPLOADS):
        headers["Tus-Resumable"] = headers["Tus-Version"] = TUS_VERSION
    if path.startswith(_UNLISTED):
        headers["X-Robots-Tag"] = "noindex, nofollow"


def _request_id(scope: Scope) -> str:
    # What a proxy calls it is kept, as far as that is fit for a log.
    given = Headers(scope=scope).get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex[:16]


def _route(scope: Scope) -> str:
    # The pattern, never the path: whoever reads the log shall not be able to open a report.
    return getattr(scope.get("route"), "path", "-")
