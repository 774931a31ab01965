"""What ingest hands to analysis: a dump as modules with their passes, a log as failures.

These are values in memory; they hold parsed modules and never file handles. Texts are gone once
they are parsed: a `Module` keeps its computations, which equal texts share.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from app.model.memory import MemorySpace
from app.model.report import Coverage, Input
from hlo_parser import Module

DumpKind = Literal["before_optimizations", "pass", "step", "after_optimizations", "other"]
AllocationRole = Literal["parameter", "donated", "output", "constant", "thread_local", "temp"]


@dataclass(frozen=True, slots=True)
class DumpName:
    """The parts of a dump's file name (`xla/service/dump.cc`, FilenameFor).

    `folder` is the directory inside the archive (groups several dumps), `module_id` the
    process-wide number, `step` the per-module counter of pass files, `after`/`before` the passes.
    For a step inside a pass (`0085.copy-insertion.after_adding_copies`) `pipeline` is None and
    `after` the pass, `detail` the step's own name. `point` is the dump point as written, without
    extension.
    """

    file: str
    folder: str = ""
    timestamp: int | None = None
    module_id: int | None = None
    module_name: str = ""
    kind: DumpKind = "other"
    step: int | None = None
    pipeline: str | None = None
    after: str | None = None
    before: str | None = None
    detail: str | None = None
    point: str = ""


@dataclass(frozen=True, slots=True)
class PassDump:
    """One HLO text of a module, parsed; `index` is its position in the history.

    `from_proto` says that XLA wrote it as a proto: the text and its line numbers are not XLA's.
    """

    index: int
    name: DumpName
    module: Module
    byte_size: int
    from_proto: bool = False

    @property
    def file(self) -> str:
        """The member's name inside the archive or folder."""
        return self.name.file


@dataclass(frozen=True, slots=True)
class TargetConfig:
    """The device that a module was compiled for, as a file of the dump describes it.

    Bandwidth in bytes a second, sizes in bytes; `lanes_per_core` are units for f32 products. What
    the file does not say is None. `text` is the whole of it where it is of a usual length.
    """

    file: str
    name: str = ""
    cores: int | None = None
    lanes_per_core: int | None = None
    clock_hz: float | None = None
    memory_bandwidth: float | None = None
    memory_bytes: int | None = None
    text: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ModuleHistory:
    """All texts of one compiled module in the order in which XLA wrote them.

    `id` is unique in the dump (`module_0000.jit_train`), `complete` says that the text after all
    optimizations is there. `files` are the side files of this module by kind.
    """

    id: str
    name: str
    role: Literal["user", "helper", "autotuning"]
    dumps: tuple[PassDump, ...]
    complete: bool
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    target: TargetConfig | None = None

    @property
    def last(self) -> PassDump:
        """The newest text."""
        return self.dumps[-1]


@dataclass(frozen=True, slots=True)
class BufferValue:
    """One value placed in an allocation; `index` is the shape index as printed, `{1}` or ``."""

    name: str
    index: str
    size: int
    offset: int
    shape: str

    @property
    def path(self) -> tuple[int, ...]:
        """The shape index as numbers."""
        return tuple(int(word) for word in self.index.strip("{}").split(",") if word)


@dataclass(frozen=True, slots=True)
class Allocation:
    """One allocation of a buffer assignment; sizes and offsets in bytes.

    `role` and the number of the entry `parameter` are read from `kind`, the text as printed;
    `donated` is a parameter that an output may overwrite. `color` is the memory space.
    """

    number: int
    size: int
    kind: str
    values: tuple[BufferValue, ...]
    role: AllocationRole = "temp"
    parameter: int | None = None
    color: int = 0


