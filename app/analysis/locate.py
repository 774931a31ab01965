"""Where the compiler was when it died: the pass, the pipeline, the module and how sure that is.

Evidence is weighed in this order: a `Failed after` line (XLA says it), the C++ file and condition
of the check (one pass owns most files), the last `HLO pass` verbose line, and last the newest
dump, which proves nothing alone: with the pass filter `.*` only passes that changed the module
leave a file (xla/service/hlo_pass_pipeline.cc), so the pass died in `before_Y` or any later one.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app import knowledge
from app.analysis.broken import has_circle
from app.analysis.class_suspects import of_opcode
from app.analysis.failure_class import class_of, class_of_pass
from app.analysis.flag_refusals import PARSER
from app.analysis.printed import opcodes_in
from app.analysis.python_frames import died_outside_jax, place_of
from app.model.dump import CheckFailure, DumpName, LogFacts, ModuleHistory
from app.model.report import Confidence, Failure

# Failures of a run that had compiled; no module was in the compiler's hands.
_RUNTIME_KINDS = frozenset({"rendezvous", "nccl"})


# xla/hlo/ir/hlo_computation.cc, Accept; the passes before it order instructions without this check.
_CYCLE = "A cycle is detected while visiting"
_NOT_TIMED = "autotune result cache hit"
_TIMES = (
    (re.compile(r"__cublas\$"), "gemm-algorithm-picker"),
    (re.compile(r"__cudnn\$conv"), "gpu-conv-algorithm-picker"),
    (re.compile(r"__triton|gemm_fusion"), "gemm-fusion-autotuner"),
)
# Its control edges run from one end to the other (xla/service/p2p_schedule_preparation.cc).
_ENDS_IN_ORDER = re.compile(
    r" (?:send|recv)-done\([^\n]{0,2000}control-predecessors=\{[^}\n]{0,2000}(?:send|recv)-done\b"
)
_MOST_READ = 4000
_SOLVER_PASS = "gpusolver-rewriter"
_KILLED = "signal::SIGKILL"
_DISABLED = "xla_disable_hlo_passes"
_COPY = "-clone"
_ALL_COMPILED = "every module in the dump was optimized to the end"
# What the C++ library and absl say of a look-up that failed: `absl::...::raw_hash_map<>::at`.
_FROM_CPP = re.compile(r"\babsl::|\bstd::|_Map_base::at|_M_range_check|\bmap::at\b")
# The body of a pass: `xla::GpuLayoutAssignment::RunImpl(...)`.
_RUNS = re.compile(r"\bxla::(?:\w+::)*(?P<class>[A-Z]\w+)::Run(?:Impl|OnModule|OnComputation)?\b")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_HYPHENED = re.compile(r"(?<![\w\-%./=])[a-z][a-z0-9]*(?:-[a-z0-9]+)+(?![\w\-]|\.\w)")
# jax/_src/compiler.py: the functions that hand a module to XLA (0.4.28 to 0.12.0).
_COMPILING = re.compile(r"backend_compile\b|backend_compile_and_load\b")
_WORD = re.compile(r"[\w.$@]*\w")
# How XLA names the module that it complains of, or prints it.
_OF_MODULE = re.compile(r"\bHLO module: (?P<name>[\w.\-]*\w)|\bHloModule (?P<printed>[\w.\-]*\w)")


@dataclass(frozen=True, slots=True)
class _Pass:
    name: str | None
    confidence: Confidence
    how: str


def locate_failure(
    log: LogFacts, modules: Sequence[ModuleHistory], flags: Mapping[str, str]
) -> tuple[Failure | None, ModuleHistory | None]:
    """The first cause stated by the log and the module that was being compiled.

    The module is None when the log states no failure, when no dump was given and when nothing
    tells the modules apart. With the run's `flags`, no pass is named that they left out.
    """
    if not log.failures:
        return None, None
    cause = log.failures[0]
    module, module_how = failing_module(cause, log, modules)
    newest = module and _copy_of(module, modules)
    where = _but_for(flags.get(_DISABLED, ""), _pass_of(cause, log, newest))
    if where.name is None and where.confidence == "possible" and module_how == _ALL_COMPILED:
        where = _Pass(
            None, "likely", "every module in the dump had been compiled: it was at run time"
        )
        module_how = ""
    how = "; ".join(part for part in (where.how, module_how) if part)
    return (
        Failure(
            text=cause.text,
            signature=cause.signature,
            kind=cause.kind,
            file=cause.file,
            line=cause.line,
            condition=cause.condition,
            status=cause.status,
            pass_=where.name,
            pipeline=newest.last.name.pipeline if newest else None,
            module=module.id if module else None,
            last_dump=newest.last.file if newest else None,
            confidence=where.confidence,
            how=how,
        ),
        module,
    )


def _but_for(disabled: str, where: _Pass) -> _Pass:
    """What was found, unless the run had left that pass out.

    XLA names the next pass of a pipeline in a file name even if it is disabled.
    """
    if where.name not in disabled.split(",") or where.confidence == "certain":
        return where
    how = f"{where.name} was disabled, so that it was a pass after it"
    return _Pass(None, "possible", how)


def failing_module(
    cause: CheckFailure, log: LogFacts, modules: Sequence[ModuleHistory]
) -> tuple[ModuleHistory | None, str]:
    """The module that died and the reason for naming it.

    A compile that dies leaves no text after all optimizations, so an incomplete module among
    complete ones is the one; instructions named in the message decide between several.
    """
    own = [m for m in modules if m.role != "autotuning"]
    is_elsewhere = _is_of_the_run(cause) or cause.signature == _KILLED or died_outside_jax(cause)
    if not own or is_elsewhere:
        return None, ""
    absent = _named_and_absent(cause, own)
    if absent:
        return None, f"the message is about module {absent}, which the dump does not hold"
    calling = _calling_what_is_named(cause, own)
    if calling is not None:
        return calling, f"module {calling.id} alone calls the target that the message names"
    named = _holding_most(own, log.names)
    if named is not None:
        return named, f"module {named.id} holds the instructions that the message names"
    unfinished = [m for m in own if not m.complete]
    if unfinished:
        module = max(unfinished, key=lambda m: (m.role == "user", len(m.dumps), m.id))
        return module, f"module {module.id} has no text after all optimizations"
    if _dies_in_a_pass(cause):
        return (
            None,
            "every module of this dump was optimized to the end: is the log of another run?",
        )
    if len(own) == 1:
        return own[0], f"{own[0].id} is the only module in the dump"
    return _last_compiled(cause, own)


def _last_compiled(
    cause: CheckFailure, modules: Sequence[ModuleHistory]
) -> tuple[ModuleHistory | None, str]:
    """The module whose code was being made, where all had come through their passes."""
    opcodes = opcodes_in(cause.text)
    holding = [
        (module, opcode)
        for module in modules
        for opcode in opcodes
        if any(of_opcode(module.last.module, opcode))
    ]
    if holding:
        module, opcode = max(holding, key=lambda found: found[0].id)
        alone = "alone " if len(holding) == 1 else ", the newest of those that do, "
        return module, f"module {module.id} {alone}holds a {opcode}, which the message names"
    if not any(_COMPILING.match(frame.function) for frame in cause.frames):
        return None, _ALL_COMPILED
    newest = max((m for m in modules if m.role == "user"), key=lambda m: m.id, default=None)
    if newest is None:
        return None, _ALL_COMPILED
    return newest, f"JAX was compiling, and {newest.id} is the newest module of the dump"


def _named_and_absent(cause: CheckFailure, modules: Sequence[ModuleHistory]) -> str:
    """The module that the message names, where none of that name was dumped; else ""."""
    named = [found["name"] or found["printed"] for found in _OF_MODULE.finditer(cause.text)]
    known = {module.name.partition(".")[0].removesuffix(_COPY) for module in modules}
    absent = [name for name in named if name.partition(".")[0].removesuffix(_COPY) not in known]
    return absent[0] if absent and len(absent) == len(named) else ""


def _copy_of(module: ModuleHistory, modules: Sequence[ModuleHistory]) -> ModuleHistory:
    """Where the compile of the module went on; the module itself where it was not copied.

    The scheduler of 0.8 works on a copy, whose texts have a number and a name of their own.
    """
    name = f"{module.name}{_COPY}"
    copies = [m for m in modules if m.name == name and m.id > module.id and not m.complete]
    return module if module.complete or not copies else copies[-1]


def is_raised_by_python(cause: CheckFailure) -> bool:
    """Whether a failure is an exception of Python that no C++ library threw, as far as it says."""
    return cause.kind == "python" and _FROM_CPP.search(cause.text, 0, 400) is None


def _is_of_the_run(cause: CheckFailure) -> bool:
    """Whether a failure is one of a program that had been compiled.

    An exception of the C++ library that Python raises on came out of the compiler.
    """
    if cause.kind == "python":
        return is_raised_by_python(cause)
    return cause.kind in _RUNTIME_KINDS


def _is_run_time(cause: CheckFailure) -> bool:
    return cause.text.startswith("Execution of replica ")


def _calling_what_is_named(
    cause: CheckFailure, modules: Sequence[ModuleHistory]
) -> ModuleHistory | None:
    """The one module with a custom call whose target stands in the message as a word."""
    words = set(_WORD.findall(cause.text))
    calling = [
        m
        for m in modules
        if any(
            i.custom_call_target in words
            for c in m.last.module.computations
            for i in c.instructions
            if i.custom_call_target is not None
        )
    ]
    return calling[0] if len(calling) == 1 else None


def _dies_in_a_pass(cause: CheckFailure) -> bool:
    """Whether the failure belongs to a pass, which leaves no text after all optimizations."""
    if cause.file is None or knowledge.is_outside_passes(cause.file):
        return False
    return bool(knowledge.passes_of_file(cause.file, cause.condition))


def _holding_most(modules: Sequence[ModuleHistory], names: Sequence[str]) -> ModuleHistory | None:
    """The one module whose newest text defines most of the named instructions, if one leads."""
    if not names:
        return None
    counts = [
        (sum(any(c.get(n) for c in m.last.module.computations) for n in names), m) for m in modules
    ]
    best = max(count for count, _ in counts)
    leaders = [m for count, m in counts if count == best]
    return leaders[0] if best and len(leaders) == 1 else None


def _pass_of(cause: CheckFailure, log: LogFacts, module: ModuleHistory | None) -> _Pass:
    stated = _stated(cause)
    if stated is not None:
        return stated
    last = module.last.name if module else None
    owners = knowledge.passes_of_file(cause.file, cause.condition) if cause.file else ()
    if len(owners) == 1:
        how = f"{cause.file} with this condition belongs to {owners[0]}"
        return _Pass(owners[0], "likely", how)
    if cause.file and knowledge.is_outside_passes(cause.file):
        return _Pass(None, "likely", f"{cause.file} runs when the passes are over")
    tuner = _by_what_is_timed(cause) or _by_library(cause, last)
    if tuner is not None:
        return tuner
    if log.passes and (not owners or log.passes[-1] in owners):
        return _Pass(log.passes[-1], "likely", "the last `HLO pass` line of the log")
    if owners and last is not None and last.before in owners:
        how = f"{cause.file} belongs to it and the newest dump says it was next in line"
        return _Pass(last.before, "likely", how)
    if owners:
        return _Pass(owners[0], "possible", f"{cause.file} belongs to {' or '.join(owners)}")
    if _is_run_time(cause):
        return _Pass(None, "likely", "the message is of a program that was running")
    return (
        _by_frame(cause, last)
        or _by_words(cause)
        or _by_circle(cause, module)
        or _by_order_of_transfers(cause)
        or _after_the_newest_text(cause, last)
    )


def _by_what_is_timed(cause: CheckFailure) -> _Pass | None:
    """The pass that times variants of the instruction that the message prints.

    The message is that of xla/service/gpu/autotuning/autotuner_util.cc, for all kinds alike.
    """
    if _NOT_TIMED not in cause.text:
        return None
    name = next((name for words, name in _TIMES if words.search(cause.text)), None)
    how = "the message prints what that pass times"
    return _Pass(name, "likely", how) if name else None


def _by_order_of_transfers(cause: CheckFailure) -> _Pass | None:
    """The pass that puts ends of transfers in order, where they wait for each other in a circle."""
    if _CYCLE not in cause.text or _ENDS_IN_ORDER.search(cause.text, 0, _MOST_READ) is None:
        return None
    how = "ends of transfers wait for each other in the circle, and that pass puts those in order"
    return _Pass("latency-hiding-scheduler-preparation", "possible", how)


def _by_library(cause: CheckFailure, last: DumpName | None) -> _Pass | None:
    """The pass that asks a library while it compiles; a program that was compiled asks it, too."""
    if "cuSolver" not in cause.text or last is None or last.kind == "after_optimizations":
        return None
    return _Pass(_SOLVER_PASS, "likely", "that pass alone asks cuSolver before the passes are over")


def _by_circle(cause: CheckFailure, module: ModuleHistory | None) -> _Pass | None:
    """The pass of the newest text, where that is the first to hold a circle that XLA refuses."""
    if _CYCLE not in cause.text or module is None or len(module.dumps) < 2:
        return None
    after, before = module.last.name.after, module.dumps[-2]
    if after in (None, "pipeline-start") or not has_circle(module.last.module):
        return None
    if has_circle(before.module):
        return None
    return _Pass(after, "likely", f"the newest text, after {after}, is the first with the circle")


def _stated(cause: CheckFailure) -> _Pass | None:
    """What the failure itself says: a pass, or that none was running."""
    if cause.signature == _KILLED:
        how = "SIGKILL comes from outside: the system when memory is short, a scheduler, a person"
        return _Pass(None, "likely", how)
    if cause.file == PARSER:
        return _Pass(None, "certain", "XLA read its flags, before any compile")
    if died_outside_jax(cause):
        how = f"the innermost Python frame is {place_of(cause.frames[0])}, not inside JAX"
        return _Pass(None, "likely", how)
    if _is_of_the_run(cause):
        raised = "Python raised it, not the compiler"
        how = raised if cause.kind == "python" else "the message is of a program that was running"
        return _Pass(None, "likely", how)
    if cause.failed_after == "pipeline-start":
        how = "the verifier refused the module at the start of a pipeline, before its first pass"
        return _Pass(None, "certain", how)
    if cause.failed_after:
        return _Pass(cause.failed_after, "certain", "the log says `Failed after`")
    return None


def _by_frame(cause: CheckFailure, last: DumpName | None) -> _Pass | None:
    """The pass whose code stands innermost on the stack."""
    for frame in cause.stack:
        found = _RUNS.search(frame)
        if found is None or found["class"].startswith("HloPass"):
            continue
        stem = _HUMP.sub("_", found["class"]).lower()
        names = knowledge.passes_of_file(f"{stem}.cc")
        if len(names) == 1:
            return _Pass(names[0], "likely", f"the frame {found[0]} belongs to it")
        if last is not None and last.before in names:
            how = f"the frame {found[0]} belongs to it and the newest dump says it was next in line"
            return _Pass(last.before, "likely", how)
        if names:
            how = f"the frame {found[0]} belongs to {' or '.join(names)}"
            return _Pass(names[0], "possible", how)
        how = f"the frame {found[0]} is of a pass that no table lists; it is called like its class"
        return _Pass(stem.replace("_", "-"), "possible", how)
    return None


def _by_words(cause: CheckFailure) -> _Pass | None:
    """The one pass that the message names."""
    words = dict.fromkeys(_HYPHENED.findall(cause.text[:400]))
    named = [w for w in words if knowledge.pass_releases(w)]
    if len(named) != 1:
        return None
    confidence: Confidence = "likely" if _names_itself(cause.text, named[0]) else "possible"
    return _Pass(named[0], confidence, "the message names it")


def _names_itself(text: str, name: str) -> bool:
    return re.match(rf"(?:[A-Z_]+: )?{re.escape(name)}: ", text) is not None


def _after_the_newest_text(cause: CheckFailure, last: DumpName | None) -> _Pass:
    if last is None:
        return _Pass(None, "possible", "nothing says which pass was running")
    if last.kind == "after_optimizations":
        how = "the text after all optimizations is there, so the passes were over"
        return _Pass(None, "likely", how)
    if _CYCLE in cause.text and (last.pipeline or "").startswith("pre-scheduling"):
        how = (
            f"the newest text is of {last.pipeline}, and what next visits all instructions in "
            "the order of their operands, and refuses a cycle, is the scheduler"
        )
        return _Pass("scheduling", "likely", how)
    if last.before == "pipeline-end":
        how = f"the newest text ends the pipeline {last.pipeline}: something after it"
        return _Pass(None, "possible", how)
    if last.before is None:
        return _Pass(None, "possible", "nothing says which pass was running")
    if class_of(cause) == class_of_pass(last.before) is not None:
        how = f"the newest dump says that {last.before} was next, and the message is of its kind"
        return _Pass(last.before, "likely", how)
    if "-" in last.before and last.before.replace("-", " ") in cause.text[:400].lower():
        how = f"the newest dump says that {last.before} was next, and the message speaks of it"
        return _Pass(last.before, "likely", how)
    how = f"the newest dump says that {last.before} was next: it, or any later pass"
    return _Pass(last.before, "possible", how)
