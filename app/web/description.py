"""The OpenAPI description: what FastAPI knows of the operations, and the values of the report.

The report and the slices of it are msgspec values, which FastAPI cannot describe; their schemas are
added here under the names that `contract.answers` refers to.
"""

from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from app.model.ranks import RankComparison
from app.model.report import Collective, Dump, Finding, Loop, Report
from app.report.redact import Preview
from app.views.comparison import ComparisonView
from app.views.loop_view import LoopView
from app.views.pass_diff import PassDiff
from app.views.pass_text import PassText
from app.views.search import SearchResult
from app.views.slices import ModuleRow, Slice
from app.web.replays import ReplayAnswer

_DESCRIBED = (
    Report,
    LoopView,
    ComparisonView,
    RankComparison,
    PassDiff,
    PassText,
    SearchResult,
    Preview,
    ReplayAnswer,
    Slice[ModuleRow],
    Slice[Dump],
    Slice[Loop],
    Slice[Collective],
    Slice[Finding],
)
# What msgspec calls the windows of a list, and what we do.
_NAMES = {
    "Slice_ModuleRow_": "ModuleSlice",
    "Slice_Dump_": "PassSlice",
    "Slice_Loop_": "LoopSlice",
    "Slice_Collective_": "CollectiveSlice",
    "Slice_Finding_": "FindingSlice",
}
_REFERENCE = "#/components/schemas/{name}"


def describe(app: FastAPI) -> dict[str, Any]:
    """The description of all operations of `app`, made once and kept."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
        )
        schemas: dict[str, Any] = made.setdefault("components", {}).setdefault("schemas", {})
        _, own = msgspec.json.schema_components(_DESCRIBED, ref_template=_REFERENCE)
        own = {
            _NAMES.get(name, name): {**own[name], "title": _NAMES.get(name, name)} for name in own
        }
        doubled = own.keys() & schemas.keys()
        assert not doubled, f"two values of the API have one name: {doubled}"
        schemas.update(own)
        _demand_headers(made)
        app.openapi_schema = made
    return app.openapi_schema


# What tus wants said. A request without it gets an answer in the words of tus, and not FastAPI's.
_DEMANDED = {
    "Tus-Resumable": {"enum": ["1.0.0"]},
    "Upload-Length": {"pattern": "^[1-9][0-9]{0,9}$"},
    "Upload-Offset": {"pattern": "^[0-9]{1,18}$"},
}


def _demand_headers(description: dict[str, Any]) -> None:
    for methods in description["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                form = _DEMANDED.get(parameter["name"])
                if form is not None:
                    parameter["required"] = True
                    parameter["schema"] = {"type": "string", **form}
