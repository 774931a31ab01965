"""Reads what the user gives: dumps and logs, as bytes and text, into values.

The only room that looks at a user's bytes. It says what is there and what was left out, and has no
opinion about it.
"""

from app.ingest.flags import parse_flags
from app.ingest.load import load_dump
from app.ingest.log import merge_logs, read_log, read_log_file
from app.ingest.progress import Progress, quiet

__all__ = [
    "Progress",
    "load_dump",
    "merge_logs",
    "parse_flags",
    "quiet",
    "read_log",
    "read_log_file",
]
