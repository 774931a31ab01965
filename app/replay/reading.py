"""Compiles with one release, from a text that the release reads.

Where a release refuses the text of the dump as none of its language, it is given the same module in
an older form (`older`); what that leaves out is told among what was dropped. No other text is ever
changed.
"""

import dataclasses
from collections.abc import Mapping

from app.knowledge.releases import release_key
from app.replay.compiling import Budget
from app.replay.older import older_form
from app.replay.outcome import OF_SHARDY, Attempt, Kind
from app.replay.silent import compile_telling
from app.replay.subject import Subject
from app.replay.toolchains import Toolchain
from hlo_parser import parse_module

# xla/python/xla_compiler.cc, ParseHloModule; ValueError or XlaRuntimeError by release.
_NOT_READ = "Syntax error when trying to parse the text as a HloModule"
# jax turned `jax_use_shardy_partitioner` on with it (jax/CHANGELOG.md).
_FIRST_BY_SHARDY = "0.7.0"


def _asks_for_another(attempt: Attempt) -> bool:
    return _NOT_READ in attempt.words or attempt.words == OF_SHARDY


class Reader:
    """One release and the text of a dump; `gone` is what was left out for it to read that."""

    def __init__(self, tool: Toolchain, dumped: Subject, budget: Budget, signature: str) -> None:
        self.gone: tuple[str, ...] = ()
        self.tool = tool
        self._dumped = dumped
        self._budget = budget
        self._signature = signature
        self._older: bytes | None = None

    def compile(self, subject: Subject, flags: Mapping[str, str]) -> Attempt:
        """As `compile_telling`; the dump's own text is given anew where it is not read."""
        attempt = self._compiled(self.readable(subject), flags)
        is_dumped = subject.data == self._dumped.data and subject.form == "text"
        if attempt.kind != Kind.REFUSED or not _asks_for_another(attempt) or not is_dumped:
            return self._with_what_is_gone(attempt, subject)
        found = None if self._older else self._anew()
        if found is None:
            words = f"{attempt.words} (and hloscope cannot say all of it in older words)"
            return dataclasses.replace(attempt, words=words)
        older, gone = found
        again = self._compiled(dataclasses.replace(subject, data=older), flags)
        if again.kind == Kind.REFUSED and _asks_for_another(again):
            words = f"{again.words} (this is the older form that hloscope prints)"
            return dataclasses.replace(again, words=words)
        self._older, self.gone = older, gone
        return self._with_what_is_gone(again, subject)

    def readable(self, subject: Subject) -> Subject:
        """The subject as this release reads it, as far as that is known."""
        if self._older is None or subject.data != self._dumped.data:
            return subject
        return dataclasses.replace(subject, data=self._older)

    def in_older_form(self) -> Subject:
        """The dump's own text as this release reads it, known from a compile of long ago."""
        found = None if self._older else self._anew()
        if found is not None:
            self._older, self.gone = found
        return self.readable(self._dumped)

    def _anew(self) -> tuple[bytes, tuple[str, ...]] | None:
        has_shardy = release_key(self.tool.release) >= release_key(_FIRST_BY_SHARDY)
        return older_form(parse_module(self._dumped.data), has_shardy=has_shardy)

    def _compiled(self, subject: Subject, flags: Mapping[str, str]) -> Attempt:
        return compile_telling(
            self.tool, subject, flags, budget=self._budget, signature=self._signature
        )

    def _with_what_is_gone(self, attempt: Attempt, subject: Subject) -> Attempt:
        if subject.data != self._dumped.data:
            return attempt
        return dataclasses.replace(attempt, dropped=(*attempt.dropped, *self.gone))
