"""Pages of a report beside its own: memory, one address each below the report's."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import HTMLResponse

from app.report.memory import memory_page
from app.web.rendering import Site
from app.web.texts import InReader

router = APIRouter(prefix="/r/{report_id}", include_in_schema=False)

Name = Annotated[str, Query(max_length=4096)]


@router.api_route("/memory", methods=["GET", "HEAD"])
def memory(reader: InReader, report_id: str, module: Name = "") -> HTMLResponse:
    """Where the bytes of a module go: over the schedule, at the peak, in its loops."""
    with reader.bundle() as bundle:
        page = memory_page(
            bundle.report(),
            here=f"/r/{report_id}",
            module=module,
            base_context={"site": Site()},
        )
    return HTMLResponse(page)
