"""The words every rendering shares: sizes, places, passes, events, certainty, and safe text.

Takes values of `app.model.report` and gives plain text; knows nothing of HTML or terminals. Text
that came out of a dump is made harmless here once for all renderings by `legible`.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal, TypeVar, cast

import msgspec

from app.model.report import (
    CONFIDENCES,
    SEVERITIES,
    Confidence,
    Dump,
    Finding,
    LoopEventKind,
    RuledOut,
    Severity,
    Source,
    Workaround,
)
from app.model.source import SourceHow

T = TypeVar("T")

EventGroup = Literal["lifetime", "pipelined", "multiplied", "trip_count", "minor"]

_MOST_MODULES = 3
_MOST_CODE = 400

EVENT_WORDS: dict[LoopEventKind, str] = {
    "created": "created",
    "peeled": "peeled",
    "unrolled": "unrolled",
    "fully_unrolled": "fully unrolled",
    "double_buffered": "double buffered",
    "pipelined_forward": "pipelined forward",
    "pipelined_backward": "pipelined backward",
    "pipelined_forward_sink": "pipelined forward (sink)",
    "trip_count_changed": "trip count changed",
    "carry_changed": "carry changed",
    "renamed": "renamed",
    "moved": "moved",
    "simplified": "simplified",
    "removed": "removed",
}

EVENT_GROUPS: dict[LoopEventKind, EventGroup] = {
    "created": "lifetime",
    "removed": "lifetime",
    "pipelined_forward": "pipelined",
    "pipelined_backward": "pipelined",
    "pipelined_forward_sink": "pipelined",
    "double_buffered": "multiplied",
    "unrolled": "multiplied",
    "fully_unrolled": "multiplied",
    "peeled": "multiplied",
    "trip_count_changed": "trip_count",
    "carry_changed": "minor",
    "renamed": "minor",
    "moved": "minor",
    "simplified": "minor",
}

# Most telling first: of several events at one place the first group gives the mark.
GROUP_WORDS: dict[EventGroup, str] = {
    "pipelined": "pipelined",
    "multiplied": "doubled, unrolled or peeled",
    "lifetime": "created or removed",
    "trip_count": "trip count changed",
    "minor": "renamed, moved or simplified",
}

SEVERITY_WORDS: dict[Severity, str] = {"error": "Error", "warning": "Warning", "note": "Note"}

CONFIDENCE_WORDS: dict[Confidence, str] = {
    "certain": "certain",
    "likely": "likely",
    "possible": "possible",
    "ruled_out": "ruled out",
}

# How the line of an instruction that does not state its own is known.
LINE_ORIGINS: dict[SourceHow, str] = {
    "earlier_text": "line stated in an earlier text",
    "renumbered": "line inferred: the frame id does not fit the table of its text",
    "callees": "line inferred from what it runs",
    "loop_body": "line inferred from the body of its loop",
    "operand": "line inferred from the value it hands on",
    "users": "line inferred from what it is made for",
    "caller": "line inferred from what runs it",
}

# What counts as a failure, by the word a user gives.
AT_OR_ABOVE: dict[str, tuple[Severity, ...]] = {
    "error": ("error",),
    "warning": ("error", "warning"),
    "note": ("error", "warning", "note"),
    "never": (),
}

# Fields whose text may rightly have several lines; anywhere else a line break is written out.
_MULTILINE = frozenset({"message", "text", "why", "detail"})

# Elsewhere a backslash is part of a name, or of an escape that `visible` wrote.
_WINDOWS = re.compile(r"[A-Za-z]:\\|\\\\[A-Za-z0-9]")

# `module_0000.jit_train.0071.collective-optimizations.after_X.before_Y.txt`
# xla/service/hlo_pass_pipeline.cc
_PIPELINE_START = "pipeline-start"
_POINT = re.compile(r"(?:before|after)_[A-Za-z_]+(?=(?:\.[a-z]{2,8}){0,3}$)")
_STEP = re.compile(r"\.(\d{4,9})\.[^/]*$")


def gravity(
    severity: Severity, confidence: Confidence, *, leads: bool = False
) -> tuple[bool, int, bool, int]:
    """Sort key of findings: what is not ruled out first, then the grave, then the sure.

    What `leads` comes before the surest of its severity.
    """
    return (
        confidence == "ruled_out",
        SEVERITIES.index(severity),
        not leads,
        CONFIDENCES.index(confidence),
    )


def visible(text: str, *, keep_newlines: bool = False) -> str:
    """`text` with control, format and unpaired characters written as escapes.

    Format characters include those that turn the direction of writing, which make a line read as
    another one.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or (keep_newlines and char in "\n\t") else _escape(char)
        for char in text
    )


def code_line(line: str) -> str:
    """A line of the user's program, with blanks for tabs; one of absurd length is cut."""
    cut = line if len(line) <= _MOST_CODE else f"{line[:_MOST_CODE]}…"
    return visible(cut.expandtabs(4))


