"""Tokens with which programs speak to a server: what each may do, and until when.

A token is told once, when it is made; only its hash is stored. It starts with a prefix of its own
and ends with a checksum, so that whoever searches code and logs for secrets finds it for certain.
"""

import re
import secrets
import string
import zlib
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sqlalchemy import Engine, Row, insert, select, update

from app.store.database import reading
from app.store.schema import token
from app.store.secret import hash_of

Scope = Literal["read", "upload", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

PREFIX = "hloscope_"
_RANDOM_CHARACTERS = 36
_ALPHABET = string.ascii_letters + string.digits
_FORM = re.compile(rf"{PREFIX}([0-9A-Za-z]{{{_RANDOM_CHARACTERS}}})([0-9a-f]{{8}})")
_HANDLE_CHARACTERS = 12
# That a token was used is written down so seldom that reading stays reading.
_USE_NOTED_EVERY_S = 3600.0


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token without its secret; times in Unix seconds."""

    key: str
    label: str
    scopes: frozenset[Scope]
    created: float
    expires: float | None
    revoked: float | None
    used: float | None

    @property
    def handle(self) -> str:
        """What it is called by where the secret must not stand."""
        return self.key[:_HANDLE_CHARACTERS]

    def is_good(self, now: float) -> bool:
        """It may be used at the time `now`."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    def allows(self, scope: Scope) -> bool:
        """It may do that; `admin` may do everything."""
        return scope in self.scopes or "admin" in self.scopes


class Tokens:
    """All tokens of one database; every method blocks."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._reading = reading(engine)

    def create(
        self, label: str, scopes: frozenset[Scope], *, now: float, expires: float | None = None
    ) -> tuple[str, TokenRow]:
        """A new token, and what is stored of it."""
        secret = new_token()
        row = TokenRow(hash_of(secret), label, scopes, now, expires, None, None)
        with self._engine.begin() as connection:
            connection.execute(
                insert(token).values(
                    key=row.key,
                    label=label,
                    scopes=" ".join(sorted(scopes)),
                    created=now,
                    expires=expires,
                )
            )
        return secret, row

    def find(self, secret: str, *, now: float) -> TokenRow | None:
        """The token of that secret where it is good; that it was used is written down.

        It is looked up by its hash, so no comparison takes a time that tells of the secret.
        """
        if not is_token(secret):
            return None
        with self._reading.connect() as connection:
            found = connection.execute(
                select(token).where(token.c.key == hash_of(secret))
            ).one_or_none()
        if found is None:
            return None
        row = _row(found)
        if not row.is_good(now):
            return None
        if row.used is None or now - row.used > _USE_NOTED_EVERY_S:
            with self._engine.begin() as connection:
                connection.execute(update(token).where(token.c.key == row.key).values(used=now))
        return row

    def all(self) -> tuple[TokenRow, ...]:
        """Every token there ever was, the newest first."""
        with self._reading.connect() as connection:
            rows = connection.execute(select(token).order_by(token.c.created.desc())).all()
        return tuple(map(_row, rows))

    def revoke(self, handle: str, *, now: float) -> bool:
        """Take back the token of that handle; False where there is none, or it is taken back."""
        named = [row.key for row in self.all() if row.handle == handle and row.revoked is None]
        with self._engine.begin() as connection:
            for key in named:
                connection.execute(update(token).where(token.c.key == key).values(revoked=now))
        return bool(named)


def new_token() -> str:
    """A fresh token: the prefix, 214 random bits, and the checksum of both."""
    start = PREFIX + "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_CHARACTERS))
    return start + _checksum(start)


def is_token(text: str) -> bool:
    """It has the form of a token, checksum and all."""
    found = _FORM.fullmatch(text)
    return found is not None and found[2] == _checksum(text[: -len(found[2])])


def _checksum(start: str) -> str:
    return f"{zlib.crc32(start.encode()):08x}"


def _row(found: Row[Any]) -> TokenRow:
    return TokenRow(
        key=found.key,
        label=found.label,
        scopes=frozenset(scope for scope in SCOPES if scope in found.scopes.split()),
        created=found.created,
        expires=found.expires,
        revoked=found.revoked,
        used=found.used,
    )
