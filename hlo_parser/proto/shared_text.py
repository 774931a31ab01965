"""Texts of encoded messages, each distinct one made once.

A module repeats its shapes, metadata and shardings many times over; equal bytes have equal text.
Remembers what was noted while making a text, and notes it again for each use.
"""

from __future__ import annotations

from collections.abc import Callable

from hlo_parser.proto import schema
from hlo_parser.proto.budget import Payloads
from hlo_parser.proto.literal_text import literal_text, typed_literal_text
from hlo_parser.proto.notes import decode_noting
from hlo_parser.proto.shape_text import TYPE_WORDS, shape_text
from hlo_parser.proto.sharding_text import sharding_text
from hlo_parser.proto.value_text import (
    config_text,
    frontend_attributes_text,
    metadata_text,
    origin_text,
    payload_bytes,
)
from hlo_parser.proto.wire import decode

_Make = Callable[[bytes, list[str]], str]


class SharedTexts:
    """What turns the encoded parts of instructions into text."""

    __slots__ = ("_known", "_payloads")

    def __init__(self, payloads: Payloads) -> None:
        self._payloads = payloads
        self._known: dict[tuple[str, bytes], tuple[str, tuple[str, ...]]] = {}

    def _shared(self, kind: str, make: _Make, raw: bytes, notes: list[str]) -> str:
        known = self._known.get((kind, raw))
        if known is None:
            own: list[str] = []
            known = self._known[kind, raw] = (make(raw, own), tuple(own))
        if known[1]:
            notes.extend(known[1])
        return known[0]

    def shape(self, raw: bytes, notes: list[str]) -> str:
        """A shape with its layout."""
        return self._shared("shape", self._make_shape, raw, notes)

    def _make_shape(self, raw: bytes, notes: list[str]) -> str:
        return shape_text(decode_noting(schema.ShapeProto, raw, notes), notes)

    def bare_shape(self, raw: bytes) -> str:
        """A shape without layouts, for signatures; the shape itself tells what is odd about it."""
        return self._shared("bare shape", self._make_bare_shape, raw, [])

    def _make_bare_shape(self, raw: bytes, notes: list[str]) -> str:
        return shape_text(decode(schema.ShapeProto, raw), notes, with_layout=False)

    def element_type(self, raw: bytes) -> str:
        """The type word of an array; empty for tuples."""
        return self._shared("type", self._make_element_type, raw, [])

    def _make_element_type(self, raw: bytes, _notes: list[str]) -> str:
        return TYPE_WORDS.get(decode(schema.ShapeProto, raw).element_type, "")

    def metadata(self, raw: bytes, notes: list[str]) -> str:
        """What stands between the braces of `metadata={...}`."""
        return self._shared("metadata", self._make_metadata, raw, notes)

    def _make_metadata(self, raw: bytes, notes: list[str]) -> str:
        return metadata_text(decode_noting(schema.OpMetadata, raw, notes), self._payloads, notes)

    def sharding(self, raw: bytes, notes: list[str]) -> str:
        """The value of `sharding`."""
        return self._shared("sharding", self._make_sharding, raw, notes)

    def _make_sharding(self, raw: bytes, notes: list[str]) -> str:
        def metadata(origin: bytes) -> str:
            return self.metadata(origin, notes)

        return sharding_text(decode_noting(schema.OpSharding, raw, notes), metadata, notes)

    def frontend_attributes(self, raw: bytes, notes: list[str]) -> str:
        """The value of `frontend_attributes`; empty when there are none."""
        return self._shared("frontend attributes", self._make_frontend_attributes, raw, notes)

    def _make_frontend_attributes(self, raw: bytes, notes: list[str]) -> str:
        return frontend_attributes_text(
            decode_noting(schema.FrontendAttributes, raw, notes).map, notes
        )

    def statistics(self, raw: bytes, notes: list[str]) -> str:
        """The value of `statistics`; empty when there are none."""
        return self._shared("statistics", self._make_statistics, raw, notes)

    def _make_statistics(self, raw: bytes, notes: list[str]) -> str:
        viz = decode_noting(schema.StatisticsViz, raw, notes)
        if not viz.statistics:
            return ""
        found = "".join(
            f",{statistic.stat_name.decode('ascii', errors='replace')}={statistic.stat_val:g}"
            for statistic in viz.statistics
        )
        return f"{{visualizing_index={viz.stat_index_to_visualize}{found}}}"

    def origin(self, raw: bytes, notes: list[str]) -> str:
        """The value of `origin`."""
        return self._shared("origin", self._make_origin, raw, notes)

    def _make_origin(self, raw: bytes, notes: list[str]) -> str:
        value = decode_noting(schema.OriginalValueProto, raw, notes)
        if value.is_synthetic_call:
            return "{[synthetic_call]}"
        return f"{{{origin_text(value.elements, notes)}}}"

    def literal(self, raw: bytes, notes: list[str]) -> str:
        """What stands in `constant(...)`."""
        return literal_text(decode_noting(schema.LiteralProto, raw, notes), notes)

    def typed_literal(self, raw: bytes, notes: list[str]) -> str:
        """The value of `literal` of a custom-call."""
        return typed_literal_text(decode_noting(schema.LiteralProto, raw, notes), notes)

    def backend_config(self, raw: bytes, payload: schema.Payload | None, notes: list[str]) -> str:
        """The value of `backend_config`; empty when there is none."""
        if payload is not None:
            raw = payload_bytes(payload, self._payloads, notes)
        return config_text(raw) if raw else ""
