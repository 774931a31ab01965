"""What HLO carries along that is no program: the values of constants, and payloads.

Takes a text, whole or a line of it, and gives one that reads the same: arrays become `{...}`, which
is XLA's own way to leave them out; a long number is rounded towards zero; strings that a kernel, a
library call or a frontend keeps for itself become words. Line ends stay where they are.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, cast

from app.report.redact_signs import has_long_run
from app.report.redact_standins import Words
from hlo_parser.possessive import compile_pattern

_CONSTANT = " constant("
_FRACTION = compile_pattern(r"-?\d++\.\d++(?:e[+-]?\d++)?|-?\d++e[+-]?\d++", re.I)
_WHOLE = compile_pattern(r"(?<![\w.])-?\d{5,}+(?![\w.])")
_DIGITS_KEPT = 2
_DIGITS_PLAIN = 3
_MOST_DIGITS = 20
_HOLDER = compile_pattern(
    r"=(?=[\"'{])(?:(?<=\b(backend_config)=)|(?<=\b(frontend_attributes)=)|(?<=\b(opaque)=))"
)
# What stands in a string up to its end: a text never breaks a line within one. XLA quotes twice;
# what quotes a line of it may not.
_BODIES = {
    '"': compile_pattern(r'(?:[^"\\\n]++|\\[^\n])*+'),
    "'": compile_pattern(r"(?:[^'\\\n]++|\\[^\n])*+"),
}
_OPENING = compile_pattern(r'(op_name=)?"|(?<![A-Za-z0-9])b?\'')
_QUOTE = compile_pattern("[\"']")
_LONG = 256
# A string up to its end, or without one.
_STRING = compile_pattern(
    r'"(?:(?<=(op_name=)")|)(?:[^"\\\n]++|\\[^\n])*+("?)'
    r"|'(?:(?<![A-Za-z0-9]')|(?<=(?<![A-Za-z0-9])b'))(?:[^'\\\n]++|\\[^\n])*+('?)"
)
_LONG_RUN = 96
_BASE64 = compile_pattern(
    rf"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{{{_LONG_RUN},}}+={{0,2}}(?![A-Za-z0-9_-])"
)
_KEY = compile_pattern(r"(?<![\w.$-])([\w.$-]++)=(?=[\"'])")
# Keys of attributes that XLA, JAX and Shardy write themselves, in `frontend_attributes`.
_OWN_KEY = compile_pattern(
    r"_?xla[._]\w.*|sdy\..*|_scheduling.*|mhlo\..*|inlineable|fingerprint_.*"
)
# Values that a protobuf of XLA prints: numbers, enumerators, kinds of fusion.
_PLAIN_VALUE = compile_pattern(
    r"|-?\d[\d.e+-]*|[A-Z][A-Z0-9_]{0,63}|k[A-Z]\w{0,40}|__[a-z0-9_$]{1,60}|[fsu]\d{1,2}|bf16"
    r"|true|false|default|cuda|rocm|cudnn|cublas|[a-z_]{0,40}_fusion|cutlass_gemm\w{0,40}"
)
_MAX_OWN_VALUE = 4_000


class Payloads:
    """Takes constants and payloads out of HLO."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def replace(self, text: str) -> str:
        """The text without them."""
        if _CONSTANT in text:
            text = self._replace_constants(text)
        if "backend_config=" in text or "frontend_attributes=" in text or "opaque=" in text:
            text = self._replace_held(text)
        if _may_hold_long_string(text):
            text = self._replace_long_strings(text)
        if has_long_run(text, _LONG_RUN):
            text = _BASE64.sub(lambda match: self._payload(match[0]), text)
        return text

    def _payload(self, original: str) -> str:
        return self._words.put("payload", original)

    def _replace_long_strings(self, text: str) -> str:
        kept: list[str] = []
        done = at = 0
        strings = _Strings(text)
        while (match := _OPENING.search(text, at)) is not None:
            start = at = match.end()
            end = strings.end(start - 1)
            if end is None:
                continue
            at = end
            if end - match.start() > _LONG and not match[1]:
                kept += [text[done:start], self._payload(text[start : end - 1])]
                done = end - 1
        return "".join(kept) + text[done:] if kept else text

    # ---- constants -----------------------------------------------------------------------------

    def _replace_constants(self, text: str) -> str:
        kept: list[str] = []
        done = 0
        at = text.find(_CONSTANT)
        while at >= 0:
            start = at + len(_CONSTANT)
            end = _end_of_literal(text, start)
            kept += [text[done:start], self._literal(text[start:end])]
            done = end
            at = text.find(_CONSTANT, end)
        return "".join(kept) + text[done:]

    def _literal(self, literal: str) -> str:
        if "{" not in literal and '"' not in literal:
            return _WHOLE.sub(self._cut, _FRACTION.sub(self._rounded, literal))
        if literal.strip() == "{...}":
            return literal
        return self._words.note("constant", literal, "{...}") + "\n" * literal.count("\n")

    def _rounded(self, match: re.Match[str]) -> str:
        written = match[0]
        digits = written.lower().partition("e")[0].lstrip("-").replace(".", "").strip("0")
        value = float(written)
        if len(digits) <= _DIGITS_PLAIN or _is_power_of_two(value):
            return written
        return self._words.note("number", written, f"{value:.{_DIGITS_KEPT}g}")

    def _cut(self, match: re.Match[str]) -> str:
        """A long whole number with its first digits alone; what it is counted in stays in range."""
        written = match[0]
        digits = written.lstrip("-")
        value = int(digits) if len(digits) <= _MOST_DIGITS else 0
        if len(digits.strip("0")) <= _DIGITS_PLAIN or _is_next_to_power_of_two(value):
            return written
        sign = written[: -len(digits)]
        shown = sign + digits[:_DIGITS_KEPT] + "0" * (len(digits) - _DIGITS_KEPT)
        return self._words.note("number", written, shown)

    # ---- payloads --------------------------------------------------------------------------------

    def _replace_held(self, text: str) -> str:
        kept: list[str] = []
        done = 0
        for match in _HOLDER.finditer(text):
            if match.end() < done:
                continue
            start = match.end()
            end = _end_of_value(text, start)
            key = match[match.lastindex or 0]
            kept += [text[done:start], self._held(key, text[start:end])]
            done = end
        return "".join(kept) + text[done:]

    def _held(self, key: str, value: str) -> str:
        if key == "frontend_attributes":
            return self._entries(value)
        if value.startswith(('"', "'")):
            return self._quoted(value)
        changed = self._json(value)
        return self._torn(value) if changed is None else changed

    def _torn(self, value: str) -> str:
        """JSON that is none, as in a line that was cut: its strings one by one, the rest goes."""
        kept: list[str] = []
        done = 0
        for start, end in _Strings(value).all():
            quote, inner = value[start], value[start + 1 : end - 1]
            shown = inner if value.startswith(":", end) else self._value(inner)
            kept.append(f"{value[done:start]}{quote}{shown}{quote}")
            done = end
        rest = value[done:]
        return "".join(kept) + rest.partition('"')[0] + ("\u2026" if '"' in rest else "")

    def _quoted(self, value: str) -> str:
        if len(value) == 2:
            return value
        quote = value[0]
        try:
            inner: object = json.loads(value) if quote == '"' else value[1:-1]
        except ValueError:
            inner = ""
        changed = self._json(inner) if isinstance(inner, str) and inner[:1] == "{" else None
        if changed is None:
            return f"{quote}{self._payload(value)}{quote}"
        if changed == inner:
            return value
        return json.dumps(changed) if quote == '"' else f"'{changed}'"

    def _json(self, text: str) -> str | None:
        """The same object with words in place of what is not plain; None where it is no JSON."""
        try:
            held = cast(object, json.loads(text))
            changed = _with_strings(held, self._value)
        except (ValueError, RecursionError):
            return None
        if not isinstance(held, dict):
            return None
        return text if changed == held else json.dumps(changed, separators=(",", ":"))

    def _entries(self, value: str) -> str:
        kept: list[str] = []
        done = 0
        strings = _Strings(value)
        for match in _KEY.finditer(value):
            start = match.end()
            end = strings.end(start) if match.start() >= done else None
            if end is not None:
                kept += [value[done:start], self._entry(match[1], value[start:end])]
                done = end
        return "".join(kept) + value[done:]

    def _entry(self, key: str, string: str) -> str:
        if _OWN_KEY.fullmatch(key) and len(string) <= _MAX_OWN_VALUE:
            return string
        return f"{string[0]}{self._value(string[1:-1])}{string[0]}"

    def _value(self, value: str) -> str:
        return value if _PLAIN_VALUE.fullmatch(value) else self._payload(value)


