"""A request's body as pieces, for as long as it keeps coming and stays within bounds."""

import asyncio
import time
from collections.abc import AsyncIterator
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.types import Message, Receive

from app.errors import LimitExceeded, UsageError

_FORM_IDLE_S = 30
_MOST_FIELDS = 20
_LOOK_UP_S = 0.5
_LEAST_BYTES = 4096
"""What must arrive in each span of `idle_s`, unless the body ends."""


async def body_pieces(request: Request, *, max_bytes: int, idle_s: float) -> AsyncIterator[bytes]:
    """The body in pieces as they arrive; a stated length above `max_bytes` reads nothing at all.

    Raises:
        LimitExceeded: more than `max_bytes` are stated or came.
        UsageError: the length is no number (`bad_length`), the client gave up or sent less than it
            stated (`short_body`), hardly anything came in `idle_s` seconds (`too_slow`), or
            the server is about to end (`stopping`).
    """
    stated = _stated_length(request)
    if stated is not None and stated > max_bytes:
        raise _too_large(max_bytes)
    received = 0
    pace = _Pace(idle_s)
    more = True
    while more:
        message = await pace.wait_for(request.receive, received)
        if request.app.state.stopping.is_set():
            raise _stopping()
        if message is None:
            continue
        if message["type"] == "http.disconnect":
            raise _short(received)
        piece: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        received += len(piece)
        if received > max_bytes:
            raise _too_large(max_bytes)
        if piece:
            yield piece
    if stated is not None and received != stated:
        raise _short(received)


async def form_fields(request: Request, *, max_bytes: int) -> dict[str, list[str]]:
    """The fields of a small form as a browser sends it, each with its values in order.

    Raises:
        UsageError: it has too many fields (`bad_field`); else as `body_pieces`.
    """
    pieces = body_pieces(request, max_bytes=max_bytes, idle_s=_FORM_IDLE_S)
    body = b"".join([piece async for piece in pieces])
    try:
        return parse_qs(body.decode("utf-8", "replace"), max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise UsageError("the form has too many fields", place="body", code="bad_field") from error


class _Pace:
    """Sees to it that something comes in every `idle_s` seconds spent waiting."""

    def __init__(self, idle_s: float) -> None:
        self._idle_s = idle_s
        self._waited_s = 0.0
        self._received_before = 0

    async def wait_for(self, receive: Receive, received: int) -> Message | None:
        """The next message; None where there is none yet, and it may be waited for once more.

        Raises:
            UsageError: hardly anything came (`too_slow`).
        """
        if self._waited_s >= self._idle_s:
            if received - self._received_before < _LEAST_BYTES:
                raise _too_slow(self._idle_s)
            self._waited_s, self._received_before = 0.0, received
        started = time.monotonic()
        try:
            left_s = min(self._idle_s - self._waited_s, _LOOK_UP_S)
            return await asyncio.wait_for(receive(), left_s)
        except TimeoutError:
            return None
        finally:
            # Only time spent waiting counts: a slow disk is no fault of the sender.
            self._waited_s += time.monotonic() - started


def _stated_length(request: Request) -> int | None:
    stated = request.headers.get("content-length")
    if stated is None:
        return None
    if not (stated.isascii() and stated.isdigit() and len(stated) <= 18):
        raise UsageError("the length of the body is no number", code="bad_length")
    return int(stated)


def _too_large(max_bytes: int) -> LimitExceeded:
    return LimitExceeded(
        f"the upload is larger than the {max_bytes / (1 << 20):,.0f} MiB this server takes",
        next_step="Send only the module that matters, or raise HLOSCOPE_MAX_UPLOAD_BYTES.",
    )


def _too_slow(idle_s: float) -> UsageError:
    return UsageError(
        f"hardly any data came in {idle_s:g} seconds",
        place="body",
        next_step="Send it again over a steadier connection.",
        code="too_slow",
    )


def _stopping() -> UsageError:
    return UsageError(
        "the server is about to end, and the upload with it",
        place="body",
        next_step="Send it again in a moment; one in parts goes on where it is.",
        code="stopping",
    )


def _short(received: int) -> UsageError:
    return UsageError(
        f"the body ended after {received} bytes, before all of it had come",
        place="body",
        next_step="Send it again.",
        code="short_body",
    )
