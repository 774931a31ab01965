"""Flags that XLA refused: which they are, in which way, and which line of the log says so.

A name may be unknown, a value may not be of the flag's type, XLA_FLAGS may name a file that is not
there, and a program may give a flag as an option of one compile. What the flags mean is not known
here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from app.model.dump import LogFacts

_UNKNOWN = re.compile(r"Unknown flags? in (?:XLA_FLAGS|LIBTPU_INIT_ARGS): (?P<flags>[^\n]*)")
_LISTED = re.compile(r"--?(?P<name>xla_\w+)")
_UNKNOWN_ONE = re.compile(
    r"Unknown command line flag '(?P<command>\w{1,200})'"
    r"|No such compile option: '(?P<option>\w{1,200})'"
)
_VALUE = re.compile(
    r"Couldn't interpret value (?P<given>[^\n]{0,200}) for flag (?P<flag>\w{1,200})"
    r"|Illegal value for --(?P<of>\w{1,200}) '(?P<illegal>[^'\n]{0,200})'"
    r"|While setting option (?P<option>\w{1,200}), '(?P<bad>[^'\n]{0,200})' is not a valid"
)
_FILE = re.compile(
    r'Could not open file "(?P<path>[^"\n]{0,400})" to read flags for environment variable'
)
# The file whose checks end the process: xla/parse_flags_from_env.cc.
PARSER = "parse_flags_from_env.cc"

RefusalKind = Literal["unknown", "option", "value", "file"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A flag that was refused.

    `flag` is its name without dashes, for `file` what XLA took for the name of a file; `value` is
    what it was set to, where the message says so. `option` are names given for one compile; `log`
    and `line` are the place of the message, `text` what it says.
    """

    kind: RefusalKind
    flag: str
    value: str
    log: str
    line: int
    text: str


def flag_refusals(log: LogFacts) -> tuple[Refusal, ...]:
    """What was refused, in the order of the log, each flag once."""
    found: dict[tuple[str, str], Refusal] = {}
    for refusal in sorted(_refusals(log), key=lambda refusal: refusal.line):
        found.setdefault((refusal.kind, refusal.flag), refusal)
    return tuple(found.values())


def unknown_flags(log: LogFacts) -> tuple[str, ...]:
    """The names of the flags that XLA does not know, in its order."""
    return tuple(r.flag for r in flag_refusals(log) if r.kind in ("unknown", "option"))


def _refusals(log: LogFacts) -> Iterator[Refusal]:
    places = [(f.text, f.log, f.line_number) for f in log.failures]
    places += [(v.text, v.log, v.line_number) for v in log.verbose if v.severity in ("E", "F", "")]
    for text, name, line in places:
        for kind, flag, value in _told(text):
            yield Refusal(kind, flag, value, name, line, text)


def _told(text: str) -> Iterator[tuple[RefusalKind, str, str]]:
    if found := _UNKNOWN.search(text):
        for flag in _LISTED.findall(found["flags"]):
            yield "unknown", flag, ""
    if found := _UNKNOWN_ONE.search(text):
        yield (
            ("option", found["option"], "")
            if found["option"]
            else (
                "unknown",
                found["command"],
                "",
            )
        )
    if found := _VALUE.search(text):
        flag = found["flag"] or found["of"] or found["option"]
        yield "value", flag, found["given"] or found["illegal"] or found["bad"] or ""
    if found := _FILE.search(text):
        yield "file", found["path"], ""
