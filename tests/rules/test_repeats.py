"""The same claim about several modules is told once, and nothing else is folded."""

import io
import tarfile
from pathlib import Path

import msgspec

from app.model.report import Culprit, Finding
from app.rules.repeats import folded
from app.service import analyze
from app.settings import Settings

SAMPLES = Path(__file__).parents[2] / "sample_dumps"


def finding(module: str | None, instruction: str = "copy.1", title: str = "a copy") -> Finding:
    culprit = Culprit(module=module, instruction=instruction, role="copy")
    return Finding(
        rule="XYZ001",
        class_="copies",
        severity="note",
        confidence="likely",
        title=title,
        message="It costs.",
        culprits=(culprit,),
    )


def test_one_finding_for_equal_claims_about_several_modules() -> None:
    other = finding("f", "copy.2")
    told = folded([finding("a"), other, *(finding(name) for name in "bcdef")])
    assert [f.also_in for f in told] == [("b", "c", "d", "e", "f"), ()]
    assert told[0].message == "It costs."
    assert told[1] == other


def test_claims_that_differ_and_those_of_no_module_or_of_one_stay() -> None:
    of_two = msgspec.structs.replace(
        finding("a"), culprits=(*finding("a").culprits, *finding("b").culprits)
    )
    apart = [
        finding("a"),
        finding("a"),
        finding("b", title="another"),
        finding("b", "copy.2"),
        finding(None),
        finding(None),
        of_two,
        of_two,
    ]
    assert folded(apart) == apart


def test_a_module_compiled_twice_has_its_findings_once(tmp_path: Path) -> None:
    twice = tmp_path / "twice.tar"
    with tarfile.open(SAMPLES / "pipeliner_crash" / "dump.tar.gz") as dump:
        with tarfile.open(twice, "w") as archive:
            for member in dump:
                content = dump.extractfile(member)
                if content is None:
                    continue
                data = content.read()
                for folder in ("host0", "host1"):
                    made = tarfile.TarInfo(f"{folder}/{member.name}")
                    made.size, made.mtime = len(data), member.mtime
                    archive.addfile(made, io.BytesIO(data))
    once, both = (
        [f for f in analyze(path, Settings()).findings if f.rule == "RSH001"]
        for path in (SAMPLES / "pipeliner_crash" / "dump.tar.gz", twice)
    )
    assert [f.title for f in both] == [f.title for f in once]
    assert all(len(f.also_in) == 1 for f in both)
    assert not any(f.also_in for f in once)
