"""Speaking to a server of hloscope: requests with a token, errors in its one shape, patience.

Only what the standard library has; proxies and certificates are those of the environment. An
address that leads elsewhere is not followed: a token must not travel.
"""

import json
import secrets
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from email.message import Message
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import IO, Any, cast
from urllib.parse import quote, urlencode, urlsplit

from app.errors import ServerFault, UsageError

_TRIES = 4
_LONGEST_PAUSE_S = 30.0
_LONG_POLL_S = 60
_TIMEOUT_S = 120.0
_BUSY = (429, 503)
_KEY_BYTES = 24


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> None:
        return None


class _Patient(HTTPConnection):
    """A connection on which an answer is read even where the other side stopped listening.

    A server that will not take a body says so at once, and hangs up on the rest of it.
    """

    _is_broken = False

    def send(self, data: Any) -> None:
        if self._is_broken:
            return
        try:
            super().send(data)
        except (BrokenPipeError, ConnectionResetError):
            self._is_broken = True


class _PatientSecure(_Patient, HTTPSConnection):
    pass


class _Handler(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_Patient, req)


class _SecureHandler(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_PatientSecure, req, context=ssl.create_default_context())


class Remote:
    """A server at the address `server`; `token` lets upload where one is needed."""

    def __init__(self, server: str, *, token: str = "") -> None:
        parts = urlsplit(server)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise UsageError(
                "it is no address of a server",
                place=server,
                next_step="Give one such as https://hloscope.example.",
            )
        self._server = server.rstrip("/")
        self._token = token
        self._opener = urllib.request.build_opener(_NoRedirects, _Handler, _SecureHandler)

    def full(self, path: str) -> str:
        """A path of the server as a whole address; one that is whole already stays."""
        return path if "://" in path else f"{self._server}{path}"

    def send(
        self, query: Mapping[str, str], body: Iterable[bytes], length: int, content_type: str
    ) -> dict[str, Any]:
        """Create a report from a body of `length` bytes, which may be read several times.

        It is sent again where the answer was lost, with a key by which it stays one report.
        """
        headers = {
            "Content-Type": content_type,
            "Content-Length": str(length),
            "Idempotency-Key": secrets.token_urlsafe(_KEY_BYTES),
        }
        path = f"/api/v1/reports?{urlencode(query)}"
        answer = self._ask("POST", path, body=body, headers=headers, token=self._token)
        return self._object(answer, "id", "delete_token", "url")

    def state(self, report_id: str, *, fail_on: str, within_s: float) -> dict[str, Any]:
        """The state of a report once its analysis is over, or when the time is."""
        deadline = time.monotonic() + within_s
        while True:
            left = max(0.0, deadline - time.monotonic())
            query = urlencode({"wait": f"{min(left, _LONG_POLL_S):.3f}", "fail_on": fail_on})
            path = f"/api/v1/reports/{quote(report_id)}?{query}"
            state = self._object(self._ask("GET", path), "state", "progress")
            if state["progress"] is None or left <= 0:
                return state

    def share(self, report_id: str, token: str, query: Mapping[str, str]) -> dict[str, Any]:
        """Make a share of a report; `token` is the one that deletes it."""
        path = f"/api/v1/reports/{quote(report_id)}/shares?{urlencode(query)}"
        return self._object(self._ask("POST", path, token=token), "id", "delete_token", "url")

    def form(self, report_id: str, form: str, query: Mapping[str, str]) -> bytes:
        """The report in one of its forms."""
        path = f"/api/v1/reports/{quote(report_id)}/report.{form}?{urlencode(query)}"
        return self._ask("GET", path)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        body: Iterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        token: str = "",
    ) -> bytes:
        """The body of a good answer; asks again where the server is busy or the network fails.

        Raises:
            ServerFault: it did not work.
        """
        for attempt in range(1, _TRIES + 1):
            request = urllib.request.Request(
                self._server + path, data=body, headers=dict(headers or {}), method=method
            )
            request.add_header("Accept", "application/json")
            if token:
                request.add_header("Authorization", f"Bearer {token}")
            try:
                with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                    return cast(bytes, answer.read())
            except urllib.error.HTTPError as error:
                with error:
                    if error.code not in _BUSY or attempt == _TRIES:
                        raise self._refused(error) from error
                    time.sleep(_pause(error.headers.get("Retry-After"), attempt))
            except (OSError, HTTPException) as error:
                # What was sent may have arrived all the same.
                has_key = "Idempotency-Key" in (headers or {})
                may_repeat = method == "GET" or (has_key and _was_lost(error))
                if not may_repeat or attempt == _TRIES:
                    raise self._unreachable(error) from error
                time.sleep(_pause(None, attempt))
        raise AssertionError("unreachable: the last try returns or raises")

    def _object(self, answer: bytes, *keys: str) -> dict[str, Any]:
        """The JSON object that an answer is, with at least these keys.

        Raises:
            ServerFault: whatever answered so, it is no server of hloscope.
        """
        try:
            found: Any = json.loads(answer)
        except ValueError:
            found = None
        if not isinstance(found, dict) or not found.keys() >= set(keys):
            raise ServerFault(
                "what answers there is no hloscope server",
                place=self._server,
                next_step="Check the address; a proxy may want you to sign in first.",
            )
        return cast("dict[str, Any]", found)

    def _refused(self, error: urllib.error.HTTPError) -> ServerFault:
        try:
            words = json.loads(error.read(1 << 20))["error"]
            cause, hint = str(words["message"]), str(words["hint"])
        except (ValueError, KeyError, TypeError, OSError):
            return ServerFault(
                f"the server answered {error.code} {error.reason}",
                place=self._server,
                next_step="Check that the address is that of an hloscope server.",
            )
        return ServerFault(cause, place=self._server, next_step=hint)

    def _unreachable(self, error: Exception) -> ServerFault:
        reason = getattr(error, "reason", None) or error
        return ServerFault(
            f"the server cannot be reached: {reason}",
            place=self._server,
            next_step="Check the address, and that the server runs.",
        )


def _was_lost(error: Exception) -> bool:
    """There was a connection, and it broke."""
    reason = getattr(error, "reason", error)
    return isinstance(reason, ConnectionResetError | BrokenPipeError | TimeoutError | HTTPException)


def _pause(stated: str | None, attempt: int) -> float:
    seconds = float(stated) if stated and stated.isdigit() else float(2**attempt)
    return min(seconds, _LONGEST_PAUSE_S)
