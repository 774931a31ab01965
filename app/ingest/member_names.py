r"""Names of archive members: which are refused, and how the others are shown.

Nothing is ever extracted, so a name is a key and a label only. It is made safe once, here: control
and direction characters are escaped, bytes that are not UTF-8 shown as `\xe9`, separators are `/`.
"""

import re
import unicodedata
from dataclasses import dataclass

from app.settings import Settings


@dataclass(frozen=True, slots=True)
class MemberName:
    """A name as shown, and the code for which its member is left out, or None.

    `odd` says that characters were escaped; `twin` is equal for names that some file system takes
    for the same (case, composition, trailing dots).
    """

    text: str
    refused: str | None
    odd: bool
    twin: str


REASONS = {
    "bad_path": "the name is absolute or points outside of the archive",
    "name_too_long": "the name is longer than max_name_bytes",
    "too_deep": "the name has more folders than max_name_depth",
    "duplicate": "an earlier member has this name",
    "link": "links are not followed",
    "special": "neither a file nor a folder",
    "sparse": "sparse files are not unpacked",
    "nested_archive": "archives inside the archive are not opened",
    "unknown_name": "the name is none of XLA's and the content no HLO",
    "program_too_large": "the source files are more than are kept: 500, and 8 MiB, of 1 MiB each",
    "encrypted": "the member is encrypted",
    "method": "the compression method is not known",
    "name_mismatch": "the directory and the member's own header give different names",
    "member_too_large": "the member is larger than max_member_bytes",
}

_DRIVE = re.compile(r"[A-Za-z]:")
# Control characters, line and paragraph separators, zero-width and direction characters, and the
# surrogates that stand for bytes which are not UTF-8.
_ODD = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_SHOWN_CHARACTERS = 200


def read_member_name(raw: str, settings: Settings) -> MemberName:
    """Judge a name; `raw` holds undecodable bytes as lone surrogates (`surrogateescape`)."""
    path = raw.replace("\\", "/")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    refused = None
    if "\0" in raw or path.startswith("/") or _DRIVE.match(path) or ".." in parts or not parts:
        refused = "bad_path"
    elif len(raw.encode(errors="surrogateescape")) > settings.max_name_bytes:
        refused = "name_too_long"
    elif len(parts) > settings.max_name_depth:
        refused = "too_deep"
    whole = raw if refused else "/".join(parts)
    text = _ODD.sub(_escaped, whole if refused is None else whole[:_SHOWN_CHARACTERS])
    return MemberName(text, refused, odd=bool(_ODD.search(whole)), twin=_twin(text))


def show_name(raw: str) -> str:
    """A name with what could disturb a page or a terminal escaped."""
    return _ODD.sub(_escaped, raw)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"U+{code:04X}"


def _twin(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold().rstrip(". ")
