"""The dumps of N ranks compared: who has other graphs, and who begins collectives in another order.

A rank is read once (`read_rank`) into digests and lists of collectives, and its texts are dropped
then, but for one rank of each of the first kinds: those name the first instruction that differs.
Most ranks with one kind of graphs are taken to be right. Where the ranks come from, dumps or
reports, is the caller's matter.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.analysis.canonical import Canonicalizer
from app.analysis.canonical_difference import first_difference
from app.analysis.comparison_places import instruction_place
from app.analysis.ranks_order import (
    MOST_STEPS,
    CollectiveSequence,
    Key,
    by_communicator,
    collective_sequence,
    find_overlaps,
    first_order_difference,
    share_devices,
)
from app.analysis.ranks_verdict import ranks_verdict
from app.knowledge.flag_spellings import settings_of, written_name
from app.model.dump import ModuleHistory, PassDump
from app.model.ranks import (
    ACROSS_GROUPS,
    CollectiveStep,
    Communicator,
    OrderDifference,
    Overlap,
    Rank,
    RankComparison,
    RankDifference,
    RankFlag,
    RankModule,
)
from app.model.report import Environment, Tool

_ABOUT_DUMPS = "xla_dump_"
# Ranks whose texts are kept to name what differs; those of more kinds are read again.
_MOST_KEPT = 4

Name = tuple[str, int]
"""A module over all ranks: its name, and which of several of that name."""

Load = Callable[[int], tuple[Sequence[ModuleHistory], Environment]]
"""The modules of a rank, the user's first, and what is known of its run."""

Texts = Callable[[int, Name], ModuleHistory]
"""The history of a module of a rank that stands for others."""


@dataclass(frozen=True, slots=True)
class RankTexts:
    """What is kept of one module of one rank."""

    role: str
    digests: tuple[str, ...]
    sequence: CollectiveSequence
    overlaps: tuple[Overlap, ...]
    unparsed: int


@dataclass(frozen=True, slots=True)
class RankFacts:
    """What is kept of one rank."""

    rank: int
    name: str
    environment: Environment
    modules: Mapping[Name, RankTexts]

    @property
    def kind(self) -> Hashable:
        """Equal for ranks with equal graphs in all modules."""
        return tuple((name, texts.digests) for name, texts in self.modules.items())


def compare_loaded(names: Mapping[int, str], load: Load, tool: Tool) -> RankComparison:
    """The ranks of these numbers and names; one is loaded at a time. Raises as `load`."""
    facts: list[RankFacts] = []
    kept: dict[int, Sequence[ModuleHistory]] = {}
    kinds: set[Hashable] = set()
    for rank, name in sorted(names.items()):
        modules, environment = load(rank)
        facts.append(read_rank(rank, name, modules, environment))
        if facts[-1].kind not in kinds and len(kept) < _MOST_KEPT:
            kept[rank] = modules
        kinds.add(facts[-1].kind)

    def texts(rank: int, name: Name) -> ModuleHistory:
        return histories(kept[rank] if rank in kept else load(rank)[0])[name]

    return compare_ranks(facts, texts, tool)


def read_rank(
    rank: int, name: str, modules: Sequence[ModuleHistory], environment: Environment
) -> RankFacts:
    """The facts of one rank; autotuning fragments come and go and are left out."""
    canonicalizer = Canonicalizer()
    found: dict[Name, RankTexts] = {}
    for key, history in histories(modules).items():
        last = history.last.module
        sequence = collective_sequence(last)
        found[key] = RankTexts(
            role=history.role,
            digests=tuple(canonicalizer.of_module(dump.module).text for dump in history.dumps),
            sequence=sequence,
            overlaps=find_overlaps(history.name, last, sequence),
            unparsed=sum(len(dump.module.unparsed) for dump in history.dumps),
        )
    return RankFacts(rank, name, environment, found)


def histories(modules: Sequence[ModuleHistory]) -> dict[Name, ModuleHistory]:
    """The modules by name and place among those of one name, the user's first."""
    counts: defaultdict[str, int] = defaultdict(int)
    found: dict[Name, ModuleHistory] = {}
    for history in modules:
        if history.role != "autotuning" and history.dumps:
            found[history.name, counts[history.name]] = history
            counts[history.name] += 1
    return found


