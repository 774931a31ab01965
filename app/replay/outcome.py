"""What became of one compile, from what its process left.

Given how the process ended, its result file and what it printed; gives the kind of the outcome, the
signature of a failure and its words. What XLA says is read by the same reader that reads a user's
log, so the signature is that of a report. Pure.
"""

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.ingest.conditions import mask
from app.ingest.log import read_log
from app.model.dump import CheckFailure
from app.replay.sameness import crash_signature
from app.sandbox import Ending

_MOST_WORDS = 400
# Said by the stand-in driver's absence of cuDNN, never by the module (cuda_dnn.cc, 0.4.28-0.4.33).
_OF_THE_STAND_IN = ("There was an error before creating cudnn handle",)
_NO_MEMORY = ("std::bad_alloc", "MemoryError", "Cannot allocate memory", "ERROR: out of memory")
# Sent by the system or somebody, never raised by what a module does.
_FROM_OUTSIDE = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL, signal.SIGTERM)
# xla/parse_flags_from_env.cc; xla/debug_options_flags.cc and tsl/util/command_line_flags.cc.
_BAD_FLAG = re.compile(r"Unknown flag.*|Illegal value for --.*|Couldn't interpret value .*")
OF_SHARDY = "this text has operations of Shardy, which does not partition modules in this release"
# What no module is to blame for: parts of the message, and what is said of it.
_REFUSALS = {
    # xla/service/gpu/autotuner_util.cc
    (
        "Expect autotune result cache hit for deviceless compilation",
    ): "it wants to time kernels, for "
    "which there is no device: add --xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false",
    # xla/service/spmd/spmd_partitioner.cc
    ("PartitionId instruction is not supported for SPMD partitioning",): "this text is partitioned "
    "already, and XLA takes none such; give an earlier one (--text)",
    ("Side-effect HLO must have sharding", 'custom_call_target="xla.sdy.'): OF_SHARDY,
}


class Kind(StrEnum):
    """What became of a module."""

    COMPILES = "compiles"
    SAME = "same signature"
    ANOTHER = "another failure"
    TIME = "time-out"
    MEMORY = "out of memory"
    DISK = "out of disk"
    REFUSED = "refused"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One compile: the outcome, the signature of its failure, its message, and how long it took.

    `dropped` are flags that the release does not know, and so were not given to it, and the name
    of the dump's target config where it does not read that.
    """

    kind: Kind
    signature: str = ""
    words: str = ""
    seconds: float = 0.0
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """What the process of one compile left: how it ended, its result file, what it printed."""

    ending: Ending
    result: Mapping[str, Any]
    log: str
    signal: int | None = None


def judge(ended: Ended, signature: str) -> tuple[Kind, str, str]:
    """The outcome, the failure's signature and its words, of what a process left."""
    stage, error = ended.result.get("stage"), str(ended.result.get("error", ""))
    if stage == "done":
        return Kind.COMPILES, "", ""
    if ended.ending == Ending.CANCELLED:
        return Kind.DISK, "", "it wrote more than it may"
    if ended.ending in (Ending.WALL_TIME, Ending.CPU_TIME):
        return Kind.TIME, "", "its time was up"
    log = "\n".join(
        line for line in ended.log.split("\n") if not any(w in line for w in _OF_THE_STAND_IN)
    )
    if ended.ending == Ending.MEMORY or any(word in log + error for word in _NO_MEMORY):
        return Kind.MEMORY, "", "the memory it may have was not enough"
    if found := _BAD_FLAG.search(log):
        return Kind.REFUSED, "", found[0][:_MOST_WORDS]
    if stage == "prepare":
        return Kind.REFUSED, "", error[:_MOST_WORDS]
    failures = read_log(f"{log}\n{error}\n", name="replay").failures
    if not stage and (why := _interruption(ended, failures)):
        return Kind.INTERRUPTED, "", why
    if not failures:
        return _without_words(ended, error)
    found = next((f for f in failures if f.signature == signature), failures[0])
    kind = Kind.SAME if found.signature == signature else Kind.ANOTHER
    said = log + error
    why = next((why for words, why in _REFUSALS.items() if all(w in said for w in words)), None)
    if kind == Kind.ANOTHER and why is not None:
        return Kind.REFUSED, "", why
    place = f"{found.file}:{found.line}: " if found.file and found.line else ""
    return kind, found.signature, f"{place}{found.text}"[:_MOST_WORDS]


def _interruption(ended: Ended, failures: Sequence[CheckFailure]) -> str:
    """Why a process that left no result gives no answer; "" where XLA ended it."""
    if ended.signal in _FROM_OUTSIDE:
        name = signal.Signals(ended.signal).name
        return f"its process was ended from outside ({name}): this says nothing of the module"
    if ended.signal is None and all(failure.kind == "python" for failure in failures):
        # The script gives every error of XLA's a result: this is one of hloscope or its Python.
        last = ended.log.strip().rpartition("\n")[2]
        return f"the process that compiles failed itself: {last[:_MOST_WORDS] or 'it said nothing'}"
    return ""


def _without_words(ended: Ended, error: str) -> tuple[Kind, str, str]:
    if error or ended.signal is None:
        return Kind.ANOTHER, f"error::{mask(error)}", error[:_MOST_WORDS]
    try:
        name = signal.Signals(ended.signal).name
    except ValueError:
        name = f"SIG{ended.signal}"
    return Kind.ANOTHER, crash_signature(name), f"it ended with {name}, without a word"
