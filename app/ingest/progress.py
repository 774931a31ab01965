"""How long work tells where it is."""

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""Called with the stage in a word, how much is done, and the total where it is known."""


def quiet(stage: str, done: int, total: int | None) -> None:
    """The progress that tells nobody."""