def compare_ranks(ranks: Sequence[RankFacts], texts: Texts, tool: Tool) -> RankComparison:
    """All ranks against the graphs that most of them have."""
    names = dict.fromkeys(name for rank in ranks for name in rank.modules)
    modules = tuple(_compare_module(ranks, name, texts) for name in names)
    orders: list[OrderDifference] = []
    communicators: list[Communicator] = []
    for name in names:
        found = _compare_orders(ranks, name)
        orders += found[0]
        communicators += found[1]
    flags = tuple(_differing_flags(ranks))
    is_the_cause = any(module.differences or module.missing for module in modules)
    return RankComparison(
        tool=tool,
        verdict=ranks_verdict(len(ranks), modules, orders, flags, _in_branch(ranks)),
        is_hlo_the_cause=is_the_cause,
        ranks=tuple(map(_rank, ranks)),
        flags=flags,
        modules=tuple(sorted(modules, key=lambda module: module.role != "user")),
        orders=tuple(orders),
        communicators=tuple(communicators),
        overlaps=tuple(
            overlap
            for name in names
            for overlap in _reference(_holders(ranks, name), name).modules[name].overlaps
        ),
        notes=tuple(_notes(ranks)),
    )


def _rank(rank: RankFacts) -> Rank:
    return Rank(
        rank=rank.rank,
        name=rank.name,
        releases=rank.environment.jaxlib.releases,
        flags_from=rank.environment.flags_from,
        modules=len(rank.modules),
    )


# ---- graphs -------------------------------------------------------------------------------------


def _holders(ranks: Sequence[RankFacts], name: Name) -> list[RankFacts]:
    return [rank for rank in ranks if name in rank.modules]


def _kinds(ranks: Sequence[RankFacts], name: Name) -> list[list[RankFacts]]:
    """The ranks by equal digests of a module: the most first, then by the lowest rank."""
    groups: dict[Hashable, list[RankFacts]] = {}
    for rank in ranks:
        groups.setdefault(rank.modules[name].digests, []).append(rank)
    return sorted(groups.values(), key=lambda group: (-len(group), group[0].rank))


def _reference(ranks: Sequence[RankFacts], name: Name) -> RankFacts:
    return _kinds(ranks, name)[0][0]


def _compare_module(ranks: Sequence[RankFacts], name: Name, texts: Texts) -> RankModule:
    holders = _holders(ranks, name)
    same, *others = _kinds(holders, name)
    reference = same[0].modules[name]
    return RankModule(
        name=name[0],
        role=reference.role,
        texts=len(reference.digests),
        digest=reference.digests[-1],
        same=tuple(rank.rank for rank in same),
        missing=tuple(rank.rank for rank in ranks if rank not in holders),
        differences=tuple(_difference(same[0], group, name, texts) for group in others),
    )


def _difference(
    reference: RankFacts, group: Sequence[RankFacts], name: Name, texts: Texts
) -> RankDifference:
    usual, theirs = reference.modules[name].digests, group[0].modules[name].digests
    ranks = tuple(rank.rank for rank in group)
    position = next(
        (k for k, pair in enumerate(zip(usual, theirs, strict=False)) if pair[0] != pair[1]), None
    )
    if position is None:
        return RankDifference(ranks=ranks, reference=reference.rank)
    usual_dump = texts(reference.rank, name).dumps[position]
    their_dump = texts(ranks[0], name).dumps[position]
    canonicalizer = Canonicalizer()
    before = canonicalizer.of_module(usual_dump.module)
    after = canonicalizer.of_module(their_dump.module)
    found = first_difference(before, after)
    assert found is not None
    return RankDifference(
        ranks=ranks,
        reference=reference.rank,
        dump=position,
        file=their_dump.file.rpartition("/")[2],
        pass_=_pass_of(their_dump),
        what=found.what,
        theirs=instruction_place(after.module, found.after_computation, found.after),
        usual=instruction_place(before.module, found.before_computation, found.before),
    )


