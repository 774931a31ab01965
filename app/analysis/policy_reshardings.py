"""Exchanges that do nothing but change how a value is sharded, asked for or not.

All-to-alls and permutes that no collective of the program itself stands behind, and gathers of
which each device keeps its own slice. Other all-gathers and reductions belong to the computation of
sharded values and are counted by measures. Read in the newest text that is partitioned and not
fused, else in the last one. Where an exchange has no source place, those of the values that it is
made from and that are made from it stand in, nearest first.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from app.analysis.diff import Differ
from app.analysis.lineage import Sighting, trace_back
from app.analysis.opcodes import collective_opcode
from app.analysis.resharding import find_reshardings, partitioned_text
from app.analysis.sources import source_of
from app.model.dump import ModuleHistory
from app.model.report import Source
from hlo_parser import Computation, Instruction

_EXCHANGES = frozenset({"all-to-all", "collective-permute"})
# Last parts of an `op_name` that are collectives in the program, or cannot do without one.
_OF_THE_PROGRAM = frozenset(
    "all_to_all pall_to_all ppermute pshuffle ragged_all_to_all concatenate "
    "conv_general_dilated cumlogsumexp cummax cummin cumprod cumsum dynamic_slice "
    "dynamic_update_slice gather pad reduce_window rev scatter scatter_add "
    "select_and_scatter_add slice sort split".split()
)
_NEAR = 6
# Exchanges followed back to where they were made; more of them are taken as they stand.
_MOST_TRACED = 200


@dataclass(frozen=True, slots=True)
class FoundResharding:
    """One exchange, the file of its text, and its lines: its own, else those of its neighbours."""

    instruction: str
    opcode: str
    computation: str
    file: str
    sources: tuple[Source, ...]
    said: str


def reshardings_of(history: ModuleHistory) -> tuple[FoundResharding, ...]:
    """The reshardings of a module that its partitioned text still holds, in text order."""
    dump = partitioned_text(history) or history.last
    if dump.module.header.num_partitions * dump.module.header.replica_count < 2:
        return ()
    gathered = {
        (r.computation.name, r.exchange.name)
        for r in find_reshardings(history)
        if r.kind == "gathered-and-sliced"
    }
    differ = Differ()
    found: list[FoundResharding] = []
    for computation in dump.module.computations:
        for instruction in computation.instructions:
            is_gathered = (computation.name, instruction.name) in gathered
            if is_gathered or collective_opcode(instruction) in _EXCHANGES:
                here = Sighting(dump.index, computation, instruction)
                first = _as_made(history, here, differ) if len(found) < _MOST_TRACED else here
                if is_gathered or not _is_of_the_program(first):
                    found.append(_found(history, here, first))
    return tuple(found)


def _as_made(history: ModuleHistory, here: Sighting, differ: Differ) -> Sighting:
    """The exchange as the partitioner made it: there its neighbours still have their names."""
    first = here
    for earlier in trace_back(history, *here, differ):
        if collective_opcode(earlier.instruction) != collective_opcode(here.instruction):
            break
        first = earlier
    return first


def _is_of_the_program(exchange: Sighting) -> bool:
    """Whether a primitive stands behind it that exchanges by itself."""
    nearest = next(_named(exchange.computation, exchange.instruction), None)
    return nearest is not None and _primitive(nearest) in _OF_THE_PROGRAM


def _primitive(instruction: Instruction) -> str:
    metadata = instruction.metadata
    name = (metadata.op_name or "") if metadata is not None else ""
    return name.partition("[")[0].rpartition("/")[2].partition(".")[0].replace("-", "_")


def _named(computation: Computation, exchange: Instruction) -> Iterator[Instruction]:
    """The exchange and what leads to it and from it, nearest first, as far as they have a name."""
    if exchange.metadata is not None and exchange.metadata.op_name:
        yield exchange
    for step in (_operands, _users):
        pending = [exchange]
        for _ in range(_NEAR):
            pending = [near for each in pending for near in step(computation, each)][:_NEAR]
            named = [near for near in pending if near.metadata and near.metadata.op_name]
            if named:
                yield from named
                break


def _operands(computation: Computation, instruction: Instruction) -> list[Instruction]:
    found = (computation.get(name) for name in instruction.operands)
    return [operand for operand in found if operand is not None]


def _users(computation: Computation, instruction: Instruction) -> list[Instruction]:
    return list(computation.users.get(instruction.name, ()))


def _found(history: ModuleHistory, here: Sighting, first: Sighting) -> FoundResharding:
    near = list(_named(first.computation, first.instruction))
    module = history.dumps[first.dump].module
    sources = (source_of(module, instruction) for instruction in near)
    opcode = collective_opcode(here.instruction) or here.instruction.opcode
    said = f"{here.instruction.name} ({opcode}) only changes a sharding"
    if near:
        word = "made for" if near[0] is first.instruction else "beside"
        said += f", {word} {_primitive(near[0])}"
    return FoundResharding(
        instruction=here.instruction.name,
        opcode=opcode,
        computation=here.computation.name,
        file=history.dumps[here.dump].file.rpartition("/")[2],
        sources=tuple(dict.fromkeys(source for source in sources if source is not None)),
        said=said,
    )
