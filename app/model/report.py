"""The report and everything in it: frozen values that are written to JSON as they stand here.

The field names are the keys of the JSON contract (schema_version 1): keys may be added, never
renamed. Nothing here computes; `codec.py` turns a `Report` into JSON and back. Positions named
`dump` are 0-based positions in the `dumps` of the named module; lines are 1-based; sizes are
bytes.
"""

from typing import Literal, get_args

import msgspec

from app.model.collective import Collective as Collective
from app.model.collective import CollectiveEvent as CollectiveEvent
from app.model.collective import CollectiveEventKind as CollectiveEventKind
from app.model.collective import Window as Window
from app.model.device import TargetDevice
from app.model.experiments import Replay
from app.model.memory import Memory
from app.model.mesh import Mesh
from app.model.program import ProgramLines
from app.model.source import Frame as Frame
from app.model.source import Source, SourceCoverage, SourceHow, Struct

SCHEMA_VERSION = 1

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The gravest first."""
Confidence = Literal["certain", "likely", "possible", "ruled_out"]
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)
"""The surest first."""
CarryKind = Literal[
    "counter",
    "invariant",
    "stacked_input",
    "stacked_output",
    "accumulator",
    "double_buffer",
    "other",
]
Curve = Literal[
    "instructions", "fusions", "copies", "collectives", "whiles", "flops", "collective_bytes"
]
LoopEventKind = Literal[
    "created",
    "peeled",
    "unrolled",
    "fully_unrolled",
    "double_buffered",
    "pipelined_forward",
    "pipelined_backward",
    "pipelined_forward_sink",
    "trip_count_changed",
    "carry_changed",
    "renamed",
    "moved",
    "simplified",
    "removed",
]


REWRITES: frozenset[LoopEventKind] = frozenset(
    {
        "peeled",
        "unrolled",
        "fully_unrolled",
        "double_buffered",
        "pipelined_forward",
        "pipelined_backward",
        "pipelined_forward_sink",
    }
)
"""What passes do to loops on purpose: all else follows from it, or from other work."""


class Tool(Struct, frozen=True, kw_only=True):
    """The program that made the report."""

    name: str
    version: str


class Input(Struct, frozen=True, kw_only=True):
    """What was analysed: `sha256` is of the archive's bytes, empty for a folder."""

    name: str
    bytes: int
    sha256: str = ""


class Releases(Struct, frozen=True, kw_only=True):
    """The jaxlib releases that fit everything seen, oldest first, and why."""

    releases: tuple[str, ...] = ()
    how: str = ""


class Environment(Struct, frozen=True, kw_only=True):
    """Where the program was compiled, as far as the files say.

    `device` is the one that times are estimated for, each figure with its origin.
    """

    backend: str | None = None
    jaxlib: Releases = Releases()
    num_partitions: int | None = None
    replica_count: int | None = None
    flags: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    flags_from: tuple[str, ...] = ()
    device: TargetDevice | None = None


class Dump(Struct, frozen=True, kw_only=True):
    """One text of one module, after one pass; `changed` counts computations new in this text.

    `flops` (two a multiply-add) and `collective_bytes` (sent by one device, by kind) are those of
    one execution with all iterations of loops, before partitioning of the whole program. They are
    low by the loops `counted_once`, for want of a trip count, and by `uncounted` products.
    """

    index: int
    file: str
    bytes: int
    pipeline: str | None = None
    after: str | None = None
    before: str | None = None
    instructions: int = 0
    computations: int = 0
    changed: int = 0
    scheduled: bool = False
    counts: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    flops: int | None = None
    collective_bytes: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    counted_once: int = 0
    uncounted: int = 0


class Bend(Struct, frozen=True, kw_only=True):
    """A text in which a curve over the passes is notably higher or lower than in the one before.

    `pass` is None where texts are missing in between and the pass named last may not be the one.
    """

    dump: int
    pass_: str | None = msgspec.field(name="pass", default=None)
    curve: Curve
    before: int
    after: int


