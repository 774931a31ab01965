"""Which flags put a pass into the pipeline: what a pass list says of flags that nothing states.

A hand-written table of passes that XLA adds only where a flag asks for them. A pass that is not in
it says nothing; one that is missing may also have been taken out by `xla_disable_hlo_passes`.
"""

from functools import cache

from app.knowledge.tables import read_rows


def flags_that_add(name: str) -> tuple[str, ...]:
    """The flags (without dashes) that add the pass `name`, the likeliest first; () for others."""
    return _flags().get(name, ())


@cache
def _flags() -> dict[str, tuple[str, ...]]:
    return {name: tuple(flags.split()) for name, flags, _ in read_rows("passes_of_flags.tsv")}
