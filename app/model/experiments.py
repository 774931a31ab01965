"""What was tried with a dump's module: the experiments of a replay, as the report keeps them.

The field names are keys of the JSON contract, as in `report.py`. Nothing here was seen on a device:
a replay compiles and never runs.
"""

from typing import Literal

from app.model.source import Struct

Outcome = Literal[
    "compiles",
    "same signature",
    "another failure",
    "time-out",
    "out of memory",
    "out of disk",
    "refused",
    "interrupted",
    "not tried",
]

Question = Literal["baseline", "flags", "passes", "releases", "workaround"]
"""What a compile was to answer."""


class Sameness(Struct, frozen=True, kw_only=True):
    """How sure it is that what is called the same signature is the failure of the run, and why."""

    confidence: Literal["certain", "likely", "possible"]
    how: str


class Effects(Struct, frozen=True, kw_only=True):
    """What the finished program of a variant costs in one execution, as the analysis has it.

    `flops` are those of matrix products and convolutions, `collectives` stand in the last text,
    `collective_bytes` is what one device sends; with `at_least` a loop with such work has no known
    trip count and counts as one iteration. `peak_bytes` is from the buffer assignment, or an
    estimate where `is_estimate`. `remarks` are titles of warnings about this very program.
    """

    flops: int = 0
    collectives: int = 0
    collective_bytes: int = 0
    at_least: bool = False
    peak_bytes: int | None = None
    is_estimate: bool = False
    remarks: tuple[str, ...] = ()


class Experiment(Struct, frozen=True, kw_only=True):
    """One compile of the module: what was changed and what became of it.

    `question` is what it was to answer, `flags` what differs from the run, `dropped` are flags that
    the release does not know, `words` the message of a failure.
    """

    question: Question
    name: str
    release: str
    outcome: Outcome
    words: str = ""
    seconds: float = 0.0
    flags: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    effects: Effects | None = None


class ReleaseSpan(Struct, frozen=True, kw_only=True):
    """Where the failure came and went among the releases `tried`, oldest first.

    `first_bad_of_tried` is not the release that brought the failure where some were not tried
    between it and `good_before`, the newest older one that compiles: `not_tried_before` names them,
    `no_answer_before` those that were tried and neither compile nor fail so. The fields of
    `first_good_after` mean the same for the way out. `good_between` compile though a later one
    fails. None: there is none among those tried.
    """

    tried: tuple[str, ...]
    first_bad_of_tried: str | None = None
    good_before: str | None = None
    not_tried_before: tuple[str, ...] = ()
    no_answer_before: tuple[str, ...] = ()
    last_bad_of_tried: str | None = None
    first_good_after: str | None = None
    not_tried_after: tuple[str, ...] = ()
    no_answer_after: tuple[str, ...] = ()
    good_between: tuple[str, ...] = ()


class ReducedModule(Struct, frozen=True, kw_only=True):
    """A small module with the same failure, as text that XLA takes."""

    name: str
    text: str
    instructions_before: int
    instructions_after: int
    is_minimal: bool
    commands: tuple[str, ...] = ()


class InferredFlag(Struct, frozen=True, kw_only=True):
    """A flag taken for one of the run, where nothing states the run's.

    `why` says what implies it; `others` are flags of which each would explain the same, so that one
    of all of them was on, and which one is not known.
    """

    flag: str
    why: str
    others: tuple[str, ...] = ()


class Replay(Struct, frozen=True, kw_only=True):
    """What recompiling one module of the dump has shown.

    `file` is the text that was compiled, `signature` the failure looked for, `target` what kind of
    device it was compiled for. `flags_known` is false where the run's flags are not known, so that
    defaults were used. `needed` are flags with which alone the failure stays, `together` changes
    that cure only together; None where that was not searched. `remarks` say what could not be done.
    `same` says how sure it is that the same signature is the same failure; None where none came.
    `releases` says where it came and went among those tried, `inferred` which flags the dump's
    passes imply, and why.
    """

    module: str
    file: str
    release: str
    signature: str = ""
    same: Sameness | None = None
    target: str = ""
    flags: tuple[str, ...] = ()
    flags_known: bool = True
    experiments: tuple[Experiment, ...] = ()
    needed: tuple[str, ...] | None = None
    together: tuple[str, ...] | None = None
    reduced: ReducedModule | None = None
    releases: ReleaseSpan | None = None
    inferred: tuple[InferredFlag, ...] = ()
    remarks: tuple[str, ...] = ()
