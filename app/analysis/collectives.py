"""The collectives of a module's last text: bytes, groups, enclosing loop, source and overlap.

Each collective stands here once, whatever its spelling: an asynchronous one under its start, one
wrapped by `async-start`, inside a fusion or driven through fusions by libtpu under the instruction
that the schedule knows. Dynamic amounts (ragged-all-to-all) count as their bound. Opinions on what
is too much or badly hidden belong to the rules.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from app.analysis.async_pairs import (
    WRAPPERS,
    called_by_start,
    find_async_pairs,
    wrapped_operations,
)
from app.analysis.collective_life import CollectiveTracer
from app.analysis.cost_model import Device, device_of
from app.analysis.device_groups import chains_of, devices_of, group_size, pairs_of
from app.analysis.diff import Differ
from app.analysis.executions import RunCounter, known_trips
from app.analysis.flops import FlopCounter, operand_shape
from app.analysis.fused_collectives import Inside, find_fused, is_scattered, opcode_run
from app.analysis.lineage import Sighting
from app.analysis.meshes import AxisNamer
from app.analysis.overlap import OverlapReader, Transfer
from app.analysis.source_repair import Placed, SourceRepairer
from app.analysis.sources import is_renumbered, source_of
from app.model.dump import ModuleHistory
from app.model.facts import AsyncPair, LoopHistory
from app.model.mesh import Mesh
from app.model.report import Collective, Window
from app.model.work import LARGEST_COUNT
from hlo_parser import Computation, Instruction, Module

# Traces through all passes that one module may cost; real ones need a few dozen.
_MOST_TRACED = 1_000


def find_collectives(
    history: ModuleHistory,
    loops: Sequence[LoopHistory],
    *,
    differ: Differ | None = None,
    backend: str | None = None,
    meshes: Sequence[Mesh] = (),
) -> tuple[Collective, ...]:
    """The collectives of the last text, by computation and instruction in text order.

    Where the last text gives no source place, the newest text before that does is asked; `differ`
    is shared with whoever else compares texts of this history. `backend` tells what times to
    expect where the texts do not name the device, `meshes` are those of `find_meshes`.
    """
    traces = _Traces(history, loops, differ or Differ())
    position = len(history.dumps) - 1
    module = history.last.module
    enclosing = enclosing_loops(module, loops, position)
    sites = tuple(_sites(module))
    windows = _Windows(module, sites, loops, position, device_of(history, backend))
    namer = AxisNamer(module, meshes)
    counter = RunCounter(module, known_trips(loops, position))
    found: list[Collective] = []
    for site in sites:
        groups = site.operation.replica_groups
        sightings = traces.of(site)
        placed = traces.source_of(site, sightings)
        pairs = pairs_of(module, site.operation)
        axes, axes_from = namer.axes_of(site.operation)
        runs = counter.of(site.computation)
        found.append(
            Collective(
                module=history.id,
                dump=position,
                computation=site.computation.name,
                instruction=site.instruction.name,
                opcode=site.opcode,
                bytes=site.bytes,
                replica_groups=None if groups is None else groups.text,
                channel_id=site.operation.channel_id,
                loop=enclosing.get(site.computation.name),
                source=None if placed is None else placed.source,
                source_from=None if placed is None else placed.dump,
                source_how=None if placed is None else placed.how,
                is_async=site.pair is not None and not site.pair.is_sync,
                window=windows.of(site),
                groups=devices_of(module, site.operation) or chains_of(pairs),
                axes=axes,
                axes_from=axes_from,
                pairs=pairs,
                executions=runs.count,
                conditional=runs.is_conditional,
                total_bytes=None
                if runs.count is None
                else min(runs.count * site.bytes, LARGEST_COUNT),
                history=traces.tracer.events(sightings),
                waited_us=windows.waited(site),
                fused=_fused_in(site),
                printed=_printed(module, site),
            )
        )
    return tuple(found)


def bytes_sent(module: Module, computation: Computation, instruction: Instruction) -> int:
    """Bytes that one device sends in one execution of a collective, starts included.

    With g devices in a group and the ring algorithms: all-gather sends its operands g-1 times;
    reduce-scatter and all-to-all their operands times (g-1)/g; all-reduce twice that;
    collective-broadcast the operand once (the root sends it, others may pass it on);
    collective-permute and send the operand, on devices that have a target other than themselves.
    recv sends nothing. Operand sizes are dense, without tiling. Uneven groups count by their
    largest. At most 2**63 - 1, which only edited texts reach.
    """
    opcode = opcode_run(module, computation, instruction)
    size = _operand_bytes(computation, instruction)
    devices = group_size(module, instruction)
    match opcode:
        case "collective-permute":
            pairs = instruction.source_target_pairs
            sent = size if any(source != target for source, target in pairs) else 0
        case "send":
            sent = size
        case "all-gather":
            sent = size * (devices - 1)
        case "all-reduce":
            sent = 2 * size * (devices - 1) // devices
        case "collective-broadcast":
            sent = size if devices > 1 else 0
        case "all-to-all" | "ragged-all-to-all" | "reduce-scatter":
            sent = size * (devices - 1) // devices
        case _:
            sent = 0
    return min(sent, (1 << 63) - 1)


def _operand_bytes(computation: Computation, instruction: Instruction) -> int:
    count = len(instruction.operands)
    slices = instruction.attributes.get("slice_sizes")
    opcode = instruction.opcode
    if opcode in ("send", "ragged-all-to-all"):
        # The others are a token, or the place and the offsets that the data goes to.
        count = min(count, 1)
    if opcode.startswith("collective-permute") and slices and count == 4:
        return _sliced_bytes(computation, instruction, slices)
    total = 0
    for number in range(count):
        shape = operand_shape(computation, instruction, number)
        total += 0 if shape is None else shape.byte_size
    return total


def _sliced_bytes(computation: Computation, instruction: Instruction, slices: str) -> int:
    """Bytes of the in-place form, which sends slices `{{1,2},{1,2}}` out of its first operand."""
    shape = operand_shape(computation, instruction, 0)
    if shape is None:
        return 0
    while shape.kind == "tuple" and shape.elements:
        shape = shape.elements[0]
    elements = prod(shape.dimensions)
    sent = sum(
        prod(int(word) for word in re.findall(r"\d{1,18}", group))
        for group in re.findall(r"\{([\d\s,]++)\}", slices)
    )
    return shape.byte_size * sent // elements if elements else 0


@dataclass(frozen=True, slots=True)
class _Site:
    """One collective: `instruction` is the one that is scheduled, `operation` what it runs."""

    computation: Computation
    instruction: Instruction
    opcode: str
    inner: Computation
    operation: Instruction
    pair: AsyncPair | None
    bytes: int


def _sites(module: Module) -> Iterator[_Site]:
    pairs = {(pair.computation, pair.start): pair for pair in find_async_pairs(module)}
    wrapped = _wrapped_computations(module, pairs)
    fused = find_fused(module)
    for computation in module.computations:
        if computation.name in wrapped or computation.name in fused.placed:
            continue
        for instruction in computation.instructions:
            place = computation.name, instruction.name
            pair = pairs.get(place)
            run: Sequence[Inside] = fused.inside.get(place, ())
            if pair is not None and instruction.opcode in WRAPPERS:
                run = wrapped_operations(module, instruction)
            for inner, operation in run or ((computation, instruction),):
                opcode = opcode_run(module, inner, operation)
                if opcode is not None:
                    sent = bytes_sent(module, inner, operation)
                    yield _Site(computation, instruction, opcode, inner, operation, pair, sent)


def _fused_in(site: _Site) -> str | None:
    """The fused computation in which it stands, None for what is no part of a fusion."""
    return site.inner.name if site.instruction.opcode == "fusion" else None


def _printed(module: Module, site: _Site) -> str | None:
    """The opcode that the text prints where what it comes to is inferred."""
    return site.operation.opcode if is_scattered(module, site.inner, site.operation) else None


def _wrapped_computations(
    module: Module, pairs: Mapping[tuple[str, str], AsyncPair]
) -> frozenset[str]:
    """Names of the computations that asynchronous starts run."""
    starts = (
        instruction
        for computation_name, start in pairs
        if (computation := module.get(computation_name)) is not None
        and (instruction := computation.get(start)) is not None
        and instruction.opcode in WRAPPERS
    )
    return frozenset(c.name for start in starts for c in called_by_start(module, start))


class _Traces:
    """Sites followed back through all texts, and source places found on the way."""

    def __init__(
        self, history: ModuleHistory, loops: Sequence[LoopHistory], differ: Differ
    ) -> None:
        self._history = history
        self._left = _MOST_TRACED
        self._repairer = SourceRepairer(history, loops)
        self.tracer = CollectiveTracer(history, loops, differ)

    def of(self, site: _Site) -> tuple[Sighting, ...]:
        """The site in all texts, the last first; nothing for what comes after very many."""
        if not self._left:
            return ()
        self._left -= 1
        return self.tracer.sightings(site.computation, site.instruction)

    def source_of(self, site: _Site, sightings: Sequence[Sighting]) -> Placed | None:
        """The place that a text states, the newest first; else one that is inferred."""
        last = len(self._history.dumps) - 1
        stated = source_of(self._history.last.module, site.operation)
        for dump, _, instruction in sightings or ((last, site.computation, site.instruction),):
            module = self._history.dumps[dump].module
            found = source_of(module, instruction) or stated
            if found is not None:
                how = "stated" if dump == last else "earlier_text"
                return Placed(found, dump, "renumbered" if is_renumbered(module) else how)
        return self._repairer.of(last, site.inner, site.operation) or self._repairer.of(
            last, site.computation, site.instruction
        )


def enclosing_loops(
    module: Module, loops: Sequence[LoopHistory], position: int
) -> dict[str, str | None]:
    """For each computation that runs in a while, the id of the nearest one around it.

    Reached through calls of all kinds; None for a while that `loops` does not know.
    """
    ids = {
        (here.computation.name, here.name): loop.id
        for loop in loops
        if (here := loop.occurrences.get(position)) is not None
    }
    found: dict[str, str | None] = {}
    for computation in module.computations:
        for instruction in computation.calling:
            if instruction.opcode == "while":
                for _, callee in module.callees(instruction):
                    found.setdefault(callee.name, ids.get((computation.name, instruction.name)))
    pending = list(found)
    for name in pending:
        computation = module.get(name)
        for instruction in () if computation is None else computation.calling:
            for _, callee in module.callees(instruction):
                if callee.name not in found:
                    found[callee.name] = found[name]
                    pending.append(callee.name)
    return found


class _Windows:
    """What runs while the collectives of the last text are on their way."""

    def __init__(
        self,
        module: Module,
        sites: Sequence[_Site],
        loops: Sequence[LoopHistory],
        position: int,
        device: Device | None,
    ) -> None:
        self._flops = FlopCounter(module)
        self._device = device
        self._reader: OverlapReader | None = None
        # A start that runs several collectives is one transfer.
        sent: Counter[tuple[str, str]] = Counter()
        pairs: dict[tuple[str, str], AsyncPair | None] = {}
        for site in sites:
            place = site.computation.name, site.instruction.name
            sent[place] += site.bytes
            pairs[place] = site.pair
        self._sent = sent
        if device is not None and module.header.is_scheduled:
            transfers = [Transfer(*place, sent[place], pair) for place, pair in pairs.items()]
            trips = known_trips(loops, position)
            self._reader = OverlapReader(module, device, transfers, trips)

    def waited(self, site: _Site) -> float | None:
        """Microseconds that a synchronous collective takes; None where no schedule tells."""
        is_async = site.pair is not None and not site.pair.is_sync
        if self._reader is None or self._device is None or is_async:
            return None
        return round(self._device.collective_seconds(site.bytes) * 1e6, 3) or None

    def of(self, site: _Site) -> Window | None:
        """The window of an asynchronous collective whose start and done stand in a schedule."""
        pair = site.pair
        if pair is None or pair.done is None or pair.between is None:
            return None
        between = [i for name in pair.between if (i := site.computation.get(name)) is not None]
        overlap = self._reader.of(site.computation, pair.start) if self._reader else None
        device = self._device if overlap else None
        return Window(
            start=pair.start,
            done=pair.done,
            instructions=len(between),
            flops=self._flops.of_instructions(site.computation, between),
            bytes=min(self._sent[site.computation.name, site.instruction.name], LARGEST_COUNT),
            in_flight=overlap.in_flight if overlap else (),
            hidden_us=round(overlap.hidden * 1e6, 3) if overlap else None,
            exposed_us=round(overlap.exposed * 1e6, 3) if overlap else None,
            device=device.name if device else None,
            device_assumed=device.is_assumed if device else False,
        )
