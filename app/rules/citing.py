"""Turning facts into citations: culprits and evidence with file, line and instruction.

Every rule quotes through these functions, so that each claim shows its place in the same way.
"""

from collections.abc import Iterable, Iterator

from app.analysis.python_frames import is_of_compiler, own_frame, own_of, place_of
from app.analysis.sources import how_told, source_of
from app.analysis.summaries import how_known
from app.model.dump import CheckFailure, ModuleHistory, PassDump, PythonFrame
from app.model.facts import LoopHistory, WhileLoop
from app.model.report import Culprit, Evidence, Source
from hlo_parser import Computation, Instruction

_QUOTE_LIMIT = 400
_NAME_LIMIT = 120
_MOST_PLACES = 3


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
    """The innermost line of the log's Python stack that is of no installed package, if any.

    Where a thread without Python died, that of the main thread meanwhile.
    """
    frame = own_frame(failure)
    if frame is not None:
        return line_culprit(frame, role="line of the Python stack")
    meanwhile = None if failure.frames else own_of(failure.meanwhile)
    if meanwhile is None:
        return None
    return line_culprit(meanwhile, role="line of the main thread meanwhile")


def other_thread_in_words(failure: CheckFailure) -> str:
    """That another thread than the main one died, as a sentence; empty where none did."""
    if not failure.meanwhile:
        return ""
    own = own_of(failure.meanwhile)
    at = place_of(own if own is not None else failure.meanwhile[0])
    if failure.frames:
        return f"Not the main thread died: that one stood at {at} meanwhile."
    return (
        "The thread that died runs no Python: the runtime has such threads for compiled code, "
        f"compiles and transfers. The main thread stood at {at} meanwhile."
    )


def line_culprit(frame: PythonFrame, *, role: str) -> Culprit:
    """A line of a Python stack as a culprit."""
    return Culprit(
        source=Source(file=frame.file, line=frame.line, function=frame.function or None),
        stated=True,
        source_how="stated",
        role=role,
    )


def stack_evidence(failure: CheckFailure) -> Iterator[Evidence]:
    """The innermost frame of the log's Python stack, and the program's own.

    Where an exception came out of JAX is the same line for all of them.
    """
    frames = failure.frames or failure.meanwhile
    own = own_of(frames)
    cited = [frame for frame in (*frames[:1], own) if frame is not None]
    if own is not None and failure.kind != "signal" and is_of_compiler(cited[0]):
        cited = [own]
    for frame in dict.fromkeys(cited):
        yield frame_evidence(failure.log, frame)


def frame_evidence(log: str, frame: PythonFrame) -> Evidence:
    """The line of a log that prints a frame of Python."""
    text = f'File "{frame.file}", line {frame.line} in {frame.function}'
    return Evidence(file=log, line=frame.log_line, text=quote(text))


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
    how = how_told(dump.module, instruction)
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
        stated=how == "stated",
        role=role,
        source_how=how,
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
    """`while.17 (prog1.py:55)`, the bare name where no source is known, or the line alone."""
    name = _short(culprit.instruction or "?")
    source = culprit.source
    if source is None:
        return name
    line = f"{source.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{source.line}"
    return line if culprit.instruction is None else f"{name} ({line})"


def places(culprits: Iterable[Culprit]) -> str:
    """The first places as they are told, and how many more there are."""
    told = [place(culprit) for culprit in culprits]
    more = len(told) - _MOST_PLACES
    if more > 1:
        return f"{', '.join(told[:_MOST_PLACES])} and {more} more"
    return ", ".join(told)


def _short(name: str) -> str:
    return name if len(name) <= _NAME_LIMIT else f"{name[: _NAME_LIMIT - 1]}…"
