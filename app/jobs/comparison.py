"""The difference of two large texts of a bundle, made in a child with limits.

Work on a text is linear in its size, but a hostile text may have any size up to a limit, and the
server must go on answering meanwhile.
"""

import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

from app.jobs.endings import problem_of
from app.sandbox import Ending, Limits, run_child
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
    limits = Limits(
        memory_bytes=settings.job_memory_bytes,
        cpu_s=settings.job_cpu_s,
        wall_s=settings.job_timeout_s,
    )
    folder = store.scratch(f"compare-{uuid.uuid4().hex}")
    answer = folder / "difference.json"
    try:
        outcome = run_child(
            target,
            {
                "bundle": str(bundle),
                "module_id": module_id,
                "texts": texts,
                "computation": computation,
                "answer": str(answer),
            },
            limits=limits,
            folder=folder,
            paths=paths,
        )
        if outcome.ending is Ending.OK:
            return answer.read_bytes()
        return problem_of(outcome, limits, name=module_id)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