class Renumbered(Struct, frozen=True, kw_only=True):
    """The texts at positions `first` to `last`, whose frame ids do not fit their tables.

    `rows` holds ids, each with the row of the table that it means; of others nothing is known.
    """

    first: int
    last: int
    rows: tuple[tuple[int, int], ...] = ()


class Module(Struct, frozen=True, kw_only=True):
    """One compiled module: `role` is user, helper (JAX's own) or autotuning.

    `sources` tells of its first text and of its last how many instructions have a place in the
    program; it is empty for autotuning. `renumbered` is empty for nearly all.
    """

    id: str
    name: str
    role: Literal["user", "helper", "autotuning"] = "user"
    complete: bool = False
    dumps: tuple[Dump, ...] = ()
    bends: tuple[Bend, ...] = ()
    sources: tuple[SourceCoverage, ...] = ()
    renumbered: tuple[Renumbered, ...] = ()


class LoopEvent(Struct, frozen=True, kw_only=True):
    """Something that a pass did to a loop; `pass` is the pass, `detail` the evidence in words."""

    dump: int
    pass_: str | None = msgspec.field(name="pass", default=None)
    kind: LoopEventKind
    detail: str = ""


class Induction(Struct, frozen=True, kw_only=True):
    """The counter of a loop: the carried element `index` runs from `init` by `step` to `bound`."""

    index: int
    init: int | None = None
    step: int | None = None
    bound: int | None = None
    how: str = ""


class CarriedElement(Struct, frozen=True, kw_only=True):
    """One element of the tuple that a loop carries, in the last text that holds the loop.

    `kind`: `counter`; `invariant`, handed on unchanged; `stacked_input`, an invariant that is read
    one slice an iteration; `stacked_output`, written one slice an iteration; `accumulator`, a total
    of all iterations; `double_buffer`, fetched or left for the next iteration, or taken over from
    another element; `other`. `slices` says how many slices a stacked one has, `instruction` is the
    one of the body that shows the kind, `source` its place without frames, `how` says it in words.
    """

    index: int
    kind: CarryKind
    shape: str
    bytes: int
    slices: int | None = None
    instruction: str | None = None
    source: Source | None = None
    how: str = ""


class Loop(Struct, frozen=True, kw_only=True):
    """One while loop through all passes; `name` is the one in `last_dump`.

    `carry` is the carried tuple as it stands there. `collective_bytes` leave one device in one
    iteration through the collectives directly in the body; None where the last text of the module
    does not hold the loop any more.
    """

    id: str
    module: str
    parent: str | None = None
    name: str
    names: tuple[str, ...] = ()
    source: Source | None = None
    source_from: int | None = None
    source_how: SourceHow | None = None
    op_name: str | None = None
    construct: str | None = None
    trip_count: int | None = None
    trip_count_how: str | None = None
    induction: Induction | None = None
    first_dump: int = 0
    last_dump: int = 0
    collectives: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    events: tuple[LoopEvent, ...] = ()
    carry: tuple[CarriedElement, ...] = ()
    collective_bytes: int | None = None


class Failure(Struct, frozen=True, kw_only=True):
    """The failure that the log states and where the compiler was."""

    text: str
    signature: str
    kind: str
    file: str | None = None
    line: int | None = None
    condition: str | None = None
    status: str | None = None
    pass_: str | None = msgspec.field(name="pass", default=None)
    pipeline: str | None = None
    module: str | None = None
    last_dump: str | None = None
    confidence: Confidence = "possible"
    how: str = ""


class Evidence(Struct, frozen=True, kw_only=True):
    """A line of the dump or log that a claim rests on; `line` is 1-based, None for a whole file."""

    file: str
    line: int | None = None
    text: str = ""


