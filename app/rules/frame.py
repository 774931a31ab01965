"""What a rule is and how all of them are found and run.

A rule is one file of this folder that holds a constant `RULE`; its module docstring is its user
page. Rules see `Facts` and give findings; they never read files or texts themselves.
"""

import hashlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module

import msgspec

import app.rules as _folder
from app.model.facts import Facts
from app.model.report import CONFIDENCES, SEVERITIES, Finding
from app.rules.repeats import folded

_RULE_FILE = re.compile(r"[a-z0-9]{3}\d{3}_\w+")


@dataclass(frozen=True, slots=True)
class Rule:
    """One opinion.

    `class_` is a class of failures (`collective-pipeliner`), `since` the hloscope release that
    brought the rule, `sources` the XLA files and threads it rests on, `page` the docstring of its
    file. A `fallback` rule speaks only where no other rule explained the failure. What a rule that
    `leads` finds comes before all else of its severity, however sure that is.
    """

    code: str
    slug: str
    title: str
    class_: str
    since: str
    sources: tuple[str, ...]
    check: Callable[[Facts], Iterable[Finding]]
    fallback: bool = False
    leads: bool = False
    page: str = ""


@cache
def load_rules() -> tuple[Rule, ...]:
    """All rules of the folder, by file name; other files serve the rules.

    Raises:
        ValueError: two rules share a code, or a file's name does not start with its rule's code.
    """
    rules: dict[str, Rule] = {}
    for info in sorted(pkgutil.iter_modules(_folder.__path__), key=lambda i: i.name):
        if not _RULE_FILE.fullmatch(info.name):
            continue
        module = import_module(f"{_folder.__name__}.{info.name}")
        rule: Rule = replace(module.RULE, page=module.__doc__ or "")
        if not info.name.startswith(rule.code.lower() + "_"):
            raise ValueError(f"file {info.name} must start with its rule's code {rule.code}")
        if rule.code in rules:
            raise ValueError(f"code {rule.code} is used twice")
        rules[rule.code] = rule
    return tuple(rules.values())


def run_rules(facts: Facts, rules: Sequence[Rule] | None = None) -> tuple[Finding, ...]:
    """All findings, the gravest and surest first, each once and with its fingerprint."""
    chosen = load_rules() if rules is None else tuple(rules)
    findings = [f for rule in chosen if not rule.fallback for f in rule.check(facts)]
    if not any(f.severity == "error" for f in findings):
        findings += [f for rule in chosen if rule.fallback for f in rule.check(facts)]
    leading = {rule.code for rule in chosen if rule.leads}
    findings.sort(
        key=lambda f: (
            SEVERITIES.index(f.severity),
            f.rule not in leading,
            CONFIDENCES.index(f.confidence),
            f.rule,
        )
    )
    return tuple(finding_with_fingerprint(f) for f in folded(findings))


def finding_with_fingerprint(finding: Finding) -> Finding:
    """The finding with a fingerprint that stays when names, line numbers and passes shift.

    It is made of the rule, the class and, of each culprit, its role, opcode, source file and
    function: what the same fault keeps from one compile of a program to the next.
    """
    parts = [finding.rule, finding.class_]
    for culprit in finding.culprits:
        source = culprit.source
        parts += [culprit.role, culprit.opcode or ""]
        parts += [source.file, source.function or ""] if source else ["", ""]
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()
    return msgspec.structs.replace(finding, fingerprint=digest[:16])
