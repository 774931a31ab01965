"""File names of a dump folder to their parts, and the kind of every file XLA writes there.

    [TIMESTAMP.]module_NNNN[.MODULE][.cl_NUMBER].SUFFIX

(`xla/service/dump.cc`, FilenameFor). MODULE may hold dots, digits and dashes and is left out when
the name would pass 255 bytes, so SUFFIX is read from the right. `cl_NUMBER` is written by libtpu.
Only names are looked at here; whether an unknown name holds HLO is for its reader to find out.
The suffix of a side file may start with a name of its own (`jit_f.constants.ir-no-opt.ll`), so its
module cannot be told from the name alone: `point` holds all that follows the module's number.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

from app.model.dump import DumpKind, DumpName

FileKind = Literal[
    "hlo_text",
    "hlo_proto",
    "hlo_graph",
    "debug_options",
    "buffer_assignment",
    "buffer_values",
    "live_range",
    "memory_report",
    "module_config",
    "target_config",
    "autotune_results",
    "autotuning",
    "thunk_sequence",
    "thunk_metadata",
    "fusion_trace",
    "llvm_ir",
    "ptx",
    "object_code",
    "mlir",
    "emitter",
    "compile_options",
    "topology",
    "compiler_metadata",
    "snapshot",
    "program",
    "log",
    "unknown",
]


@dataclass(frozen=True, slots=True)
class FileName:
    """A name and what it says: `kind` of the file, and the parts that all kinds share."""

    kind: FileKind
    name: DumpName


# No file system that XLA writes to takes a longer name.
_LONGEST = 255
# Ids and steps are `%04d`; 18 digits fit every integer that a reader may use.
_PREFIX = re.compile(r"(?:(?P<time>\d{10,18})\.)?module_(?P<id>\d{4,18})(?:\.(?P<rest>.*)|)$", re.S)
_SUBJECT_PREFIX = re.compile(r"(?P<subject>[^/]+?)\.module_(?P<id>\d{4,18})\.(?P<rest>.*)$", re.S)
_OTHER_PREFIX = re.compile(r"gpu_command_buffer_0x|jax_ir\d|autotune_results\.pbtxt$")
_STEP = re.compile(r"(?:^|(?P<module>.*)\.)(?P<step>\d{4,18})\.(?P<point>[^.]*[^\d.].*)$", re.S)
_CHANGELIST = re.compile(r"(?:^|(?P<module>.*)\.)cl_\d+$", re.S)
_BETWEEN = re.compile(r"(?:(?P<pipeline>.+?)\.)?after_(?P<after>.+?)\.before_(?P<before>.+)$", re.S)

# The part of a suffix that names the point of a dump outside of any pass.
_POINTS: tuple[tuple[str, DumpKind], ...] = (
    (r"before_optimizations?", "before_optimizations"),
    (r"(?:(?:sm|gfx)[\w.\-]*_|_)?(?:gpu|cpu)_after_optimizations?", "after_optimizations"),
    (r"after_optimizations?", "after_optimizations"),
    # libtpu: what its compiler does after the last pass changes no instruction's meaning.
    (r"after_optimizations_(?:before|after)_buffer_assignment", "after_optimizations"),
    (r"after_codegen", "after_optimizations"),
    (r"after_spmd_partitioner|before_config_assignment", "other"),
    (r"oom_intermediate_module", "other"),
)
_POINT = re.compile(
    r"(?:^|(?P<module>.*)\.)(?P<point>" + "|".join(f"(?:{words})" for words, _ in _POINTS) + r")$",
    re.S,
)
_KIND_OF_POINT: tuple[tuple[re.Pattern[str], DumpKind], ...] = tuple(
    (re.compile(words), kind) for words, kind in _POINTS
)

_TEXT = (".txt", ".hlo")
_PROTO = (".hlo.pb", ".hlo.pb.gz", ".riegeli")
_GRAPH = (".top_level.html", ".html", ".dot", ".url", ".pyz", ".svg")
_BUFFER_SUFFIXES: tuple[tuple[str, FileKind], ...] = (
    ("-buffer-assignment-values.txt", "buffer_values"),
    ("-buffer-assignment.txt", "buffer_assignment"),
    ("-live-range.txt", "live_range"),
    ("-memory-usage-report.txt", "memory_report"),
    ("-memory-usage-report.pb", "memory_report"),
    ("-memory-usage-report.pb.gz", "memory_report"),
)
# The last part or two of the other files' names; two parts go before one.
_ENDINGS: dict[str, FileKind] = {
    "debug_options": "debug_options",
    "hlo_module_config.txt": "module_config",
    "gpu_target_config.pbtxt": "target_config",
    "target_arguments.txt": "target_config",
    "autotune_results.pbtxt": "autotune_results",
    "config.pbtxt": "module_config",
    "execution_options.txt": "module_config",
    "tpu_comp_env.txt": "module_config",
    "flagfile": "module_config",
    "thunk_sequence_after_thunk_passes.txt": "thunk_sequence",
    "thunk_sequence.txt": "thunk_sequence",
    "thunk_schedule.txt": "thunk_sequence",
    "thunk_schedule": "thunk_sequence",
    "thunk_metadata.txt": "thunk_metadata",
    "priority_fusion_dump.txt": "fusion_trace",
    "priority_fusion_dump.pb": "fusion_trace",
    "schedule.txt": "fusion_trace",
    "schedule.pb": "fusion_trace",
    "basic_compiler_metadata.txt": "compiler_metadata",
    "transfer_stats.txt": "compiler_metadata",
    "metadata.textproto": "compiler_metadata",
    "mlir-passes.log": "emitter",
    "mlir-trace.txt": "emitter",
    "ttir.txt": "emitter",
    "ttir": "emitter",
    "ll": "llvm_ir",
    "bc": "llvm_ir",
    "ptx": "ptx",
    "hsaco": "object_code",
    "cubin": "object_code",
    "o": "object_code",
    "mlir": "mlir",
    "mlirbc": "mlir",
    "json": "emitter",
    "dot": "hlo_graph",
    "html": "hlo_graph",
    "py": "program",
    "log": "log",
    "err": "log",
    "out": "log",
}
_WHOLE_NAMES: dict[str, FileKind] = {
    "debug_options": "debug_options",
    **dict.fromkeys(("compile_options.textproto", "compile_options.txt"), "compile_options"),
    **dict.fromkeys(("compile_options.pb", "compile_options.pbtxt"), "compile_options"),
    **dict.fromkeys(("topology.textproto", "topology.txt", "topology.pb"), "topology"),
}
_SNAPSHOT = re.compile(r"hlo_(?:unoptimized_)?snapshot\.|(?:^|\.)snapshot\.\d|\.execution_\d{4,}\.")
_AUTOTUNING = re.compile(r"(?:^|\.)autotuner_\d+\..*\.(?:before|after)\.txt$|\.autotuning\b", re.S)


def read_file_name(file: str) -> FileName:
    """What the name of a member says; kind `unknown` where it says nothing.

    Args:
        file: the member's path inside the archive, separated by `/`.
    """
    folder, _, base = file.rpartition("/")
    found = _PREFIX.match(base) if len(base) <= _LONGEST else None
    if found is None:
        return _without_prefix(file, folder, base)
    rest = found["rest"] or ""
    kind, name = _read_rest(rest)
    time = found["time"]
    return FileName(
        kind,
        DumpName(
            file,
            folder,
            timestamp=int(time) if time else None,
            module_id=int(found["id"]),
            module_name=name.module_name,
            kind=name.kind,
            step=name.step,
            pipeline=name.pipeline,
            after=name.after,
            before=name.before,
            detail=name.detail,
            point=name.point,
        ),
    )


def _without_prefix(file: str, folder: str, base: str) -> FileName:
    """Names without `module_NNNN` in front; endings alone make no file one of XLA's."""
    name = DumpName(file, folder)
    if base in _WHOLE_NAMES:
        return FileName(_WHOLE_NAMES[base], name)
    if base.endswith(_PROTO):
        return FileName("hlo_proto", name)
    for suffix, kind in _BUFFER_SUFFIXES:
        if base.endswith(suffix):
            return FileName(kind, name)
    if base.endswith((".pb", ".pb.gz")) and _SNAPSHOT.search(base):
        return FileName("snapshot", replace(name, point=base))
    kind = _kind_by_ending(base)
    # `fused_add.module_0003.jit_f._fusion.html`, `triton_ir.module_0001.jit_f.ttir`
    subject = _SUBJECT_PREFIX.match(base) if len(base) <= _LONGEST else None
    if subject is not None:
        kind = "hlo_graph" if base.endswith(_GRAPH) else kind
        return FileName(kind, DumpName(file, folder, module_id=int(subject["id"])))
    # `module_0000.jit_f/module.mlir`, `shardy/module_0001.jit_f/00.input_module.mlir`
    is_own = _PREFIX.match(folder.rpartition("/")[2]) or _OTHER_PREFIX.match(base)
    return FileName(kind if is_own or kind in ("log", "program") else "unknown", name)