@dataclass(frozen=True, slots=True)
class BufferAssignment:
    """A `-buffer-assignment.txt`: where each value of the final module lives.

    `total_bytes` is what the file itself says (before April 2026), None where it says nothing.
    """

    file: str
    module_id: str
    allocations: tuple[Allocation, ...]
    total_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class LiveRange:
    """From which to which position of the sequence a value lives, both included."""

    name: str
    path: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class LiveRanges:
    """A `-live-range.txt`, or the end of an older buffer assignment.

    `sequence` names the instructions of all computations but fusions in the order in which they
    run, loops once. `peak_position` and `peak_bytes` are what XLA names as the peak; the bytes
    only from 2026 on. XLA looks for that position with sizes that leave out what is inside tuples,
    so another one may hold more (xla/hlo/utils/hlo_live_range.cc, ComputePeakMemoryMoment).
    """

    file: str
    module_id: str
    sequence: tuple[str, ...]
    ranges: tuple[LiveRange, ...]
    peak_position: int | None = None
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ValuePositions:
    """A `-buffer-assignment-values.txt`, or that part of an older buffer assignment.

    `values` maps an instruction and a shape index to the value that stands there, where that value
    is defined elsewhere.
    """

    file: str
    module_id: str
    values: Mapping[tuple[str, tuple[int, ...]], tuple[str, tuple[int, ...]]]
    total_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """A `-memory-usage-report.txt`: total bytes and the largest allocations.

    `spaces` is empty before March 2026, when the report did not tell them apart.
    """

    file: str
    module_id: str
    total_bytes: int
    allocations: tuple[tuple[int, str], ...]
    spaces: tuple[MemorySpace, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramFile:
    """A source file of the user's program that came with the dump, by its member's name."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class DumpContents:
    """Everything read from one archive or folder; the user's own modules stand first.

    `flags` are those of `debug_options` (name without dashes to value as written), `flags_file`
    the member they came from.
    """

    input: Input
    modules: tuple[ModuleHistory, ...]
    flags: Mapping[str, str]
    flags_file: str | None
    buffer_assignments: tuple[BufferAssignment, ...]
    memory_reports: tuple[MemoryReport, ...]
    coverage: Coverage
    live_ranges: tuple[LiveRanges, ...] = ()
    value_positions: tuple[ValuePositions, ...] = ()
    program: tuple[ProgramFile, ...] = ()


@dataclass(frozen=True, slots=True)
class PythonFrame:
    """A line of a Python stack; `log_line` is where the log prints it. Both are 1-based."""

    file: str
    line: int
    function: str
    log_line: int


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """One failure stated by a log.

    `kind` is check, ret_check, status, fatal, verifier, oom, nccl (a call of the library for
    collectives between GPUs), rendezvous (participants wait for each other: a warning that was not
    taken back, or a time-out), signal or python; `file` the base name of the C++ file;
    `condition` the condition as printed with white space folded and without the values in
    brackets; `values` those values (`0 vs. nullptr`); `status` the code of a status error;
    `context` the verifier's context; `failed_after` the pass of a `Failed after` line;
    `line_number`/`log` the place in the log (1-based); `stack` the symbols of the frames below,
    innermost first; `text` the message in full (prefix removed, cut to 4,000 characters).
    `signature` is equal for the same fault across line numbers, addresses and names. `frames` are
    those of the Python thread that raised or died, innermost first; `meanwhile` those of the main
    thread, where another one died, be it of Python or not; `exception` is the name of the Python
    exception that carried it, without its module; `goes_on` says that many lines of the log follow.
    """

    kind: str
    text: str
    signature: str
    log: str
    line_number: int
    file: str | None = None
    line: int | None = None
    condition: str | None = None
    values: str | None = None
    status: str | None = None
    context: str | None = None
    failed_after: str | None = None
    stack: tuple[str, ...] = ()
    frames: tuple[PythonFrame, ...] = ()
    meanwhile: tuple[PythonFrame, ...] = ()
    exception: str | None = None
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class ThreadStack:
    """Where a thread of Python stood, innermost first; `is_main` of the first one of a process."""

    frames: tuple[PythonFrame, ...]
    log: str
    is_main: bool = False


@dataclass(frozen=True, slots=True)
class PipelinerMove:
    """One line that states no failure: a pass that talks, a warning, a complaint.

    `line_number` is 1-based; `severity` is I, W or E, "" where the line names none.
    """

    log: str
    line_number: int
    file: str
    text: str
    severity: str = ""


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What the logs say, in the order of their lines; the first failure is the first cause.

    `flags` are XLA flags seen in the logs or given by the user, `passes` the verbose lines
    `HLO pass X` in order, `verbose` the verbose lines of passes, `releases` jaxlib releases that
    the log names outright, `lines` how many lines were read and `byte_size` of how many bytes.
    `remarks` say what was left out of long logs, as `Coverage.remarks` do. `stacks` are those of
    Python's threads when `hloscope run` ended the run, its time being up. `platforms` are those
    for which XLA says that it started (`CUDA`, `Host`).
    """

    failures: tuple[CheckFailure, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict[str, str])
    passes: tuple[str, ...] = ()
    verbose: tuple[PipelinerMove, ...] = ()
    releases: tuple[str, ...] = ()
    hung: bool = False
    lines: int = 0
    names: tuple[str, ...] = ()
    byte_size: int = field(default=0, compare=False)
    remarks: tuple[str, ...] = ()
    stacks: tuple[ThreadStack, ...] = ()
    platforms: tuple[str, ...] = ()
