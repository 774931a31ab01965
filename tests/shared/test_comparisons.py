"""Dumps of one program under other flags and releases, compared."""

from functools import cache

import pytest

from app.analysis.comparison import Analysed, compare
from app.model.comparison import Comparison
from app.service import analysed, this_tool
from app.settings import Settings
from conftest import SHARED


@cache
def side(name: str) -> Analysed:
    return analysed(SHARED / "dumps" / f"{name}.tar.gz", Settings())


def compared(a: str, b: str) -> Comparison:
    return compare(side(a), side(b), this_tool())


def test_the_flag_of_a_crash_is_inferred_from_what_stands_next_in_line() -> None:
    found = compared("s000n_crash__jax0.4.30", "s000n_noAGpipe__jax0.4.30")
    (flag,) = found.flags
    assert (flag.name, flag.a, flag.b, flag.stated) == (
        "xla_gpu_enable_pipelined_all_gather",
        "true",
        "false",
        False,
    )
    (pair,) = found.modules
    assert pair.outcome == "stopped"
    assert pair.equal_texts == pair.texts_a == 66
    (step,) = pair.passes.next
    assert (step.a, step.b) == ("collective-pipeliner-backward", "collective-pipeliner-forward")
    assert "s000_fsdp_gradacc.py:59" in found.verdict


def test_stated_flags_and_the_first_pass_that_one_side_alone_runs() -> None:
    found = compared("own_fsdp_pipelined__jax0.10.2", "own_fsdp_plain__jax0.10.2")
    assert {flag.name for flag in found.flags} == {
        "xla_gpu_enable_pipelined_all_gather",
        "xla_gpu_enable_pipelined_all_reduce",
        "xla_gpu_enable_while_loop_double_buffering",
    }
    assert all(flag.stated for flag in found.flags)
    (pair,) = found.modules
    assert pair.parting is not None
    assert (pair.parting.pass_a, pair.parting.dump_b) == ("collective-pipeliner-forward", None)
    amounts = {amount.name: (amount.a, amount.b) for amount in pair.amounts}
    assert amounts["while"] == (5, 3)
    peak_a, peak_b = amounts["peak_memory"]
    assert peak_a is not None
    assert peak_b is not None
    assert peak_a > peak_b
    assert any(s.opcode == "all-gather" and s.count_a > s.count_b for s in pair.collectives)
    assert pair.buffers


def test_two_releases_differ_from_the_first_text_on() -> None:
    found = compared("s000_fsdp_gradacc__jax0.5.3", "s000_fsdp_gradacc__jax0.12.0")
    assert "from the first text on" in found.verdict
    pair = found.modules[0]
    assert "shardy-xla" in pair.passes.only_b
    assert "sharding-propagation" in pair.passes.only_a
    assert {(loop.a is None, loop.b is None) for loop in pair.loops[:3]} == {(False, False)}


@pytest.mark.parametrize("release", ["0.4.30", "0.10.2", "0.12.0"])
def test_a_flag_that_changes_no_graph_is_all_that_differs(release: str) -> None:
    found = compared(
        f"s001_collective_matmul__jax{release}", f"s001_collective_matmul_memcpyp2p__jax{release}"
    )
    assert {pair.outcome for pair in found.modules} == {"equal"}
    if release == "0.4.30":
        assert found.flags == ()
        assert "a and b do not state their flags" in found.verdict
    else:
        (flag,) = found.flags
        assert (flag.name, flag.a, flag.b) == ("xla_gpu_use_memcpy_local_p2p", None, "true")
