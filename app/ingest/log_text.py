"""Bytes of a log to text; what is plainly no log is refused, for a clean report would be a lie."""

import codecs

from app.errors import NotADump

_MAGIC = {
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"PK\x03\x04": "a zip archive",
    b"\x7fELF": "a program",
}
WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LOOKED_AT = 1 << 16


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
    if found is None and head[:_LOOKED_AT].count(0) > len(head[:_LOOKED_AT]) // 100:
        found = "binary data"
    if found is not None:
        raise NotADump(
            f"{found} was given as the log of the run",
            place=name,
            next_step="Give the text that the run printed; a dump goes in its own place.",
            code="not_a_log",
        )
