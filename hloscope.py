"""hloscope as a module: `analyze` for programs, `main` for the command line."""

from pathlib import Path

from app.cli.main import main
from app.model.report import Report
from app.service import Log, Question
from app.service import analyze as _analyze
from app.settings import Settings

__all__ = ["Report", "analyze", "main"]


def analyze(
    path: str | Path | None = None,
    *,
    log: str | Path | None = None,
    flags: str = "",
    release: str | None = None,
    hung: bool = False,
    settings: Settings | None = None,
) -> Report:
    """The report on a dump (folder, archive, one text), on a log file, or on both.

    `flags` is the run's XLA_FLAGS and `release` its jaxlib, where the files do not hold them.

    Raises:
        app.errors.AppError: what was given cannot be read or is no dump.
    """
    logs = ()
    if log is not None:
        logs = (Log(Path(log).name, file=Path(log)),)
    question = Question(logs=logs, flags=flags, release=release, hung=hung)
    return _analyze(None if path is None else Path(path), settings or Settings(), question=question)


if __name__ == "__main__":
    raise SystemExit(main())
