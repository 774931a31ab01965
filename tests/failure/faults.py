"""What is done to a running set: processes killed, engines taken away, disks filled.

A fault returns what it did in words, and what heals it. All choices come from one seeded source.
"""

import errno
import os
import random
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scale.set import EmbeddedSet, Program, ScaledSet

Heal = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing done: `what` in words, and how it is undone."""

    what: str
    heal: Heal


Make = Callable[[random.Random], Fault]


def nothing() -> None:
    """It heals by itself."""


def kill_program(programs: list[Program]) -> Make:
    """The whole program at once, its children with it."""

    def make(rng: random.Random) -> Fault:
        program = rng.choice(programs)
        program.kill()
        # The next fault may come while it starts.
        return Fault(f"kill -9 {program.name}", program.launch)

    return make


def kill_below(programs: list[Program], mark: str, what: str, *, is_leaf: bool = False) -> Make:
    """A process below one of the programs, whose command line holds `mark`.

    Of those with the same command line the leaves are the forked ones.
    """

    def make(rng: random.Random) -> Fault:
        program = rng.choice(programs)
        found = program.descendants()
        marked = [pid for pid, command in found.items() if mark in command]
        parents = {_parent_of(pid) for pid in found}
        chosen = [pid for pid in marked if (pid not in parents) == is_leaf] or marked
        if not chosen:
            return Fault(f"no {what} of {program.name} lives", nothing)
        try:
            os.kill(rng.choice(chosen), signal.SIGKILL)
        except ProcessLookupError:
            return Fault(f"the {what} of {program.name} was just gone", nothing)
        return Fault(f"kill -9 {what} of {program.name}", nothing)

    return make


def kill_child(programs: list[Program]) -> Make:
    """An analysis in the middle, looked for until one runs."""

    def make(rng: random.Random) -> Fault:
        program = rng.choice(programs)
        for _ in range(60):
            found = program.descendants()
            servers = {pid for pid, words in found.items() if "app.sandbox.forking" in words}
            children = [pid for pid in servers if _parent_of(pid) in servers]
            if children:
                try:
                    os.kill(rng.choice(children), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                return Fault(f"kill -9 child of {program.name}", nothing)
        return Fault(f"no child of {program.name} lives", nothing)

    return make


def fill_disk(data: Path) -> Make:
    """No byte is left on the disk of the data folder."""
    ballast = data / "ballast"

    def make(rng: random.Random) -> Fault:
        del rng
        with ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * (1 << 20))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
        return Fault("disk full", lambda: ballast.unlink(missing_ok=True))

    return make


def take_away(what: str, kill: Heal, start: Heal) -> Make:
    """An engine that is killed, and started again with what it held."""

    def make(rng: random.Random) -> Fault:
        del rng
        kill()
        return Fault(f"kill -9 {what}", start)

    return make


def embedded_faults(running: EmbeddedSet, *, disk: bool) -> list[Make]:
    """What can befall one server with all it needs inside; the disk only where it has its own."""
    servers = running.servers
    faults = [
        kill_program(servers),
        kill_child(servers),
        kill_child(servers),
        kill_below(servers, "app.sandbox.forking", "fork server"),
    ]
    return [*faults, fill_disk(running.data)] if disk else faults


def scaled_faults(running: ScaledSet) -> list[Make]:
    """What can befall two servers and two workers on engines of their own."""
    return [
        kill_program(running.servers),
        kill_program(running.workers),
        kill_child(running.workers),
        kill_child(running.workers),
        kill_below(running.workers, "app.sandbox.forking", "fork server"),
        kill_below(running.workers, "celery_worker", "Celery process"),
        kill_below(running.workers, "celery_worker", "Celery slot", is_leaf=True),
        take_away("database", running.database.kill, running.database.start),
        take_away("broker", running.broker.kill, running.broker.start),
        take_away("store of blobs", running.bucket.kill, running.bucket.start),
    ]


def _parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
