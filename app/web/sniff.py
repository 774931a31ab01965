"""What an upload is by its first bytes, before anything of it is kept.

Only tells what may be a dump from what cannot be: whether it is one, the analysis finds out.
"""

from app.errors import NotADump

SNIFFED_BYTES = 512

_ACCEPTED = (
    b"\x1f\x8b",  # gzip
    b"\x28\xb5\x2f\xfd",  # zstd
    b"PK\x03\x04",  # zip
    b"PK\x05\x06",  # zip without members
)
_SKIPPABLE_ZSTD = range(0x184D2A50, 0x184D2A60)
_ARCHIVES = (
    (b"\xfd7zXZ\x00", "an xz file"),
    (b"BZh", "a bzip2 file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"PK\x07\x08", "one part of a zip that is split"),
)
_NAMED = (
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
)
_MARKUP = (b"<!doctype", b"<html", b"<?xml", b"<svg", b"<script")
_TEXT_CONTROLS = b"\t\n\r\x0c\x1b"
_REPACK = "Unpack it and repack as .tar.zst, .tar.gz or .zip."
_WHAT_TO_SEND = (
    "Send the folder that XLA wrote (--xla_dump_to) as .tar.gz, .tar.zst, .tar or .zip, or one of "
    "its .txt files."
)


def check_first_bytes(head: bytes, *, name: str) -> None:
    """Let pass what may be an archive, an HLO text or an HLO proto.

    Raises:
        NotADump: the first `SNIFFED_BYTES` of the upload say that it is something else.
    """
    if head.startswith(_ACCEPTED) or int.from_bytes(head[:4], "little") in _SKIPPABLE_ZSTD:
        return
    archive = next((what for magic, what in _ARCHIVES if head.startswith(magic)), None)
    if archive is not None:
        raise NotADump(f"this is {archive}", place=name, next_step=_REPACK)
    known = next((what for magic, what in _NAMED if head.startswith(magic)), None)
    if known is not None:
        raise _refused(f"this is {known}", name)
    if _is_tar(head):
        return
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:16].lower().startswith(_MARKUP):
        raise _refused("this is a page or a drawing, no dump", name)
    if not (_is_text(head) or _may_be_proto(head)):
        raise _refused("this is neither an archive nor a text", name)


def _refused(cause: str, name: str) -> NotADump:
    return NotADump(cause, place=name, next_step=_WHAT_TO_SEND)


def _is_tar(head: bytes) -> bool:
    if head[257:262] == b"ustar":
        return True
    # The oldest form has no magic, but every header carries the sum of its bytes.
    if len(head) < 512:
        return False
    stated = head[148:156].strip(b" \0")
    counted = sum(head[:148]) + 8 * 0x20 + sum(head[156:512])
    return stated.isdigit() and int(stated, 8) == counted if _is_octal(stated) else False


def _is_octal(digits: bytes) -> bool:
    return bool(digits) and not digits.strip(b"01234567")


def _is_text(head: bytes) -> bool:
    if b"\0" in head:
        # UTF-16 with its mark: a log that was redirected on Windows.
        return head.startswith((b"\xff\xfe", b"\xfe\xff"))
    return not any(byte < 0x20 and byte not in _TEXT_CONTROLS for byte in head)


def _may_be_proto(head: bytes) -> bool:
    # HloProto starts with its module (field 1), HloModuleProto with its name (field 1): both are
    # length-delimited.
    return head[0] == 0x0A
