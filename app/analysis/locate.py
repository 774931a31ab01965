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
from app.analysis.failing_module import (
    ALL_COMPILED,
    KILLED,
    copy_of,
    failing_module,
    is_of_the_run,
)
from app.analysis.failure_class import class_of, class_of_pass
from app.analysis.flag_refusals import PARSER
from app.analysis.python_frames import died_outside_jax, place_of
from app.model.dump import CheckFailure, DumpName, LogFacts, ModuleHistory
from app.model.report import Confidence, Failure

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
_SAID_BY = (
    # xla/service/dynamic_dimension_inference.cc, which no other pass runs.
    ("equality of two dimensions at compile time", "dynamic_padder"),
    # xla/service/copy_insertion.cc
    ("Call graph must be flattened before copy insertion", "copy-insertion"),
)
_SOLVER_PASS = "gpusolver-rewriter"
_DISABLED = "xla_disable_hlo_passes"
_NOT_FOUND = re.compile(r"\braw_hash_map<>::at\b|_Map_base::at|\bmap::at\b")
# The body of a pass: `xla::GpuLayoutAssignment::RunImpl(...)`.
_RUNS = re.compile(r"\bxla::(?:\w+::)*(?P<class>[A-Z]\w+)::Run(?:Impl|OnModule|OnComputation)?\b")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_HYPHENED = re.compile(r"(?<![\w\-%./=])[a-z][a-z0-9]*(?:-[a-z0-9]+)+(?![\w\-]|\.\w)")


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
    newest = module and copy_of(module, modules)
    where = _but_for(flags.get(_DISABLED, ""), _pass_of(cause, log, newest))
    if where.name is None and (newest is None or newest.last.name.before is None):
        where = _by_lookup_of_transfers(cause, flags) or where
    if where.name is None and where.confidence == "possible" and module_how == ALL_COMPILED:
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


def _is_run_time(cause: CheckFailure) -> bool:
    return cause.text.startswith("Execution of replica ")


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


def _by_lookup_of_transfers(cause: CheckFailure, flags: Mapping[str, str]) -> _Pass | None:
    """The pass that looks up the ends of pipelined transfers, where a look-up failed.

    Seen with both flags on 0.10.2 and 0.12.0 (xla/service/p2p_schedule_preparation.cc).
    """
    if _NOT_FOUND.search(cause.text, 0, 400) is None or not _takes_transfers_apart(flags):
        return None
    how = "with the flags that pipeline transfers that pass looks their ends up, and died so before"
    return _Pass("latency-hiding-scheduler-preparation", "possible", how)


def _takes_transfers_apart(flags: Mapping[str, str]) -> bool:
    return (
        knowledge.setting(flags, "xla_gpu_enable_pipelined_p2p") == "true"
        and knowledge.setting(flags, "xla_gpu_collective_permute_decomposer_threshold") == "0"
    )


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
    if cause.signature == KILLED:
        how = "SIGKILL comes from outside: the system when memory is short, a scheduler, a person"
        return _Pass(None, "likely", how)
    if cause.file == PARSER:
        return _Pass(None, "certain", "XLA read its flags, before any compile")
    if died_outside_jax(cause):
        how = f"the innermost Python frame is {place_of(cause.frames[0])}, not inside JAX"
        return _Pass(None, "likely", how)
    if is_of_the_run(cause):
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
    """The one pass that the message names, or that alone says so."""
    said = next((name for words, name in _SAID_BY if words in cause.text[:400]), None)
    if said is not None:
        return _Pass(said, "likely", "that pass alone prints the message")
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
