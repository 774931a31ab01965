"""One instruction and its attribute list, as values shared by equal text.

An `Instruction` knows neither its line number nor its computation nor its module: the same
object stands wherever the same text stands. Parts are cut when the line is read; typed values
are made when first asked for and kept. Nothing here reads whole lines (see `lines.py`).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from hlo_parser import patterns, values
from hlo_parser.groups import ReplicaGroups
from hlo_parser.values import Callee, Literal, Metadata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hlo_parser.grammar import InstructionParts
    from hlo_parser.shapes import Shape

_EMPTY: Mapping[str, str] = MappingProxyType({})


class ValuePool:
    """Typed attribute values by their raw text, shared by all attribute lists of an interner."""

    __slots__ = ("configs", "groups", "metadata")

    def __init__(self) -> None:
        self.metadata: dict[str, Metadata] = {}
        self.configs: dict[str, object] = {}
        self.groups: dict[str, ReplicaGroups] = {}


class AttributeList:
    """Everything after the operands of a line; equal text is one object within an interner."""

    __slots__ = (
        "_callees",
        "_control_predecessors",
        "_frontend_attributes",
        "_metadata",
        "_pool",
        "_raw",
        "_source_target_pairs",
        "text",
    )

    text: str
    """As printed, `, key=value, key=value`; proved to be closed."""

    def __init__(self, text: str, pool: ValuePool, raw: dict[str, str] | None = None) -> None:
        """`raw` is given when the text is not in XLA's own spelling."""
        self.text = text
        self._pool = pool
        self._raw: Mapping[str, str] | None = None if raw is None else MappingProxyType(raw)
        self._callees: tuple[Callee, ...] | None = None
        self._control_predecessors: tuple[str, ...] | None = None
        self._frontend_attributes: Mapping[str, str] | None = None
        self._metadata: Metadata | None = None
        self._source_target_pairs: tuple[tuple[int, int], ...] | None = None

    @property
    def raw(self) -> Mapping[str, str]:
        """Raw text of each value by key, in printed order."""
        raw = self._raw
        if raw is None:
            found = patterns.attribute.findall(self.text)
            raw = self._raw = MappingProxyType({key[:-1]: value for key, value in found})
        return raw

    @property
    def callees(self) -> tuple[Callee, ...]:
        """Called computations, in printed order."""
        found = self._callees
        if found is None:
            found = self._callees = tuple(
                Callee(key, name)
                for key, text in self.raw.items()
                if key in values.CALLEE_KEYS
                for name in values.names_from_text(text)
            )
        return found

    @property
    def control_predecessors(self) -> tuple[str, ...]:
        """Names in `control-predecessors`."""
        found = self._control_predecessors
        if found is None:
            text = self.raw.get("control-predecessors")
            found = self._control_predecessors = values.names_from_text(text) if text else ()
        return found

    @property
    def metadata(self) -> Metadata | None:
        """What `metadata={...}` says; None without it."""
        found = self._metadata
        if found is None:
            text = self.raw.get("metadata")
            if text is None:
                return None
            found = self._pool.metadata.get(text)
            if found is None:
                found = self._pool.metadata[text] = values.metadata_from_text(text)
            self._metadata = found
        return found

    @property
    def backend_config(self) -> object:
        """Parsed JSON, else the unescaped string, else None."""
        text = self.raw.get("backend_config")
        if text is None:
            return None
        configs = self._pool.configs
        if text not in configs:
            configs[text] = values.config_from_text(text)
        return configs[text]

    @property
    def frontend_attributes(self) -> Mapping[str, str]:
        """Values by key, quoted ones unescaped."""
        found = self._frontend_attributes
        if found is None:
            text = self.raw.get("frontend_attributes")
            found = _EMPTY if text is None else values.frontend_attributes_from_text(text)
            self._frontend_attributes = found
        return found

    @property
    def replica_groups(self) -> ReplicaGroups | None:
        """Which devices take part together; None without the attribute."""
        text = self.raw.get("replica_groups")
        if text is None:
            return None
        found = self._pool.groups.get(text)
        if found is None:
            found = self._pool.groups[text] = ReplicaGroups(text)
        return found

    @property
    def source_target_pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of device ids of a collective-permute."""
        found = self._source_target_pairs
        if found is None:
            text = self.raw.get("source_target_pairs")
            found = self._source_target_pairs = values.pairs_from_text(text) if text else ()
        return found


class Instruction:
    """One instruction line; immutable, shared by equal text."""

    __slots__ = (
        "_arguments",
        "_operand_paths",
        "_operands",
        "attribute_list",
        "is_root",
        "name",
        "opcode",
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

    def __init__(
        self,
        text: str,
        is_root: bool,
        name: str,
        shape: Shape,
        opcode: str,
        attribute_list: AttributeList,
    ) -> None:
        self.text = text
        self.is_root = is_root
        self.name = name
        self.shape = shape
        self.opcode = opcode
        self.attribute_list = attribute_list
        self._arguments: str | None = None
        self._operands: tuple[str, ...] | None = None
        self._operand_paths: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def from_parts(
        cls, text: str, parts: InstructionParts, shape: Shape, attribute_list: AttributeList
    ) -> Instruction:
        """An instruction whose text is not in XLA's own spelling, as the grammar cut it."""
        made = cls(text, parts.is_root, parts.name, shape, parts.opcode, attribute_list)
        made._arguments = parts.arguments
        made._operands = parts.operands
        made._operand_paths = parts.operand_paths
        return made

    def __repr__(self) -> str:
        return f"<Instruction {self.name} = {self.opcode}>"

    @property
    def arguments(self) -> str:
        """Raw text between the parentheses behind the opcode."""
        if self._arguments is not None:
            return self._arguments
        # In XLA's own spelling single blanks and nothing else stand between the parts.
        before = self.text.index(" = ") + len(self.shape.text) + len(self.opcode) + 5
        return self.text[before : len(self.text) - len(self.attribute_list.text) - 1]

    def _split_operands(self) -> tuple[str, ...]:
        if self.opcode in {"parameter", "constant"}:
            self._operands = ()
            return ()
        found = patterns.operand.findall(self.arguments)
        self._operands = operands = tuple([name for name, _ in found])
        self._operand_paths = tuple(
            [
                tuple([int(step[:18]) for step in path[1:].split("#")]) if path else ()
                for _, path in found
            ]
        )
        return operands

    @property
    def operands(self) -> tuple[str, ...]:
        """Operand names in order, without `%` and `#path`; none for parameter and constant."""
        found = self._operands
        return self._split_operands() if found is None else found

    @property
    def operand_paths(self) -> tuple[tuple[int, ...], ...]:
        """Per operand, the tuple elements taken from it: `%t#1#0` gives (1, 0), plain gives ()."""
        if self._operands is None:
            self._split_operands()
        return self._operand_paths

    @property
    def attributes(self) -> Mapping[str, str]:
        """Raw text of every attribute value by key, in printed order."""
        return self.attribute_list.raw

    @property
    def callees(self) -> tuple[Callee, ...]:
        """Called computations in printed order; bodies printed in place have no name and none."""
        return self.attribute_list.callees

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
        return self.attribute_int("channel_id")

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The `dimensions={...}` attribute, not those of the shape; () without it."""
        text = self.attribute_list.raw.get("dimensions")
        return values.ints_from_text(text) if text else ()

    @property
    def sharding(self) -> str | None:
        """Raw text, with its braces."""
        return self.attribute_list.raw.get("sharding")

    @property
    def custom_call_target(self) -> str | None:
        """Unescaped; None for other opcodes."""
        text = self.attribute_list.raw.get("custom_call_target")
        return None if text is None else values.unquote(text)

    @property
    def tuple_index(self) -> int | None:
        """Which element a get-tuple-element takes; None for other opcodes."""
        return self.attribute_int("index") if self.opcode == "get-tuple-element" else None

    @property
    def parameter_number(self) -> int | None:
        """0-based; None for other opcodes."""
        return values.int_from_text(self.arguments) if self.opcode == "parameter" else None

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
