"""The single file a report lives in: its JSON, every distinct text once, and which text is where.

`write_bundle` makes the file, or `write_texts` from texts alone; `add_aligned` adds what took long
to make of two texts; `Bundle.open` reads it. README.md beside this file describes the format.
Nothing here analyses anything.
"""

from app.bundle.index import BundleDump, BundleModule
from app.bundle.reader import Bundle
from app.bundle.writer import AlignedTexts, ModuleTexts, add_aligned, write_bundle, write_texts

__all__ = [
    "AlignedTexts",
    "Bundle",
    "BundleDump",
    "BundleModule",
    "ModuleTexts",
    "add_aligned",
    "write_bundle",
    "write_texts",
]
