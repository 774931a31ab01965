"""Bytes of a log to text; what is plainly no log is refused, for a clean report would be a lie."""

import codecs
import re

from app.errors import NotADump

_MAGIC = {
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"PK\x03\x04": "a zip archive",
    b"\x7fELF": "a program",
}
WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LOOKED_AT = 1 << 16
# A terminal is told the others: to ring, to go back, to begin a sequence.
_CONTROLS = bytes((*range(7), *range(14, 27), *range(28, 32)))
_MODULE = re.compile(r"\ufeff?\s*HloModule [\w.\-]{1,150}(?:, \w+=|\s*\n\s*[%\w])")


def log_text(data: bytes, name: str) -> str:
    """The text of a log; bytes that are not UTF-8 become visible escapes.

    Args:
        data: the file as it is; UTF-16 is known by its mark.
        name: how to call it in a refusal.

    Raises:
        NotADump: an archive, a program or other binary data (`not_a_log`).
    """
    refuse_what_is_no_log(data, name)
    if data.startswith(WIDE_MARKS):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8", "backslashreplace")


def refuse_what_is_no_log(head: bytes, name: str) -> None:
    """Judge a log by its first bytes.

    Raises:
        NotADump: an archive, a program or other binary data (`not_a_log`).
    """
    if head.startswith(WIDE_MARKS):
        return
    found = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    if found is None and _is_binary(head[:_LOOKED_AT]):
        found = "binary data"
    if found is not None:
        raise no_log(found, name)


def _is_binary(head: bytes) -> bool:
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return head.count(0) > len(head) // 100 or controls > max(len(head) // 20, 8)


def begins_with_module(head: str) -> bool:
    """Whether a log begins with the text of a module, as one does that a program printed."""
    return _MODULE.match(head) is not None


def no_log(what: str, name: str) -> NotADump:
    """The refusal of `what` in place of a log (`not_a_log`)."""
    return NotADump(
        f"{what} was given as the log of the run",
        place=name,
        next_step="Give the text that the run printed; a dump goes in its own place.",
        code="not_a_log",
    )
