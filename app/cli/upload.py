"""`hloscope upload PATH --server URL`: sends a dump to a server, and may wait, share and fetch."""

import argparse
import os
import secrets
import shlex
import sys
import tarfile
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from app.cli.analyze import FORMS
from app.cli.arguments import Commands
from app.cli.commands import COMMANDS
from app.cli.complaints import complain
from app.cli.output import write_output
from app.cli.output_files import check_outputs
from app.cli.remote import Remote
from app.errors import JobFailed, NotADump, ServerFault, UsageError
from app.jobs.endings import OWN_FAULTS
from app.report.wording import AT_OR_ABOVE
from app.settings import Settings
from app.web.receiving import WORDS, clean_label
from app.web.sample import add_folder

_CHUNK_BYTES = 1 << 20
_PATIENCE_S = 1800
# With --json goes what the server said.
_FORMS = {option: form for option, form in FORMS.items() if option != "json"}


def add_parser(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "upload",
        help=COMMANDS["upload"],
        description="Sends a dump (folder, archive, one text, or - for standard input) and the log "
        "of the run to a server, and prints the address of the report. Whoever has that address "
        "can read all of it; --share prints that of a copy made for others instead.",
        epilog="Exit codes: without --wait 0 says that the server has taken what was sent, and "
        "nothing of what was found. With it: 0 nothing at or above --fail-on, 1 findings, 3 "
        "nothing that could be analysed, 5 time-out. Either way: 2 wrong use, 3 what is to be "
        "sent cannot be read or is empty, 4 server or network.",
    )
    parser.add_argument("path", nargs="?", metavar="PATH", help="may be left out with --log")
    parser.add_argument("--server", required=True, metavar="URL")
    parser.add_argument("--token", default="", help="what the server asks for, if it does")
    parser.add_argument("--log", action="append", default=[], metavar="FILE", help="repeatable")
    parser.add_argument("--flags", default="", metavar="TEXT", help="the run's XLA_FLAGS")
    parser.add_argument("--release", default="", metavar="R", help="the run's jaxlib release")
    parser.add_argument("--hung", action="store_true", help="the run was killed because it hung")
    parser.add_argument("--label", default="", help="a few words, to tell it from others")
    parser.add_argument("--commit", default="", help="what was compiled: a digest or an address")
    parser.add_argument("--run-url", default="", dest="run_url", help="the address of the CI run")
    parser.add_argument("--expire-days", default="", metavar="N", help="delete it after so many")
    parser.add_argument(
        "--wait",
        action="store_true",
        help="until the analysis is over; so does whatever needs its end",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="S",
        help=f"wait, but no longer (default: {_PATIENCE_S})",
    )
    parser.add_argument(
        "--share",
        action="store_true",
        help="make a copy for others; without a terminal and --json what revokes it is kept in "
        "a file in this folder",
    )
    parser.add_argument(
        "--fail-on",
        choices=tuple(AT_OR_ABOVE),
        help="wait, and exit with 1 from this severity on (default: error)",
    )
    parser.add_argument("--root", default="", metavar="DIR", help="as with analyze")
    parser.add_argument(
        "--json", metavar="FILE", help="write what the server said, with the token that deletes it"
    )
    for form in _FORMS:
        parser.add_argument(f"--{form}", metavar="FILE", help="as with analyze")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Send, wait where that was asked for, write what was asked for; 1 when findings reach it."""
    if arguments.path is None and not arguments.log:
        raise UsageError("nothing to send: give a dump, a log, or both")
    remote = Remote(arguments.server, token=arguments.token or settings.upload_token)
    wanted = {form: vars(arguments)[form] for form in _FORMS if vars(arguments)[form]}
    check_outputs(arguments.json, *wanted.values())
    judges = arguments.fail_on is not None or arguments.timeout is not None
    waits = arguments.wait or arguments.share or judges or bool(wanted)
    arguments.fail_on = arguments.fail_on or "error"
    arguments.timeout = _PATIENCE_S if arguments.timeout is None else arguments.timeout
    with _place_of_tokens(arguments) as arguments.json:
        state, shown = _sent(remote, arguments, waits=waits)
    query = {"root": arguments.root, "fail_on": arguments.fail_on}
    for form, target in wanted.items():
        write_output(target, remote.form(shown, _FORMS[form], query))
    address = remote.full(f"/r/{shown}") if arguments.share else state["url"]
    taken = "-" in (arguments.json, *wanted.values())
    print(address, file=sys.stderr if taken else sys.stdout, flush=True)
    if waits:
        complain(_found(state))
    else:
        complain("it was sent and is being analysed; with --wait its end is told here, too")
    if "share" in state:
        how = _how(remote, state["share"], arguments.json)
        complain(f"the copy ends with its report, or when you revoke it{how}")
    return int(bool(state.get("failed")))


@contextmanager
def _place_of_tokens(arguments: argparse.Namespace) -> Generator[str | None]:
    """The file for what the server says: one of its own where a copy's token would be lost.

    It is made before anything is sent, and goes again where nothing came to stand in it.
    """
    if arguments.json or not arguments.share or sys.stderr.isatty():
        yield arguments.json
        return
    try:
        # Nobody else can read what `mkstemp` makes.
        descriptor, name = tempfile.mkstemp(prefix="hloscope-share-", suffix=".json", dir=".")
    except OSError as error:
        raise UsageError(
            f"the token that revokes the copy cannot be kept in this folder: {error.strerror}",
            next_step="Name a file for it with --json.",
        ) from error
    os.close(descriptor)
    kept = Path(name)
    try:
        yield kept.name
    finally:
        if not kept.stat().st_size:
            kept.unlink()


def _sent(
    remote: Remote, arguments: argparse.Namespace, *, waits: bool
) -> tuple[dict[str, Any], str]:
    """What the server said last, and the id of the report, or copy, to be shown."""
    made = _send(remote, arguments)
    report_id, token = str(made["id"]), str(made["delete_token"])
    state = made
    shown = report_id
    try:
        if waits:
            state = remote.state(report_id, fail_on=arguments.fail_on, within_s=arguments.timeout)
            _check(state, arguments.timeout)
        if arguments.share:
            share = _share(remote, report_id, token, arguments.timeout)
            state = {**state, "share": share}
            shown = str(share["id"])
    finally:
        if arguments.json:
            kept = {**state, "url": remote.full(str(made["url"])), "delete_token": token}
            write_output(arguments.json, msgspec.json.format(msgspec.json.encode(kept)) + b"\n")
    return {**state, "url": remote.full(str(made["url"]))}, shown


def _found(state: Mapping[str, Any]) -> str:
    """What was found, in words that hold no name."""
    summary = state["summary"]
    counts = [f"{count:,} {severity}" for severity, count in summary["findings"].items() if count]
    return f"{summary['headline']} ({', '.join(counts) or 'no finding'})"


def _how(remote: Remote, share: Mapping[str, Any], kept_in: str | None) -> str:
    """How a copy is revoked; its token is shown to a person alone, for logs of CI are public."""
    token, told = str(share["delete_token"]), ""
    if not sys.stderr.isatty():
        token, told = "TOKEN", f", TOKEN being the `delete_token` of `share` in {kept_in}"
    address = shlex.quote(remote.full(f"/api/v1/reports/{share['id']}"))
    return f": curl -X DELETE -H 'Authorization: Bearer {token}' {address}{told}"


def _share(remote: Remote, report_id: str, token: str, timeout_s: float) -> dict[str, Any]:
    share = remote.share(report_id, token, {"wait": "60"})
    over = remote.state(str(share["id"]), fail_on="never", within_s=timeout_s)
    _check(over, timeout_s)
    return {**share, **over, "url": remote.full(str(share["url"]))}


def _check(state: Mapping[str, Any], timeout_s: float) -> None:
    """Raise what a report that is not there is told as."""
    if state["progress"] is not None:
        raise JobFailed(
            f"the analysis is not over after {timeout_s:g} seconds",
            next_step="Wait longer with --timeout; the report goes on being made.",
            code="wall_time",
        )
    if state["state"] != "failed":
        if state["summary"].get("verdict") == "no_xla_files":
            raise NotADump(
                "none of the files is XLA's",
                place=str(state["name"]),
                next_step="The report says what was looked for.",
                code="no_xla_files",
            )
        return
    words = state["error"]
    kind = ServerFault if words["code"] in OWN_FAULTS else NotADump
    raise kind(words["message"], place=words["where"], next_step=words["hint"], code=words["code"])


def _send(remote: Remote, arguments: argparse.Namespace) -> dict[str, Any]:
    given = {**vars(arguments), "run": arguments.run_url, "hung": "1" if arguments.hung else ""}
    words = {word: str(given[word]) for word in WORDS if given[word]}
    with ExitStack() as stack:
        files = [_Part("log", Path(log).name, Path(log)) for log in arguments.log]
        if arguments.path is not None:
            dump, name = stack.enter_context(_dump(arguments.path))
            files.insert(0, _Part("dump", name, dump))
        _refuse_empty(files)
        body = _Form(words, files)
        return remote.send({"fail_on": arguments.fail_on}, body, body.length, body.content_type)


def _refuse_empty(files: Sequence["_Part"]) -> None:
    """An empty log beside a dump is told by the report; anything else empty is no input.

    Raises:
        NotADump: there is nothing in it.
    """
    first = files[0]
    try:
        is_empty = not any(each.path.stat().st_size for each in files if each.field == first.field)
    except OSError as error:
        raise _unreadable(error) from error
    if is_empty:
        raise NotADump("there is nothing in it", place=first.name, code="empty")


@dataclass(frozen=True, slots=True)
class _Part:
    """One file of the form."""

    field: str
    name: str
    path: Path


class _Form:
    """A form as `multipart/form-data`, made again whenever it is read; `length` in bytes."""

    def __init__(self, words: Mapping[str, str], files: Sequence[_Part]) -> None:
        self._boundary = f"hloscope-{secrets.token_hex(16)}"
        self.content_type = f"multipart/form-data; boundary={self._boundary}"
        self._words = b"".join(
            self._head(name) + text.encode("utf-8", "replace") + b"\r\n"
            for name, text in words.items()
        )
        try:
            self._files = [(each, each.path.stat().st_size) for each in files]
        except OSError as error:
            raise _unreadable(error) from error
        self._end = f"--{self._boundary}--\r\n".encode()
        heads = sum(len(self._head(f.field, f.name)) + size + 2 for f, size in self._files)
        self.length = len(self._words) + heads + len(self._end)

    def __iter__(self) -> Iterator[bytes]:
        yield self._words
        for part, size in self._files:
            yield self._head(part.field, part.name)
            yield from _bytes_of(part.path, size)
            yield b"\r\n"
        yield self._end

    def _head(self, field: str, file: str | None = None) -> bytes:
        named = ""
        if file is not None:
            label = clean_label(file, default=field).replace("\\", "_").replace('"', "_")
            named = f'; filename="{label}"'
        return (
            f'--{self._boundary}\r\nContent-Disposition: form-data; name="{field}"{named}\r\n\r\n'
        ).encode("utf-8", "replace")


def _bytes_of(path: Path, size: int) -> Iterator[bytes]:
    """Exactly `size` bytes: a log that grows meanwhile must not break the form."""
    left = size
    with path.open("rb") as file:
        while left and (chunk := file.read(min(left, _CHUNK_BYTES))):
            left -= len(chunk)
            yield chunk
    if left:
        raise UsageError("it became shorter while it was sent", place=str(path))


@contextmanager
def _dump(path: str) -> Generator[tuple[Path, str]]:
    """The file to send and its name; a folder is packed, standard input kept in a file."""
    source = Path(path)
    if path != "-" and not source.is_dir():
        yield source, source.name
        return
    with tempfile.TemporaryDirectory(prefix="hloscope-") as folder:
        kept = Path(folder, "dump")
        try:
            if path == "-":
                with kept.open("wb") as file:
                    while chunk := sys.stdin.buffer.read(_CHUNK_BYTES):
                        file.write(chunk)
                yield kept, "stdin"
                return
            label = clean_label(source.resolve().name, default="dump")
            with tarfile.open(kept, "w:gz", compresslevel=3) as tar:
                add_folder(tar, source, label)
        except OSError as error:
            raise _unreadable(error) from error
        yield kept, f"{label}.tar.gz"


def _unreadable(error: OSError) -> NotADump:
    return NotADump(
        f"cannot read: {error.strerror or error}",
        place=os.fspath(error.filename or ""),
        next_step="Check the path.",
        code="unreadable",
    )
