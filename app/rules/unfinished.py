"""Modules whose compile did not come to its end, as far as a dump can tell."""

from app.model.dump import ModuleHistory

# Dump points that XLA itself names; any other text may be a single file out of a dump.
_WRITTEN_ON_THE_WAY = frozenset({"before_optimizations", "pass", "step"})


def is_unfinished(history: ModuleHistory) -> bool:
    """Whether there are texts of a compile, and none from after all optimizations."""
    return not history.complete and any(
        dump.name.kind in _WRITTEN_ON_THE_WAY for dump in history.dumps
    )
