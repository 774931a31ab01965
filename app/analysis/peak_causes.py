"""What most of a program's memory is taken by at its peak, of the causes that can be mended.

Rests on the memory profile (buffer assignment and live ranges) and on the header of the last text.
A cause counts with the bytes that live at the peak; donated inputs without an output to take their
place count with their own.
"""

import re
from dataclasses import dataclass
from typing import Literal

from app.model.dump import ModuleHistory
from app.model.facts import MemoryProfile
from app.model.memory import LiveBuffer
from hlo_parser import Computation, Instruction

Cause = Literal["stacked", "collective", "copy", "donated"]

_PLACES = re.compile(r"\((\d{1,6}),\s*\{([\d,\s]*)\}\)?")


@dataclass(frozen=True, slots=True)
class PeakCause:
    """`cause` takes `bytes` of the `peak` bytes; `buffers` are its largest at the peak.

    For `donated` there are `parameters` of the entry in place of buffers.
    """

    cause: Cause
    bytes: int
    peak: int
    buffers: tuple[LiveBuffer, ...] = ()
    parameters: tuple[Instruction, ...] = ()


def find_peak_causes(
    history: ModuleHistory, profile: MemoryProfile, *, least: float
) -> tuple[PeakCause, ...]:
    """The causes with at least the part `least` of the peak, the largest first."""
    peak = profile.memory.peak
    if peak is None or not peak.bytes:
        return ()
    causes: tuple[Cause, ...] = ("stacked", "collective", "copy")
    found = [
        PeakCause(
            cause,
            peak.classes.get(cause, 0),
            peak.bytes,
            tuple(buffer for buffer in peak.largest if buffer.class_ == cause),
        )
        for cause in causes
    ]
    unused = donated_without_place(history)
    found.append(
        PeakCause("donated", sum(p.shape.byte_size for p in unused), peak.bytes, parameters=unused)
    )
    enough = least * peak.bytes
    return tuple(sorted((c for c in found if c.bytes > enough), key=lambda c: -c.bytes))


def donated_without_place(history: ModuleHistory) -> tuple[Instruction, ...]:
    """Parameters of the entry that were donated and that no output takes the place of.

    The header of the last text lists them as `buffer_donor`; those that found an output stand in
    `input_output_alias` (xla/service/optimize_input_output_buffer_alias.cc).
    """
    module = history.last.module
    donated = _numbers(module.header.attributes.get("buffer_donor", ""))
    aliased = _numbers(module.header.attributes.get("input_output_alias", ""))
    return tuple(p for p in _parameters(module.entry) if p.parameter_number in donated - aliased)


def _numbers(text: str) -> frozenset[int]:
    return frozenset(int(match.group(1)) for match in _PLACES.finditer(text))


def _parameters(entry: Computation) -> tuple[Instruction, ...]:
    return entry.parameters
