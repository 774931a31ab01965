"""hloscope as a module: `analyze`, `compare` and `capture` for programs, `main` for the shell.

What a function needs is imported when it is called: the shell's command starts from here, too.
"""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.main import main
from app.settings import Settings

if TYPE_CHECKING:
    from app.ingest.captured import CapturedDump
    from app.model.report import Report
    from app.views.comparison import ComparisonView

__all__ = ["CapturedDump", "ComparisonView", "Report", "analyze", "capture", "compare", "main"]

_TYPES = {
    "CapturedDump": "app.ingest.captured",
    "ComparisonView": "app.views.comparison",
    "Report": "app.model.report",
}


def __getattr__(name: str) -> object:
    if name in _TYPES:
        return getattr(import_module(_TYPES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def analyze(
    path: str | Path | None = None,
    *,
    log: str | Path | None = None,
    flags: str = "",
    release: str | None = None,
    hung: bool = False,
    settings: Settings | None = None,
) -> "Report":
    """The report on a dump (folder, archive, one text), on a log file, or on both.

    `flags` is the run's XLA_FLAGS and `release` its jaxlib, where the files do not hold them.

    Raises:
        app.errors.AppError: what was given cannot be read or is no dump.
    """
    from app.service import Log, Question
    from app.service import analyze as analyze_

    logs = ()
    if log is not None:
        logs = (Log(Path(log).name, file=Path(log)),)
    question = Question(logs=logs, flags=flags, release=release, hung=hung)
    return analyze_(None if path is None else Path(path), settings or Settings(), question=question)


def compare(a: str | Path, b: str | Path, *, settings: Settings | None = None) -> "ComparisonView":
    """What differs between two dumps, as `hloscope compare` tells it.

    Raises:
        app.errors.AppError: as `analyze`.
    """
    from app.service import compare_dumps

    return compare_dumps(Path(a), Path(b), settings or Settings())


@contextmanager
def capture(
    folder: str | Path | None = None, *, settings: Settings | None = None
) -> Generator["CapturedDump"]:
    """A dump of what is compiled in the block with the `compiler_options` of the value given.

    Nothing is set behind the caller's back: a compile that does not get the options is not dumped,
    and `report` says so where none did. `folder` keeps the dump; without it the dump goes with
    the block, and the report stays. A block that raises leaves no report.

    Raises:
        app.errors.AppError: what was dumped cannot be read.
    """
    from app.ingest.captured import CapturedDump

    def read(dump: Path) -> "Report":
        return analyze(dump, settings=settings)

    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        captured = CapturedDump(Path(folder), read)
        yield captured
        captured.close()
        return
    with tempfile.TemporaryDirectory(prefix="hloscope-") as temporary:
        captured = CapturedDump(Path(temporary), read)
        yield captured
        captured.close()


if __name__ == "__main__":
    raise SystemExit(main())
