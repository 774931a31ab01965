"""One instruction and its attribute list, as values shared by equal text.

An `Instruction` knows neither its line number nor its computation nor its module: the same
object stands wherever the same text stands. Parts are cut when the line is read; typed values
are made when first asked for and kept. Nothing here reads whole lines (see `lines.py`).
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hlo_parser import patterns, values
from hlo_parser.comments import pairs_in
from hlo_parser.groups import ReplicaGroups
from hlo_parser.possessive import compile_pattern
from hlo_parser.value_forms import squeezed
from hlo_parser.values import Callee, Literal, Metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hlo_parser.grammar import InstructionParts
    from hlo_parser.shapes import Shape
    from hlo_parser.value_pool import ValuePool

_EMPTY: Mapping[str, str] = MappingProxyType({})
_TAKES_NOTHING = frozenset({"parameter", "constant"})
_NO_PATHS: dict[int, tuple[tuple[int, ...], ...]] = {n: ((),) * n for n in range(5)}
# Most instructions of any module, none of which takes a computation (hlo_parser.cc,
# CreateInstruction): their attributes need not be cut to know that.
_CALLS_NOTHING = frozenset(
    "abs add and bitcast bitcast-convert broadcast compare concatenate constant convert copy "
    "copy-done copy-start cosine divide dot dynamic-slice dynamic-update-slice exponential floor "
    "gather get-tuple-element iota log maximum minimum multiply negate not or pad parameter "
    "partition-id power remainder replica-id reshape rsqrt select sine slice sqrt subtract tanh "
    "transpose tuple all-gather all-gather-start all-gather-done all-reduce-done "
    "collective-permute collective-permute-start collective-permute-done".split()
)
_READERS: dict[str, tuple[str, Callable[[str], object]]] = {
    "control-predecessors": ("control_predecessors", values.names_from_text),
    "source_target_pairs": ("source_target_pairs", values.pairs_from_text),
    "dimensions": ("dimensions", values.ints_from_text),
    "channel_id": ("channel_id", values.int_from_text),
    "custom_call_target": ("custom_call_target", values.unquote),
    "frontend_attributes": ("frontend_attributes", values.frontend_attributes_from_text),
}
_PLAIN_CALLEE = compile_pattern(
    rf", ({'|'.join(sorted(values.CALLEE_KEYS))})=(?:%?+({patterns.NAME})(?=,|$))?+", re.ASCII
)


class AttributeList:
    """Everything after the operands of a line; equal text is one object within an interner."""

    __slots__ = (
        "_is_plain",
        "_pool",
        "backend_config",
        "callees",
        "channel_id",
        "control_predecessors",
        "custom_call_target",
        "dimensions",
        "frontend_attributes",
        "metadata",
        "raw",
        "replica_groups",
        "source_target_pairs",
        "text",
    )

    text: str
    """As printed, `, key=value, key=value`; proved to be closed."""
    raw: Mapping[str, str]
    """Raw text of each value by key, in printed order."""
    callees: tuple[Callee, ...]
    """Called computations, in printed order."""
    control_predecessors: tuple[str, ...]
    """Names in `control-predecessors`."""
    metadata: Metadata | None
    """What `metadata={...}` says; None without it."""
    backend_config: object
    """Parsed JSON, else the unescaped string, else None."""
    frontend_attributes: Mapping[str, str]
    """Values by key, quoted ones unescaped."""
    replica_groups: ReplicaGroups | None
    """Which devices take part together; None without the attribute."""
    source_target_pairs: tuple[tuple[int, int], ...]
    """Pairs of device ids of a collective-permute."""
    channel_id: int | None
    dimensions: tuple[int, ...]
    custom_call_target: str | None

    def __init__(
        self,
        text: str,
        pool: ValuePool,
        raw: dict[str, str] | None = None,
        is_plain: bool = False,
    ) -> None:
        """`raw` is given when the text is not in XLA's own spelling.

        `is_plain` is for what `patterns.plain_attribute_list` takes: it is cut half as fast again.
        """
        self.text = text
        self._pool = pool
        self._is_plain = is_plain
        if raw is not None:
            self.raw = MappingProxyType(raw)

    if not TYPE_CHECKING:
        # Reached for a slot that is still empty, once: after that all are plain slots, which are
        # read three times as fast as properties that look whether a value is there.
        def __getattr__(self, name: str) -> object:
            if name == "raw":
                raw = self.raw = MappingProxyType(self._cut())
                return raw
            if name == "callees":
                found = _plain_callees(self.text)
                made = self.callees = _callees(self.raw) if found is None else found
                return made
            if name not in AttributeList.__slots__:
                raise AttributeError(name, name=name, obj=self)
            self._type_all()
            return getattr(self, name)

    def _cut(self) -> dict[str, str]:
        if self._is_plain:
            return dict(patterns.plain_attribute.findall(self.text))
        return {key[:-1]: value for key, value in pairs_in(self.text, patterns.attribute)}

    def _type_all(self) -> None:
        pool = self._pool
        metadata = config = groups = None
        others: dict[str, Any] = {}
        # Most lists hold two attributes, one of them the metadata.
        for key, text in self.raw.items():
            if key == "metadata":
                metadata = pool.typed_metadata(text)
            elif key == "backend_config":
                config = pool.typed_config(text)
            elif key == "replica_groups":
                groups = pool.typed_groups(text)
            elif key in _READERS and text:
                name, read = _READERS[key]
                others[name] = read(text)
        # Each slot is filled once, with what it keeps: other threads may read it meanwhile.
        self.metadata, self.backend_config, self.replica_groups = metadata, config, groups
        if others:
            take = others.get
            self.control_predecessors = take("control_predecessors", ())
            self.source_target_pairs = take("source_target_pairs", ())
            self.dimensions = take("dimensions", ())
            self.channel_id = take("channel_id")
            self.custom_call_target = take("custom_call_target")
            self.frontend_attributes = take("frontend_attributes", _EMPTY)
        else:
            self.control_predecessors = self.source_target_pairs = self.dimensions = ()
            self.channel_id = self.custom_call_target = None
            self.frontend_attributes = _EMPTY


def _plain_callees(text: str) -> tuple[Callee, ...] | None:
    """Names that plainly stand as values of an attribute list; None when that is not certain."""
    found: list[Callee] = []
    for match in _PLAIN_CALLEE.finditer(text):
        start = match.start()
        is_inside = text.count("{", 0, start) != text.count("}", 0, start)
        if match[2] is None or is_inside or '"' in text[:start]:
            return None
        found.append(Callee(match[1], match[2]))
    return tuple(found)


def _callees(raw: Mapping[str, str]) -> tuple[Callee, ...]:
    if raw.keys().isdisjoint(values.CALLEE_KEYS):
        return ()
    return tuple(
        [
            Callee(key, name)
            for key, text in raw.items()
            if key in values.CALLEE_KEYS
            for name in values.names_from_text(text)
        ]
    )


class Instruction:
    """One instruction line; immutable, shared by equal text."""

    __slots__ = (
        "arguments",
        "attribute_list",
        "callees",
        "is_root",
        "name",
        "opcode",
        "operand_paths",
        "operands",
        "shape",
        "text",
    )

    text: str
    """The instruction as printed, without surrounding white space."""
    name: str
    """Without `%`."""
    opcode: str
    is_root: bool
    shape: Shape
    """The result shape; its text is empty where the line prints none."""
    attribute_list: AttributeList
    arguments: str
    """Raw text between the parentheses behind the opcode."""
    operands: tuple[str, ...]
    """Operand names in order, without `%` and `#path`; none for parameter and constant."""
    operand_paths: tuple[tuple[int, ...], ...]
    """Per operand, the tuple elements taken from it: `%t#1#0` gives (1, 0), plain gives ()."""
    callees: tuple[Callee, ...]
    """Called computations in printed order; bodies printed in place have no name and none."""

    def __init__(
        self,
        text: str,
        is_root: bool,
        name: str,
        shape: Shape,
        opcode: str,
        attribute_list: AttributeList,
        arguments: str,
    ) -> None:
        self.text = text
        self.is_root = is_root
        self.name = name
        self.shape = shape
        self.opcode = opcode
        self.attribute_list = attribute_list
        self.arguments = arguments

    if not TYPE_CHECKING:
        # As in AttributeList: what is asked for stays, and is read as a plain slot from then on.
        def __getattr__(self, name: str) -> object:
            if name == "operands":
                self._cut_operands()
                if self.opcode in _CALLS_NOTHING:
                    # An empty slot that is asked for costs as much as cutting the operands.
                    self.callees = ()
                return self.operands
            if name == "callees":
                is_free = self.opcode in _CALLS_NOTHING
                made = self.callees = () if is_free else self.attribute_list.callees
                return made
            if name == "operand_paths":
                made = self.operand_paths = self._paths()
                return made
            raise AttributeError(name, name=name, obj=self)

    def _cut_operands(self) -> None:
        arguments = self.arguments
        if not arguments or self.opcode in _TAKES_NOTHING:
            self.operands = self.operand_paths = ()
        elif "[" in arguments or "(" in arguments or "/" in arguments or "#" in arguments:
            # Shapes, `/*index=5*/`, paths.
            self.operands = tuple([name for name, _ in patterns.operand.findall(arguments)])
        else:
            # Nothing but names, as most texts print them.
            names = self.operands = tuple(arguments.replace("%", "").split(", "))
            self.operand_paths = _NO_PATHS.get(len(names)) or ((),) * len(names)

    def _paths(self) -> tuple[tuple[int, ...], ...]:
        count = len(self.operands)
        if count and "#" in self.arguments:
            return tuple([_path(path) for _, path in patterns.operand.findall(self.arguments)])
        return _NO_PATHS.get(count, ((),) * count)

    @classmethod
    def from_parts(
        cls, text: str, parts: InstructionParts, shape: Shape, attribute_list: AttributeList
    ) -> Instruction:
        """An instruction whose text is not in XLA's own spelling, as the grammar cut it."""
        made = cls(
            text, parts.is_root, parts.name, shape, parts.opcode, attribute_list, parts.arguments
        )
        made.operands = parts.operands
        made.operand_paths = parts.operand_paths
        return made

    def __repr__(self) -> str:
        return f"<Instruction {self.name} = {self.opcode}>"

    @property
    def attributes(self) -> Mapping[str, str]:
        """Raw text of every attribute value by key, in printed order."""
        return self.attribute_list.raw

    @property
    def control_predecessors(self) -> tuple[str, ...]:
        """Names that may be missing from the text: see README, known gaps."""
        return self.attribute_list.control_predecessors

    @property
    def metadata(self) -> Metadata | None:
        """What `metadata={...}` says; None without it."""
        return self.attribute_list.metadata

    @property
    def backend_config(self) -> object:
        """The parsed JSON, quoted or raw; the unescaped string when it is no JSON; else None."""
        return self.attribute_list.backend_config

    @property
    def frontend_attributes(self) -> Mapping[str, str]:
        """Values by key: quoted ones unescaped, JSON as printed."""
        return self.attribute_list.frontend_attributes

    @property
    def replica_groups(self) -> ReplicaGroups | None:
        """Which devices take part together; None without the attribute."""
        return self.attribute_list.replica_groups

    @property
    def source_target_pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of device ids of a collective-permute, in printed order."""
        return self.attribute_list.source_target_pairs

    @property
    def channel_id(self) -> int | None:
        """None without the attribute; may be negative or shared by several instructions."""
        return self.attribute_list.channel_id

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The `dimensions={...}` attribute, not those of the shape; () without it."""
        return self.attribute_list.dimensions

    @property
    def sharding(self) -> str | None:
        """Raw text, with its braces."""
        return self.attribute_list.raw.get("sharding")

    @property
    def custom_call_target(self) -> str | None:
        """Unescaped; None for other opcodes."""
        return self.attribute_list.custom_call_target

    @property
    def tuple_index(self) -> int | None:
        """Which element a get-tuple-element takes; None for other opcodes."""
        return self.attribute_int("index") if self.opcode == "get-tuple-element" else None

    @property
    def parameter_number(self) -> int | None:
        """0-based; None for other opcodes."""
        if self.opcode != "parameter":
            return None
        text = self.arguments
        return values.int_from_text(squeezed(text) if "/" in text else text)

    @property
    def literal(self) -> Literal | None:
        """The value of a constant; None for other opcodes."""
        if self.opcode != "constant":
            return None
        shape = self.shape
        return Literal(self.arguments, shape.element_type if not shape.dimensions else "")

    def attribute_int(self, key: str) -> int | None:
        """The value of an integer attribute, None when absent or no integer."""
        text = self.attribute_list.raw.get(key)
        return None if text is None else values.int_from_text(text)


def _path(text: str) -> tuple[int, ...]:
    return tuple([int(step[:18]) for step in text[1:].split("#")]) if text else ()
