"""The ranks of a run compared, made ready for terminal and page: who differs, where, in what."""

from collections.abc import Iterator, Sequence

from app.model.ranks import (
    CollectiveStep,
    Communicator,
    OrderDifference,
    Overlap,
    RankComparison,
    RankDifference,
    RankFlag,
    RankModule,
)
from app.report.comparison import instruction_text
from app.report.comparison_sheet import Grid, Section, Sheet, grid
from app.report.verdict import releases_text
from app.report.wording import counted, cut_list, legible, place_text, shortened

_MOST_RANKS = 12
_LONGEST = 72


def ranks_sheet(comparison: RankComparison) -> Sheet:
    """The sheet of a comparison of ranks."""
    shown = legible(comparison)
    differs = shown.is_hlo_the_cause
    told = [module for module in shown.modules if module.differences or module.missing]
    equal = len(shown.modules) - len(told)
    return Sheet(
        badge="RANKS DIFFER" if differs else "RANKS AGREE",
        tone="error" if shown.orders else "warning" if differs else "clear",
        verdict=shown.verdict,
        grids=tuple(_grids(shown)),
        sections=tuple(map(_section, told)),
        notes=(
            f"{counted(equal, 'module')} {'is' if equal == 1 else 'are'} the same on all ranks.",
            *shown.notes,
        ),
    )


def _grids(comparison: RankComparison) -> Iterator[Grid]:
    if comparison.orders:
        yield grid(
            "Collectives begun in another order",
            ("module", "devices", "nr", "ranks", "they begin", "the others begin"),
            map(_order, comparison.orders),
            numbers=("nr",),
        )
    if comparison.flags:
        yield grid("Flags that differ", ("flag", "values"), map(_flag, comparison.flags))
    yield grid(
        "Ranks",
        ("rank", "dump", "jaxlib", "modules", "flags"),
        (
            (
                str(rank.rank),
                rank.name,
                releases_text(rank.releases) or "unknown",
                f"{rank.modules:,}",
                "stated" if rank.flags_from else "not stated",
            )
            for rank in comparison.ranks
        ),
        numbers=("modules",),
    )
    if comparison.communicators:
        yield grid(
            "Communicators",
            ("module", "devices", "collectives", "order"),
            map(_communicator, comparison.communicators),
            numbers=("collectives",),
        )
    if comparison.overlaps:
        yield grid(
            "Groups that share devices",
            ("module", "devices", "and", "shared", "first used by"),
            map(_overlap, comparison.overlaps),
        )


def _order(order: OrderDifference) -> tuple[str, ...]:
    return (
        order.module,
        _devices(order.devices, order.groups),
        f"{order.position:,}",
        ranks_text(order.ranks),
        _step(order.theirs),
        _step(order.usual),
    )


def _step(step: CollectiveStep | None) -> str:
    if step is None:
        return "nothing more"
    where = f", {place_text(step.source)}" if step.source else ""
    return f"%{step.instruction}: {step.opcode} {shortened(step.shape, _LONGEST)}{where}"


def _flag(flag: RankFlag) -> tuple[str, ...]:
    told = [
        f"{'not set' if value is None else value or 'empty'} on {ranks_text(ranks)}"
        for value, ranks in flag.values
    ]
    return flag.name, "; ".join(told)


def _communicator(each: Communicator) -> tuple[str, ...]:
    return (
        each.module,
        _devices(each.devices, each.groups),
        f"{each.collectives:,}",
        "the same on all ranks" if each.is_same else "differs",
    )


def _overlap(each: Overlap) -> tuple[str, ...]:
    return (
        each.module,
        _devices(each.devices, ""),
        _devices(each.other_devices, ""),
        _devices(each.shared, ""),
        f"%{each.first}, %{each.second}",
    )


def _devices(devices: Sequence[int], groups: str) -> str:
    return cut_list([str(device) for device in devices], _MOST_RANKS) or shortened(groups, _LONGEST)


def ranks_text(ranks: Sequence[int]) -> str:
    """`rank 3`, `ranks 0, 1, 2`."""
    listed = cut_list([str(rank) for rank in ranks], _MOST_RANKS)
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {listed}"


def _section(module: RankModule) -> Section:
    facts = [("the same on", ranks_text(module.same))]
    if module.missing:
        facts.append(("missing on", ranks_text(module.missing)))
    for difference in module.differences:
        facts += _difference(difference)
    return Section(module.name, facts=tuple(facts))


def _difference(difference: RankDifference) -> Iterator[tuple[str, str]]:
    yield "differs on", ranks_text(difference.ranks)
    if difference.file is None:
        yield "", "its texts end before or after those of the others"
        return
    yield "first in", difference.file
    if difference.what:
        yield "differs in", ", ".join(difference.what)
    yield "there", instruction_text(difference.theirs)
    yield f"on rank {difference.reference}", instruction_text(difference.usual)
