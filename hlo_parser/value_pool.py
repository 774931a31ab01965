"""Typed values of attributes, one for each raw text: what metadata says stands in many lists.

A raw text goes in, the value that all its askers share comes out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_parser import values
from hlo_parser.groups import ReplicaGroups

if TYPE_CHECKING:
    from hlo_parser.values import Metadata


class ValuePool:
    """Typed attribute values by their raw text, shared by all attribute lists of an interner."""

    __slots__ = ("configs", "groups", "metadata")

    def __init__(self) -> None:
        self.metadata: dict[str, Metadata] = {}
        self.configs: dict[str, object] = {}
        self.groups: dict[str, ReplicaGroups] = {}

    def typed_metadata(self, text: str) -> Metadata:
        """The one value of a `metadata` text."""
        found = self.metadata.get(text)
        if found is None:
            found = self.metadata[text] = values.metadata_from_text(text)
        return found

    def typed_config(self, text: str) -> object:
        """The one value of a `backend_config` text."""
        if text not in self.configs:
            self.configs[text] = values.config_from_text(text)
        return self.configs[text]

    def typed_groups(self, text: str) -> ReplicaGroups:
        """The one value of a `replica_groups` text."""
        found = self.groups.get(text)
        if found is None:
            found = self.groups[text] = ReplicaGroups(text)
        return found
