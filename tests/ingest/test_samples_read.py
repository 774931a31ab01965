"""The published sample dumps are read whole, archive and log."""

import tomllib
from pathlib import Path

import pytest

from app.ingest import load_dump, read_log
from app.settings import Settings

SAMPLES = sorted(
    path.parent for path in (Path(__file__).parents[2] / "sample_dumps").glob("*/manifest.toml")
)


@pytest.mark.parametrize("folder", SAMPLES, ids=lambda path: path.name)
def test_sample_is_read_whole(folder: Path) -> None:
    (archive,) = folder.glob("dump.*")
    contents = load_dump(archive, settings=Settings())
    coverage = contents.coverage
    assert (coverage.unparsed_lines, coverage.skipped, coverage.remarks) == (0, (), ())
    assert sum(coverage.kinds.values()) == coverage.files
    assert coverage.kinds["hlo_text"] == coverage.hlo_files
    assert coverage.hlo_files == sum(len(module.dumps) for module in contents.modules)
    assert coverage.lines == sum(d.module.line_count for m in contents.modules for d in m.dumps)
    assert contents.modules[0].role == "user"
    for module in contents.modules:
        steps = [dump.name.step for dump in module.dumps if dump.name.step is not None]
        assert steps == sorted(set(steps))
        if module.complete:
            assert module.last.name.kind == "after_optimizations"
    assert tomllib.loads((folder / "manifest.toml").read_text())


def test_crash_of_the_pipeliner() -> None:
    (folder,) = (path for path in SAMPLES if path.name == "pipeliner_crash")
    contents = load_dump(next(folder.glob("dump.*")), settings=Settings())
    (module,) = contents.modules
    assert (module.id, module.complete) == ("module_0000.jit_train", False)
    assert module.last.name.after == "reduce-scatter-creator"
    (failure,) = read_log((folder / "run.log").read_text(), name="run.log").failures
    assert (failure.file, failure.line) == ("collective_pipeliner.cc", 675)
    assert (failure.condition, failure.values) == ("last_cloned != nullptr", "0 vs. nullptr")
