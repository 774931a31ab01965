"""The bytes of a peak by the lines of the program that they are held for.

Buffers come in with their bytes (each byte counted with one buffer only), their class and their
place; the lines come out with what they hold, the largest first.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from app.model.memory import BufferClass, PeakShare
from app.model.source import Source

MOST_LINES = 400


@dataclass(slots=True)
class _Sum:
    bytes: int = 0
    buffers: int = 0
    classes: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, classes: dict[str, int], buffers: int) -> None:
        self.buffers += buffers
        for class_, size in classes.items():
            self.bytes += size
            self.classes[class_] = self.classes.get(class_, 0) + size


def shares_of(
    buffers: Iterable[tuple[BufferClass, int, Source | None]],
) -> tuple[PeakShare, ...]:
    """What each line holds; the smallest of very many lines are one share, as is what has none."""
    sums: dict[tuple[str, int] | None, _Sum] = {}
    sources: dict[tuple[str, int] | None, Source] = {}
    for class_, size, source in buffers:
        key = None if source is None else (source.file, source.line)
        sums.setdefault(key, _Sum()).add({class_: size}, 1)
        if source is not None:
            sources.setdefault(key, source)
    unplaced = sums.pop(None, None)
    ordered = sorted(sums.items(), key=lambda item: (-item[1].bytes, item[0] or ("", 0)))
    shares = [_share(found, sources[key]) for key, found in ordered[:MOST_LINES]]
    rest = _Sum()
    for _, found in ordered[MOST_LINES:]:
        rest.add(found.classes, found.buffers)
    if rest.buffers:
        shares.append(_share(rest, None, rest=True))
    if unplaced is not None:
        shares.append(_share(unplaced, None))
    return tuple(sorted(shares, key=lambda share: -share.bytes))


def _share(found: _Sum, source: Source | None, *, rest: bool = False) -> PeakShare:
    return PeakShare(
        source=None if source is None else replace(source, frames=()),
        rest=rest,
        bytes=found.bytes,
        buffers=found.buffers,
        classes=dict(sorted(found.classes.items(), key=lambda item: (-item[1], item[0]))),
    )
