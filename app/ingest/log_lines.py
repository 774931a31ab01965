"""Lines of a log without what loggers and job launchers put in front of them.

XLA's own headers are those of TSL (`2024-07-01 12:57:35.488299: F external/xla/.../f.cc:675] `),
absl and glog (`F0718 09:12:03.123456   24654 f.cc:31] `) and absl before its start
(`F0000 00:00:1795996601.195595   24654 f.cc:767] `). Launchers add ranks, times, host names and
colours. What the launcher wrote, times left out, tells the processes apart that share a log.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple


class LogLine(NamedTuple):
    """One line: `stream` is the launcher's mark of the process, `text` the message.

    `severity` is I, W, E or F; "" where a header gives none or there is no header. `file` (base
    name) and `line` are those of the header, None where the line has none.
    """

    number: int
    stream: str
    text: str
    severity: str = ""
    file: str | None = None
    line: int | None = None

    @property
    def is_headed(self) -> bool:
        """Whether a logger began a message here."""
        return self.file is not None


ANSI_PATTERN = r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)?|[@-Z\\^_])"
_ANSI = re.compile(ANSI_PATTERN)
_TIME_PATTERN = (
    r"\[?(?:\d{4}-\d\d-\d\d[T ]|[A-Z][a-z]{2} [ \d]\d )?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
    r"(?:Z|[+-]\d\d:?\d\d)?\]?:?"
)
_TIME = re.compile(_TIME_PATTERN)
HEADER_PATTERN = (
    r"(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,9}: (?P<s1>[IWEF]) (?:tensorflow/\S+ )?"
    r"|(?P<s2>[IWEF])\d{4} \d\d:\d\d:\d{2,12}\.\d{1,9} +(?:-?\d{1,12} )?"
    r"|(?<![\w./])(?P<s3>[IWEF]) "
    r"|(?<![\w./+\-\[]))"
    r"(?P<path>[\w./+\-]{0,240}\.(?:cc|h|cu|cpp|inc|inl|mm)):(?P<line>\d{1,9})\](?: |$)"
)
_HEADER = re.compile(HEADER_PATTERN)
# How job launchers mark the process a line comes from; several may stand in a row.
_LAUNCHER_PATTERN = (
    r"(?:\[(?:rank|default|node|worker|task|proc(?:ess)?)[ _-]?\d{1,6}\]:?"
    r"|\[\d{1,5},\d{1,5}\]<std(?:err|out)>:?"
    r"|\((?:[\w.\-]+ )?pid=\d{1,9}(?:, ip=[\w.:]+)?\)"
    r"|(?:[Pp]rocess|[Rr]ank|[Ww]orker|[Tt]ask|[Hh]ost)[ _-]?\d{1,6}(?: *[:|]|>)"
    r"|\d{1,5}: (?=\S)"
    r"|[\w.\-]{1,80} {0,20}\| "
    r") ?"
)
_MARKS = re.compile(rf"(?:(?!\s)(?:{_LAUNCHER_PATTERN}|{_TIME_PATTERN} ?))+")
# A header stands near the start of its line; longer lines are instructions.
HEADER_WITHIN = 400
_LAUNCHER_WITHIN = 200
# What follows a progress bar on its line: `12%|# | 3/25 [00:01<00:09, 2.2it/s]Traceback`.
_BAR = re.compile(
    r"[^\n]{0,300}?(?:[\d?:]<|\[[\d:]{2,12}, )[^\]\n]{0,60}(?:it/s|s/it)[^\]\n]{0,100}\] ?"
    r"(?=[^\s,])"
)
_HEADER_END = re.compile(r"\.(?:cc|h|cu|cpp|inc|inl|mm):\d{1,9}\]")


class LineCleaner:
    """Takes lines one after another; the prefix of the last headed line helps with the others."""

    def __init__(self) -> None:
        self._last_prefix = ""

    def clean(self, number: int, raw: str) -> LogLine:
        """The line without what stands around it; `number` is 1-based."""
        text = raw.rstrip("\r\n")
        if "\x1b" in text:
            text = _ANSI.sub("", text)
        if "\r" in text:
            # A progress bar redraws its line; what stands last was seen last.
            text = text[text.rfind("\r") + 1 :]
        if ("it/s" in text or "s/it" in text) and (bar := _BAR.match(text)):
            text = text[bar.end() :]
        found = _header_of(text)
        if found is None:
            stream, text = _split_launcher(text, self._last_prefix)
            return LogLine(number, stream, text)
        self._last_prefix = text[: found.start()]
        return LogLine(
            number,
            _stream_of(self._last_prefix),
            text[found.end() :],
            found["s1"] or found["s2"] or found["s3"] or "",
            found["path"].rpartition("/")[2],
            int(found["line"]),
        )


def _header_of(text: str) -> re.Match[str] | None:
    has_end = _HEADER_END.search(text, 0, HEADER_WITHIN)
    if has_end is None:
        return None
    end = has_end.end() + 1
    # Most headers stand where the line begins, and there the first answer is the one.
    return _HEADER.match(text, 0, end) or _HEADER.search(text, 1, end)


def clean_lines(lines: Iterable[str]) -> Iterator[LogLine]:
    """The lines in order, numbered from 1."""
    cleaner = LineCleaner()
    return (cleaner.clean(number, raw) for number, raw in enumerate(lines, start=1))


@lru_cache(maxsize=1 << 12)
def _stream_of(prefix: str) -> str:
    return " ".join(_TIME.sub("", prefix).split()) if prefix else ""


def _split_launcher(text: str, last_prefix: str) -> tuple[str, str]:
    if last_prefix and text.startswith(last_prefix):
        return _stream_of(last_prefix), text[len(last_prefix) :]
    found = _MARKS.match(text, 0, _LAUNCHER_WITHIN)
    place = found.end() if found is not None else 0
    return _stream_of(text[:place]), text[place:]
