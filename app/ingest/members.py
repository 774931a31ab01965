"""One member of an archive or folder, as every container hands it on."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

MemberKind = Literal[
    "file", "folder", "link", "special", "sparse", "encrypted", "method", "damaged"
]


@dataclass(frozen=True, slots=True)
class Member:
    """A member with its content still unread.

    `name` is raw (undecodable bytes as lone surrogates), `size` what the header claims, None where
    none is claimed. `pieces` hands out the content once, before the next member is asked for; it
    may raise `Damage`. Only files have content.
    """

    name: str
    kind: MemberKind
    size: int | None
    pieces: Callable[[], Iterator[bytes]]


def no_pieces() -> Iterator[bytes]:
    """The content of what has none."""
    return iter(())