def _with_strings(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_with_strings(item, change) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {key: _with_strings(item, change) for key, item in entries.items()}
    return value


def _is_next_to_power_of_two(value: int) -> bool:
    """A power of two, or one more or less: what a mask, a range or the end of a type is."""
    return any(each > 0 and each & (each - 1) == 0 for each in (value - 1, value, value + 1))


def _is_power_of_two(value: float) -> bool:
    numerator, denominator = value.as_integer_ratio() if abs(value) < float("inf") else (0, 1)
    return abs(numerator) == 1 and denominator & (denominator - 1) == 0


def _may_hold_long_string(text: str) -> bool:
    """One is too long, or does not end, so that another may begin within it."""
    return any(
        not (match[2] or match[3]) or (match.end() - match.start() >= _LONG and not match[1])
        for match in _STRING.finditer(text)
    )


class _Strings:
    """Where the strings of a text end. A line in which one does not end is read once for it."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Of a string that does not end: up to there every other quote like its own is escaped, so
        # that none which begins at one of them ends either.
        self._open = {'"': 0, "'": 0}

    def end(self, start: int) -> int | None:
        """Behind the string whose first quote stands at `start`; None if its line ends first."""
        quote = self._text[start]
        if start < self._open[quote]:
            return None
        body = _BODIES[quote].match(self._text, start + 1)
        end = body.end() if body else start + 1
        if self._text.startswith(quote, end):
            return end + 1
        self._open[quote] = end
        return None

    def all(self) -> Iterator[tuple[int, int]]:
        """Where each begins and ends."""
        at = 0
        while (match := _QUOTE.search(self._text, at)) is not None:
            end = self.end(match.start())
            at = match.end() if end is None else end
            if end is not None:
                yield match.start(), end


_BRACKETS = compile_pattern(r"[(){}\"'\n]")


def _end_of_literal(text: str, start: int) -> int:
    """Where the parenthesis closes that opened before `start`; the end of the line if it does not.

    A literal may go over many lines, but only within braces, and over no blank one.
    """
    depth, braces, at = 1, 0, start
    strings = _Strings(text)
    while (match := _BRACKETS.search(text, at)) is not None:
        sign, at = match[0], match.end()
        if sign in "\"'":
            end = strings.end(match.start())
            if end is None:
                # An apostrophe may stand for itself.
                if sign == "'":
                    continue
                return len(text)
            at = end
        elif sign == "\n":
            if not braces or text.startswith("\n", at):
                return match.start()
        elif sign in "{}":
            braces += 1 if sign == "{" else -1
        else:
            depth += 1 if sign == "(" else -1
            if not depth:
                return match.start()
    return len(text)


def _end_of_value(text: str, start: int) -> int:
    """Where the string or the braces end that begin at `start`; the line's end if they do not."""
    strings = _Strings(text)
    if text[start] in "\"'":
        return strings.end(start) or _line_end(text, start)
    depth, at = 0, start
    while (match := _BRACKETS.search(text, at)) is not None:
        sign, at = match[0], match.end()
        if sign in "\"'":
            end = strings.end(match.start())
            if end is None:
                if sign == "'":
                    continue
                break
            at = end
        elif sign == "\n":
            break
        elif sign in "{}":
            depth += 1 if sign == "{" else -1
            if not depth:
                return at
    return _line_end(text, start)


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
