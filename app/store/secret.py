"""Ids and tokens: 192 random bits for the reader of a report, as many for whoever may delete it.

Only their hashes are stored, so a copy of the database opens no report. No salt is needed: there
is nothing to guess in 192 bits.
"""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

_BYTES = 24
_OWNER = re.compile(r"[A-Za-z0-9_-]{32,128}")


@dataclass(frozen=True, slots=True)
class Secrets:
    """What is handed out for a new report, once."""

    report_id: str
    delete_token: str


@dataclass(frozen=True, slots=True)
class ReportKeys:
    """The stored forms of a new report's secrets; `owner` and `nonce` where it has an owner."""

    report: str
    token: str
    owner: str = ""
    nonce: str = ""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whoever keeps one secret over many reports, so that these can be listed.

    A report's id is made of the secret and a `nonce`: with the secret the store can tell the id
    again, and without it nobody can.
    """

    secret: str

    @property
    def key(self) -> str:
        """The stored form of the secret."""
        return hash_of(self.secret)

    def report_id(self, nonce: str) -> str:
        """The id of the report with that nonce; as long and as secret as any other."""
        digest = hmac.digest(self.secret.encode(), nonce.encode(), "sha256")
        return base64.urlsafe_b64encode(digest[:_BYTES]).decode()


def is_owner_secret(text: str) -> bool:
    """It is long enough to be one, and of the characters that a header carries unchanged."""
    return _OWNER.fullmatch(text) is not None


def new_secret() -> str:
    """192 random bits, as 32 characters of the URL-safe alphabet."""
    return secrets.token_urlsafe(_BYTES)


def new_secrets() -> Secrets:
    """A fresh pair."""
    return Secrets(new_secret(), new_secret())


def hash_of(secret: str) -> str:
    """The stored form of an id or token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def secrets_of(owner: Owner | None) -> tuple[Secrets, ReportKeys]:
    """Secrets of a new report of this owner, and what is stored of them."""
    made = new_secrets()
    if owner is None:
        return made, keys_of(made)
    nonce = new_secret()
    made = Secrets(owner.report_id(nonce), made.delete_token)
    return made, ReportKeys(hash_of(made.report_id), hash_of(made.delete_token), owner.key, nonce)


def repeated_secrets_of(key: str, owner: Owner | None) -> tuple[Secrets, ReportKeys]:
    """Like `secrets_of`, the same for the same `key`, itself a secret of whoever sends it."""

    def derived(use: str) -> str:
        digest = hmac.digest(key.encode(), use.encode(), "sha256")
        return base64.urlsafe_b64encode(digest[:_BYTES]).decode()

    token = derived("delete")
    if owner is None:
        made = Secrets(derived("report"), token)
        return made, keys_of(made)
    nonce = derived("nonce")
    made = Secrets(owner.report_id(nonce), token)
    return made, ReportKeys(hash_of(made.report_id), hash_of(token), owner.key, nonce)


def keys_of(given: Secrets) -> ReportKeys:
    """What is stored of the secrets of a report without an owner."""
    return ReportKeys(hash_of(given.report_id), hash_of(given.delete_token))
