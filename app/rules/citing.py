"""Turning facts into citations: culprits and evidence with file, line and instruction.

Every rule quotes through these functions, so that each claim shows its place in the same way.
"""

from collections.abc import Iterator

from app.analysis.python_frames import own_frame
from app.analysis.sources import source_of
from app.analysis.summaries import how_known
from app.model.dump import CheckFailure, ModuleHistory, PassDump
from app.model.facts import LoopHistory, WhileLoop
from app.model.report import Culprit, Evidence, Source
from hlo_parser import Computation, Instruction

_QUOTE_LIMIT = 400
_NAME_LIMIT = 120
_MOST_FRAMES = 3


def quote(text: str) -> str:
    """The text on one line, cut to 400 characters; the cut is shown."""
    line = " ".join(text.split())
    return line if len(line) <= _QUOTE_LIMIT else line[: _QUOTE_LIMIT - 1] + "…"


def instruction_evidence(
    dump: PassDump, computation: Computation, instruction: Instruction
) -> Evidence:
    """The instruction's own line in the text of the dump."""
    line = dump.module.line_of(computation, instruction)
    return Evidence(file=dump.file, line=line, text=quote(instruction.text))


def cut_at_word(text: str, limit: int) -> str:
    """The text on one line, of `limit` characters at most; what is cut ends between two words."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    head = line[: limit - 1]
    return f"{head.rpartition(' ')[0].rstrip(' ,;:') or head}…"


def own_line(failure: CheckFailure) -> Culprit | None:
    """The innermost line of the log's Python stack that is of no installed package, if any."""
    frame = own_frame(failure)
    if frame is None:
        return None
    return Culprit(
        source=Source(file=frame.file, line=frame.line, function=frame.function or None),
        stated=True,
        source_how="stated",
        role="line of the Python stack",
    )


def stack_evidence(failure: CheckFailure) -> Iterator[Evidence]:
    """The innermost frames of the log's Python stack, down to the program's own."""
    own = own_frame(failure)
    to = failure.frames.index(own) + 1 if own is not None else _MOST_FRAMES
    for frame in (*failure.frames[: min(to, _MOST_FRAMES)], *((own,) if to > _MOST_FRAMES else ())):
        if frame is not None:
            text = f'File "{frame.file}", line {frame.line} in {frame.function}'
            yield Evidence(file=failure.log, line=frame.log_line, text=quote(text))


def log_evidence(failure: CheckFailure) -> Evidence:
    """The line of the log that states the failure."""
    return Evidence(file=failure.log, line=failure.line_number, text=quote(failure.text))


def dump_evidence(dump: PassDump, text: str) -> Evidence:
    """A statement about a whole text of the dump."""
    return Evidence(file=dump.file, line=None, text=text)


def instruction_culprit(
    history: ModuleHistory,
    dump: PassDump,
    computation: Computation,
    instruction: Instruction,
    *,
    loop: str | None,
    role: str,
) -> Culprit:
    """The instruction as a culprit; `loop` is the id of the loop in whose body it stands."""
    source = source_of(dump.module, instruction)
    metadata = instruction.metadata
    return Culprit(
        module=history.id,
        dump=dump.index,
        computation=computation.name,
        instruction=instruction.name,
        opcode=instruction.opcode,
        op_name=metadata.op_name if metadata else None,
        loop=loop,
        source=source,
        stated=source is not None,
        role=role,
        source_how=None if source is None else "stated",
    )


def loop_culprit(
    history: ModuleHistory, dump: PassDump, tracked: LoopHistory, *, role: str
) -> Culprit:
    """The loop as it stands in the dump; its source may come from an earlier text."""
    loop: WhileLoop = tracked.occurrences[dump.index]
    return Culprit(
        module=history.id,
        dump=dump.index,
        computation=loop.computation.name,
        instruction=loop.name,
        opcode="while",
        op_name=tracked.op_name,
        loop=tracked.id,
        source=tracked.source,
        stated=tracked.source is not None and tracked.source_from is not None,
        source_how=how_known(tracked, dump.index),
        role=role,
    )


def place(culprit: Culprit) -> str:
    """`while.17 (prog1.py:55)`, or the bare name where no source is known."""
    name = _short(culprit.instruction or "?")
    source = culprit.source
    if source is None:
        return name
    return f"{name} ({source.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{source.line})"


def _short(name: str) -> str:
    return name if len(name) <= _NAME_LIMIT else f"{name[: _NAME_LIMIT - 1]}…"
