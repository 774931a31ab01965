"""Modules whose compile did not come to its end, as far as a dump can tell."""

from collections.abc import Iterable

from app.model.dump import ModuleHistory

# Dump points that XLA itself names; any other text may be a single file out of a dump.
_WRITTEN_ON_THE_WAY = frozenset({"before_optimizations", "pass", "step"})


def is_unfinished(history: ModuleHistory) -> bool:
    """Whether there are texts of a compile, and none from after all optimizations."""
    return not history.complete and any(
        dump.name.kind in _WRITTEN_ON_THE_WAY for dump in history.dumps
    )


def has_texts_of_passes(modules: Iterable[ModuleHistory]) -> bool:
    """Whether passes were asked for texts (`--xla_dump_hlo_pass_re`): then missing ones count."""
    return any(dump.name.kind in ("pass", "step") for m in modules for dump in m.dumps)