class Culprit(Struct, frozen=True, kw_only=True):
    """An instruction or loop that a finding names, the most important one first.

    `role` says what it is in the finding's story; `stated` is true where the source place stands
    in the dump and false where it was inferred; `source_how` says how it is known.
    """

    module: str | None = None
    dump: int | None = None
    computation: str | None = None
    instruction: str | None = None
    opcode: str | None = None
    op_name: str | None = None
    loop: str | None = None
    source: Source | None = None
    stated: bool = True
    role: str = ""
    source_how: SourceHow | None = None


class Workaround(Struct, frozen=True, kw_only=True):
    """Something to try; `releases` are those known to accept it, in words.

    `verified` says whether it was tried and cured, `experiment` the position, in the experiments
    of the report's replay, of the compile that showed it.
    """

    text: str
    flags: tuple[str, ...] = ()
    releases: str = ""
    verified: bool | None = None
    experiment: int | None = None


class RuledOut(Struct, frozen=True, kw_only=True):
    """A hypothesis the evidence speaks against.

    `flags` would cure if it were right; `verified` is true where they were tried and did not, and
    `experiment` the position of that compile as in `Workaround`.
    """

    hypothesis: str
    why: str
    evidence: tuple[Evidence, ...] = ()
    flags: tuple[str, ...] = ()
    verified: bool | None = None
    experiment: int | None = None


class Upstream(Struct, frozen=True, kw_only=True):
    """A public thread or fix about the same fault."""

    ref: str
    fixed_in: str | None = None
    affects: str | None = None


class Finding(Struct, frozen=True, kw_only=True):
    """What a rule says: a claim, how sure it is, what it rests on and what can be done.

    `also_in` are further modules of which the very same is true; places are those of the first.
    """

    rule: str
    class_: str = msgspec.field(name="class")
    severity: Severity
    confidence: Confidence
    title: str
    message: str
    fingerprint: str = ""
    culprits: tuple[Culprit, ...] = ()
    also_in: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    flags: tuple[str, ...] = ()
    workarounds: tuple[Workaround, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    unknown: tuple[str, ...] = ()
    upstream: tuple[Upstream, ...] = ()


class Skipped(Struct, frozen=True, kw_only=True):
    """A member that was left out or only partly read, and why.

    `code` is stable (`bad_path`, `link`, `nested_archive`, `not_yet_read`, `truncated`, ...).
    """

    name: str
    code: str
    reason: str
    bytes: int = 0


class UnparsedLine(Struct, frozen=True, kw_only=True):
    """Text that the parser did not understand; `text` is cut to 200 characters."""

    file: str
    line: int
    column: int
    text: str
    reason: str


class Coverage(Struct, frozen=True, kw_only=True):
    """How much of the input was read and understood; `remarks` are on the whole input."""

    files: int = 0
    bytes: int = 0
    hlo_files: int = 0
    lines: int = 0
    unparsed_lines: int = 0
    unparsed: tuple[UnparsedLine, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    skipped_count: int = 0
    remarks: tuple[str, ...] = ()
    kinds: dict[str, int] = msgspec.field(default_factory=dict[str, int])


class Report(Struct, frozen=True, kw_only=True):
    """The answer to one input.

    `memory` is read from buffer assignments; `memory_estimates` are of modules without one.
    `replay` is what recompiling a module has shown, where somebody asked for it.
    """

    schema_version: int = SCHEMA_VERSION
    tool: Tool
    input: Input
    environment: Environment = Environment()
    modules: tuple[Module, ...] = ()
    loops: tuple[Loop, ...] = ()
    collectives: tuple[Collective, ...] = ()
    memory: tuple[Memory, ...] = ()
    memory_estimates: tuple[Memory, ...] = ()
    programs: tuple[ProgramLines, ...] = ()
    meshes: tuple[Mesh, ...] = ()
    failure: Failure | None = None
    findings: tuple[Finding, ...] = ()
    coverage: Coverage = Coverage()
    replay: Replay | None = None
