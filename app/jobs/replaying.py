"""What runs in the child of a replay: an analysis, then compiles of its module, to a bundle.

The child starts a process for each compile, with limits of its own; they die with it. A release is
never installed here.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.bundle import write_bundle
from app.errors import NotFound, UsageError
from app.ingest import Progress, quiet
from app.jobs.aligning import add_costly_pairs
from app.jobs.analysis import examined, summary_of
from app.jobs.room import room_told
from app.jobs.runner import FIRST_RESULT
from app.jobs.upload import Upload
from app.model.dump import DumpContents
from app.model.report import Report
from app.replay.outcome import Attempt
from app.replay.search import OutOfBudget
from app.replay.session import Plan, Session
from app.replay.subject import subject_of
from app.replay.toolchains import installed, toolchain

ASKED: dict[str, Callable[[Session], object]] = {
    "prove": Session.prove,
    "flags": lambda session: session.bisect_flags({}),
    "passes": Session.bisect_passes,
    "releases": Session.try_releases,
    "reduce": lambda session: session.reduce("reduced.hlo"),
}
"""What may be asked of a replay, by the words for it."""


def replay_upload(
    progress: Progress,
    *,
    upload: dict[str, Any],
    bundle: str,
    replay: str,
    root: str,
    budget_s: int,
) -> dict[str, Any]:
    """Analyse an `Upload` as `analyse_upload` does, do what `replay` asks, and write `bundle`.

    `replay` are words of `ASKED`, separated by blanks; `root` holds the releases.

    Raises:
        InputError: the upload cannot be read.
        NotFound: no release that fits is installed.
        UsageError: there is no module to compile.
        JobFailed: the disk is full (`no_space`).
    """
    sent = Upload(**upload)
    analysis = examined(sent, progress, takes_foreign=True)
    if analysis.contents is None or not analysis.contents.modules:
        raise UsageError("the upload holds no module to compile", place=sent.name)
    chosen = release_for(Path(root), analysis.report, sent.release)
    subject = subject_of(analysis.contents, analysis.report)
    done, telling = 0, threading.Lock()

    def told(variant: str, attempt: Attempt) -> None:
        nonlocal done
        with telling:
            done += 1
            progress("replay", done, None)
            progress(f"{FIRST_RESULT}{variant}: {attempt.kind.value}", 0, None)

    def of_folder(folder: Path, release: str) -> tuple[Report, DumpContents | None]:
        made = Upload(str(folder), "", release=release, settings=sent.settings)
        found = examined(made, quiet)
        return found.report, found.contents

    progress("replay", 0, None)
    plan = Plan(timeout_s=min(300, budget_s), budget_s=budget_s, told=told, examine=of_folder)
    tool = toolchain(Path(root), chosen)
    session = Session(Path(root), tool, subject, analysis.report, analysis.contents, plan)
    session.settle_flags()
    session.compile()
    for word in replay.split():
        try:
            ASKED[word](session)
        except (UsageError, OutOfBudget) as error:
            # The rest of what was found is worth keeping.
            session.remark(str(error) or f"the time was up before this was tried: {word}")
    progress("bundle", 0, None)
    with room_told():
        write_bundle(Path(bundle), session.report, analysis.contents)
    add_costly_pairs(Path(bundle), analysis.contents, progress)
    return summary_of(session.report)


def release_for(root: Path, report: Report, asked: str | None) -> str:
    """The installed release to compile with: the one asked for, else the newest that fits.

    Raises:
        NotFound: none is installed that would do.
    """
    here = installed(root)
    fitting = (asked,) if asked else report.environment.jaxlib.releases
    found = [release for release in here if release in fitting]
    if found:
        return found[-1]
    raise NotFound(
        "this server has no jaxlib release installed that fits the dump",
        place=", ".join(fitting[-5:]) or "no release known",
        next_step=f"It has {', '.join(here) or 'none'}; the dump can say which it is from.",
        code="toolchain",
    )
