"""Compiles, and where a crash left no words, once more, to learn after which pass it came.

The second compile keeps XLA's dump; the pass of its last text goes into the signature of the crash.
Given and giving what `compiling.compile_once` is given and gives.
"""

import dataclasses
import tempfile
from collections.abc import Mapping
from pathlib import Path

from app.replay.compiling import Budget, compile_once
from app.replay.outcome import Attempt, Kind
from app.replay.passes import last_pass, names_in_folder
from app.replay.sameness import is_wordless, with_last_pass
from app.replay.subject import Subject
from app.replay.toolchains import Toolchain


def compile_telling(
    tool: Toolchain,
    subject: Subject,
    flags: Mapping[str, str],
    *,
    budget: Budget,
    signature: str = "",
) -> Attempt:
    """As `compile_once`; the signature of a crash without words names the last pass that wrote."""
    attempt = compile_once(tool, subject, flags, budget=budget, signature=signature)
    if attempt.kind not in (Kind.SAME, Kind.ANOTHER) or not is_wordless(attempt.signature):
        return attempt
    again, name = compile_to_the_last_pass(tool, subject, flags, budget=budget)
    if again.signature != attempt.signature:
        return attempt  # it dies in more than one way: the pass would be that of another death
    found = with_last_pass(attempt.signature, name)
    where = f"; the last pass to leave a text is {name}" if name else ""
    return dataclasses.replace(attempt, signature=found, words=f"{attempt.words}{where}")


def compile_to_the_last_pass(
    tool: Toolchain, subject: Subject, flags: Mapping[str, str], *, budget: Budget
) -> tuple[Attempt, str]:
    """Compile with XLA's dump on; the attempt, and the pass of the last text, "" without one."""
    with tempfile.TemporaryDirectory(prefix="hloscope-replay-") as folder:
        attempt = compile_once(tool, subject, flags, budget=budget, keep=Path(folder))
        return attempt, last_pass(names_in_folder(Path(folder) / "dump"))
