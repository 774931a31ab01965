"""What runs while asynchronous collectives are on their way, and how much of them that hides.

Plays a scheduled computation in its order on two clocks: one for computation, one for the links,
which carry one collective at a time. A done waits for its collective; what it waits is exposed, the
rest is hidden. Loops and calls inside take the time of their bodies, collectives in them included.
Times come from `cost_model.py` and are as rough as that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from app.analysis.cost_model import Device
from app.analysis.flops import FlopCounter
from app.analysis.opcodes import async_role
from app.analysis.touched import FREE, TouchReader
from app.model.facts import AsyncPair
from hlo_parser import Computation, Instruction, Module

_CALLS = frozenset({"call", "conditional", "while"})
_DEEPEST = 50
_MOST_IN_FLIGHT = 8
# Of more iterations only edited texts tell; the sum must stay a number.
_MOST_TRIPS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Overlap:
    """Of one asynchronous collective: seconds behind computation and seconds waited for it.

    `in_flight` are the starts of other collectives that were on their way too, the first few.
    """

    hidden: float
    exposed: float
    in_flight: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Transfer:
    """A collective as its computation schedules it: its start or, without `pair`, all of it."""

    computation: str
    instruction: str
    bytes: int
    pair: AsyncPair | None

    @property
    def has_window(self) -> bool:
        """Whether its done stands behind its start in the same schedule."""
        pair = self.pair
        return pair is not None and not pair.is_sync and pair.between is not None


class _Timeline:
    """The two clocks of one computation; `flying` says when each transfer will have arrived."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._links = 0.0
        self._met: dict[str, list[str]] = {}
        # Those in flight that do not yet name as many others as are shown.
        self._wanting: dict[str, None] = {}
        self.clock = 0.0
        self.flying: dict[str, float] = {}

    def begin(self, transfer: Transfer) -> None:
        """Sends it when the links are free; one without a window is waited for at once."""
        name = transfer.instruction
        self._links = max(self.clock, self._links)
        self._links += self._device.collective_seconds(transfer.bytes)
        for other in tuple(self._wanting):
            self._met[other].append(name)
            if len(self._met[other]) == _MOST_IN_FLIGHT:
                del self._wanting[other]
        if transfer.has_window:
            self._met[name] = list(islice(self.flying, _MOST_IN_FLIGHT))
            if len(self._met[name]) < _MOST_IN_FLIGHT:
                self._wanting[name] = None
            self.flying[name] = self._links
        else:
            self.clock = self._links

    def finish(self, transfer: Transfer) -> Overlap:
        """Waits for its arrival."""
        name = transfer.instruction
        arrival = self.flying.pop(name)
        self._wanting.pop(name, None)
        seconds = self._device.collective_seconds(transfer.bytes)
        exposed = min(max(0.0, arrival - self.clock), seconds)
        self.clock = max(self.clock, arrival)
        return Overlap(seconds - exposed, exposed, tuple(self._met.pop(name)))


class OverlapReader:
    """Plays the computations of one scheduled module.

    `trips` are those of loops, by the names of their computation and of themselves.
    """

    def __init__(
        self,
        module: Module,
        device: Device,
        transfers: Sequence[Transfer],
        trips: Mapping[tuple[str, str], int | None],
    ) -> None:
        self._module = module
        self._device = device
        self._trips = trips
        self._flops = FlopCounter(module)
        self._transfers: dict[str, dict[str, Transfer]] = {}
        for transfer in transfers:
            self._transfers.setdefault(transfer.computation, {})[transfer.instruction] = transfer
        self._played: dict[str, float] = {}
        self._overlaps: dict[tuple[str, str], Overlap] = {}
        self._touched = TouchReader(module)

    def of(self, computation: Computation, start: str) -> Overlap | None:
        """The overlap of the collective that `start` begins; None where no window is known."""
        self._play(computation, 0)
        return self._overlaps.get((computation.name, start))

    def _play(self, computation: Computation, depth: int) -> float:
        """Seconds of one run; remembers the overlaps on the way."""
        known = self._played.get(computation.name)
        if known is not None:
            return known
        # What calls itself, or lies deeper than any program, takes no time.
        self._played[computation.name] = 0.0
        transfers = self._transfers.get(computation.name, {})
        dones = {
            t.pair.done: t for t in transfers.values() if t.pair and t.pair.done and t.has_window
        }
        line = _Timeline(self._device)
        for instruction in computation.instructions:
            transfer = transfers.get(instruction.name)
            finished = dones.get(instruction.name)
            if transfer is not None:
                line.begin(transfer)
            elif finished is not None and finished.instruction in line.flying:
                key = computation.name, finished.instruction
                self._overlaps[key] = line.finish(finished)
            else:
                line.clock += self._seconds(computation, instruction, depth)
        self._played[computation.name] = line.clock
        return line.clock

    def _seconds(self, computation: Computation, instruction: Instruction, depth: int) -> float:
        opcode = instruction.opcode
        if opcode in FREE or async_role(opcode) in ("update", "done"):
            return 0.0
        if opcode in _CALLS:
            if depth >= _DEEPEST:
                return 0.0
            called = [
                self._play(callee, depth + 1)
                for role, callee in self._module.callees(instruction)
                if role != "condition"
            ]
            if opcode == "conditional":
                return max(called, default=0.0)
            trips = self._trips.get((computation.name, instruction.name)) or 1
            return sum(called) * min(trips, _MOST_TRIPS)
        flops = self._flops.of_instruction(computation, instruction) or 0
        return self._device.compute_seconds(flops, self._touched.of(computation, instruction))
