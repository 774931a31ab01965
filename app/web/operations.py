"""What those who run a server ask it: whether it lives, whether it can work, and its figures."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import JSONResponse, Response

from app.store import StoreUnavailable
from app.web.metrics import CONTENT_TYPE, Metrics
from app.web.services import Services, services_of

router = APIRouter(include_in_schema=False)

InServices = Annotated[Services, Depends(services_of)]


@router.api_route("/healthz", methods=["GET", "HEAD"])
def health() -> Response:
    """The process answers. Starting it anew would mend nothing that this does not show."""
    return JSONResponse({"ok": True})


@router.api_route("/readyz", methods=["GET", "HEAD"])
def ready(services: InServices) -> Response:
    """Whether work may be sent here: the database answers, the disk has room, no end is near."""
    found = {
        "database": _answers(services),
        "disk": services.store.blobs.room() > 0,
        "staying": not services.stopping.is_set(),
    }
    is_ready = all(found.values())
    return JSONResponse({"ok": is_ready, **found}, 200 if is_ready else 503)


@router.api_route("/metrics", methods=["GET", "HEAD"])
def metrics(request: Request, services: InServices) -> Response:
    """The figures of this process, for Prometheus; for a token of the scope `admin` alone."""
    kept: Metrics = request.app.state.metrics
    return Response(kept.text(services.store), media_type=CONTENT_TYPE)


def _answers(services: Services) -> bool:
    try:
        services.store.jobs.count_open()
    except StoreUnavailable:
        return False
    return True
