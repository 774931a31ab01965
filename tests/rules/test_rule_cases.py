"""Runs the cases of `tests/rules/<rule file>.md` and sees that every rule has enough of them.

A case is a heading, a sentence, the texts of a dump (blocks `hlo FILE NAME`) or a sample
(`sample NAME`), a log (`log`), that the run hung (an empty `hung`), that the texts come as an
archive which ends inside the last of them (an empty `cut`) or of which the header of the last one
has a wrong byte (an empty `damaged`), and what must come out
(`expect`, TOML): `confidence`, `culprits` as `role | instruction | line in the newest text` in
order, `ruled_out`, `unknown`, `workarounds` (how many), `flags`, `tries` (flags of workarounds),
`releases`, `title`, `says` (words of the message),
`says_not` (words that it lacks), `log_lines` (those cited). `rule = ""` expects
silence.
Headings start with Fires, Silent or Real dump.
"""

import re
import tarfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.model.report import Finding, Report
from app.rules.frame import load_rules
from app.service import Log, Question, examine
from app.settings import Settings

HERE = Path(__file__).parent
SAMPLES = HERE.parents[1] / "sample_dumps"
KINDS = ("Fires", "Silent", "Real dump")
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Case:
    rule: str
    title: str
    texts: dict[str, str] = field(default_factory=dict)
    sample: str = ""
    log: str = ""
    flags: str = ""
    hung: bool = False
    cut: bool = False
    damaged: bool = False
    expect: dict[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.rule}: {self.title}"


def cases_of(path: Path) -> list[Case]:
    found: list[Case] = []
    blocks: dict[str, str] = {}
    for section in re.split(r"^## ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        case = Case(path.stem, section.partition("\n")[0].strip())
        for kind, argument, body in BLOCK.findall(section):
            if kind == "hlo":
                blocks[argument] = body
                case.texts[argument] = body
            elif kind == "again":
                # `again FILE` with lines `old => new`: the block of an earlier case, changed;
                # under a new file name, the first block of the page.
                blocks.setdefault(argument, next(iter(blocks.values())))
                case.texts[argument] = changed(blocks[argument], body)
            elif kind == "sample":
                case.sample = argument
            elif kind == "log":
                case.log = body
            elif kind == "flags":
                case.flags = body
            elif kind in ("hung", "cut", "damaged"):
                setattr(case, kind, True)
            elif kind == "expect":
                case.expect = tomllib.loads(body)
            else:
                raise ValueError(f"{path.name}: unknown block {kind}")
        found.append(case)
    return found


def changed(text: str, edits: str) -> str:
    for edit in edits.splitlines():
        old, _, new = edit.partition(" => ")
        assert old in text, f"not in the text: {old}"
        text = text.replace(old, new)
    return text


CASES = [case for path in sorted(HERE.glob("*.md")) for case in cases_of(path)]


def report_of(case: Case, folder: Path) -> Report:
    source: Path | None = None
    logs: tuple[Log, ...] = (Log("run.log", case.log),) if case.log else ()
    if case.sample:
        sample = SAMPLES / case.sample
        source = next(sample.glob("dump.tar.*"))
        logs = logs or (Log("run.log", (sample / "run.log").read_text("utf-8")),)
    elif case.texts:
        source = folder / "dump"
        source.mkdir()
        for name, text in case.texts.items():
            (source / name).write_text(text, "utf-8")
        if case.cut or case.damaged:
            source = broken_archive(source, cut=case.cut)
    question = Question(logs=logs, flags=case.flags, hung=case.hung)
    return examine(source, Settings(), question=question, takes_foreign=True).report


def broken_archive(source: Path, *, cut: bool) -> Path:
    whole = source.with_suffix(".tar")
    with tarfile.open(whole, "w") as archive:
        for file in sorted(source.iterdir()):
            archive.add(file, file.name)
    with tarfile.open(whole) as archive:
        last = archive.getmembers()[-1]
    raw = bytearray(whole.read_bytes())
    if cut:
        del raw[last.offset_data + last.size // 2 :]
    else:
        raw[last.offset] ^= 1
    whole.write_bytes(raw)
    return whole


def described(finding: Finding, report: Report) -> dict[str, object]:
    lines = {
        e.text.split(" = ")[0].removeprefix("ROOT ").lstrip("%"): e.line
        for e in finding.evidence
        if e.line
    }
    return {
        "rule": finding.rule,
        "title": finding.title,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "culprits": [
            f"{c.role} | {c.instruction} | {lines.get(c.instruction or '', '-')} | "
            f"{f'{c.source.file}:{c.source.line}' if c.source else '-'}"
            for c in finding.culprits
        ],
        "ruled_out": [r.hypothesis for r in finding.ruled_out],
        "unknown": list(finding.unknown),
        "workarounds": len(finding.workarounds),
        "flags": list(finding.flags),
        "tries": [flag for workaround in finding.workarounds for flag in workaround.flags],
        "releases": list(report.environment.jaxlib.releases),
        "log_lines": [e.line for e in finding.evidence if e.file == "run.log"],
        "pass": report.failure.pass_ if report.failure else None,
    }


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case, tmp_path: Path) -> None:
    report = report_of(case, tmp_path)
    wanted = dict(case.expect)
    assert wanted, f"{case} expects nothing"
    found = [f for f in report.findings if f.rule == case.rule.partition("_")[0].upper()]
    if wanted == {"rule": ""}:
        assert found == []
        return
    assert len(found) == 1
    assert str(wanted.pop("says", "")) in found[0].message
    assert str(wanted.pop("says_not", "\0")) not in found[0].message
    got = described(found[0], report)
    assert {key: got[key] for key in wanted} == wanted


@pytest.mark.parametrize(
    "stem", [f"{r.code.lower()}_{r.slug.replace('-', '_')}" for r in load_rules()]
)
def test_every_rule_has_its_cases(stem: str) -> None:
    kinds = {
        kind for case in CASES if case.rule == stem for kind in KINDS if case.title.startswith(kind)
    }
    assert kinds == set(KINDS), f"{stem}.md lacks {set(KINDS) - kinds}"
    assert all(case.title.startswith(KINDS) for case in CASES if case.rule == stem)


def test_cases_belong_to_rules() -> None:
    stems = {f"{r.code.lower()}_{r.slug.replace('-', '_')}" for r in load_rules()}
    assert {case.rule for case in CASES} == stems


def test_pages_have_the_fixed_headings() -> None:
    headings = ("What it finds", "Why it matters", "How we know", "What to do", "Limits", "Sources")
    for rule in load_rules():
        assert re.findall(r"^## (.+)$", rule.page, re.MULTILINE) == list(headings), rule.code
