"""Modules, files, environment and what was not understood, as a page shows them."""

from app.model.report import Coverage, Environment, Module, Report
from app.report.page import (
    CoverageView,
    EnvironmentView,
    FoldedModules,
    ModuleView,
    SkippedView,
    UnparsedView,
)
from app.report.rows import Rows, rows_of
from app.report.verdict import releases_text, target_text
from app.report.wording import counted, file_name, size_text

_FOLDED = {
    "helper": ("small module", "small modules"),
    "autotuning": ("autotuning fragment", "autotuning fragments"),
}


def module_views(report: Report) -> Rows[ModuleView]:
    """The user's own modules."""
    return rows_of(
        tuple(_module_view(module) for module in report.modules if module.role == "user")
    )


def modules_told(report: Report) -> str:
    """How many there are, and of what size."""
    size = sum(dump.bytes for module in report.modules for dump in module.dumps)
    return f"{len(report.modules):,}, {size_text(size)} of text"


def folded_modules(report: Report) -> tuple[FoldedModules, ...]:
    """The others, by what they are."""
    folded: list[FoldedModules] = []
    for role, (noun, plural) in _FOLDED.items():
        modules = tuple(_module_view(item) for item in report.modules if item.role == role)
        if modules:
            folded.append(
                FoldedModules(
                    anchor=f"modules-{role}",
                    label=counted(len(modules), noun, plural),
                    modules=rows_of(modules),
                )
            )
    return tuple(folded)


def _module_view(module: Module) -> ModuleView:
    return ModuleView(
        name=module.name,
        id=module.id,
        texts=f"{len(module.dumps):,}",
        state="compiled to the end" if module.complete else "no text after all optimizations",
        size=size_text(sum(dump.bytes for dump in module.dumps)),
    )


def all_was_read(coverage: Coverage) -> str:
    """What is said where nothing was left out: most lines of a log are anybody's."""
    if _is_log(coverage):
        return "The log was read to its end."
    return "Everything was read and understood."


def _is_log(coverage: Coverage) -> bool:
    """Whether the lines counted are those of a log, there being nothing else."""
    return coverage.lines > 0 and not coverage.hlo_files


def coverage_view(coverage: Coverage) -> CoverageView:
    """How much of the input was read and understood."""
    kinds = ", ".join(f"{kind} {number:,}" for kind, number in sorted(coverage.kinds.items()))
    is_complete = not coverage.unparsed_lines and not coverage.skipped_count
    facts = [
        ("Files", f"{coverage.files:,} ({kinds})" if kinds else f"{coverage.files:,}"),
        ("Bytes", size_text(coverage.bytes)),
        ("HLO texts", f"{coverage.hlo_files:,}"),
        ("Lines of the log" if _is_log(coverage) else "Lines of HLO", f"{coverage.lines:,}"),
        ("Not understood", counted(coverage.unparsed_lines, "line")),
        ("Left out or read in part", counted(coverage.skipped_count, "file")),
    ]
    understood = "all of it understood" if is_complete else "not all of it understood"
    if is_complete and _is_log(coverage):
        understood = counted(coverage.lines, "line of a log", "lines of a log")
    return CoverageView(
        told=f"{counted(coverage.files, 'file')}, {size_text(coverage.bytes)}, {understood}",
        facts=tuple(facts),
        complete=all_was_read(coverage) if is_complete else "",
        remarks=coverage.remarks,
        skipped=rows_of(
            tuple(
                SkippedView(
                    name=item.name,
                    code=item.code,
                    reason=item.reason,
                    size=size_text(item.bytes) if item.bytes else "",
                )
                for item in coverage.skipped
            ),
            total=coverage.skipped_count,
        ),
        unparsed=rows_of(
            tuple(
                UnparsedView(
                    place=f"{file_name(line.file)}:{line.line}:{line.column}",
                    text=line.text.strip(),
                    reason=line.reason,
                )
                for line in coverage.unparsed
            ),
            total=coverage.unparsed_lines,
        ),
    )


def environment_view(environment: Environment) -> EnvironmentView:
    """Where the program was compiled, as far as the files say."""
    jaxlib = environment.jaxlib
    releases = releases_text(jaxlib.releases)
    target = target_text(environment)
    facts = [
        ("jaxlib", releases or "unknown"),
        ("How that is known", jaxlib.how),
        ("Target", target or "unknown"),
        ("Flags from", ", ".join(environment.flags_from)),
    ]
    known = counted(len(environment.flags), "flag") if environment.flags else "flags not known"
    return EnvironmentView(
        told=", ".join(filter(None, (releases and f"jaxlib {releases}", target, known))),
        facts=tuple((label, value) for label, value in facts if value),
        flags=rows_of(tuple(sorted(environment.flags.items()))),
    )
