"""Reads the packaged tables; the only I/O of this room.

Tables are tab-separated text, `#` starts a comment line and the first other line names the
columns. The large ones are packed with xz (`README.md` beside this file says how they are made);
those written by hand are plain.
"""

import lzma
from collections.abc import Iterator
from importlib.resources import files


def read_rows(name: str) -> Iterator[list[str]]:
    """The rows of the table `name` (with its extension), without comments and heading."""
    data = files("app.knowledge").joinpath("data", name).read_bytes()
    if name.endswith(".xz"):
        data = lzma.decompress(data)
    lines = (line for line in data.decode().split("\n") if line and not line.startswith("#"))
    next(lines)
    return (line.split("\t") for line in lines)
