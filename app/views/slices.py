"""Parts of a report, a window of each list at a time, for programs that do not want the whole.

Takes a report and what the answer is to be about; an empty word leaves it open.
"""

from collections.abc import Sequence
from typing import Generic, TypeVar

from app.errors import NotFound
from app.model.report import Collective, Dump, Finding, Loop, Module, Report, Struct

T = TypeVar("T")

MAX_ITEMS = 1_000


class Slice(Struct, Generic[T], frozen=True, kw_only=True):
    """Items `offset` to `offset + len(items) - 1` of `total`; at most `limit` were asked for."""

    items: tuple[T, ...]
    total: int
    offset: int
    limit: int


class ModuleRow(Struct, frozen=True, kw_only=True):
    """One module without its texts, of which there are `passes`."""

    id: str
    name: str
    role: str
    complete: bool
    passes: int


def slice_of(items: Sequence[T], *, offset: int, limit: int) -> Slice[T]:
    """The window; behind the end it is empty."""
    limit = min(limit, MAX_ITEMS)
    shown = tuple(items[offset : offset + limit])
    return Slice(items=shown, total=len(items), offset=offset, limit=limit)


def module_rows(report: Report) -> tuple[ModuleRow, ...]:
    """The modules in the order of the report."""
    return tuple(
        ModuleRow(
            id=module.id,
            name=module.name,
            role=module.role,
            complete=module.complete,
            passes=len(module.dumps),
        )
        for module in report.modules
    )


def module_of(report: Report, module_id: str) -> Module:
    """The module of that id; the first one, which is the program's own, for an empty one.

    Raises:
        NotFound: the report has no such module, or none at all.
    """
    for module in report.modules:
        if module.id == module_id or not module_id:
            return module
    raise NotFound(
        f"there is no module {module_id!r} in this report", next_step="See its list of modules."
    )


def passes_of(report: Report, module_id: str = "") -> tuple[Dump, ...]:
    """The texts of a module in order, each with the pass that left it; raises as `module_of`."""
    return module_of(report, module_id).dumps


def loops_of(report: Report, module_id: str = "") -> tuple[Loop, ...]:
    """The loops of a module, or of all, outermost first."""
    return tuple(loop for loop in report.loops if module_id in ("", loop.module))


def collectives_of(
    report: Report, module_id: str = "", *, loop: str = "", opcode: str = ""
) -> tuple[Collective, ...]:
    """The collectives of the last texts, in text order."""
    return tuple(
        each
        for each in report.collectives
        if module_id in ("", each.module)
        and loop in ("", each.loop)
        and opcode in ("", each.opcode)
    )


def findings_of(report: Report, *, severity: str = "", rule: str = "") -> tuple[Finding, ...]:
    """The findings, the gravest and surest first; those ruled out are among them."""
    return tuple(
        each
        for each in report.findings
        if severity in ("", each.severity) and rule in ("", each.rule)
    )
