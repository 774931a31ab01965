"""What matching costs grows with the texts, also where every instruction is another one."""

from time import process_time

import pytest

from app.analysis.diff import diff_modules
from hlo_parser import Module, parse_module


def chain(count: int, name: str, operands: str) -> Module:
    """Instructions of which each takes the one before, as `operands` says with `last` and `%p`."""
    lines = ["  %p = f32[4]{0} parameter(0)"]
    last = "%p"
    for number in range(count):
        taken = operands.format(last=last)
        lines.append(f"  %{name}.{number} = f32[4]{{0}} add({taken})")
        last = f"%{name}.{number}"
    body = "\n".join(lines)
    return parse_module(
        f"HloModule m\n\nENTRY %e (p: f32[4]) -> f32[4] {{\n{body}\n"
        f"  ROOT %r = f32[4]{{0}} copy({last})\n}}\n\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [("{last}, %p", "%p, {last}"), ("{last}, %p", "{last}, {last}"), ("{last}, %p", "{last}, %p")],
)
def test_a_chain_in_which_all_changed(before: str, after: str) -> None:
    def seconds(count: int) -> float:
        one, other = chain(count, "a", before), chain(count, "b", after)
        began = process_time()
        diff_modules(one, other)
        return process_time() - began

    # Four times the instructions; a round for each of them would take sixteen times as long.
    few, many = (min(seconds(count) for _ in range(2)) for count in (400, 1_600))
    assert many < 9 * few + 0.2
