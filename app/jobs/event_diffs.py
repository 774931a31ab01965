"""The differences around what passes did to loops, read from a bundle for a file without texts."""

from app.bundle import Bundle
from app.jobs.comparing import difference
from app.report.event_diffs import EventDiff, event_dumps

MAX_BYTES = 24 << 20
"""Bytes of texts that are matched for one file, a few seconds' work; later passes are left out."""


def event_diffs_of(bundle: Bundle) -> tuple[EventDiff, ...]:
    """The differences of the passes that `event_dumps` names.

    Raises:
        NotFound, LimitExceeded, BadArchive: as `Bundle.parse`.
    """
    sizes = {module.id: [dump.bytes for dump in module.dumps] for module in bundle.modules()}
    room = MAX_BYTES
    found: list[EventDiff] = []
    for module, dump in event_dumps(bundle.report()):
        texts = sizes.get(module, [])
        if dump >= len(texts):
            continue
        room -= texts[dump - 1] + texts[dump]
        if room < 0:
            break
        found.append(EventDiff(module, dump, difference(bundle, module, (dump - 1, dump))))
    return tuple(found)
