"""Several failures of one log: which are one, which follow from another, and whom they name."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.ingest.log_shapes import is_stuck_warning
from app.model.dump import CheckFailure

# More lines than a shell or a launcher prints when a process has died.
_GOES_ON = 20
_REMARK = re.compile(
    r"(?:zsh: |\[\d{1,4}\] ).*|Aborted[.!]?|Check failed: (?:[A-Za-z]+ ?){1,9}[.!]?"
)
# A job of the shell beside the run: whoever killed it goes on.
_JOB_KILLED = re.compile(r"(?:zsh: |\[\d{1,4}\] )[^\n]*\bkilled\b")
_SUSPICION = "Suspected Python Code Location:\n"
# What a process says when a peer is gone; some other process knows why.
_PEER_GONE = re.compile(
    r"heartbeat|coordination service|distributed service detected|[Cc]onnection (?:closed|reset) by"
    r"|Socket closed|peer (?:task|process|is gone)|another task died|launched for a different",
)


def fold(failures: Sequence[CheckFailure], *, unstuck_at: int = 0) -> tuple[CheckFailure, ...]:
    """Repeats and consequences folded; the first cause first."""
    kept: list[CheckFailure] = []
    places: dict[tuple[object, ...], int] = {}
    for failure in failures:
        if failure.line_number < unstuck_at and is_stuck_warning(failure):
            continue
        keys = _identities(failure)
        known = (places[key] for key in keys if key in places)
        same = next((place for place in known if not _is_elsewhere(kept[place], failure)), None)
        if same is None:
            same = len(kept)
            kept.append(failure)
        else:
            kept[same] = _joined(kept[same], failure)
        places.update((key, same) for key in keys if key not in places)
    causes = [failure for failure in kept if failure.kind != "signal"]
    if causes:
        # The process died of what it had just reported.
        kept = [f for f in kept if f.kind != "signal" or _is_before(f, causes[0])]
    return tuple(sorted(kept, key=_precedence))


def in_earnest(failures: Sequence[CheckFailure], *, lines: int) -> list[CheckFailure]:
    """The failures without what only sounds like one in a log of `lines` lines that goes on.

    `Aborted` alone may be any command's word, and XLA tells with a place, a stack or in code what
    check it was that failed. `Killed` is a shell's, of a process that the kernel ended: whoever
    started it may have gone on.
    """
    return [
        replace(f, goes_on=True) if lines - f.line_number >= _GOES_ON else f
        for f in failures
        if lines - f.line_number < _GOES_ON or not _is_remark(f)
        if lines == f.line_number or _JOB_KILLED.match(f.text) is None
    ]


def not_heeded(
    name: str, stated: Sequence[CheckFailure], earnest: Sequence[CheckFailure]
) -> Iterator[str]:
    """Says of the log called `name` what was stated but not taken in earnest, and where."""
    lines = {failure.line_number for failure in earnest}
    remarks = [failure for failure in stated if failure.line_number not in lines]
    if remarks:
        more = f", as are {len(remarks) - 1:,} more" if len(remarks) > 1 else ""
        yield (
            f"log_not_heeded: line {remarks[0].line_number:,} of {name} may tell of a death, but "
            f"the log goes on; it is taken for a remark{more}"
        )


def _is_remark(failure: CheckFailure) -> bool:
    if failure.stack or failure.frames or failure.file:
        return False
    return _REMARK.fullmatch(failure.text.partition("\n")[0].strip()) is not None


def _is_before(signal: CheckFailure, cause: CheckFailure) -> bool:
    is_earlier = signal.log == cause.log and signal.line_number < cause.line_number
    return is_earlier and bool(signal.stack)


def _precedence(failure: CheckFailure) -> int:
    # Equal ones stay in the order of the log.
    if _PEER_GONE.search(failure.text, 0, 1000):
        return 3
    return {"python": 1, "rendezvous": 2}.get(failure.kind, 0)


def _is_elsewhere(first: CheckFailure, second: CheckFailure) -> bool:
    """Whether one condition failed at two lines of a file, as it does in two releases."""
    return (
        first.condition is not None
        and first.file == second.file
        and None not in (first.line, second.line)
        and first.line != second.line
    )


def _identities(failure: CheckFailure) -> list[tuple[object, ...]]:
    """Keys that are equal for one failure told twice."""
    if failure.kind == "signal":
        # Python, the signal handler and the shell each tell of the one death.
        return [("signal",)]
    keys: list[tuple[object, ...]] = [("signature", failure.signature)]
    if failure.condition:
        keys.append(("check", failure.file, failure.line, failure.condition))
    # A status on its way up: an error line names it, then Python raises it.
    about = failure.signature.partition(":")[2]
    if about.strip(":"):
        keys.append(("about", about))
    return keys


def _joined(first: CheckFailure, second: CheckFailure) -> CheckFailure:
    """One failure told twice: the place of the first, and all that either knows."""
    fuller = second if second.kind == "verifier" and first.kind == "ret_check" else first
    return replace(
        fuller,
        text=_with_suspicion(fuller.text, second.text),
        log=first.log,
        line_number=first.line_number,
        file=first.file or second.file,
        line=first.line or second.line,
        status=first.status or second.status,
        context=first.context or second.context,
        failed_after=first.failed_after or second.failed_after,
        stack=max(first.stack, second.stack, key=len),
        frames=first.frames or second.frames,
        meanwhile=first.meanwhile or second.meanwhile,
        goes_on=first.goes_on and second.goes_on,
    )


def _with_suspicion(text: str, other: str) -> str:
    """The text, with the line of Python that XLA suspects, which it prints in the exception."""
    place = other.find(_SUSPICION)
    return text if place < 0 or _SUSPICION in text else f"{text}\n\n{other[place:]}"


_NAME = re.compile(r"%(?P<name>[A-Za-z_][\w\-]*(?:\.[\w\-]+)*)")
_OTHER_NAMES = (
    re.compile(r"tracing scope: (?P<name>[\w.\-]+?);"),
    re.compile(r"compiling fusion (?P<name>[\w.\-]+)"),
    re.compile(r"HloInstruction '(?P<name>[\w.\-]+)'"),
    re.compile(r"[Ff]ound an instruction \(\"(?P<name>[\w.\-]+)\"\)"),
    re.compile(r"(?:Entry function|kernel:) '?(?P<name>[A-Za-z_]\w*)"),
)
_CYCLE = re.compile(r"Directed cycle:\s*\n(?P<names>(?: *[\w.\-]+ *\n?)+)")


def names_in(failures: Sequence[CheckFailure]) -> tuple[str, ...]:
    """The instructions, computations and kernels that the messages name, in order, each once."""
    names: dict[str, None] = {}
    for failure in failures:
        for pattern in (_NAME, *_OTHER_NAMES):
            names.update(dict.fromkeys(found["name"] for found in pattern.finditer(failure.text)))
        if found := _CYCLE.search(failure.text):
            names.update(dict.fromkeys(found["names"].split()))
    return tuple(names)
