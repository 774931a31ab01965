"""Which jaxlib releases fit a dump and a log: signs are looked for, and what they allow is joined.

Each sign allows a set of releases. The strongest speak first; one that would leave nothing is left
out and named, so the answer is never empty while anything is known. Absence of a file or a pass
proves nothing, since filters and partial uploads take them away.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app import knowledge
from app.analysis.flag_refusals import unknown_flags
from app.analysis.opcodes import base_opcode
from app.model.dump import CheckFailure, DumpContents, LogFacts, ModuleHistory
from app.model.report import Releases
from hlo_parser import Instruction, Module
from hlo_parser.possessive import compile_pattern

_WEIGHTS: Mapping[str, int] = {"exact": 0, "strong": 1, "fair": 2, "weak": 3}
_COMPACT = re.compile(r"%[\w.\-]+#\d")
_WITH_ID = compile_pattern(r".*\.\d++")
_PERCENT = re.compile(r"(?:ROOT )?%")
_NAMED = re.compile(r"(?:ROOT )?[\w.\-]+ = ")
_SHAPED_OPERAND = re.compile(r"[\]})] %")
_MODULES = 4
# What XLA's printer decides; a proto is printed anew, in one form for all releases, and a text of
# somebody's own hand says nothing of any.
_OF_PRINT = frozenset(
    (
        "compact-tuple-elements",
        "frame-tables",
        "no-percent",
        "percent-without-operand-shapes",
        "plain-source-lines",
        "source-columns",
        "tuple-element-instructions",
    )
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one sign allows; `weight` is exact, strong, fair or weak, `tells` says what was seen."""

    releases: frozenset[str]
    weight: str
    tells: str


def releases_that_fit(
    contents: DumpContents | None, log: LogFacts, given: Mapping[str, str]
) -> Releases:
    """The releases that all signs allow, and the signs that say so.

    `given` are the flags that the user names, dashes left out. Empty where nothing tells.
    """
    evidence = [*_of_log(log), *(() if contents is None else _of_dump(contents, log, given))]
    return joined(evidence)


def releases_of_checks(log: LogFacts) -> tuple[tuple[CheckFailure, Evidence], ...]:
    """The failed checks of a log whose place and condition are known, and what each allows."""
    return tuple((failure, found) for failure in log.failures if (found := _of_check(failure)))


def releases_of_dump(contents: DumpContents) -> Releases:
    """The releases that the strong signs of a dump alone allow; empty where it has none."""
    found = _of_dump(contents, LogFacts(), {})
    return joined(item for item in found if item.weight in ("exact", "strong"))


def joined(evidence: Iterable[Evidence]) -> Releases:
    """What all of the evidence allows, the stronger first; contradictions are named."""
    left = frozenset(knowledge.PUBLISHED)
    reasons: list[str] = []
    refused: list[str] = []
    for item in sorted(evidence, key=lambda i: (_WEIGHTS[i.weight], len(i.releases))):
        both = left & item.releases
        if not both:
            refused.append(item.tells)
        elif both != left:
            left = both
            reasons.append(item.tells)
    if len(left) == len(knowledge.PUBLISHED):
        return Releases()
    how = "; ".join(reasons)
    if knowledge.PUBLISHED[-1] in left:
        how += " (newer releases may fit, too)"
    if refused:
        how += f"; left out, for it contradicts this: {'; '.join(refused)}"
    return Releases(releases=tuple(r for r in knowledge.PUBLISHED if r in left), how=how)


def _of_log(log: LogFacts) -> Iterator[Evidence]:
    for failure in log.failures:
        if of_check := _of_check(failure):
            yield of_check
        if "[id=" in failure.text[:200] and failure.kind == "rendezvous":
            yield from _signs(["says-thread-id"])
        if "Suspected Python Code Location" in failure.text:
            yield from _signs(["says-python-location"])
    for flag in unknown_flags(log):
        without = knowledge.published_without_flag(flag)
        if without is not None:
            yield Evidence(without, "strong", f"the log refuses --{flag}")


def _of_check(failure: CheckFailure) -> Evidence | None:
    if not (failure.file and failure.condition):
        return None
    fitting = knowledge.published_with_check(failure.file, failure.condition, failure.line)
    place = f"{failure.file}:{failure.line}"
    tells = f"{place} holds this check in these releases"
    return Evidence(fitting, "exact", tells) if fitting else None