def _read_rest(rest: str) -> tuple[FileKind, DumpName]:
    """Kind and parts of what follows `module_NNNN.`; only the parts are set in the name."""
    for suffix, kind in _BUFFER_SUFFIXES:
        if rest.endswith(suffix):
            module, point, _ = _split_point(rest.removesuffix(suffix))
            return kind, DumpName("", module_name=module, point=point)
    if _AUTOTUNING.search(rest):
        return "autotuning", DumpName("", point=rest)
    if _SNAPSHOT.search(rest):
        return "snapshot", DumpName("", point=rest)
    for endings, kind in _DUMP_ENDINGS:
        for ending in endings:
            if rest.endswith(ending) and (name := _read_dump(rest.removesuffix(ending))):
                return kind, name
    kind = _kind_by_ending(rest)
    if kind == "unknown" and rest.endswith(_PROTO):
        kind = "hlo_proto"
    elif kind == "unknown" and rest.endswith(".hlo"):
        kind = "emitter"
    return kind, DumpName("", point=rest)


_DUMP_ENDINGS: tuple[tuple[tuple[str, ...], FileKind], ...] = (
    (_PROTO, "hlo_proto"),
    (_GRAPH, "hlo_graph"),
    (_TEXT, "hlo_text"),
)


def _read_dump(stem: str) -> DumpName | None:
    module, point, kind = _split_point(stem)
    if point:
        return DumpName("", module_name=module, kind=kind, point=point)
    found = _STEP.match(stem)
    if found is None:
        return None
    point = found["point"]
    between = _BETWEEN.match(point)
    head, _, detail = point.partition(".")
    if between is None and not detail.startswith(("after_", "before_")):
        return None
    module, step = _bare_module(found["module"] or ""), int(found["step"])
    if between:
        return DumpName(
            "",
            module_name=module,
            kind="pass",
            step=step,
            pipeline=between["pipeline"],
            after=between["after"],
            before=between["before"],
            point=point,
        )
    # `0085.copy-insertion.after_adding_copies...` shows the pass half done; what stands in
    # `0091.tpu-tiling-rewriter.before_tiling_rewriter` was not yet touched by it.
    entering = detail.startswith("before_")
    return DumpName(
        "",
        module_name=module,
        kind="step",
        step=step,
        after=None if entering else head,
        before=head if entering else None,
        detail=detail,
        point=point,
    )


def _split_point(stem: str) -> tuple[str, str, DumpKind]:
    found = _POINT.match(stem)
    if found is None:
        return "", "", "other"
    point: str = found["point"]
    kinds: list[DumpKind] = [kind for words, kind in _KIND_OF_POINT if words.fullmatch(point)]
    return _bare_module(found["module"] or ""), point, kinds[0]


def _bare_module(module: str) -> str:
    found = _CHANGELIST.match(module)
    return (found["module"] or "") if found else module


def _kind_by_ending(rest: str) -> FileKind:
    *_, last_but_one, last = ("", *rest.rsplit(".", 2))
    return _ENDINGS.get(f"{last_but_one}.{last}") or _ENDINGS.get(last, "unknown")
