"""What the operations of the API have in common: parameters, and what may go wrong with which code.

Only words and types; the handlers stand in `api.py`, `slices.py`, `sharing.py` and `resumable.py`.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Header, Query

from app.web.rights import OWNER_HEADER, REPEAT_HEADER
from app.web.services import Services, services_of
from app.web.wire import ErrorBody, Threshold

MAX_WAIT_S = 300

InServices = Annotated[Services, Depends(services_of)]
WaitSeconds = Annotated[
    float, Query(ge=0, le=MAX_WAIT_S, description="answer only when it is over, or after this long")
]
FailOn = Annotated[Threshold, Query(description="the least severity for which `failed` is true")]
OwnerSecret = Annotated[
    str,
    Header(
        alias=OWNER_HEADER,
        description="a secret of yours of 32 to 128 characters: what is sent with it can be listed",
    ),
]

RepeatKey = Annotated[
    str,
    Header(
        alias=REPEAT_HEADER,
        description="a new secret of 32 to 128 characters: sent again with it, the same upload is "
        "the same report",
    ),
]

ERROR_CODES: Mapping[int, tuple[str, ...]] = {
    400: (
        "wrong_use",
        "empty",
        "bad_field",
        "unknown_field",
        "bad_multipart",
        "bad_length",
        "short_body",
        "bad_host",
        "secret_in_address",
    ),
    401: ("bad_token", "bad_owner", "login_needed"),
    403: ("cross_site", "scope"),
    404: ("not_found",),
    405: ("method_not_allowed",),
    408: ("too_slow",),
    409: ("not_ready", "offset_mismatch", "repeat_key"),
    410: ("gone",),
    412: ("tus_version",),
    413: ("too_large", "too_many_parts", "field_too_long", "quota"),
    415: ("not_a_dump", "content_encoding", "content_type"),
    422: ("invalid", "unreadable_input", "bad_archive", "bad_bundle"),
    423: ("locked",),
    429: ("too_many_requests", "quota"),
    500: ("internal", "job_failed", "worker_lost"),
    503: ("queue_full", "store_unavailable", "stopping"),
    507: ("no_space",),
}
"""The codes that may come with each status. An analysis that failed has further ones, which are
those of `app/README.md`."""

_ANYWHERE = (400, 401, 403, 422, 429, 500, 503)
# A body sent compressed, or a large one at an address that takes none.
_CHANGING = (413, 415)


def errors(*statuses: int, changes: bool = False) -> dict[int | str, dict[str, Any]]:
    """What may go wrong at an operation, for `responses=`; `changes` where it is no GET."""
    # Whoever had what is not there any more is told that it is gone.
    gone = (410,) if 404 in statuses else ()
    wanted = sorted({*_ANYWHERE, *statuses, *gone, *(_CHANGING if changes else ())})
    return {status: {"model": ErrorBody, **_words(status)} for status in wanted}


def errors_of_stream(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The same where the good answer is no JSON.

    With a model, FastAPI would give an error the answer's own media type.
    """
    schema = {"$ref": f"#/components/schemas/{ErrorBody.__name__}"}
    return {
        status: {**_words(int(status)), "content": {"application/json": {"schema": schema}}}
        for status in errors(*statuses)
    }


def answers(name: str, description: str = "Successful Response") -> dict[int | str, dict[str, Any]]:
    """The good answer of an operation as one of the values that `description.py` describes."""
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {200: {"description": description, "content": {"application/json": {"schema": schema}}}}


def _words(status: int) -> dict[str, Any]:
    codes = ERROR_CODES[status]
    return {"description": ", ".join(f"`{code}`" for code in codes), "x-codes": list(codes)}
