"""Ids and tokens: 192 random bits for the reader of a report, as many for whoever may delete it.

Only their hashes are stored, so a copy of the database opens no report. No salt is needed: there
is nothing to guess in 192 bits.
"""

import hashlib
import secrets
from dataclasses import dataclass

_BYTES = 24


@dataclass(frozen=True, slots=True)
class Secrets:
    """What is handed out for a new report, once."""

    report_id: str
    delete_token: str


def new_secrets() -> Secrets:
    """A fresh pair; 32 characters of the URL-safe alphabet each."""
    return Secrets(secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES))


def hash_of(secret: str) -> str:
    """The stored form of an id or token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
