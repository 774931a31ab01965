"""Modules, files, environment and what was not understood, as a page shows them."""

from app.model.report import Coverage, Environment, Module, Report
from app.report.page import (
    CoverageView,
    EnvironmentView,
    FoldedModules,
    ModuleView,
    Rows,
    SkippedView,
    UnparsedView,
    rows_of,
)
from app.report.verdict import releases_text, target_text
from app.report.wording import counted, file_name, size_text

_FOLDED = {
    "helper": ("small module made by JAX", "small modules made by JAX"),
    "autotuning": ("autotuning fragment", "autotuning fragments"),
}


def module_views(report: Report) -> Rows[ModuleView]:
    """The user's own modules."""
    return rows_of(
        tuple(_module_view(module) for module in report.modules if module.role == "user")
    )


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


def coverage_view(coverage: Coverage) -> CoverageView:
    """How much of the input was read and understood."""
    kinds = ", ".join(f"{kind} {number:,}" for kind, number in sorted(coverage.kinds.items()))
    facts = [
        ("Files", f"{coverage.files:,} ({kinds})" if kinds else f"{coverage.files:,}"),
        ("Bytes", size_text(coverage.bytes)),
        ("HLO texts", f"{coverage.hlo_files:,}"),
        ("Lines of HLO", f"{coverage.lines:,}"),
        ("Not understood", counted(coverage.unparsed_lines, "line")),
        ("Left out or read in part", counted(coverage.skipped_count, "file")),
    ]
    return CoverageView(
        facts=tuple(facts),
        complete=not coverage.unparsed_lines and not coverage.skipped_count,
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
    facts = [
        ("jaxlib", releases_text(jaxlib.releases) or "unknown"),
        ("How that is known", jaxlib.how),
        ("Target", target_text(environment) or "unknown"),
        ("Flags from", ", ".join(environment.flags_from)),
    ]
    return EnvironmentView(
        facts=tuple((label, value) for label, value in facts if value),
        flags=rows_of(tuple(sorted(environment.flags.items()))),
    )
