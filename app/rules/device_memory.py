"""Whether the device has the memory that a program takes at its peak.

The log says so where the compile ended for want of it; else the dump's description of the device
gives its size. Given the facts, a module and the bytes at its peak; gives back a sentence, what it
rests on and what stays open. Nothing is taken from a data sheet or a stand-in.
"""

import re
from dataclasses import dataclass

from app.model.dump import ModuleHistory, TargetConfig
from app.model.facts import Diagnosis, Facts
from app.model.report import Evidence
from app.rules.amounts import bytes_in_words, part_in_words
from app.rules.citing import log_evidence

_CLASSES = frozenset({"oom-buffers", "tpu-memory-space"})
# `exceeds available HBM (15.75G)`, `Used 21.90G of 7.48G hbm`.
_HAS = re.compile(
    r"available HBM \((?P<available>\d[\d.]{0,17}[KMGT]?)\)"
    r"|Used \d[\d.]{0,17}[KMGT]? of (?P<of>\d[\d.]{0,17}[KMGT]?) hbm",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Room:
    """What is known of the device's memory beside one peak."""

    words: str = ""
    evidence: tuple[Evidence, ...] = ()
    unknown: tuple[str, ...] = ()


def room_for(facts: Facts, history: ModuleHistory, peak: int) -> Room:
    """What log and dump say of a device's room for `peak` bytes of the module."""
    for diagnosis in facts.diagnoses:
        refused = _refused(facts, history, diagnosis)
        if refused is not None:
            return refused
    target = history.target
    if target is None or target.memory_bytes is None:
        return Room(unknown=("whether the device has the memory: its size is not in the dump",))
    has = bytes_in_words(target.memory_bytes)
    described = Evidence(file=target.file, line=None, text=f"{target.memory_bytes:,} bytes")
    if peak > target.memory_bytes:
        return Room(
            words=f"The device described in the dump has {has}, which is less than the peak.",
            evidence=(described,),
        )
    return Room(
        words=f"The device described in the dump has {has}; the peak is "
        f"{part_in_words(peak, target.memory_bytes)} of it.",
        evidence=(described,),
        unknown=("how much of the device's memory is free when the program runs",),
    )


def device_of(facts: Facts) -> TargetConfig | None:
    """The device that the dump describes: for the module that failed, else for any."""
    histories = (*filter(None, (facts.failing,)), *facts.modules)
    targets = (history.target for history in histories)
    return next((t for t in targets if t is not None and t.memory_bytes is not None), None)


def _refused(facts: Facts, history: ModuleHistory, diagnosis: Diagnosis) -> Room | None:
    """The log's word that this module needs more than there is."""
    failure = diagnosis.failure
    if diagnosis.class_ not in _CLASSES or failure is None or facts.failing is not history:
        return None
    found = _HAS.search(failure.text)
    if found is None:
        return None
    has = found["available"] or found["of"]
    return Room(
        words=f"The device does not have the memory: the log says that {has} of HBM are there.",
        evidence=(log_evidence(failure),),
    )