def _pass_of(dump: PassDump) -> str | None:
    return dump.name.after if dump.name.after != "pipeline-start" else dump.name.pipeline


# ---- collectives --------------------------------------------------------------------------------


def _compare_orders(
    ranks: Sequence[RankFacts], name: Name
) -> tuple[list[OrderDifference], list[Communicator]]:
    """Where other collectives are begun, by communicator; else over all that share devices."""
    same, *others = _kinds(_holders(ranks, name), name)
    reference = same[0].modules[name].sequence
    usual = by_communicator(reference)
    found: list[OrderDifference] = []
    for kind in others:
        sequence = kind[0].modules[name].sequence
        theirs = by_communicator(sequence)
        orders = [
            order
            for key in dict.fromkeys((*usual, *theirs))
            if (order := _order(name, key, usual.get(key, ()), theirs.get(key, ()), same, kind))
        ]
        if not orders:
            lists = [tuple(step for step, _ in each.steps) for each in (reference, sequence)]
            across = _order(name, ((), ACROSS_GROUPS), lists[0], lists[1], same, kind)
            if across is not None and share_devices(reference, sequence, across.position):
                orders.append(across)
        found += orders
    differing = {(order.devices, order.groups) for order in found}
    communicators = [
        Communicator(
            module=name[0],
            devices=key[0],
            groups=key[1],
            collectives=len(steps),
            is_same=key not in differing,
        )
        for key, steps in usual.items()
    ]
    return found, communicators


def _order(
    name: Name,
    key: Key,
    usual: Sequence[CollectiveStep],
    theirs: Sequence[CollectiveStep],
    same: Sequence[RankFacts],
    kind: Sequence[RankFacts],
) -> OrderDifference | None:
    """The first place where two lists of collectives differ."""
    position = first_order_difference(usual, theirs)
    if position is None:
        return None
    one, other = (s[position] if position < len(s) else None for s in (usual, theirs))
    return OrderDifference(
        module=name[0],
        devices=key[0],
        groups=key[1],
        position=position,
        ranks=tuple(rank.rank for rank in kind),
        reference=same[0].rank,
        theirs=other,
        usual=one,
    )


# ---- the rest -----------------------------------------------------------------------------------


def _differing_flags(ranks: Sequence[RankFacts]) -> Iterator[RankFlag]:
    stated = [rank for rank in ranks if rank.environment.flags_from]
    settings = [settings_of(rank.environment.flags) for rank in stated]
    for name in sorted({name for flags in settings for name in flags}):
        values: dict[str | None, list[int]] = {}
        for rank, flags in zip(stated, settings, strict=True):
            values.setdefault(flags.get(name), []).append(rank.rank)
        if len(values) > 1 and not name.startswith(_ABOUT_DUMPS):
            written = written_name(name, (rank.environment.flags for rank in stated))
            yield RankFlag(
                name=written or name,
                values=tuple((value, tuple(of)) for value, of in values.items()),
            )


def _in_branch(ranks: Sequence[RankFacts]) -> CollectiveStep | None:
    texts = (found for rank in ranks for found in rank.modules.values())
    return next((found.sequence.in_branch for found in texts if found.sequence.in_branch), None)


def _notes(ranks: Sequence[RankFacts]) -> Iterator[str]:
    silent = [rank.rank for rank in ranks if not rank.environment.flags_from]
    if silent:
        yield f"{len(silent):,} of {len(ranks):,} ranks do not state their flags."
    texts = [found for rank in ranks for found in rank.modules.values()]
    if any(found.sequence.steps and not found.sequence.is_scheduled for found in texts):
        yield "Some last texts are not scheduled: there the order of the text stands for the order."
    if any(found.sequence.is_cut for found in texts):
        yield f"Only the first {MOST_STEPS:,} collectives of a module are compared in their order."
    unparsed = sum(found.unparsed for found in texts)
    if unparsed:
        yield f"{unparsed:,} lines were not understood and are compared as they stand."
    yield "Which devices a rank owns is not in a dump: every rank is held to every communicator."
