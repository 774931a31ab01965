"""The answer to the crash is read from the structure: it moves when names and lines move.

The newest text of the crashing sample is rewritten in ways that keep or take away its structure;
each time the finding must say the same thing about the rewritten program, or less where less can
be known.
"""

import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from app.model.report import Finding
from app.service import Log, Question, analyze
from app.settings import Settings
from samples import load_sample


def newest_text(sample: str) -> tuple[str, str]:
    """File name and text of the last pass in the sample's archive."""
    with tarfile.open(load_sample(sample).archive) as archive:
        members = {Path(m.name).name: m for m in archive.getmembers() if m.isfile()}
        name = max(n for n in members if re.search(r"\.\d{4}\.", n))
        content = archive.extractfile(members[name])
        assert content is not None
        return name, content.read().decode("utf-8")


NAME, TEXT = newest_text("pipeliner_crash")
LOG = "2026-11-30 00:05:34.687487: F external/xla/xla/service/collective_pipeliner.cc:675] " + (
    "Check failed: last_cloned != nullptr (0 vs. nullptr)\n"
)
TOLD = [("while.17", 55), ("all-gather.20", 38), ("all-gather.29", 25)]

# A second nest whose outer all-gather gathers an invariant: it takes no clone along.
HARMLESS = (Path(__file__).parent / "harmless_nest.hlo").read_text("utf-8")
HARMLESS_NEST, HARMLESS_ENTRY = HARMLESS.removesuffix("}\n").split("ENTRY main {\n")


def findings_of(text: str, folder: Path, *, log: str = LOG, name: str = NAME) -> list[Finding]:
    (folder / name).write_text(text, "utf-8")
    logs = (Log("run.log", log),) if log else ()
    report = analyze(folder, Settings(), question=Question(logs=logs))
    assert report.coverage.unparsed_lines == 0
    return [f for f in report.findings if f.rule == "PIP001"]


def told(finding: Finding) -> list[tuple[str | None, int | None]]:
    return [(c.instruction, c.source.line if c.source else None) for c in finding.culprits]


def renamed(text: str) -> tuple[str, Callable[[str], str]]:
    """All computations, instructions and the module get new names, so their order is another."""
    defined = set(re.findall(r"^ *(?:ROOT )?([\w.-]+) = ", text, re.MULTILINE))
    defined |= set(re.findall(r"^(?:ENTRY )?([\w.-]+) \{$", text, re.MULTILINE))
    names = {name: f"n{len(defined) - i}.{i % 7}" for i, name in enumerate(sorted(defined))}

    def outside_strings(part: str) -> str:
        return re.sub(r"[A-Za-z_][\w.-]*", lambda m: names.get(m[0], m[0]), part)

    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    # An opcode may be spelt like a name (`all-gather`); it stands before its bracket.
    opcodes = set(re.findall(r" ([a-z-]+)\(", text))
    for opcode in opcodes & defined:
        names.pop(opcode)
    return "".join(p if p.startswith('"') else outside_strings(p) for p in parts), (
        lambda name: names.get(name, name)
    )


def test_the_sample_itself(tmp_path: Path) -> None:
    (finding,) = findings_of(TEXT, tmp_path)
    assert told(finding) == TOLD
    assert finding.confidence == "likely"


def test_new_names_everywhere(tmp_path: Path) -> None:
    text, new_name = renamed(TEXT.replace("HloModule jit_train", "HloModule jit_other"))
    assert new_name("while.17") != "while.17"
    (finding,) = findings_of(text, tmp_path, name=NAME.replace("jit_train", "jit_other"))
    assert told(finding) == [(new_name(name), line) for name, line in TOLD]


def test_shifted_lines(tmp_path: Path) -> None:
    text = re.sub(r"source_line=(\d+)", lambda m: f"source_line={int(m[1]) + 1000}", TEXT)
    (finding,) = findings_of(text, tmp_path)
    assert told(finding) == [(name, line + 1000) for name, line in TOLD]


def test_scans_in_the_other_order(tmp_path: Path) -> None:
    pieces = TEXT.split("\n\n")
    bodies = [re.search(rf" {name} = .*body=([\w.-]+)", TEXT) for name in ("while.16", "while.19")]
    names = [body[1] for body in bodies if body]
    first, second = (
        next(i for i, piece in enumerate(pieces) if piece.startswith(f"{name} {{"))
        for name in names
    )
    pieces[first], pieces[second] = pieces[second], pieces[first]
    (finding,) = findings_of("\n\n".join(pieces), tmp_path)
    assert told(finding) == TOLD


def test_a_harmless_nest_beside_it(tmp_path: Path) -> None:
    text = TEXT.replace("\nENTRY ", "\n" + HARMLESS_NEST + "ENTRY ")
    head, _, tail = text.rpartition("  ROOT ")
    (finding,) = findings_of(head + HARMLESS_ENTRY + "  ROOT " + tail, tmp_path)
    assert told(finding) == TOLD
    assert finding.confidence == "likely"


def test_without_the_container_less_is_said(tmp_path: Path) -> None:
    text = re.sub(
        r"(all-gather\.20 = [^\n]*?) all-gather\(([\w.-]+)\)[^\n]*",
        r"\1 broadcast(\2), dimensions={0,1,2}",
        TEXT,
    )
    assert text != TEXT
    (finding,) = findings_of(text, tmp_path)
    assert finding.confidence == "possible"
    assert told(finding)[0] == ("while.17", 55)
    assert "all-gather.20" not in {c.instruction for c in finding.culprits}


def test_the_same_graph_in_a_run_that_did_not_fail(tmp_path: Path) -> None:
    assert findings_of(TEXT, tmp_path, log="") == []


@pytest.mark.parametrize("condition", ["last_cloned == nullptr", "cloned != nullptr"])
def test_another_condition_in_the_same_file(tmp_path: Path, condition: str) -> None:
    log = LOG.replace("last_cloned != nullptr", condition)
    assert findings_of(TEXT, tmp_path, log=log) == []
