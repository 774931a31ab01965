"""A report and its texts as they may be shown to strangers.

`Redactor` is shown everything once (`learn`), so that it knows whose names must go, and then gives
each text and the report as they may be shown. It knows no file and no bundle: texts go in and come
out piece by piece. The same thing becomes the same word everywhere, so that passes compare as
before, and every line keeps its number.

What goes always: folders (those of homes and any unknown ones), names of people and hosts,
addresses, credentials, values of flags that take a path, values of constants, payloads, the names
of the files that were sent, the digest of the dump. What goes on request: names that people chose
in the program (`op_names`), and names of its source files (`source`).
"""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

import msgspec

from app.model.experiments import Replay
from app.model.memory import Memory
from app.model.report import (
    Dump,
    Environment,
    Evidence,
    Finding,
    Input,
    Loop,
    Module,
    Report,
    Skipped,
    UnparsedLine,
)
from app.report.redact_hlo import Payloads
from app.report.redact_lines import SharedLines
from app.report.redact_names import ChosenNames
from app.report.redact_places import Places
from app.report.redact_standins import Words
from app.report.redact_vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Choice:
    """What shall go beside what always goes."""

    op_names: bool = False
    source: bool = False


class Replaced(msgspec.Struct, frozen=True, kw_only=True):
    """What was taken out, and the word that stands for it.

    `times` counts the places in lines and names that differ: those of a line that many passes
    share, or a log repeats, count once.
    """

    kind: str
    original: str
    shown: str
    times: int


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """What would be taken out: counts by kind, the first of it, and what would be told of files.

    `total` things differ; `replaced` are the most frequent of each kind.
    """

    kinds: dict[str, int]
    total: int
    replaced: tuple[Replaced, ...]
    modules: tuple[str, ...]
    flags: dict[str, str]
    sources: tuple[str, ...]


class Redactor:
    """Takes out of one report and its texts what `choice` and the module's rules say."""

    def __init__(self, report: Report, choice: Choice) -> None:
        self._words = Words()
        self._places = Places(self._words, hides_source=choice.source)
        self._payloads = Payloads(self._words)
        self._chosen = ChosenNames(self._words, op_names=choice.op_names, source=choice.source)
        self._members = _Members(report, self._words)
        self._report = report
        self._named: dict[str, str] = {}
        self._lines = SharedLines(self._learn, self._redacted, self._redacted_again)
        for text in dict.fromkeys(_strings(report)):
            self.learn(text)
        for module in report.modules:
            # The names of the others are XLA's own.
            if module.role == "user":
                self._chosen.learn_module(module.name)

    def learn(self, text: str) -> None:
        """Look at a text that will be shown; all have to be seen before the first is asked for."""
        self._lines.learn(text)

    def text(self, text: str) -> str:
        """A text, or a part of one, as it may be shown; it has as many lines."""
        return self._lines.shown(text)

    def member(self, name: str) -> str:
        """The name of a file of the dump, or of a module, as it may be shown."""
        if name not in self._named:
            shown = self._places.replace(self._members.shown(name))
            self._named[name] = self._chosen.replace(shown)
        return self._named[name]

    def report(self) -> Report:
        """The report as it may be shown."""
        return cast(Report, self._value(self._report))

    def replaced(self) -> tuple[Replaced, ...]:
        """All that was taken out so far, the most frequent of each kind first."""
        used = sorted(self._words.used.items(), key=lambda each: (each[0][0], -each[1], each[0][1]))
        return tuple(
            Replaced(
                kind=kind,
                original=original,
                shown=self._words.known(kind, original),
                times=max(number, 1),
            )
            for (kind, original), number in used
        )

    def kept_sources(self) -> tuple[str, ...]:
        """The names of source files that were left, without their folders."""
        return tuple(sorted(self._places.kept_sources))

    def _learn(self, text: str) -> None:
        self._places.learn(text)
        self._chosen.learn(text)

    def _redacted(self, text: str) -> str:
        text = self._members.replace(text)
        text = self._payloads.replace(text)
        text = self._places.replace(text)
        return self._chosen.replace(text)

    def _redacted_again(self, text: str) -> str:
        with self._words.uncounted():
            return self._redacted(text)

    # ---- the report ----------------------------------------------------------------------------

    def _value(self, value: object) -> object:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, tuple):
            return tuple(self._value(item) for item in cast("tuple[object, ...]", value))
        if isinstance(value, dict):
            # Keys are words of ours, opcodes and kinds; flags are told apart below.
            entries = cast("dict[str, object]", value)
            return {key: self._value(item) for key, item in entries.items()}
        if isinstance(value, msgspec.Struct):
            return self._struct(value)
        return value

    def _struct(self, value: msgspec.Struct) -> msgspec.Struct:
        changed: dict[str, Any] = {}
        for name in open_fields(type(value)):
            old = getattr(value, name)
            if isinstance(old, str):
                changed[name] = self._field(value, name, old)
            else:
                changed[name] = self._value(old)
        match value:
            case Input():
                changed |= {"name": input_name(value.name), "sha256": ""}
            case Environment():
                changed["flags"] = {
                    self.text(name): self._chosen.replace_flag(
                        name, self._places.replace_flag(name, text)
                    )
                    for name, text in value.flags.items()
                }
            case Finding():
                changed["also_in"] = tuple(map(self.member, value.also_in))
            case Replay():
                # A text of the program, and flags that take paths: what they showed stays.
                changed |= {"reduced": None, "flags": ()}
            case _:
                pass
        return msgspec.structs.replace(value, **changed)

    def _field(self, value: msgspec.Struct, name: str, text: str) -> str:
        if name in ("loop", "parent") or (isinstance(value, Loop) and name == "id"):
            module, slash, rest = text.rpartition("/")
            return f"{self.member(module)}{slash}{self.text(rest)}"
        if name in ("module", "last_dump") or (type(value), name) in _MEMBERS:
            return self.member(text)
        return self.text(text)


