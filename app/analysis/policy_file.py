"""A policy as its TOML text says it: checks with limits and expectations, typed.

Text in, values out. A key or value that means nothing is refused with its place, for a check that
is not understood would otherwise pass for ever.
"""

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal, cast

from app.analysis.opcodes import COLLECTIVES
from app.errors import UsageError
from app.model.comparison import Unit

Measure = Literal[
    "carry",
    "collective_bytes",
    "collectives",
    "copies",
    "custom_calls",
    "exposed_us",
    "flops",
    "fusions",
    "instructions",
    "peak_memory",
    "run_bytes",
    "total_memory",
    "trip_count",
    "whiles",
]
Expectation = Literal["double_buffered", "no_resharding", "pipelined", "same_graph"]

UNITS: Mapping[Measure, Unit] = {
    "carry": "",
    "collective_bytes": "bytes",
    "collectives": "",
    "copies": "",
    "custom_calls": "",
    "exposed_us": "us",
    "flops": "flops",
    "fusions": "",
    "instructions": "",
    "peak_memory": "bytes",
    "run_bytes": "bytes",
    "total_memory": "bytes",
    "trip_count": "",
    "whiles": "",
}
"""The measures, with the unit of each."""

EXPECTATIONS: tuple[Expectation, ...] = (
    "double_buffered",
    "no_resharding",
    "pipelined",
    "same_graph",
)

OF_LOOPS: frozenset[Measure] = frozenset(
    {"carry", "collective_bytes", "collectives", "exposed_us", "trip_count"}
)
"""Measures that may be taken of one loop; `carry` and `trip_count` of nothing else."""