def _escape(char: str) -> str:
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    if char in named:
        return named[char]
    if unicodedata.category(char) == "Zs":
        return " "
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def legible(value: T, *, multiline: bool = False) -> T:
    """A report, or any part of one, in which every text is `visible`; itself where it was so."""
    return cast(T, _legible(value, multiline))


def _legible(value: object, multiline: bool) -> object:
    if isinstance(value, str):
        return visible(value, keep_newlines=multiline)
    if isinstance(value, tuple):
        items = cast(tuple[object, ...], value)
        legible_items = tuple([_legible(item, multiline) for item in items])
        same = all(new is old for new, old in zip(legible_items, items, strict=True))
        return items if same else legible_items
    if isinstance(value, dict):
        entries = cast(dict[str, object], value)
        legible_entries = {visible(key): _legible(item, multiline) for key, item in entries.items()}
        return entries if legible_entries == entries else legible_entries
    if isinstance(value, msgspec.Struct):
        names = value.__struct_fields__
        changed: dict[str, object] = {}
        for name in names:
            old = getattr(value, name)
            new = _legible(old, name in _MULTILINE)
            if new is not old:
                changed[name] = new
        return msgspec.structs.replace(value, **changed) if changed else value
    return value


def tried_words(item: Workaround | RuledOut) -> str:
    """What a replay made of it, to stand behind its text; "" where nobody tried."""
    if item.verified is None:
        return ""
    if isinstance(item, RuledOut):
        shown = "it fails all the same" if item.verified else "yet it cures"
        return f" (tried {' '.join(item.flags)}: {shown})"
    return " (tried: works)" if item.verified else " (tried: does not help)"


def size_text(byte_count: int) -> str:
    """A size for reading, in binary units: `14.0 MiB`."""
    size = float(byte_count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 1024 or unit == "TiB":
            return f"{byte_count:,} B" if unit == "B" else f"{size:,.1f} {unit}"
        size /= 1024
    raise AssertionError("unreachable: the last unit always fits")


def operations_text(flops: int) -> str:
    """A count of floating-point operations for reading: `8.6 GFLOP`."""
    size = float(flops)
    for unit in ("", "K", "M", "G", "T"):
        if size < 1000:
            return f"{size:,.0f} FLOP" if not unit else f"{size:,.1f} {unit}FLOP"
        size /= 1000
    return f"{size:,.1f} PFLOP"


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 loop`, `2 loops`, `10,000 loops`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def change_text(change: int) -> str:
    """A difference of counts with its sign, a minus as typesetters write it; "" for none."""
    return f"{change:+,}".replace("-", "\u2212") if change else ""


def counts_text(counts: dict[str, int]) -> str:
    """`all-gather 8, reduce-scatter 3`, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {number:,}" for name, number in ordered if number)


def cut_list(names: Sequence[str], limit: int) -> str:
    """`a, b, c and 9 more`."""
    shown = ", ".join(names[:limit])
    note = more_text(len(names) - limit)
    return f"{shown} {note}" if note else shown


def message_text(finding: Finding) -> str:
    """What a finding says, and in which other modules the very same stands."""
    names = finding.also_in
    if not names:
        return finding.message
    more = "another module" if len(names) == 1 else f"{len(names):,} other modules"
    return f"{finding.message}\nThe same stands in {more}: {cut_list(names, _MOST_MODULES)}."


def shortened(name: str, limit: int) -> str:
    """A name of at most `limit` characters: both ends are kept, for names differ at either."""
    if len(name) <= limit:
        return name
    head = limit // 2
    return f"{name[:head]}…{name[head + 1 - limit :]}"


def more_text(number: int) -> str:
    """`and 12 more` where a list was cut, "" where it was not."""
    return f"and {number:,} more" if number > 0 else ""


def file_name(path: str) -> str:
    """The last part of a path, of Windows too where it starts with a drive or two backslashes."""
    separator = "\\" if _WINDOWS.match(path) else "/"
    return path.rsplit(separator, 1)[-1] or path


def place_text(source: Source) -> str:
    """`prog1.py:55` for a line of the user's program."""
    return f"{file_name(source.file)}:{source.line}"


def pass_number(dump: Dump) -> str:
    """The number XLA gave the text (`0071`), or "" where its file name has none."""
    matched = _STEP.search(file_name(dump.file))
    return matched[1] if matched else ""


def pass_label(dump: Dump) -> str:
    """What wrote a text: the pass, or the point of the compile where no pass did.

    A pipeline writes a text at its start, before any of its passes, and names no pass in it.
    """
    if dump.after == _PIPELINE_START:
        return f"start of {dump.pipeline or 'a pipeline'}"
    if dump.after:
        return dump.after
    name = file_name(dump.file)
    point = _POINT.search(name)
    return point[0].replace("_", " ") if point else name


def numbered_pass(dump: Dump) -> str:
    """`0071 reduce-scatter-creator`."""
    return f"{pass_number(dump)} {pass_label(dump)}".strip()