# Fields that hold the name of a file of the dump or of a log, or the id of a module.
_MEMBERS: frozenset[tuple[type, str]] = frozenset(
    {
        (Module, "id"),
        (Dump, "file"),
        (Evidence, "file"),
        (Memory, "file"),
        (UnparsedLine, "file"),
        (Skipped, "name"),
    }
)


@functools.cache
def open_fields(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields whose text may be anything: not those that hold one of a few words of ours."""
    return tuple(
        field.name
        for field in msgspec.structs.fields(kind)
        if not _is_of_few_words(field.type) and field.name not in ("rule", "fingerprint")
    )


def _is_of_few_words(kind: object) -> bool:
    """`Literal[...]`, or that or None."""
    choices = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return any(get_origin(each) is Literal for each in choices)


def input_name(name: str) -> str:
    """`dump.tar.gz` for any archive of that kind, `run.log` for any log."""
    lower = name.lower()
    for suffix in (".tar.gz", ".tar.zst", ".tgz", ".tar", ".zip", ".txt", ".hlo", ".pb", ".log"):
        if lower.endswith(suffix):
            return f"run{suffix}" if suffix == ".log" else f"dump{suffix}"
    return "dump"


_DUMP_FILE = re.compile(r"module_\d+(?:\.[^/\\]*)?")


class _Members:
    """Names of files and modules: folders become words, and so do names XLA did not give."""

    def __init__(self, report: Report, words: Words) -> None:
        self._words = words
        self._shown: dict[str, str] = {}
        names = [each.id for each in report.modules]
        names += [dump.file for module in report.modules for dump in module.dumps]
        names += [each.name for each in report.coverage.skipped]
        names += [each.file for each in report.coverage.unparsed]
        names += [each.file for each in report.memory]
        names += [each.file for finding in report.findings for each in finding.evidence]
        self._input = report.input.name
        if report.input.name:
            self._shown[report.input.name] = input_name(report.input.name)
        self._names = Vocabulary(r"\w", before=r"\w/.-", may_go_on=True)
        for name in names:
            self._note(name)
        for name in self._shown:
            # Short names without a dot may be words of a sentence; they go where a name must stand.
            if "/" in name or ("." in name and len(name) > 4):
                self._names.add(name)

    def shown(self, name: str) -> str:
        """One name."""
        if name in self._shown:
            return self._counted(name)
        folder, slash, base = name.rpartition("/")
        return f"{self._counted(folder + slash)}{self._counted(base)}"

    def replace(self, text: str) -> str:
        """A text with the names in it."""
        return self._names.replace(text, self.shown)

    def _counted(self, name: str) -> str:
        if name in self._shown and name.endswith("/"):
            self._words.put("folder", name[:-1])
        elif name in self._shown and name != self._input:
            self._words.put("file", name)
        return self._shown.get(name, name)

    def _note(self, name: str) -> None:
        # Absolute ones are paths like any other.
        if not name or name.startswith(("/", "~")) or "://" in name:
            return
        folder, slash, base = name.rpartition("/")
        if folder and folder not in _PLAIN_FOLDERS:
            self._shown[folder + slash] = f"{self._words.known('folder', folder)}/"
        if base and not _DUMP_FILE.fullmatch(base) and base not in self._shown:
            stem, dot, suffix = base.rpartition(".")
            kept = f".{suffix}" if dot and stem and suffix in _SUFFIXES else ""
            self._shown[base] = f"{self._words.known('file', base)}{kept}"
        if folder and base in self._shown:
            self._names.add(name)


_PLAIN_FOLDERS = frozenset(
    "dump dumps xla xla_dump xla_dumps hlo hlo_dump out output tmp .".split()
)
_SUFFIXES = frozenset("txt hlo pb log gz zst json tar zip html dot ll ptx mlir py out err".split())


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in cast("tuple[object, ...]", value):
            yield from _strings(item)
    elif isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            yield key
            yield from _strings(item)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _strings(getattr(value, name))
