"""One finding for what is found word for word in several modules.

A program is compiled again for other shapes, and hosts of one run dump the same module each: the
same claim about the same lines is told once, with the modules where it stands in `also_in`; the
sentence that names them is made where a finding is shown. Findings that name no module, or several,
are left as they are.
"""

from collections.abc import Hashable, Iterable

import msgspec

from app.model.report import Finding


def folded(findings: Iterable[Finding]) -> list[Finding]:
    """The findings in their order, each followed by none that differs in its module alone."""
    by_claim: dict[Hashable, dict[str, Finding]] = {}
    for number, finding in enumerate(findings):
        module = _module_of(finding)
        claim: Hashable = number if module is None else _claim(finding)
        alike = by_claim.setdefault(claim, {})
        # Twice in one module is not the same twice: only the places of the evidence tell which.
        if module in alike:
            by_claim[number] = {module or "": finding}
        else:
            alike[module or ""] = finding
    return [_of_all(alike) for alike in by_claim.values()]


def _module_of(finding: Finding) -> str | None:
    modules = {culprit.module for culprit in finding.culprits}
    return modules.pop() if len(modules) == 1 else None


def _claim(finding: Finding) -> Hashable:
    culprits = tuple((c.role, c.instruction, c.source) for c in finding.culprits)
    told = (finding.title, finding.message, culprits)
    return finding.rule, finding.severity, finding.confidence, told


def _of_all(alike: dict[str, Finding]) -> Finding:
    (_, first), *others = alike.items()
    if not others:
        return first
    return msgspec.structs.replace(first, also_in=tuple(name for name, _ in others))
