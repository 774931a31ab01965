"""The single file a report lives in: its JSON, every distinct text once, and which text is where.

`write_bundle` makes the file, `Bundle.open` reads it; README.md beside this file describes the
format. Nothing here analyses anything.
"""

from app.bundle.reader import Bundle, BundleDump, BundleModule
from app.bundle.writer import write_bundle

__all__ = ["Bundle", "BundleDump", "BundleModule", "write_bundle"]
