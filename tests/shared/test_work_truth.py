"""Work, bends and lives of collectives in two dumps of jaxlib 0.4.31 and in all healthy ones."""

from functools import cache
from itertools import pairwise

import pytest

from app.analysis.bends import find_bends
from app.analysis.collectives import find_collectives
from app.analysis.history import describe_dumps
from app.analysis.loop_history import follow_loops
from app.analysis.repeated_work import find_repeated_work
from app.analysis.work import measure_work
from app.ingest import load_dump
from app.model.dump import ModuleHistory
from app.model.facts import LoopHistory
from app.model.report import Dump
from app.service import analyze
from app.settings import Settings
from conftest import SHARED

DUMPS = SHARED / "dumps"
NAMES = sorted(path.name.removesuffix(".tar.gz") for path in DUMPS.glob("*.tar.gz"))
DOUBLED = "seed1_ok_0.4.31_doubled"
PASSING = "s000n_nodblbuf__jax0.4.31"
Told = tuple[ModuleHistory, tuple[LoopHistory, ...], tuple[Dump, ...]]


@cache
def user_modules(name: str) -> tuple[Told, ...]:
    contents = load_dump(DUMPS / f"{name}.tar.gz", settings=Settings())
    found: list[Told] = []
    for history in contents.modules:
        if history.role == "user":
            loops = follow_loops(history)
            found.append((history, loops, describe_dumps(history, measure_work(history, loops))))
    return tuple(found)


def after(rows: tuple[Dump, ...], name: str) -> Dump:
    return next(row for row in rows if row.after == name)


def flops(row: Dump) -> int:
    assert row.flops
    return row.flops


def test_the_doubled_program_ends_with_about_twice_the_work() -> None:
    ((_, _, rows),) = user_modules(DOUBLED)
    made = after(rows, "collective-pipeliner-backward")
    before = rows[made.index - 1]
    assert [flops(row) for row in rows[made.index :]] == [flops(made)] * (len(rows) - made.index)
    # Three of the four minibatches run both scans twice, the last one and the head once.
    assert flops(made) / flops(before) == pytest.approx(1.93, abs=0.01)
    assert before.counts["while"] == 3
    assert made.counts["while"] == 9
    assert after(rows, "loop-double-buffer-transformer").counts["while"] == 17
    assert sum(rows[-1].collective_bytes.values()) > 1.2 * sum(before.collective_bytes.values())
    assert all(row.counted_once == row.uncounted == 0 for row in rows)


def test_the_passing_rise_of_the_other_ends_as_it_began() -> None:
    ((history, loops, rows),) = user_modules(PASSING)
    made = after(rows, "collective-pipeliner-backward")
    before = rows[made.index - 1]
    assert flops(made) / flops(before) == pytest.approx(4 / 3, abs=0.01)
    assert flops(rows[-1]) == flops(before)
    assert rows[-1].collective_bytes == before.collective_bytes
    assert find_repeated_work(history, loops, measure_work(history, loops)) is None
    bends = {(b.dump, b.curve): (b.pass_, b.before, b.after) for b in find_bends(history, rows)}
    assert bends[made.index, "flops"] == (
        "collective-pipeliner-backward",
        flops(before),
        flops(made),
    )
    assert bends[made.index, "whiles"] == ("collective-pipeliner-backward", 3, 7)
    cleaned = next(row for row in rows[made.index :] if flops(row) == flops(before))
    assert bends[cleaned.index, "whiles"] == ("dce", 7, 5)
    assert bends[cleaned.index, "flops"][0] == "dce"


@pytest.mark.parametrize("name", NAMES)
def test_only_the_doubled_program_does_its_work_again(name: str) -> None:
    for history, loops, _ in user_modules(name):
        found = find_repeated_work(history, loops, measure_work(history, loops))
        assert (found is not None) == (name == DOUBLED)


@pytest.mark.parametrize("name", NAMES)
def test_work_after_partitioning_only_falls(name: str) -> None:
    """Apart from the two dumps above, no pass makes a program multiply more."""
    for _, _, rows in user_modules(name):
        if name in (DOUBLED, PASSING):
            continue
        values = [row.flops for row in rows if row.flops]
        rises = [(a, b) for a, b in pairwise(values) if b > 1.01 * a]
        assert rises == []


@pytest.mark.parametrize("name", [DOUBLED, PASSING])
def test_lives_of_collectives(name: str) -> None:
    ((history, loops, _),) = user_modules(name)
    found = find_collectives(history, loops, backend="GPU")
    assert all(c.history and c.history[0].kind == "created" for c in found)
    assert all(c.groups == (tuple(range(8)),) for c in found)
    for collective in found:
        dumps = [event.dump for event in collective.history]
        assert dumps == sorted(dumps)
        assert all(event.kind != "created" for event in collective.history[1:])
    pipelined = [c for c in found if any(e.kind == "pipelined" for e in c.history)]
    assert pipelined
    started = [c for c in found if c.is_async]
    assert all(any(e.kind == "made_async" for e in c.history) for c in started)
    windows = [c.window for c in found if c.window is not None and c.is_async]
    assert windows
    for window in windows:
        assert (window.device, window.device_assumed) == ("H100", False)
        assert window.hidden_us is not None
        assert window.exposed_us is not None
        assert window.hidden_us >= 0 <= window.exposed_us


def test_a_pipelined_collective_names_its_passes() -> None:
    ((history, loops, _),) = user_modules(PASSING)
    (found,) = [
        c for c in find_collectives(history, loops) if c.instruction == "all-gather-start.4"
    ]
    told = [(event.pass_, event.kind) for event in found.history]
    assert told == [
        ("spmd-partitioning", "created"),
        ("collective-pipeliner-backward", "pipelined"),
        ("async-collective-creator", "made_async"),
    ]
    assert found.source is not None
    assert found.source.line == 22


def test_double_buffering_is_not_blamed_for_the_doubled_work() -> None:
    report = analyze(DUMPS / f"{DOUBLED}.tar.gz", Settings())
    (finding,) = [f for f in report.findings if f.rule == "DBL001"]
    (ruled_out,) = finding.ruled_out
    assert "Double buffering" in ruled_out.hypothesis
    assert "7.94 T operations before it and 7.94 T after it" in ruled_out.why
    assert [w.flags for w in finding.workarounds][:3] == [
        ("--xla_gpu_enable_pipelined_all_gather=false",),
        ("--xla_gpu_enable_approx_costly_collectives=true",),
        ("--xla_disable_hlo_passes=collective-pipeliner-backward",),
    ]
