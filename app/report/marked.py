"""Sentences with the parts that are not to be broken marked: flags, code, and numbers of lines.

Takes a text, which may be hostile, and gives the HTML of a template: everything is escaped, and no
other mark than these is made.
"""

from markupsafe import Markup, escape

from hlo_parser.possessive import compile_pattern

_MARKED = compile_pattern(r"`(?P<code>[^`\n]{1,200})`|(?P<flag>--\w[\w.=-]*+)")

_LINE_NUMBER = compile_pattern(r"(?<=\w):\d++(?!\w)")


def marked(text: str) -> Markup:
    """The text with flags kept in one piece and code set as such."""
    parts: list[Markup] = []
    end = 0
    for found in _MARKED.finditer(text):
        parts.append(escape(text[end : found.start()]))
        if found["code"]:
            parts.append(Markup("<code>{}</code>").format(found["code"]))
        else:
            parts.append(Markup('<span class="flag-word">{}</span>').format(found["flag"]))
        end = found.end()
    return Markup("").join((*parts, escape(text[end:])))


def whole(text: str) -> Markup:
    """The text with the number of a line, as in `train.py:55`, kept in one piece.

    A column may be narrower than the name; the number is what is read.
    """
    parts: list[Markup] = []
    end = 0
    for found in _LINE_NUMBER.finditer(text):
        parts.append(escape(text[end : found.start()]))
        parts.append(Markup('<span class="whole-number">{}</span>').format(found[0]))
        end = found.end()
    return Markup("").join((*parts, escape(text[end:])))
