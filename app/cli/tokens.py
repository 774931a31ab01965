"""`hloscope admin tokens ...`: makes, lists and takes back the tokens of the API."""

import argparse
import time

from app.cli.output import console_for_report
from app.errors import NotFound, UsageError
from app.settings import Settings
from app.store import SCOPES, Scope, Store, TokenRow

_DAY_S = 86400.0
_MOST_DAYS = 3650
_MOST_LABEL_CHARACTERS = 200


def describe_tokens(parser: argparse.ArgumentParser) -> None:
    """Declare what is to be done with tokens."""
    parser.add_argument("what", choices=("create", "list", "revoke"))
    parser.add_argument("name", nargs="?", default="", help="whom it is for, or which to revoke")
    parser.add_argument(
        "--scope",
        action="append",
        choices=SCOPES,
        default=[],
        help="what it may do, repeatable; read and upload where nothing is said",
    )
    parser.add_argument(
        "--days", type=int, default=365, help="days until its end; 0 for none (365)"
    )


def tokens(arguments: argparse.Namespace, settings: Settings, store: Store) -> int:
    """Do it; a new token is printed alone on standard output, and never again.

    Raises:
        UsageError: the name is missing or too long, or the days make no sense.
        NotFound: there is no such token to revoke.
    """
    del settings
    match arguments.what:
        case "create":
            return _create(arguments, store)
        case "revoke":
            return _revoke(arguments.name, store)
        case _:
            return _list(store)


def _create(arguments: argparse.Namespace, store: Store) -> int:
    label: str = arguments.name
    if not 0 < len(label) <= _MOST_LABEL_CHARACTERS or not label.isprintable():
        raise UsageError(
            "a token needs a name that says whom it is for",
            next_step="Write `hloscope admin tokens create NAME`.",
        )
    if not 0 <= arguments.days <= _MOST_DAYS:
        raise UsageError(
            "it is no number of days", place="--days", next_step=f"0 to {_MOST_DAYS} will do."
        )
    scopes: list[Scope] = arguments.scope or ["read", "upload"]
    now = time.time()
    expires = now + arguments.days * _DAY_S if arguments.days else None
    secret, row = store.tokens.create(label, frozenset(scopes), now=now, expires=expires)
    print(secret, flush=True)
    console_for_report(stdout_is_taken=True).print(
        f"{row.handle}: {_words(row, now)}. It is shown this once: keep it where secrets are kept."
    )
    return 0


def _revoke(handle: str, store: Store) -> int:
    if not store.tokens.revoke(handle, now=time.time()):
        raise NotFound(
            "there is no token of that handle to take back",
            place=handle,
            next_step="`hloscope admin tokens list` shows the handles.",
        )
    console_for_report(stdout_is_taken=False).print(f"{handle} is taken back")
    return 0


def _list(store: Store) -> int:
    console = console_for_report(stdout_is_taken=False)
    now = time.time()
    for row in store.tokens.all():
        console.print(f"{row.handle}  {row.label}: {_words(row, now)}")
    return 0


def _words(row: TokenRow, now: float) -> str:
    scopes = ", ".join(sorted(row.scopes))
    if row.revoked is not None:
        return f"{scopes}; taken back {_day(row.revoked)}"
    ends = "no end" if row.expires is None else f"ends {_day(row.expires)}"
    if row.expires is not None and row.expires <= now:
        ends = f"ended {_day(row.expires)}"
    used = "never used" if row.used is None else f"last used {_day(row.used)}"
    return f"{scopes}; {ends}; {used}"


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
