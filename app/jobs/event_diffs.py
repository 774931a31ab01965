"""The differences around what passes did to loops, read from a bundle for a file without texts."""

from app.bundle import Bundle
from app.report.event_diffs import EventDiff, event_diffs


def event_diffs_of(bundle: Bundle) -> tuple[EventDiff, ...]:
    """The differences of the passes that `event_dumps` names.

    Raises:
        NotFound, LimitExceeded, BadArchive: as `Bundle.parse`.
    """
    sizes = {module.id: [dump.bytes for dump in module.dumps] for module in bundle.modules()}
    return tuple(event_diffs(bundle.report(), sizes, bundle.parse))
