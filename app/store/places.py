"""Where blobs may stand: a folder, or a bucket of a store that speaks S3.

A place is written as an address: `file:///folder`, or `s3://bucket/prefix?endpoint=...&region=...`.
Keys are no part of it: obstore finds them itself, in the variables `AWS_*` of the environment or
where the machine's role keeps them.
"""

import errno
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from app.errors import UsageError
from app.store.faults import NoSpace, StoreUnavailable

_OPTIONS = frozenset({"endpoint", "region"})

# A request gives up after these: whoever waits is told to come back, and never hangs.
_CONNECT_S, _REQUEST_S, _RETRY_S, _RETRIES = 5, 300, 30, 3

_FULL = (errno.ENOSPC, errno.EDQUOT)
# obstore hands the system's number over in words only: "... (os error 28)".
_FULL_IN_WORDS = tuple(f"(os error {number})" for number in _FULL)


def folder_of(url: str) -> Path | None:
    """The folder that `url` names; None for a bucket.

    Raises:
        UsageError: it is no place for blobs (`blobs_url`).
    """
    parts = urlsplit(url)
    if parts.scheme == "s3":
        return None
    if parts.scheme != "file" or parts.netloc or not parts.path:
        raise _refused(url, "it is neither file:///folder nor s3://bucket")
    return Path(unquote(parts.path))


def open_bucket(url: str) -> S3Store:
    """The bucket at `url`; nothing is asked of it yet.

    Raises:
        UsageError: it is no address of a bucket (`blobs_url`).
    """
    parts = urlsplit(url)
    options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    if parts.scheme != "s3" or not parts.netloc or "@" in parts.netloc or options.keys() - _OPTIONS:
        raise _refused(url, "it is no address of a bucket")
    endpoint = options.get("endpoint", "")
    if endpoint and urlsplit(endpoint).scheme not in ("http", "https"):
        raise _refused(url, "its endpoint is no address")
    config = {"copy_if_not_exists": "multipart", "region": options.get("region", "us-east-1")}
    if endpoint:
        config["endpoint"] = endpoint
    try:
        return S3Store(
            parts.netloc,
            prefix=parts.path.strip("/") or None,
            config=config,  # pyright: ignore[reportArgumentType]  # a TypedDict of the same words
            client_options={
                "allow_http": endpoint.startswith("http:"),
                "connect_timeout": timedelta(seconds=_CONNECT_S),
                "timeout": timedelta(seconds=_REQUEST_S),
            },
            retry_config={
                "max_retries": _RETRIES,
                "retry_timeout": timedelta(seconds=_RETRY_S),
            },
        )
    except BaseError as error:
        raise _refused(url, "it is no address of a bucket") from error


@contextmanager
def faults_told_apart() -> Generator[None]:
    """Tell what goes wrong in a store of objects as one of two things.

    Raises:
        NoSpace: the disk is full.
        StoreUnavailable: it does not answer, or refuses to work.
    """
    try:
        yield
    except (FileNotFoundError, AlreadyExistsError):
        raise
    except (BaseError, OSError) as error:
        if getattr(error, "errno", None) in _FULL or any(
            words in str(error) for words in _FULL_IN_WORDS
        ):
            raise NoSpace("no space left on the disk") from error
        raise StoreUnavailable("the store of blobs does not answer") from error


def _refused(url: str, why: str) -> UsageError:
    return UsageError(
        why,
        place=url,
        next_step="Write s3://BUCKET/PREFIX?endpoint=https://HOST&region=NAME, keys in AWS_*.",
        code="blobs_url",
    )