def _of_dump(contents: DumpContents, log: LogFacts, given: Mapping[str, str]) -> Iterator[Evidence]:
    own = [m for m in contents.modules if m.role != "autotuning"] or list(contents.modules)
    for flag in contents.flags:
        # The text of debug_options knows a flag as long as the message has its field.
        known = knowledge.published_with_flag(flag, only_from=True)
        if known is not None:
            yield Evidence(known, "strong", f"debug_options knows {flag}")
    if contents.modules and not unknown_flags(log):
        # It compiled, so what it was given was not refused.
        for flag in (*log.flags, *given):
            known = knowledge.published_with_flag(flag)
            if known is not None:
                yield Evidence(known, "fair", f"--{flag} was not refused")
    yield from _signs(_signs_of_files(own))
    yield from _signs(_signs_of_texts(own[:_MODULES]))
    yield from _of_passes(own)


def _of_passes(modules: Sequence[ModuleHistory]) -> Iterator[Evidence]:
    names = [dump.name for module in modules for dump in module.dumps]
    passes = {word for name in names for word in (name.after, name.before) if word}
    for name in sorted(passes):
        fitting = knowledge.published_with_pass(name)
        if fitting is not None and len(fitting) < len(knowledge.PUBLISHED):
            yield Evidence(fitting, "fair", f"the pass {name} was there")
    if "shardy-xla" in passes:
        yield from _signs(["pass-shardy"])
    elif "sharding-propagation" in passes:
        yield from _signs(["pass-sharding-propagation"])


def _signs(names: Iterable[str]) -> Iterator[Evidence]:
    for name in names:
        sign = knowledge.release_signs()[name]
        yield Evidence(sign.releases, sign.weight, sign.tells)


def _signs_of_files(modules: Sequence[ModuleHistory]) -> Iterator[str]:
    kinds = {kind for module in modules for kind in module.files}
    known = knowledge.release_signs()
    yield from sorted(f"file-{kind}" for kind in kinds if f"file-{kind}" in known)
    points = {dump.name.point for module in modules for dump in module.dumps}
    if any(re.match(r"sm_\d+\.\d+a_gpu", point) for point in points):
        yield "point-arch-a"
    if any("before_config_assignment" in point for point in points):
        yield "point-before-config"


def _signs_of_texts(modules: Sequence[ModuleHistory]) -> tuple[str, ...]:
    """The signs in the first and the last text of each module."""
    found: dict[str, None] = {}
    for module in modules:
        for dump in dict.fromkeys((module.dumps[0], module.last)):
            signs = dict.fromkeys(_signs_of_text(dump.module))
            if dump.from_proto or not _is_of_xla(dump.module):
                signs = dict.fromkeys(sign for sign in signs if sign not in _OF_PRINT)
            found.update(signs)
    if "jit-main" in found:
        found.pop("no-jit-main", None)
    if "compact-tuple-elements" in found:
        found.pop("tuple-element-instructions", None)
    return tuple(found)


def _is_of_xla(module: Module) -> bool:
    """Whether anything shows that XLA printed the text: what short texts by hand are without.

    Its header states at least `entry_computation_layout`, since before the first release known here
    (xla/hlo/ir/hlo_module.cc, Print); names end in ids; metadata leads to the program.
    """
    if module.header.attributes or module.frames is not None:
        return True
    return any(
        instruction.metadata is not None or _WITH_ID.fullmatch(instruction.name)
        for computation in module.computations
        for instruction in computation.instructions
    )


def _signs_of_text(module: Module) -> Iterator[str]:
    if module.frames is not None:
        yield "frame-tables"
    for computation in module.computations:
        for instruction in computation.instructions:
            yield from _signs_of_instruction(instruction)


def _signs_of_instruction(instruction: Instruction) -> Iterator[str]:
    text = instruction.text.lstrip()
    yield from _signs_of_style(instruction, text)
    metadata = instruction.metadata
    if metadata is not None:
        if metadata.source_end_line is not None:
            yield "source-columns"
        elif metadata.source_line is not None and metadata.stack_frame_id is None:
            yield "plain-source-lines"
        if metadata.scheduling_name is not None:
            yield "scheduling-name"
        name = metadata.op_name or ""
        if name.startswith("jit("):
            yield "jit-main" if "/jit(main)/" in name else "no-jit-main"
    groups = instruction.replica_groups
    if groups is not None and groups.form != "list":
        yield f"{groups.form}-groups"
    if "sharding={mesh[" in text:
        yield "named-sharding"
    if base_opcode(instruction.opcode) == "while" and (
        "known_init_step" in text or "known_induction_variable" in text
    ):
        yield "known-init-step"


def _signs_of_style(instruction: Instruction, text: str) -> Iterator[str]:
    if not text:
        return
    if _COMPACT.search(text):
        yield "compact-tuple-elements"
    if instruction.opcode == "get-tuple-element":
        yield "tuple-element-instructions"
    if _NAMED.match(text):
        yield "no-percent"
    elif _PERCENT.match(text) and instruction.operands and instruction.opcode != "parameter":
        arguments = instruction.arguments
        if arguments and not _SHAPED_OPERAND.search(arguments):
            yield "percent-without-operand-shapes"
