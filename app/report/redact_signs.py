"""Whether it is worth while to look through a text with a pattern.

Most patterns of redaction find nothing in most texts, and each takes 20 ns a character to do so.
What they find has a sign, a word or a form that begins with a rare character, which is looked for
in a tenth of that time. A sign may stand where the pattern finds nothing, never the other way.
"""

import re

Sign = str | re.Pattern[str]

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_INNER, _OTHER = b"a", b" "
_KINDS = bytes(_INNER[0] if sign in _BASE64 else _OTHER[0] for sign in range(256))


def has_sign(text: str, signs: tuple[Sign, ...]) -> bool:
    """One of the words stands in the text, or of what the patterns find."""
    for sign in signs:
        if sign in text if isinstance(sign, str) else sign.search(text):
            return True
    return False


def has_long_run(text: str, length: int) -> bool:
    """So many letters, digits and signs of base64 stand in a row."""
    if len(text) < length:
        return False
    return _INNER * length in text.encode("ascii", "replace").translate(_KINDS)