ONLY_OF_LOOPS: frozenset[Measure] = frozenset({"carry", "trip_count"})
OF_COLLECTIVES: frozenset[Measure] = frozenset({"collective_bytes", "collectives", "exposed_us"})

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s?([KMGT]i?B|B)?")
_SCALES = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
}
_PERCENT = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)\s?%")
_LINES = re.compile(r"([^:\s][^:]*?)(?::(\d{1,9})(?:-(\d{1,9}))?)?")


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one file of the program, both ends included; the folder does not matter."""

    file: str
    first: int = 0
    last: int = 1 << 62


@dataclass(frozen=True, slots=True)
class Increase:
    """How much more than the baseline is let pass: an amount, or a part of the baseline."""

    amount: float = 0.0
    part: float = 0.0


@dataclass(frozen=True, slots=True)
class Check:
    """One check: a measure with limits, or an expectation.

    `module` and `loop` are patterns (`*` and `?`); a loop is also named by its line, `file.py:12`.
    `opcode` and `lines` narrow what is counted. `optional`: what is not known is let pass.
    """

    name: str
    measure: Measure | None = None
    expect: Expectation | None = None
    module: str | None = None
    loop: str | None = None
    opcode: str | None = None
    lines: tuple[Lines, ...] = ()
    least: float | None = None
    most: float | None = None
    increase: Increase | None = None
    optional: bool = False
    given: Mapping[str, str] = field(default_factory=dict[str, str])
    """`min`, `max` and `max_increase` in the words of the policy, where these are sizes."""

    @property
    def needs_baseline(self) -> bool:
        """Whether it says nothing without one."""
        return self.increase is not None or self.expect == "same_graph"


_KEYS = (
    "expect",
    "lines",
    "loop",
    "max",
    "max_increase",
    "measure",
    "min",
    "module",
    "name",
    "opcode",
    "optional",
)


def read_policy(text: str, name: str) -> tuple[Check, ...]:
    """The checks of a policy, in order; `name` is the file's, for complaints.

    Raises:
        UsageError: the text is no TOML, or says something that means nothing.
    """
    try:
        document: dict[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"this is no TOML: {error}", place=name) from error
    defaults = {key: value for key, value in document.items() if key != "check"}
    _refuse_others(defaults, ("module",), name)
    listed = document.get("check")
    if not isinstance(listed, list) or not listed:
        raise UsageError("there is no [[check]]", place=name)
    return tuple(
        _check(defaults, entry, f"{name}, check {number}")
        for number, entry in enumerate(cast(list[object], listed), start=1)
    )


def _check(defaults: Mapping[str, object], entry: object, place: str) -> Check:
    if not isinstance(entry, dict):
        raise UsageError("a check is a table", place=place)
    given = {**defaults, **cast(dict[str, object], entry)}
    _refuse_others(given, _KEYS, place)
    read = _Reader(given, place)
    measure = cast(Measure | None, read.one_of("measure", tuple(UNITS)))
    unit = UNITS[measure] if measure is not None else ""
    check = Check(
        name=read.text("name") or "",
        measure=measure,
        expect=cast(Expectation | None, read.one_of("expect", EXPECTATIONS)),
        module=read.text("module"),
        loop=read.text("loop"),
        opcode=read.text("opcode"),
        lines=read.lines("lines"),
        least=read.amount("min", unit),
        most=read.amount("max", unit),
        increase=read.increase("max_increase", unit),
        optional=read.flag("optional"),
        given=read.sizes("min", "max", "max_increase"),
    )
    if complaint := _complaint(check):
        raise UsageError(complaint, place=place)
    _refuse_no_collective(check.opcode, place)
    return check if check.name else _named(check)


def _complaint(check: Check) -> str | None:
    limits = (check.least, check.most, check.increase)
    has_limit = any(limit is not None for limit in limits)
    narrowed = check.opcode is not None or bool(check.lines)
    cases: tuple[tuple[bool, str], ...] = (
        ((check.measure is None) == (check.expect is None), "say either `measure` or `expect`"),
        (check.measure is not None and not has_limit, "a measure needs min, max or max_increase"),
        (check.expect is not None and has_limit, "an expectation has no limits"),
        (
            check.measure in ONLY_OF_LOOPS and check.loop is None,
            f"{check.measure} is that of a loop: say which",
        ),
        (
            check.measure is not None and check.loop is not None and check.measure not in OF_LOOPS,
            f"{check.measure} is not known by loop",
        ),
        (
            narrowed and check.measure not in OF_COLLECTIVES and check.expect != "no_resharding",
            "`opcode` and `lines` narrow collectives and reshardings alone",
        ),
        (
            check.expect in ("pipelined", "double_buffered") and check.loop is None,
            f"`{check.expect}` is said of loops: say which",
        ),
    )
    return next((said for is_wrong, said in cases if is_wrong), None)


def _named(check: Check) -> Check:
    words = [(check.measure or check.expect or "").replace("_", " ")]
    words += [f"of {check.opcode}"] * (check.opcode is not None)
    words += [f"in {check.loop}"] * (check.loop is not None)
    return replace(check, name=" ".join(words))


def _refuse_others(given: Mapping[str, object], keys: tuple[str, ...], place: str) -> None:
    for key in given:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, n=1)
            raise UsageError(
                f"`{key}` means nothing here",
                place=place,
                next_step=f"Did you mean `{near[0]}`?" if near else f"Known: {', '.join(keys)}.",
            )


def _refuse_no_collective(pattern: str | None, place: str) -> None:
    """A pattern that fits no collective would count nothing for ever."""
    if pattern is None or any(fnmatchcase(opcode, pattern) for opcode in COLLECTIVES):
        return
    known = sorted(COLLECTIVES)
    near = difflib.get_close_matches(pattern, known, n=1)
    raise UsageError(
        f"`opcode` {pattern!r} is no collective",
        place=place,
        next_step=f"Did you mean `{near[0]}`?" if near else f"Known: {', '.join(known)}.",
    )


class _Reader:
    """Values of one table by key, each refused where it is of another kind."""

    def __init__(self, given: Mapping[str, object], place: str) -> None:
        self._given = given
        self._place = place

    def _refuse(self, key: str, wanted: str) -> UsageError:
        return UsageError(f"`{key}` must be {wanted}", place=self._place)

    def text(self, key: str) -> str | None:
        value = self._given.get(key)
        if value is None or (isinstance(value, str) and value):
            return value
        raise self._refuse(key, "a text")

    def one_of(self, key: str, words: tuple[str, ...]) -> str | None:
        value = self.text(key)
        if value is None or value in words:
            return value
        raise self._refuse(key, f"one of {', '.join(words)}")

    def flag(self, key: str) -> bool:
        value = self._given.get(key, False)
        if isinstance(value, bool):
            return value
        raise self._refuse(key, "true or false")

    def lines(self, key: str) -> tuple[Lines, ...]:
        value = self._given.get(key)
        if value is None:
            return ()
        listed = cast(list[object], value) if isinstance(value, list) else [value]
        return tuple(self._lines(key, word) for word in listed)

    def _lines(self, key: str, word: object) -> Lines:
        found = _LINES.fullmatch(word) if isinstance(word, str) else None
        if found is None:
            raise self._refuse(key, 'texts such as "train.py:40" or "train.py:40-60"')
        if found[2] is None:
            return Lines(found[1])
        first, last = int(found[2]), int(found[3] or found[2])
        if last < first:
            raise self._refuse(key, 'texts such as "train.py:40-60", the first line first')
        return Lines(found[1], first, last)

    def amount(self, key: str, unit: Unit) -> float | None:
        value = self._given.get(key)
        return None if value is None else self._number(key, value, unit)

    def _number(self, key: str, value: object, unit: Unit) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return float(value)
        found = _SIZE.fullmatch(value) if isinstance(value, str) and unit == "bytes" else None
        if found is None:
            size = ' or a size such as "12 GiB"' if unit == "bytes" else ""
            raise self._refuse(key, f"a number{size}")
        return float(found[1]) * _SCALES[found[2] or "B"]

    def sizes(self, *keys: str) -> dict[str, str]:
        values = {key: self._given.get(key) for key in keys}
        return {key: word.strip() for key, word in values.items() if isinstance(word, str)}

    def increase(self, key: str, unit: Unit) -> Increase | None:
        value = self._given.get(key)
        if value is None:
            return None
        part = _PERCENT.fullmatch(value) if isinstance(value, str) else None
        if part is not None:
            return Increase(part=float(part[1]) / 100)
        return Increase(amount=self._number(key, value, unit))
