"""One sentence on the ranks of a run: which differs and where, or that the HLO is not the cause."""

import re
from collections.abc import Sequence

from app.analysis.comparison_places import line_text
from app.model.comparison import InstructionPlace
from app.model.ranks import (
    ACROSS_GROUPS,
    CollectiveStep,
    OrderDifference,
    RankDifference,
    RankFlag,
    RankModule,
)
from app.model.source import Source

_MOST = 6

# An array in a shape that may be a tuple of many: `bf16[32,768]`.
_ARRAY = re.compile(r"\w++\[[^\]]*+\]")


def ranks_verdict(
    count: int,
    modules: Sequence[RankModule],
    orders: Sequence[OrderDifference],
    flags: Sequence[RankFlag],
    in_branch: CollectiveStep | None = None,
) -> str:
    """The sentence; an order that differs is told before graphs that do.

    A collective `in_branch` of a conditional is one that not every device need begin.
    """
    parted = [module for module in modules if module.differences]
    if orders:
        return _order(orders[0])
    if parted:
        first = min(parted, key=lambda module: module.role != "user")
        return _graph(first, first.differences[0])
    lacking = [module for module in modules if module.missing]
    if lacking:
        module = min(lacking, key=lambda module: module.role != "user")
        return (
            f"{_ranks(module.missing)} does not compile {module.name}; of what they share all "
            "ranks have the same graphs."
        )
    end = ""
    if flags:
        end = f"; the flag {flags[0].name} differs, which changed no graph"
    equal = (
        f"all {count:,} ranks have the same graphs after every pass and begin the same collectives "
        f"in the same order{end}"
    )
    if in_branch is None:
        return f"The HLO is not the cause: {equal}."
    return (
        f"No rank's HLO differs: {equal}; but {_step(in_branch)} stands in a branch, and devices "
        "that branch otherwise wait for one another."
    )


def _order(order: OrderDifference) -> str:
    where = f"collective {order.position} of {order.module} between {_devices(order)}"
    if order.theirs is None:
        return (
            f"{_ranks(order.ranks)} begins no {where}, which is {_step(order.usual)} on the others."
        )
    return (
        f"{_ranks(order.ranks)} begins {_step(order.theirs)} as {where}, where the others begin "
        f"{_step(order.usual)}."
    )


def _step(step: CollectiveStep | None) -> str:
    if step is None:
        return "none any more"
    return f"{step.instruction} ({step.opcode} of {_shape(step.shape)}{_at(step.source)})"


def _shape(shape: str) -> str:
    """The shape; of a tuple its first array, and how many more there are."""
    arrays = _ARRAY.findall(shape)
    return shape if len(arrays) < 2 else f"{arrays[0]} and {len(arrays) - 1} more"


def _graph(module: RankModule, difference: RankDifference) -> str:
    if difference.dump is None:
        return f"{_ranks(difference.ranks)} ends {module.name} after another text than the others."
    after = f" after {difference.pass_}" if difference.pass_ else " from the first text on"
    said = f"{_ranks(difference.ranks)} has another graph of {module.name}{after}"
    if difference.what == ("header",):
        return f"{said}: the header differs."
    return (
        f"{said}, first at {_place(difference.theirs)}, where the others have "
        f"{_place(difference.usual)}; the order of collectives is the same."
    )


def _place(place: InstructionPlace | None) -> str:
    if place is None:
        return "nothing"
    return f"{place.instruction} ({place.opcode} of {_shape(place.shape)}{_at(place.source)})"


def _at(source: Source | None) -> str:
    line = line_text(source)
    return f", {line}" if line else ""


def _devices(order: OrderDifference) -> str:
    if not order.devices:
        return order.groups if order.groups == ACROSS_GROUPS else f"the groups {order.groups}"
    shown = ", ".join(map(str, order.devices[:_MOST]))
    more = len(order.devices) - _MOST
    return f"devices {shown} and {more:,} more" if more > 0 else f"devices {shown}"


def _ranks(ranks: Sequence[int]) -> str:
    shown = ", ".join(map(str, ranks[:_MOST]))
    if len(ranks) == 1:
        return f"Rank {shown}"
    more = len(ranks) - _MOST
    end = f" and {more:,} more" if more > 0 else ""
    return f"Each of the ranks {shown}{end}"
