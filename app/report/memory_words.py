"""The words for what buffers are there for, and the classes of a part of the peak in order."""

from collections.abc import Mapping

from app.model.memory import BufferClass, PeakShare

CLASS_WORDS: Mapping[BufferClass, str] = {
    "parameter": "parameter",
    "donated": "donated parameter",
    "output": "output",
    "constant": "constant",
    "thread_local": "thread-local",
    "stacked": "stacked by a loop",
    "carried": "carried by a loop",
    "collective": "collective",
    "copy": "copy",
    "workspace": "library workspace",
    "temporary": "temporary",
}
PLURALS: Mapping[str, str] = {
    "parameter": "parameters",
    "donated": "donated parameters",
    "output": "outputs",
    "constant": "constants",
    "thread_local": "thread-local values",
    "stacked": "values stacked by loops",
    "carried": "state of loops",
    "collective": "collectives",
    "copy": "copies",
    "workspace": "library workspaces",
    "temporary": "temporaries",
    "temp": "temporaries",
}


def classes_of(share: PeakShare) -> dict[str, int]:
    """The classes of a share, the largest first: what is read from JSON stands by name."""
    return dict(sorted(share.classes.items(), key=lambda item: -item[1]))


def classes_text(share: PeakShare) -> str:
    """`copies, temporaries`, the largest first."""
    return ", ".join(PLURALS.get(class_, class_) for class_ in classes_of(share))
