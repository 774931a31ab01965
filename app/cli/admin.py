"""`hloscope admin ...`: what whoever runs a server does with its store, also while it runs."""

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from app.cli.arguments import Commands, add_place_options, with_places
from app.cli.commands import COMMANDS
from app.cli.output import console_for_report, write_json
from app.cli.tokens import describe_tokens, tokens
from app.errors import ServerFault, UsageError
from app.settings import Settings
from app.store import NoSpace, Store, StoreUnavailable
from app.store.upkeep import Damage, Stats

_MIB = 1 << 20

Act = Callable[[argparse.Namespace, Settings, Store], int]


def add_parser(commands: Commands) -> None:
    """Declare the command and those below it."""
    parser = commands.add_parser(
        "admin",
        help=COMMANDS["admin"],
        description="Looks after the store of a server, which may be running meanwhile.",
    )
    parser.set_defaults(run=partial(_list_actions, parser))
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    stats = _action(actions, "stats", "what is in the store", _stats)
    stats.add_argument("--json", metavar="FILE", help="write it as JSON (- is stdout)")
    _action(actions, "sweep", "delete what has had its time, and what crashes left", _sweep)
    check = _action(
        actions, "check", "hold all files against their rows; 1 when any differs", _check
    )
    check.add_argument("--digests", action="store_true", help="read every file, too")
    backup = _action(actions, "backup", "copy the store into a folder that can be served", _backup)
    backup.add_argument("folder", metavar="DIR", type=Path)
    describe_tokens(
        _action(actions, "tokens", "make, list and take back tokens of the API", tokens)
    )
    restore = _action(actions, "restore", "fill an empty store from a backup", _restore)
    restore.add_argument("folder", metavar="DIR", type=Path)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Open the store beside whoever has it open, and do what is asked."""
    settings = with_places(settings, arguments)
    act: Act = arguments.act
    if not settings.database_url and not (settings.data_dir / "hloscope.sqlite").is_file():
        # Only a restore makes a store where there was none.
        if act is not _restore:
            raise UsageError(
                "there is no store in this folder",
                place=str(settings.data_dir),
                next_step="Name it with --data or HLOSCOPE_DATA_DIR.",
                code="no_store",
            )
    try:
        with Store.of(settings, is_guest=True) as store:
            return act(arguments, settings, store)
    except StoreUnavailable as error:
        raise ServerFault(str(error), next_step="Try again when it runs.") from error
    except NoSpace as error:
        raise ServerFault(str(error), next_step="Make room on the disk.") from error
    except OSError as error:
        raise UsageError(
            f"a file cannot be read or written: {error.strerror or error}",
            place=str(error.filename or ""),
            code="unreadable",
        ) from error


def _list_actions(
    parser: argparse.ArgumentParser, arguments: argparse.Namespace, settings: Settings
) -> int:
    del arguments, settings
    parser.print_help(sys.stderr)
    return 2


def _action(actions: Commands, name: str, words: str, act: Act) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=words, description=words)
    add_place_options(parser)
    parser.set_defaults(run=run, act=act)
    return parser


def _stats(arguments: argparse.Namespace, settings: Settings, store: Store) -> int:
    del settings
    stats = store.upkeep.stats()
    if arguments.json:
        write_json(arguments.json, asdict(stats))
    console = console_for_report(stdout_is_taken=arguments.json == "-")
    for line in _lines_of(stats):
        console.print(line)
    return 0


def _lines_of(stats: Stats) -> Iterable[str]:
    yield f"database    {stats.database}"
    yield f"reports     {_counts(stats.reports.items())}; {stats.shares} of them redacted copies"
    yield f"jobs        {_counts(stats.jobs.items())}"
    yield f"owners      {stats.owners}"
    yield f"uploads     {stats.uploads} in parts, not complete"
    for role, (count, size) in stats.attached.items():
        yield f"{role + 's':<12}{count} held, {size / _MIB:,.1f} MiB"
    yield f"files       {stats.blobs}, {stats.blob_bytes / _MIB:,.1f} MiB, each counted once"
    yield f"left over   {stats.left_over} files, until the next sweep"
    if stats.oldest is not None:
        day = time.strftime("%Y-%m-%d", time.gmtime(stats.oldest))
        yield f"oldest      report of {day}"
    yield f"room        {stats.room_bytes / _MIB:,.0f} MiB on this machine's disk"


def _counts(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counts) or "none"


def _sweep(arguments: argparse.Namespace, settings: Settings, store: Store) -> int:
    del arguments
    gone = store.retire(report_days=settings.report_days, now=time.time())
    console_for_report(stdout_is_taken=False).print(
        f"deleted: {gone.reports} reports, {gone.uploads} uploads in parts, "
        f"{gone.blobs} files that nothing held, {gone.unfinished} half received"
    )
    return 0


def _check(arguments: argparse.Namespace, settings: Settings, store: Store) -> int:
    del settings
    checked = store.upkeep.check(digests=arguments.digests)
    console = console_for_report(stdout_is_taken=False)
    _print_damages(checked.damages)
    console.print(f"{checked.blobs} files, {len(checked.damages)} of them not as they should be")
    if checked.unknown:
        console.print(f"{checked.unknown} files of no row, which a sweep deletes after its grace")
    return 1 if checked.damages else 0


def _backup(arguments: argparse.Namespace, settings: Settings, store: Store) -> int:
    if arguments.folder.resolve() == settings.data_dir.resolve():
        raise UsageError("a store is no backup of itself", place=str(arguments.folder))
    copied = store.upkeep.backup(arguments.folder)
    _print_damages(copied.damages)
    console_for_report(stdout_is_taken=False).print(
        f"{copied.reports} reports and {copied.blobs} files are in {arguments.folder}"
    )
    return 1 if copied.damages else 0


def _restore(arguments: argparse.Namespace, settings: Settings, store: Store) -> int:
    del settings
    copied = store.upkeep.restore(arguments.folder)
    _print_damages(copied.damages)
    console_for_report(stdout_is_taken=False).print(
        f"{copied.reports} reports and {copied.blobs} files were restored"
    )
    return 1 if copied.damages else 0


def _print_damages(damages: Iterable[Damage]) -> None:
    console = console_for_report(stdout_is_taken=False)
    for damage in damages:
        words = f"{damage.sha256}: {damage.what}; {damage.reports} reports hold it"
        console.print(words, soft_wrap=True)
