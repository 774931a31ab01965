"""Circles of instructions and partners that do not exist, in modules as XLA prints them."""

import time

import pytest

from app.analysis.broken import absent_partners, circles
from hlo_parser import Module, parse_module


def module_of(*lines: str, header: str = "") -> Module:
    body = "\n".join(f"  {line}" for line in lines)
    return parse_module(f"HloModule m{header}\n\nENTRY main {{\n{body}\n}}\n")


def circle(*lines: str) -> list[str]:
    found = next(circles(module_of(*lines)), None)
    return [] if found is None else [instruction.name for instruction in found[1]]


X = "x = f32[4]{0} parameter(0)"


def test_operands_in_a_circle() -> None:
    lines = ("a = f32[4]{0} add(x, c)", "b = f32[4]{0} negate(a)", "ROOT c = f32[4]{0} negate(b)")
    assert circle(X, *lines) == ["a", "c", "b"]


def test_the_one_that_waits_by_control_alone_comes_first() -> None:
    lines = (
        "a = f32[4]{0} negate(x), control-predecessors={b}",
        "b = f32[4]{0} negate(a)",
        "ROOT c = f32[4]{0} negate(b)",
    )
    assert circle(X, *lines) == ["a", "b"]
    assert (
        circle(X, *(line.replace("predecessors={b}", "predecessors={x}") for line in lines)) == []
    )


def test_a_diamond_and_a_chain_of_controls_are_no_circle() -> None:
    assert (
        circle(
            X,
            "a = f32[4]{0} negate(x)",
            "b = f32[4]{0} negate(x), control-predecessors={a}",
            "c = f32[4]{0} add(a, b), control-predecessors={a, b}",
            "ROOT d = f32[4]{0} add(b, c), control-predecessors={c}",
        )
        == []
    )


def test_a_long_circle_is_walked_without_recursion() -> None:
    links = [f"n{i} = f32[4]{{0}} negate(n{i - 1})" for i in range(1, 5000)]
    lines = (X, "n0 = f32[4]{0} negate(x), control-predecessors={n4999}", *links)
    assert len(circle(*lines)) == 5000


def _seconds_for_a_way_back(length: int) -> float:
    links = [f"n{i} = f32[4]{{0}} negate(n{i + 1})" for i in range(length)]
    module = module_of(*links, f"ROOT n{length} = f32[4]{{0}} parameter(0)")
    before = time.process_time()
    assert next(circles(module), None) is None
    return time.process_time() - before


def test_a_long_way_back_takes_no_longer_for_each_step() -> None:
    # Eight times as long a way: 8 times the time when linear, 64 times when not.
    short = max(_seconds_for_a_way_back(15_000) for _ in range(3))
    assert min(_seconds_for_a_way_back(120_000) for _ in range(2)) < 32 * short


@pytest.mark.parametrize(
    ("header", "channel", "absent"),
    [
        (", replica_count=16, num_partitions=4", ", channel_id=1", (7, 4)),
        (", replica_count=4, num_partitions=16", "", (7, 4)),
        (", num_partitions=4", ", channel_id=1", (7, 4)),
        (", num_partitions=8", ", channel_id=1", None),
        (", replica_count=8", "", None),
        (", replica_count=8", ", channel_id=1", None),
        (", num_partitions=8", "", None),
    ],
)
def test_partners_are_held_against_the_devices(
    header: str, channel: str, absent: tuple[int, int] | None
) -> None:
    permute = (
        f"p = f32[4]{{0}} collective-permute(x){channel}, source_target_pairs={{{{0,1}},{{1,7}}}}"
    )
    module = module_of(X, f"ROOT {permute}", header=header)
    assert next((told for _, _, *told in absent_partners(module)), None) == (absent and [*absent])
