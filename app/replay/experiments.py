"""Many compiles of one subject: in parallel, within a time, and never the same one twice.

Each answer is kept in a file named after the content of all that decides it (module, counts,
target, release, flags, the failure looked for, all files of this room, the version that reads
their logs), so a bisection that was broken off goes on where it was. What ran out of time,
memory or disk, was refused or interrupted, is not kept: another machine, or a new environment, may
do it. Nor is an answer between whose question and itself those files changed.
"""

import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from app.model.experiments import Effects
from app.replay.compiling import OWN_TARGET, flags_for
from app.replay.older import OF_TEXT
from app.replay.outcome import Attempt, Kind
from app.replay.sameness import is_same
from app.replay.search import OutOfBudget
from app.replay.subject import Subject

Flags = Mapping[str, str]
Compile = Callable[[Subject, Flags], Attempt]
Told = Callable[[str, Attempt], None]
Weigh = Callable[[Subject, Flags], Effects | None]
"""Compiles once more, keeping the dump, and has it analysed; None where that gives nothing."""

_NOT_KEPT = (Kind.TIME, Kind.MEMORY, Kind.DISK, Kind.REFUSED, Kind.INTERRUPTED)
_CHANGED = Attempt(
    Kind.INTERRUPTED,
    words="hloscope was changed while it compiled, so this is no answer; ask again",
)


@dataclasses.dataclass(frozen=True, slots=True)
class Variant:
    """One thing to try: `name` is what a table calls it, `flags` all flags of the compile."""

    name: str
    flags: Flags
    subject: Subject


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """A variant and what became of it; None where the time was up before its turn."""

    variant: Variant
    attempt: Attempt | None


class Laboratory:
    """Compiles variants with one release.

    Args:
        release: the release, for its name.
        compile: compiles once; it is called by several threads.
        folder: where answers are kept.
        seconds: how long new compiles may be started.
        jobs: how many run at once; 0: one a processor.
        signature: the failure that `compile` looks for, where a log states several.
        weigh: says what a variant that compiles costs.
        told: is called after each variant, by whichever thread did it.
    """

    def __init__(
        self,
        release: str,
        compile: Compile,
        folder: Path,
        *,
        seconds: float = 600.0,
        jobs: int = 0,
        signature: str = "",
        told: Told | None = None,
        weigh: Weigh | None = None,
    ) -> None:
        self.release = release
        self.compiled = 0
        self._compile = compile
        self._folder = folder
        self._deadline = time.monotonic() + seconds
        self.jobs = jobs or len(os.sched_getaffinity(0))
        self._signature = signature
        self._told = told
        self._weigh = weigh
        self._room = _digest_of_room()

    def try_all(self, variants: Sequence[Variant]) -> tuple[Result, ...]:
        """Try them, as many at once as may be; the results stand in the order given."""
        with ThreadPoolExecutor(self.jobs) as pool:
            return tuple(pool.map(self._result, variants))

    def try_one(self, variant: Variant) -> Attempt:
        """Try one.

        Raises:
            OutOfBudget: the time is up, and its answer is not known from before.
        """
        kept = self._folder / f"{self._key(variant)}.json"
        attempt = _read(kept)
        if attempt is None:
            if time.monotonic() > self._deadline:
                raise OutOfBudget
            attempt = self._compiled(variant)
            if attempt.kind == Kind.INTERRUPTED:
                attempt = self._compiled(variant)
            if attempt.kind not in _NOT_KEPT:
                _write(kept, attempt)
        attempt = self._with_own_drops(attempt, variant)
        if self._told is not None:
            self._told(variant.name, attempt)
        return attempt

    def effects(self, variant: Variant) -> Effects | None:
        """What a variant that compiles costs; None where the time is up, or nobody weighs."""
        kept = self._folder / f"{self._key(variant)}.effects.json"
        try:
            return msgspec.json.decode(kept.read_bytes(), type=Effects)
        except (OSError, msgspec.DecodeError):
            pass  # never weighed, or half written
        if self._weigh is None or time.monotonic() > self._deadline:
            return None
        found = self._weigh(variant.subject, variant.flags)
        if found is not None:
            _put(kept, msgspec.json.encode(found))
        return found

    def _compiled(self, variant: Variant) -> Attempt:
        attempt = self._compile(variant.subject, variant.flags)
        self.compiled += 1
        if _digest_of_room() != self._room:
            return dataclasses.replace(_CHANGED, seconds=attempt.seconds)
        return attempt

    def _result(self, variant: Variant) -> Result:
        try:
            return Result(variant, self.try_one(variant))
        except OutOfBudget:
            return Result(variant, None)

    def _with_own_drops(self, attempt: Attempt, variant: Variant) -> Attempt:
        """A kept answer may be that of a variant which differs by flags that were not given."""
        _, own = flags_for(self.release, variant.flags)
        others = (n for n in attempt.dropped if n == OWN_TARGET or n.startswith(OF_TEXT))
        dropped = (*own, *others)
        return dataclasses.replace(attempt, dropped=dropped)

    def _key(self, variant: Variant) -> str:
        known, _ = flags_for(self.release, variant.flags)
        subject = variant.subject
        decides = (
            self.release,
            sorted(known.items()),
            hashlib.sha256(subject.data).hexdigest(),
            subject.form,
            subject.replicas,
            subject.partitions,
            subject.backend,
            subject.target,
            self._signature,
            self._room,
            metadata.version("hloscope"),
        )
        return hashlib.sha256(json.dumps(decides).encode()).hexdigest()


def compared(attempt: Attempt, signature: str) -> Attempt:
    """The attempt as one who looks for `signature` calls it; a kept answer knows no such wish."""
    if attempt.kind not in (Kind.SAME, Kind.ANOTHER):
        return attempt
    kind = Kind.SAME if is_same(attempt.signature, signature) else Kind.ANOTHER
    return dataclasses.replace(attempt, kind=kind)


def _read(path: Path) -> Attempt | None:
    try:
        kept: dict[str, Any] = json.loads(path.read_text("utf-8"))
        kept["kind"] = Kind(kept["kind"])
        kept["dropped"] = tuple(kept["dropped"])
        return Attempt(**kept)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # never asked, or half written by one that was killed: it is asked again


def _write(path: Path, attempt: Attempt) -> None:
    _put(path, json.dumps(dataclasses.asdict(attempt)).encode())


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.{time.monotonic_ns()}")
    part.write_bytes(data)
    part.replace(path)


def _digest_of_room() -> str:
    """Of all its files, since no list of those that have a say in an answer would stay whole."""
    digest = hashlib.sha256()
    for file in sorted(files("app.replay").iterdir(), key=lambda each: each.name):
        if file.is_file():
            data = file.read_bytes()
            digest.update(f"{file.name} {len(data)} ".encode())
            digest.update(data)
    return digest.hexdigest()
