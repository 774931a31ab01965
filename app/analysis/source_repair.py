"""The place of any instruction of a text, stated or inferred, with the reason; and a count of them.

Goes further than `placed_source`, which takes only what speaks for the instruction itself: what
passes put in (copies, conversions, broadcasts of a constant) gets the place of what it hands on or
is made for, and what stands inside a fusion that of the fusion. Each such place is marked with how
it was found, and none is better than the reason says. Given a history and its loops.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from app.analysis.sources import Namesakes, Placed, placed_source
from app.model.dump import ModuleHistory
from app.model.facts import LoopHistory
from app.model.source import SourceCoverage, SourceHow
from hlo_parser import Computation, Instruction

# What gives its operand on, converted or laid out differently at most; `-done` ends what a start
# began with it.
_HANDS_ON = frozenset(
    {
        "all-gather",
        "all-reduce",
        "all-to-all",
        "bitcast",
        "bitcast-convert",
        "broadcast",
        "collective-permute",
        "convert",
        "copy",
        "copy-start",
        "get-tuple-element",
        "opt-barrier",
        "pad",
        "reduce-scatter",
        "reshape",
        "slice",
        "transpose",
    }
)
# What is made for whoever uses it.
_MADE_FOR_USERS = frozenset({"broadcast", "constant", "iota"})
# What is written elsewhere than the lines of the program that it runs.
_RUNS_MANY_LINES = frozenset({"call", "conditional", "while"})
_MOST_HOPS = 8
_MOST_USERS = 50
_SHOWN_OPCODES = 12


def source_coverage(
    history: ModuleHistory, repairer: "SourceRepairer | None" = None
) -> tuple[SourceCoverage, ...]:
    """That of the first text and of the last, or of the only one."""
    repairer = repairer or SourceRepairer(history)
    return tuple(map(repairer.coverage, dict.fromkeys((0, len(history.dumps) - 1))))


class SourceRepairer:
    """Finds places in the texts of one history."""

    def __init__(self, history: ModuleHistory, loops: Sequence[LoopHistory] = ()) -> None:
        self._history = history
        self._loops = loops
        self._namesakes = Namesakes(history)
        self._known: dict[tuple[int, Computation, str], Placed | None] = {}

    def of(
        self, position: int, computation: Computation, instruction: Instruction
    ) -> Placed | None:
        """The place of an instruction of the text at `position`; None where nothing tells it."""
        own = self._own(position, computation, instruction)
        if own is not None:
            return own
        return next(self.around(position, computation, instruction), None)

    def around(
        self, position: int, computation: Computation, instruction: Instruction
    ) -> Iterator[Placed]:
        """The places that what stands around an instruction suggests, the best first."""
        operand = self._of_operand(position, computation, instruction)
        if operand is not None:
            yield operand
        users = self._of_users(position, computation, instruction)
        if users is not None:
            yield users
        caller = self._of_caller(position, computation)
        if caller is not None:
            yield caller

    def coverage(self, position: int) -> SourceCoverage:
        """How many instructions of the text at `position` have a place, by how it is known."""
        found: Counter[SourceHow] = Counter()
        without: Counter[str] = Counter()
        for computation in self._history.dumps[position].module.computations:
            for instruction in computation.instructions:
                placed = self.of(position, computation, instruction)
                if placed is None:
                    without[instruction.opcode] += 1
                else:
                    found[placed.how] += 1
        stated = found.pop("stated", 0)
        return SourceCoverage(
            dump=position,
            instructions=stated + found.total() + without.total(),
            stated=stated,
            inferred=dict(sorted(found.items())),
            none=without.total(),
            none_opcodes=dict(
                sorted(without.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN_OPCODES]
            ),
        )

    # ---- what speaks for the instruction itself --------------------------------------------------

    def _own(
        self, position: int, computation: Computation, instruction: Instruction
    ) -> Placed | None:
        key = position, computation, instruction.name
        if key not in self._known:
            self._known[key] = self._read(position, computation, instruction)
        return self._known[key]

    def _read(
        self, position: int, computation: Computation, instruction: Instruction
    ) -> Placed | None:
        return placed_source(
            self._history, position, computation, instruction, self._loops, self._namesakes
        )

    # ---- what speaks for its surroundings --------------------------------------------------------

    def _of_operand(
        self, position: int, computation: Computation, instruction: Instruction
    ) -> Placed | None:
        """The place of the value that an instruction hands on."""
        here: Instruction | None = instruction
        for _ in range(_MOST_HOPS):
            if here is None or not here.operands or not _hands_on(here):
                return None
            here = computation.get(here.operands[0])
            found = None if here is None else self._own(position, computation, here)
            if found is not None:
                return Placed(found.source, found.dump, "operand")
        return None

    def _of_users(
        self, position: int, computation: Computation, instruction: Instruction
    ) -> Placed | None:
        """The one line that all nearest users are of."""
        level = [instruction]
        for _ in range(_MOST_HOPS):
            users = dict.fromkeys(
                user
                for here in level
                if here.opcode in _MADE_FOR_USERS
                for user in computation.users.get(here.name, ())
            )
            if not 0 < len(users) <= _MOST_USERS:
                return None
            found = [self._own(position, computation, user) for user in users]
            if any(found):
                return _agreed(found, "users")
            level = list(users)
        return None

    def _of_caller(self, position: int, computation: Computation) -> Placed | None:
        """The one line of what runs the computation: a fusion, a reduction, an async call."""
        module = self._history.dumps[position].module
        for _ in range(_MOST_HOPS):
            callers = module.callers(computation.name)
            opcodes = {instruction.opcode for _, instruction in callers}
            if not 0 < len(callers) <= _MOST_USERS or opcodes & _RUNS_MANY_LINES:
                return None
            found = [self._own(position, *caller) for caller in callers]
            if any(found):
                return _agreed(found, "caller")
            computation = callers[0][0]
        return None


def _hands_on(instruction: Instruction) -> bool:
    return instruction.opcode in _HANDS_ON or instruction.opcode.endswith("-done")


def _agreed(found: Iterable[Placed | None], how: SourceHow) -> Placed | None:
    """The place that all have who have any; None where they are of several lines."""
    places = [placed for placed in found if placed is not None]
    lines = {(placed.source.file, placed.source.line) for placed in places}
    return Placed(places[0].source, places[0].dump, how) if len(lines) == 1 else None
