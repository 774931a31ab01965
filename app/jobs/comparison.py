"""The difference of two large texts of a bundle, made in a child with limits.

Work on a text is linear in its size, but a hostile text may have any size up to a limit, and the
server must go on answering meanwhile.
"""

import logging
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.jobs.children import run_prepared
from app.jobs.endings import problem_of
from app.sandbox import ChildLost, Ending, Limits, Outcome
from app.settings import Settings
from app.store import Problem, Store

_LOG = logging.getLogger(__name__)

COMPARISON = "app.jobs.comparing:write_difference"


def compare_in_child(
    store: Store,
    settings: Settings,
    bundle: Path,
    *,
    module_id: str,
    texts: tuple[int, int],
    computation: str = "",
    target: str = COMPARISON,
    paths: Sequence[Path] = (),
) -> bytes | Problem:
    """The JSON of the difference between two `texts` of a module, or why there is none.

    `target` is what the child calls, found in `paths` beside the application's own modules.
    """
    return answer_of_child(
        store,
        target,
        {"bundle": str(bundle), "module_id": module_id, "texts": texts, "computation": computation},
        limits=Limits(
            memory_bytes=settings.job_memory_bytes,
            cpu_s=settings.job_cpu_s,
            wall_s=settings.job_timeout_s,
            may_fork=False,
        ),
        name=module_id,
        paths=paths,
    )


def answer_of_child(
    store: Store,
    target: str,
    arguments: dict[str, Any],
    *,
    limits: Limits,
    name: str,
    paths: Sequence[Path] = (),
) -> bytes | Problem:
    """What `target` writes to the file it gets as `answer`, or why it did not end well.

    `name` is what a limit that was reached is told of. A child that was lost, which somebody else
    may have brought down, has one more chance, on its own.
    """
    folder = store.scratch(f"child-{uuid.uuid4().hex}")
    answer = folder / "answer"

    def run(*, apart: bool) -> Outcome:
        return run_prepared(
            target,
            arguments | {"answer": str(answer)},
            limits=limits,
            folder=folder,
            paths=paths,
            apart=apart,
        )

    try:
        try:
            outcome = run(apart=False)
        except ChildLost as error:
            _LOG.warning("a child of the server was lost: %s", error)
            outcome = run(apart=True)
        if outcome.ending is Ending.OK:
            return answer.read_bytes()
        return problem_of(outcome, limits, name=name)
    except ChildLost as error:
        _LOG.error("a child of the server was lost again: %s", error)
        return _lost(name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _lost(name: str) -> Problem:
    return Problem(
        code="worker_lost",
        message="the process that worked at this ended before its work, twice",
        hint="Ask again in a moment; if that does not help, tell whoever runs the server.",
        where=name,
    )
