"""What compiling a dump again has shown, over the API: how far it is, and the table of variants.

A replay is a report of its own; this is the part of it that a program waits for. Read from the row
of the report, and from its bundle once there is one.
"""

from typing import Literal

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from app.errors import NotFound
from app.model.experiments import Replay
from app.model.source import Struct
from app.report.experiments import replay_view
from app.report.wording import legible
from app.store import ReportRow
from app.web.api import settled
from app.web.contract import InServices, WaitSeconds, answers, errors
from app.web.services import Services, find_report, open_bundle
from app.web.stages import first_results, progress_words

router = APIRouter(prefix="/api/v1/reports/{report_id}", tags=["slices"])


class ReplayAnswer(Struct, frozen=True, kw_only=True):
    """How far a replay is, and what it has shown.

    `asked` are the words of what was asked for, empty where the command line made the report;
    `progress` says how far it is while it is not over, `outcomes` what came of the last variants
    tried until then, a sentence each. `error` and `error_code` say why there is no answer. `lines`
    are the page's sentences, `replay` has the table: its `experiments`, one for each compile.
    """

    state: Literal["queued", "running", "done", "failed"]
    asked: tuple[str, ...] = ()
    progress: str = ""
    outcomes: tuple[str, ...] = ()
    error: str = ""
    error_code: str = ""
    lines: tuple[str, ...] = ()
    replay: Replay | None = None


@router.get(
    "/replay",
    response_class=JSONResponse,
    responses={**errors(404), **answers("ReplayAnswer")},
    operation_id="get_replay",
    summary="What compiling the dump again has shown",
)
async def get_replay(
    request: Request, report_id: str, services: InServices, wait: WaitSeconds = 0
) -> Response:
    """Of the report that a replay is; the report that it was begun from has none."""
    row = await run_in_threadpool(find_report, services, report_id)
    row = await settled(request, services, row, wait)
    answer = await run_in_threadpool(_answer, services, row)
    return Response(msgspec.json.encode(answer), media_type="application/json")


def _answer(services: Services, row: ReportRow) -> ReplayAnswer:
    asked = tuple(row.question.replay.split())
    if not asked and row.state != "done":
        raise _without_replay()
    answer = ReplayAnswer(state=row.state, asked=asked)
    if row.problem is not None:
        said = {"error": row.problem.message, "error_code": row.problem.code}
        return msgspec.structs.replace(answer, **said)
    if not row.is_over:
        outcomes = tuple(first_results(row))
        return msgspec.structs.replace(answer, progress=progress_words(row), outcomes=outcomes)
    with open_bundle(services, row) as bundle:
        replay = bundle.report().replay
    if replay is None:
        raise _without_replay()
    lines = replay_view(legible(replay)).lines
    return msgspec.structs.replace(answer, lines=lines, replay=replay)


def _without_replay() -> NotFound:
    return NotFound(
        "the dump of this report was not compiled again",
        next_step="Whoever sent it can have that done from its page, where the server lets him.",
    )
