"""A digest of a module that says what is computed, and nothing of how it is called.

Two texts have one digest when they hold the same graphs: opcodes, shapes with layouts, literals,
attributes, who uses what, what is called; and, where a text is scheduled, the order in which it
runs. Names, metadata, frame numbers, the numbers of channels, paths (also those inside kernels,
see `canonical_payload`), the order of an unscheduled text and fingerprints that XLA prints of its
own make no difference. Constants whose values are not printed count as equal. What the entry does
not reach does not count; text that was not understood counts as it stands. Digests are stable
across processes and may be kept.

How a release spells a thing makes no difference either, as far as that is known: elements of tuples
(`%t#2` or a get-tuple-element), and attributes (see `canonical_attributes`). One module printed by
two releases has one digest; one program compiled by two may well be two graphs.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import blake2b
from typing import NamedTuple

from app.analysis.canonical_attributes import Setting, counted_attributes, header_attributes, plain
from app.analysis.fingerprints import immediate
from hlo_parser import Computation, Instruction, Module

Digest = bytes

DIGEST_BYTES = 16
_DIGEST = partial(blake2b, digest_size=DIGEST_BYTES)

_NOTHING = bytes(DIGEST_BYTES)
# Elements of elements are seen through so far; real tuples lie in one another twice or so.
_DEEPEST = 32
# Opcodes whose callees run in the order of a schedule; bodies of fusions and reducers have none.
_SCHEDULED_CALLERS = frozenset({"async-start", "call", "conditional", "while"})


@dataclass(frozen=True, slots=True)
class CanonicalComputation:
    """One computation in one module.

    `steps` are its instructions but for elements of tuples, in text order; `digests` say of each
    what it does with which operands, callees included, and `own` the same without the callees'
    insides. `is_ordered` says that its order is a schedule. `channels` are the numbers of channels
    with the digests of the steps that have them.
    """

    computation: Computation
    digest: Digest
    steps: tuple[Instruction, ...]
    digests: tuple[Digest, ...]
    own: tuple[Digest, ...]
    is_ordered: bool
    channels: tuple[tuple[int, Digest], ...]


@dataclass(frozen=True, slots=True)
class CanonicalModule:
    """A module and what its computations are, by name."""

    module: Module
    digest: Digest
    computations: Mapping[str, CanonicalComputation]

    @property
    def text(self) -> str:
        """The digest as hexadecimal digits."""
        return self.digest.hex()


class Canonicalizer:
    """Makes digests; one for all texts of a dump, which share computations and instructions."""

    def __init__(self) -> None:
        self._signatures: dict[tuple[Instruction, Setting], Digest] = {}
        self._computations: dict[tuple[object, ...], CanonicalComputation] = {}
        self._calls: dict[Computation, _Calls] = {}

    def of_module(self, module: Module) -> CanonicalModule:
        """What the module is."""
        setting = Setting.of(module.header)
        scheduled: frozenset[str] = frozenset()
        if module.header.is_scheduled:
            scheduled = self._reached(module, in_schedule=True)
        found: dict[str, CanonicalComputation] = {}
        for computation in self._callees_first(module):
            callees = tuple(
                found[name].digest if name in found else _NOTHING
                for name in self._calls_of(computation).names
            )
            ordered = computation.name in scheduled
            key = (computation, ordered, setting, callees)
            known = self._computations.get(key)
            if known is None:
                known = self._of_computation(module, setting, computation, ordered, found)
                self._computations[key] = known
            found[computation.name] = known
        reached = self._reached(module)
        # What nothing calls is dead, unless it was called by a line that was not understood.
        counted = found.keys() if module.unparsed else reached
        digest = _of(
            _text(repr(sorted(header_attributes(module.header).items()))),
            found[module.entry.name].digest,
            *sorted(found[name].digest for name in counted - reached),
            _NOTHING,
            *(_text(gap.text) for gap in module.unparsed),
            _NOTHING,
            *_shared_channels(found[name] for name in counted if name in found),
        )
        return CanonicalModule(module, digest, found)

    def _of_computation(
        self,
        module: Module,
        setting: Setting,
        computation: Computation,
        ordered: bool,
        found: Mapping[str, CanonicalComputation],
    ) -> CanonicalComputation:
        graph = _Graph(computation)
        signatures = [self._signature(module, setting, step) for step in graph.steps]
        of_all = graph.by_position if ordered else graph.by_operands
        own = digests = of_all(signatures)
        if self._calls_of(computation).names:
            signatures = [
                _of(own, *(found[c.name].digest if c.name in found else own for c in step.callees))
                if step.callees
                else own
                for own, step in zip(signatures, graph.steps, strict=True)
            ]
            digests = of_all(signatures)
        body = digests
        if not ordered:
            # Steps that nothing before them tells apart are told apart by what uses them.
            if len(set(digests)) < len(digests):
                body = tuple(map(_of, digests, graph.by_users(signatures)))
            body = sorted(body)
        result = _part(graph.root if ordered else 0, graph.root_path)
        root = digests[graph.root] if graph.root >= 0 else _NOTHING
        thread = _text(computation.execution_thread)
        return CanonicalComputation(
            computation=computation,
            digest=_of(thread, root, result, *body),
            steps=graph.steps,
            digests=digests,
            own=own,
            is_ordered=ordered,
            channels=tuple(
                (step.channel_id, digest)
                for step, digest in zip(graph.steps, own, strict=True)
                if "channel_id" in step.attribute_list.text and step.channel_id is not None
            ),
        )

    def _signature(self, module: Module, setting: Setting, instruction: Instruction) -> Digest:
        """What an instruction does, operands, callees and control edges aside."""
        key = (instruction, setting)
        known = self._signatures.get(key)
        if known is None:
            found = _signature(module, setting, instruction)
            known = self._signatures[key] = _text(repr(found))
        return known

    def _calls_of(self, computation: Computation) -> "_Calls":
        known = self._calls.get(computation)
        if known is None:
            calls = [
                (callee.name, instruction.opcode in _SCHEDULED_CALLERS)
                for instruction in computation.instructions
                for callee in instruction.callees
            ]
            known = self._calls[computation] = _Calls(
                tuple(name for name, _ in calls), tuple(name for name, kept in calls if kept)
            )
        return known

    def _reached(self, module: Module, *, in_schedule: bool = False) -> frozenset[str]:
        """Names that the entry reaches, or reaches through calls that keep a schedule."""
        found = {module.entry.name}
        pending = [module.entry]
        while pending:
            calls = self._calls_of(pending.pop())
            for name in calls.scheduled if in_schedule else calls.names:
                callee = module.get(name)
                if callee is not None and name not in found:
                    found.add(name)
                    pending.append(callee)
        return frozenset(found)

    def _callees_first(self, module: Module) -> Iterator[Computation]:
        """The computations that names find, each after all it calls; circles are cut."""
        entered: set[str] = set()
        left: set[str] = set()
        for root in module.computations:
            pending = [] if root.name in left else [root]
            while pending:
                here = pending[-1]
                if here.name not in entered:
                    entered.add(here.name)
                    found = (module.get(name) for name in self._calls_of(here).names)
                    pending += [c for c in found if c is not None and c.name not in entered]
                    continue
                pending.pop()
                if here.name not in left:
                    left.add(here.name)
                    yield here


class _Calls(NamedTuple):
    """Names that a computation calls, and those of them that run in its schedule."""

    names: tuple[str, ...]
    scheduled: tuple[str, ...]


def module_digest(module: Module) -> str:
    """The digest of one module as hexadecimal digits; see `Canonicalizer` for many."""
    return Canonicalizer().of_module(module).text


# ---- one instruction ----------------------------------------------------------------------------


def _signature(module: Module, setting: Setting, instruction: Instruction) -> tuple[object, ...]:
    return (
        instruction.opcode,
        plain(instruction.shape.text),
        immediate(instruction),
        tuple(callee.role for callee in instruction.callees),
        (instruction.channel_id or 0) > 0,
        sorted(counted_attributes(module, setting, instruction).items()),
    )


def _text(text: str) -> Digest:
    return _DIGEST(text.encode("utf-8", "surrogatepass")).digest()


def _of(*parts: Digest) -> Digest:
    """One digest of several."""
    return _DIGEST(b"".join(parts)).digest()


@lru_cache(maxsize=1 << 16)
def _part(number: int, path: tuple[int, ...]) -> Digest:
    return _text(repr((number, path)))


# ---- one computation ----------------------------------------------------------------------------


class _Graph:
    """The instructions of a computation by position, elements of tuples seen through."""

    def __init__(self, computation: Computation) -> None:
        self._places: dict[str, tuple[int, tuple[int, ...]]] = {}
        steps: list[Instruction] = []
        operands: list[tuple[tuple[int, tuple[int, ...]], ...]] = []
        for instruction in _operands_first(computation):
            taken = tuple(map(self._place, instruction.operands, instruction.operand_paths))
            index = instruction.tuple_index
            position, path = taken[0] if len(taken) == 1 else (-1, ())
            if index is not None and len(taken) == 1 and len(path) < _DEEPEST:
                self._places.setdefault(instruction.name, (position, (*path, index)))
                continue
            self._places.setdefault(instruction.name, (len(steps), ()))
            steps.append(instruction)
            operands.append(taken)
        self.steps = tuple(steps)
        self._operands = operands
        self.root, self.root_path = self._place(computation.root.name, ())

    def _place(self, name: str, path: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """Step and path of a value; -1 for a name that the text has not given so far."""
        position, inner = self._places.get(name, (-1, ()))
        return position, (*inner, *path) if path else inner

    def _waits_for(self, step: Instruction) -> list[int]:
        return sorted(self._place(name, ())[0] for name in step.control_predecessors)

    def by_position(self, signatures: Sequence[Digest]) -> tuple[Digest, ...]:
        """Each step with the positions of what it uses and waits for."""
        return tuple(
            _of(
                signature,
                *(_part(position, path) for position, path in operands),
                *(_of(_part(position, ())) for position in self._waits_for(step)),
            )
            for signature, operands, step in zip(
                signatures, self._operands, self.steps, strict=True
            )
        )

    def by_operands(self, signatures: Sequence[Digest]) -> tuple[Digest, ...]:
        """Each step with the graph of what it uses; what it waits for counts for itself alone."""
        graphs: list[Digest] = []
        for signature, operands in zip(signatures, self._operands, strict=True):
            parts = [signature]
            for position, path in operands:
                parts.append(graphs[position] if position >= 0 else _NOTHING)
                if path:
                    parts.append(_part(0, path))
            graphs.append(_of(*parts))
        return tuple(
            _of(graph, *sorted(graphs[p] if p >= 0 else _NOTHING for p in self._waits_for(step)))
            if step.control_predecessors
            else graph
            for graph, step in zip(graphs, self.steps, strict=True)
        )

    def by_users(self, signatures: Sequence[Digest]) -> tuple[Digest, ...]:
        """Each step with the graph of what uses it, and as which operand."""
        users: list[list[Digest]] = [[] for _ in self.steps]
        graphs = [_NOTHING] * len(self.steps)
        for position in reversed(range(len(self.steps))):
            is_root = position == self.root
            here = _of(signatures[position], _part(is_root, ()), *sorted(users[position]))
            graphs[position] = here
            for number, (operand, path) in enumerate(self._operands[position]):
                if operand >= 0:
                    users[operand].append(_of(here, _part(number, path)))
        return tuple(graphs)


def _operands_first(computation: Computation) -> Sequence[Instruction]:
    """The instructions in text order, but none before its operands.

    jaxlib 0.4.30 prints collectives of one channel together, though some may use what stands below.
    """
    given: set[str] = set()
    for instruction in computation.instructions:
        if not given.issuperset(instruction.operands):
            break
        given.add(instruction.name)
    else:
        return computation.instructions
    by_name = {each.name: each for each in computation.instructions}
    entered: set[str] = set()
    found: dict[str, Instruction] = {}
    for root in computation.instructions:
        pending = [root]
        while pending:
            here = pending[-1]
            if here.name not in entered:
                entered.add(here.name)
                operands = (by_name[name] for name in reversed(here.operands) if name in by_name)
                pending += [each for each in operands if each.name not in entered]
                continue
            pending.pop()
            found.setdefault(here.name, here)
    # Of several of one name each stays a step.
    return [*found.values(), *(i for i in computation.instructions if found[i.name] is not i)]


# ---- one module ---------------------------------------------------------------------------------


def _shared_channels(computations: Iterable[CanonicalComputation]) -> list[Digest]:
    """Which instructions have one channel, whatever its number."""
    sites: defaultdict[int, list[Digest]] = defaultdict(list)
    for computation in computations:
        for channel, digest in computation.channels:
            sites[channel].append(digest)
    return sorted(_of(*sorted(site)) for site in sites.values() if len(site) > 1)


def elided_constants(module: Module) -> int:
    """Constants of which the text does not print the values: they count as equal."""
    literals = (i.literal for c in module.computations for i in c.instructions)
    return sum(literal is not None and literal.is_elided for literal in literals)
