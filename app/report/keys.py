"""What keys do in a view, for the help that `?` opens on it (`templates/_keys.html`)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyView:
    """Keys as they are written on a keyboard, and what they do."""

    keys: str
    what: str
