"""What is said to be kept outlasts a power cut: bytes of a file, and its name in its folder.

A system tells a writer that all is written while it still stands in memory. Blobs are put on the
disk for good before a row names them, and a row before anybody is told of it (`database.py`).
"""

import os
from pathlib import Path


def put_down(path: Path) -> None:
    """Have the disk hold all of a file, or all names in a folder, as they are now.

    Raises:
        OSError: the disk is full or broken, or there is no such file.
    """
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def lasting_folder(path: Path) -> Path:
    """Make a folder with those above it, each for good; gives `path`."""
    if not path.is_dir():
        lasting_folder(path.parent)
        path.mkdir(exist_ok=True)
        put_down(path.parent)
    return path
