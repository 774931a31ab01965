"""The difference of two large texts of a bundle, made in a child with limits.

Work on a text is linear in its size, but a hostile text may have any size up to a limit, and the
server must go on answering meanwhile.
"""

import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.jobs.children import run_prepared
from app.jobs.endings import problem_of
from app.sandbox import Ending, Limits
from app.settings import Settings
from app.store import Problem, Store

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

    `name` is what a limit that was reached is told of.
    """
    folder = store.scratch(f"child-{uuid.uuid4().hex}")
    answer = folder / "answer"
    try:
        outcome = run_prepared(
            target,
            arguments | {"answer": str(answer)},
            limits=limits,
            folder=folder,
            paths=paths,
        )
        if outcome.ending is Ending.OK:
            return answer.read_bytes()
        return problem_of(outcome, limits, name=name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
