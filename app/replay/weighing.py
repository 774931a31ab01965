"""What a variant that compiles costs: one more compile, with its dump kept and analysed."""

import tempfile
from pathlib import Path

from app.errors import InputError
from app.model.experiments import Effects
from app.replay.compiling import Budget, compile_once
from app.replay.effects import effects_of
from app.replay.experiments import Flags
from app.replay.outcome import Kind
from app.replay.plan import Examine
from app.replay.reading import Reader
from app.replay.subject import Subject


def weighed(
    reader: Reader, subject: Subject, flags: Flags, *, budget: Budget, examine: Examine
) -> Effects | None:
    """The figures of its finished program; None where it leaves no dump to read."""
    readable, tool = reader.readable(subject), reader.tool
    with tempfile.TemporaryDirectory(prefix="hloscope-replay-") as folder:
        kept = Path(folder)
        attempt = compile_once(tool, readable, flags, budget=budget, keep=kept)
        if attempt.kind != Kind.COMPILES:
            return None
        try:
            report, contents = examine(kept / "dump", tool.release)
        except InputError:
            return None  # it compiled to nothing that XLA writes down
        return effects_of(contents, report) if contents is not None else None
