"""Dumps that hold texts and protos of the same passes, read from either: the findings are equal."""

import tarfile
from pathlib import Path

import pytest

from app.model.report import Collective, Finding, Loop, Module
from app.service import Log, Question, analyze
from app.settings import Settings
from conftest import SHARED

DUMPS = SHARED / "dumps"
# The texts of the first print places without columns and callers; the protos have them.
NAMES = (
    "s000n_crash_proto__jax0.4.30",
    "s000_fsdp_gradacc_proto__jax0.10.2",
    "s004_pmap_urlflags__cpu_jax0.10.2",
)


def without_texts(archive: Path, made: Path) -> Path:
    """The archive without the texts of which it holds protos."""
    with tarfile.open(archive) as given, tarfile.open(made, "w") as left:
        names = set(given.getnames())
        for member in given:
            proto = member.name.removesuffix(".txt") + ".hlo.pb"
            if member.isreg() and not {proto, proto + ".gz"} & names:
                left.addfile(member, given.extractfile(member))
    return made


def of_module(module: Module) -> tuple[object, ...]:
    rows = [(d.after, d.before, d.instructions, d.changed, d.counts) for d in module.dumps]
    return module.id, module.role, module.complete, module.bends, rows


def of_loop(loop: Loop) -> tuple[object, ...]:
    line = loop.source and loop.source.line
    return loop.id, loop.names, loop.trip_count, loop.construct, loop.events, line


def of_collective(collective: Collective) -> tuple[object, ...]:
    line = collective.source and collective.source.line
    return collective.instruction, collective.opcode, collective.loop, collective.bytes, line


def of_finding(finding: Finding) -> tuple[object, ...]:
    culprits = [(c.instruction, c.loop, c.source and c.source.line) for c in finding.culprits]
    return finding.rule, finding.severity, finding.confidence, finding.title, culprits


@pytest.mark.parametrize("name", NAMES)
def test_protos_alone_tell_what_texts_tell(name: str, tmp_path: Path) -> None:
    whole = DUMPS / f"{name}.tar.gz"
    log = DUMPS / f"{name}.log"
    question = Question(logs=(Log(log.name, log.read_text("utf-8")),))
    made = without_texts(whole, tmp_path / "protos.tar")
    texts, protos = (analyze(path, Settings(), question=question) for path in (whole, made))
    assert protos.coverage.kinds.get("hlo_text", 0) < texts.coverage.kinds["hlo_text"]
    assert list(map(of_module, protos.modules)) == list(map(of_module, texts.modules))
    assert list(map(of_loop, protos.loops)) == list(map(of_loop, texts.loops))
    assert list(map(of_collective, protos.collectives)) == list(
        map(of_collective, texts.collectives)
    )
    assert list(map(of_finding, protos.findings)) == list(map(of_finding, texts.findings))
    # How a text is printed tells releases apart as well.
    assert set(protos.environment.jaxlib.releases) >= set(texts.environment.jaxlib.releases)
    assert [m.total_bytes for m in protos.memory] == [m.total_bytes for m in texts.memory]
