"""What runs in the child that compares two texts of a bundle."""

from pathlib import Path

import msgspec

from app.analysis.diff import diff_modules
from app.bundle import Bundle
from app.errors import BadArchive
from app.ingest import Progress
from app.ingest.collection import collection_paused
from app.jobs.aligning import cost
from app.views.diff_panes import FORM, PaneRows
from app.views.diff_rows import pane_rows
from app.views.pass_diff import PassDiff, diff_of_computation, diff_view


def write_difference(
    progress: Progress,
    *,
    bundle: str,
    module_id: str,
    texts: tuple[int, int],
    computation: str,
    answer: str,
) -> None:
    """Write the difference of two texts as JSON to the file `answer`.

    Raises:
        NotFound, LimitExceeded, BadArchive: as `Bundle.parse`.
    """
    del progress
    with Bundle.open(Path(bundle)) as opened:
        found = difference(opened, module_id, texts, computation)
    Path(answer).write_bytes(msgspec.json.encode(found))


def difference(
    bundle: Bundle, module_id: str, texts: tuple[int, int], computation: str = ""
) -> PassDiff:
    """What differs between two texts of a module, or between two forms of one computation.

    Raises:
        NotFound, LimitExceeded, BadArchive: as `Bundle.parse`.
    """
    with collection_paused():
        before, after = (bundle.parse(module_id, index) for index in texts)
        found = diff_modules(before, after)
        if computation:
            found = diff_of_computation(found, computation)
        return diff_view(before, after, found)


def write_pane_rows(
    progress: Progress,
    *,
    bundle: str,
    module_id: str,
    texts: tuple[int, int],
    computation: str,
    answer: str,
) -> None:
    """Write the rows of two texts side by side as JSON to the file `answer`.

    All computations have rows, whatever `computation` says.

    Raises:
        NotFound, LimitExceeded, BadArchive: as `Bundle.parse`.
    """
    del progress, computation
    with Bundle.open(Path(bundle)) as opened:
        found = pane_rows_of(opened, module_id, texts)
    Path(answer).write_bytes(msgspec.json.encode(found))


def pane_rows_of(bundle: Bundle, module_id: str, texts: tuple[int, int]) -> PaneRows:
    """The rows of two texts side by side: those that the bundle keeps, else made now.

    Raises:
        NotFound, LimitExceeded, BadArchive: as `Bundle.parse`.
    """
    kept = bundle.aligned(module_id, *texts, form=FORM)
    if kept is not None:
        return _rows_kept(kept)
    with collection_paused():
        before, after = (bundle.parse(module_id, index) for index in texts)
        return pane_rows(before, after, diff_modules(before, after))


def takes_long(bundle: Bundle, module_id: str, texts: tuple[int, int]) -> bool:
    """Whether so much differs between two texts that comparing them takes a second and more.

    Raises:
        NotFound, LimitExceeded, BadArchive: as `Bundle.parse`.
    """
    before, after = (bundle.parse(module_id, index) for index in texts)
    return cost(before, after) > 0


def pane_rows_at_once(bundle: Bundle, module_id: str, texts: tuple[int, int]) -> PaneRows | None:
    """As `pane_rows_of`, but None where they are not kept and would take long.

    Raises:
        NotFound, LimitExceeded, BadArchive: as `Bundle.parse`.
    """
    kept = bundle.aligned(module_id, *texts, form=FORM)
    if kept is None and takes_long(bundle, module_id, texts):
        return None
    return pane_rows_of(bundle, module_id, texts)


def _rows_kept(kept: bytes) -> PaneRows:
    try:
        return msgspec.json.decode(kept, type=PaneRows)
    except msgspec.MsgspecError as error:
        raise BadArchive(
            f"two texts are kept side by side in no form that is read ({error})",
            next_step="Analyse the dump again to make a new bundle.",
            code="bad_bundle",
        ) from error
