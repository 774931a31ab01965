"""Where Python's threads stood when the time of a run was up, in words, as culprit and as evidence.

Asked are the stacks that `hloscope run --timeout` had printed. A compiled function leaves no frame
of its own, so a thread that stands in a line of the program may be in Python or in such a function.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from app.analysis.python_frames import is_installed, is_of_compiler, own_of, place_of
from app.model.dump import PythonFrame, ThreadStack
from app.model.facts import Facts
from app.model.report import Culprit, Evidence
from app.rules.citing import frame_evidence, line_culprit, place

_MOST_LINES = 3
_COMPILES = frozenset({"backend_compile", "backend_compile_and_load", "compile_or_get_cached"})

# Where JAX waits for an array, calls a compiled program or waits for its effects; elsewhere, in
# `distributed.py` or `experimental/`, it waits for other hosts as well.
_RUNS = re.compile(
    r"[/\\]jax[/\\]_src[/\\](?:array|api|dispatch|pjit|profiler|interpreters[/\\]pxla)\.py$"
)
_TRACES = re.compile(r"trace_to_jaxpr|trace_to_subjaxpr")

# `program`: JAX runs a compiled program, or waits for what one makes; `host`: something waits that
# is neither of JAX nor of the program; `unknown`: a line of the program, another place of JAX, or
# several processes.
Where = Literal["compile", "trace", "program", "host", "unknown"]


@dataclass(frozen=True, slots=True)
class Standing:
    """`words` as a sentence, `at` the program's own line where all main threads stood in one.

    `culprits` are the program's own lines, `evidence` lines of the log; `waits_in` is what a main
    thread waits in on the host.
    """

    words: str
    where: Where
    at: str = ""
    waits_in: str = ""
    culprits: tuple[Culprit, ...] = ()
    evidence: tuple[Evidence, ...] = ()


def standing_of(facts: Facts) -> Standing | None:
    """What the stacks of a run that was ended say, None where none were printed."""
    main = [stack for stack in facts.log.stacks if stack.is_main]
    if not main:
        return None
    others = [stack for stack in facts.log.stacks if not stack.is_main]
    lines = {(f.file, f.line): f for stack in main if (f := own_of(stack.frames))}
    culprits = tuple(
        line_culprit(frame, role="line of the main thread")
        for frame in islice(lines.values(), _MOST_LINES)
    )
    places = Counter(_told(stack) for stack in main)
    where = _where(main, others)
    return Standing(
        words=f"When the time was up, the main thread stood {_counted(places, len(main))}.",
        where=where,
        at=place(culprits[0]) if len(culprits) == 1 else "",
        waits_in=_named(_called(main[0])) if where == "host" else "",
        culprits=culprits,
        evidence=(*_evidence(main), *_evidence(others)),
    )


def _where(main: Sequence[ThreadStack], others: Sequence[ThreadStack]) -> Where:
    if all(any(f.function in _COMPILES for f in stack.frames) for stack in main):
        return "compile"
    if all(any(_TRACES.search(f.function) for f in stack.frames) for stack in main):
        return "trace"
    if all(_RUNS.search(stack.frames[0].file) for stack in main):
        return "program"
    # Another thread may be in JAX for the one that waits; one of many processes tells not of all.
    has_jax = any(is_of_compiler(f) for stack in (*main, *others) for f in stack.frames)
    return (
        "host" if len(main) == 1 and is_installed(main[0].frames[0]) and not has_jax else "unknown"
    )


def _told(stack: ThreadStack) -> str:
    """`in train.py:31 (step), which waits in queue.py:171 (get)`."""
    innermost, own = stack.frames[0], own_of(stack.frames)
    if own is None:
        return f"in {_named(innermost)}"
    told = f"in {_named(own)}"
    if own is innermost:
        return f"{told}, or in a compiled function called there"
    if is_of_compiler(innermost):
        return f"{told}, inside JAX (at {_named(innermost)})"
    return f"{told}, which waits in {_named(_called(stack))}"


def _called(stack: ThreadStack) -> PythonFrame:
    """What the program's own line called, or the innermost frame where none is its own."""
    own = own_of(stack.frames)
    return stack.frames[max(stack.frames.index(own) - 1, 0) if own else 0]


def _named(frame: PythonFrame) -> str:
    at = place_of(frame)
    return at if frame.function == "<module>" else f"{frame.function}, {at}"


def _counted(places: Counter[str], processes: int) -> str:
    if processes == 1:
        return next(iter(places))
    told = (f"{place} in {count} of {processes} processes" for place, count in places.most_common())
    return "; ".join(islice(told, _MOST_LINES))


def _evidence(stacks: Sequence[ThreadStack]) -> Iterator[Evidence]:
    seen: set[tuple[str, int]] = set()
    for stack in stacks:
        frame = own_of(stack.frames) or stack.frames[0]
        if (frame.file, frame.line) not in seen and len(seen) < _MOST_LINES:
            seen.add((frame.file, frame.line))
            yield frame_evidence(stack.log, frame)
