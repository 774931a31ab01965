"""What those who run a server ask it: whether it lives, whether it can work, and its figures."""

import threading
import time
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import JSONResponse, Response

from app.store import StoreUnavailable
from app.web.metrics import CONTENT_TYPE, Metrics
from app.web.services import Services, services_of

router = APIRouter(include_in_schema=False)

_LOOKS_EVERY_S = 1.0
_HANGS_S = 3.0

InServices = Annotated[Services, Depends(services_of)]


def _database_answers(services: Services) -> bool:
    try:
        services.store.jobs.count_open()
    except StoreUnavailable:
        return False
    return True


def _disk_has_room(services: Services) -> bool:
    return services.store.blobs.room() > 0


_LOOKS: dict[str, Callable[[Services], bool]] = {
    "database": _database_answers,
    "disk": _disk_has_room,
}


class Looked:
    """What was seen of the database and the disk, at most a second ago.

    Probes are not turned away for being many, and so they must not cost the more the more they are.
    What somebody has looked at for `hangs_s` seconds without an answer does not answer.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, hangs_s: float = _HANGS_S
    ) -> None:
        self._clock = clock
        self._hangs_s = hangs_s
        self._lock = threading.Lock()
        self._found: dict[str, bool] | None = None
        self._at = 0.0
        self._looking: tuple[str, float] | None = None

    def at(self, services: Services) -> dict[str, bool]:
        """What is so; whoever asks while somebody looks is told what was seen before."""
        found = self._found
        if found is not None and self._clock() - self._at < _LOOKS_EVERY_S:
            return found
        # At the start nothing was seen before: whoever looks is waited for.
        if not self._lock.acquire(timeout=self._hangs_s if found is None else 0):
            return self._meanwhile()
        try:
            if self._found is not None and self._found is not found:
                return self._found
            found = {name: self._look(name, services) for name in _LOOKS}
            self._found, self._at = found, self._clock()
            return found
        finally:
            self._looking = None
            self._lock.release()

    def _look(self, name: str, services: Services) -> bool:
        self._looking = (name, self._clock())
        return _LOOKS[name](services)

    def _meanwhile(self) -> dict[str, bool]:
        """What was seen before, but for what does not answer; nothing is so that was never seen."""
        seen = self._found or dict.fromkeys(_LOOKS, False)
        looking = self._looking
        if looking is None or self._clock() - looking[1] < self._hangs_s:
            return seen
        return {**seen, looking[0]: False}


@router.api_route("/healthz", methods=["GET", "HEAD"])
def health() -> Response:
    """The process answers. Starting it anew would mend nothing that this does not show."""
    return JSONResponse({"ok": True})


@router.api_route("/readyz", methods=["GET", "HEAD"])
def ready(request: Request, services: InServices) -> Response:
    """Whether work may be sent here: the database answers, the disk has room, no end is near."""
    looked: Looked = request.app.state.looked
    found = {**looked.at(services), "staying": not services.stopping.is_set()}
    is_ready = all(found.values())
    return JSONResponse({"ok": is_ready, **found}, 200 if is_ready else 503)


@router.api_route("/metrics", methods=["GET", "HEAD"])
def metrics(request: Request, services: InServices) -> Response:
    """The figures of this process, for Prometheus; for a token of the scope `admin` alone."""
    kept: Metrics = request.app.state.metrics
    return Response(kept.text(services.store), media_type=CONTENT_TYPE)
