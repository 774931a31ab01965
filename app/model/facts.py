"""What analysis finds out about a dump: facts without opinions, read by rules and reports.

Everything is a frozen value; positions named `dump` are positions in `ModuleHistory.dumps`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from app.model.dump import CheckFailure, DumpContents, LogFacts, ModuleHistory, PipelinerMove
from app.model.memory import AsyncBuffers, LoopBuffer, Memory
from app.model.mesh import Mesh
from app.model.report import (
    Collective,
    Environment,
    Failure,
    Induction,
    LoopEventKind,
    Source,
)
from app.model.work import Work
from hlo_parser import Computation, Instruction


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """One `while` of one module text.

    `parent` is the name of the nearest enclosing while, reached through calls, conditionals and
    async wrappers too; `depth` counts the enclosing ones. `carry` is the number of elements of the
    carried tuple, `invariant` those that the body hands on untouched. `trip_count_how` is
    `backend_config` (stated by XLA) or `condition` (inferred from condition, initial value and
    step).
    """

    name: str
    computation: Computation
    instruction: Instruction
    condition: Computation
    body: Computation
    parent: str | None
    depth: int
    carry: int
    invariant: frozenset[int]
    induction: Induction | None
    trip_count: int | None
    trip_count_how: Literal["backend_config", "condition"] | None


@dataclass(frozen=True, slots=True)
class TrackedEvent:
    """Something a pass did to a loop between `dump - 1` and `dump`."""

    dump: int
    pass_name: str | None
    kind: LoopEventKind
    detail: str


@dataclass(frozen=True, slots=True)
class LoopHistory:
    """One loop through all passes of its module.

    `occurrences` maps the position of a dump to the loop as it stands there; `origin` is the id of
    the loop that this one was copied from; `source_from` is the dump in which `source` stands
    (None when it was taken from the body's instructions).
    """

    id: str
    module_id: str
    parent: str | None
    occurrences: Mapping[int, WhileLoop]
    source: Source | None
    source_from: int | None
    op_name: str | None
    construct: str | None
    events: tuple[TrackedEvent, ...]
    origin: str | None = None

    @property
    def first_dump(self) -> int:
        """Position of the first text that holds the loop."""
        return min(self.occurrences)

    @property
    def last_dump(self) -> int:
        """Position of the last text that holds the loop."""
        return max(self.occurrences)

    @property
    def last(self) -> WhileLoop:
        """The loop as it stands in the last text that holds it."""
        return self.occurrences[self.last_dump]


@dataclass(frozen=True, slots=True)
class AsyncPair:
    """An asynchronous operation of a module, whatever its spelling.

    `opcode` is that of the operation itself (`all-gather`); `between` names what lies between
    start and done in a scheduled computation, in order, and is None where no schedule is known.
    `is_sync` says that XLA marked the pair as not overlapped (`is_sync` in backend_config).
    """

    computation: str
    opcode: str
    start: str
    done: str | None
    updates: tuple[str, ...] = ()
    between: tuple[str, ...] | None = None
    is_sync: bool = False
    spelling: Literal["native", "sugar", "generic", "custom-call"] = "native"


@dataclass(frozen=True, slots=True)
class InstructionChange:
    """A matched pair that differs; `what` names the differing parts (`shape`, `operands`, ...)."""

    before: str
    after: str
    what: tuple[str, ...]
    how: str


@dataclass(frozen=True, slots=True)
class Copied:
    """An instruction that was copied; `copies` (after) stand beside the counterpart it may have.

    `computation` (before) is where it stands: the body of a loop whose iteration was peeled, or
    the computation itself where a body was repeated.
    """

    computation: str
    instruction: str
    copies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relocated:
    """An instruction that stands in another computation now; (computation, name) of either text."""

    before: tuple[str, str]
    after: tuple[str, str]


@dataclass(frozen=True, slots=True)
class ComputationDiff:
    """What differs between two matched computations; names of instructions in text order.

    `how` says why the two were paired; `moved` names (after) those whose place in the schedule is
    another one, where both texts are scheduled. `copies` says which of `added` are copies of what:
    a loop was rewritten, nothing new was computed. An added computation of equal content with one
    before says in `how` what it is a copy of. `moved_out` went into another computation (a fusion,
    a body, a caller), `moved_in` came from one; neither counts as removed or added.
    """

    before: str | None
    after: str | None
    how: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[InstructionChange, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    unchanged: int = 0
    moved: tuple[str, ...] = ()
    copies: tuple[Copied, ...] = ()
    moved_in: tuple[Relocated, ...] = ()
    moved_out: tuple[Relocated, ...] = ()


@dataclass(frozen=True, slots=True)
class ModuleDiff:
    """What differs between two module texts.

    `computations` are the pairs that differ and the added and removed ones; those that are equal
    are counted in `unchanged` (equal text, or equal up to names of what they call). `alike` are
    groups of two and more of them by name (after), whose change is the same: equal content before,
    equal content after.
    """

    computations: tuple[ComputationDiff, ...]
    unchanged: int
    renamed: tuple[tuple[str, str], ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryProfile:
    """Where the bytes of a module go, with all buffers of loops and asynchronous operations.

    `memory` is what a report shows of it. `loop_buffers` are those of all loops in the text, by
    loop and element; `async_buffers` the asynchronous operations whose operand is overwritten or
    shares memory with the result.
    """

    memory: Memory
    loop_buffers: tuple[LoopBuffer, ...]
    async_buffers: tuple[AsyncBuffers, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The class of failures that the log speaks of, and the lines that say so.

    `sign` tells the signs of a class apart, `tells` says in words what it means. `strength`:
    `stated`, the message says it; `pointed`, a file, a pass or a frame belongs to the class;
    `guessed`, only the kind of the death speaks for it. `failure` is None for a complaint of a
    run that went on; then `lines` holds it, else the warnings of the same class.
    """

    class_: str
    sign: str
    tells: str
    strength: Literal["stated", "pointed", "guessed"]
    failure: CheckFailure | None = None
    lines: tuple[PipelinerMove, ...] = ()

    @property
    def text(self) -> str:
        """The message of the failure, else of the first line."""
        return self.failure.text if self.failure else self.lines[0].text


@dataclass(frozen=True, slots=True)
class Facts:
    """All that is known before any rule speaks.

    `dump` is None when only a log was given. `failing` is the module that was being compiled when
    the run died; `failure` the located first cause. `hung` is true where the log or the user says
    that the run hung. Loops, collectives, memory, meshes and work (one for each text) are keyed by
    module id; a module without a buffer assignment has no memory profile but an estimate in
    `memory_estimates`, which is for the report: no rule may rest on it. `diagnoses` are the
    classes that the log speaks of, each once, that of the failure first.
    """

    dump: DumpContents | None
    log: LogFacts
    environment: Environment
    failure: Failure | None = None
    failing: ModuleHistory | None = None
    loops: Mapping[str, tuple[LoopHistory, ...]] = field(
        default_factory=dict[str, tuple[LoopHistory, ...]]
    )
    collectives: Mapping[str, tuple[Collective, ...]] = field(
        default_factory=dict[str, tuple[Collective, ...]]
    )
    hung: bool = False
    memory: Mapping[str, tuple[MemoryProfile, ...]] = field(
        default_factory=dict[str, tuple[MemoryProfile, ...]]
    )
    work: Mapping[str, tuple[Work, ...]] = field(default_factory=dict[str, tuple[Work, ...]])
    diagnoses: tuple[Diagnosis, ...] = ()
    memory_estimates: Mapping[str, MemoryProfile] = field(default_factory=dict[str, MemoryProfile])
    meshes: Mapping[str, tuple[Mesh, ...]] = field(default_factory=dict[str, tuple[Mesh, ...]])

    @property
    def modules(self) -> tuple[ModuleHistory, ...]:
        """The module histories, the user's own first."""
        return () if self.dump is None else self.dump.modules
