"""An upload on its way in: each file goes straight to the store, counted and looked at.

Nothing is kept before all of it is there; whatever goes wrong, nothing of it remains.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from starlette.concurrency import run_in_threadpool

from app.errors import LimitExceeded, UsageError
from app.settings import Settings
from app.store import Blobs, BlobWriter, NewReport, NoSpace, Question, ReceivedFile, Store
from app.web.sniff import SNIFFED_BYTES, check_first_bytes

MAX_LOGS = 10
MAX_FLAGS_CHARACTERS = 64 << 10
MAX_RELEASE_CHARACTERS = 64
MAX_LABEL_BYTES = 240
MAX_LINK_CHARACTERS = 2048
MAX_EXPIRE_DAYS = 3650

WORDS = ("flags", "release", "hung", "label", "commit", "run", "expire_days")
"""What may be said of a run beside its files, in a form or in the address."""

_DIGEST = re.compile(r"[0-9A-Fa-f]{7,64}")
_ADDRESS = re.compile(r"https?://[^\s<>\"\\^`{|}]+")
_WRITE_BYTES = 1 << 20
_CHECK_ROOM_EVERY_BYTES = 64 << 20

Kind = Literal["archive", "log"]


@dataclass(frozen=True, slots=True)
class Wish:
    """What the sender said of the run, and after how many days the report shall be deleted."""

    question: Question
    expire_days: int | None = None


class Reception:
    """The files of one upload; `close` it whatever happened, and only `accept` keeps them."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._open: list[Sink] = []
        self._files: list[ReceivedFile] = []

    async def begin(self, kind: Kind, label: str) -> "Sink":
        """Start to receive a file; its pieces go to the returned sink.

        Raises:
            UsageError: there is one dump already, or too many logs.
            NoSpace: the disk has no room.
        """
        begun = [sink for sink in self._open if sink.kind == kind]
        if len(begun) >= (1 if kind == "archive" else MAX_LOGS):
            raise UsageError(
                "there are more files than an upload may have",
                place=label,
                next_step=f"Send one dump and at most {MAX_LOGS} logs.",
                code="too_many_parts",
            )
        max_bytes = (
            self._settings.max_upload_bytes if kind == "archive" else self._settings.max_log_bytes
        )
        sink = Sink(self._store.blobs, kind, label, max_bytes)
        self._open.append(sink)
        await sink.check_room()
        return sink

    async def end(self, sink: "Sink") -> None:
        """All of a file is there; an empty log is no log.

        Raises:
            UsageError: the dump is empty.
            NotADump: the dump's first bytes say that it is none.
            NoSpace: the disk is full.
        """
        file = await sink.finish()
        if file is not None:
            self._files.append(file)

    def accept(self, wish: Wish, *, now: float) -> NewReport:
        """What was received, ready to be stored; `now` in Unix seconds.

        Raises:
            UsageError: there is neither a dump nor a log.
        """
        if not self._files:
            raise UsageError(
                "nothing was sent",
                next_step="Send a dump, the log of the run, or both.",
                code="empty",
            )
        name = next((file.name for file in self._files if file.role == "archive"), None)
        return NewReport(
            name or self._files[0].name,
            wish.question,
            tuple(self._files),
            expires=end_after(wish.expire_days, now),
        )

    async def close(self) -> None:
        """Drop what was not stored; does nothing to what was."""
        for sink in self._open:
            sink.abort()
        for file in self._files:
            await run_in_threadpool(self._store.blobs.discard, file.data)


class Sink:
    """Collects pieces into larger ones, looks at the first, and writes them in a thread."""

    def __init__(self, blobs: Blobs, kind: Kind, label: str, max_bytes: int) -> None:
        self.kind: Kind = kind
        self._label = label
        self._blobs = blobs
        self._max_bytes = max_bytes
        self._writer: BlobWriter | None = None
        self._buffer = bytearray()
        self._bytes = 0
        self._room_checked_at = 0

    async def write(self, piece: bytes) -> None:
        """Add a piece; raises `LimitExceeded`, `NotADump` or `NoSpace`."""
        self._bytes += len(piece)
        if self._bytes > self._max_bytes:
            raise LimitExceeded(
                f"it is larger than the {self._max_bytes / (1 << 20):,.0f} MiB it may have",
                place=self._label,
                next_step="Send a part of it.",
            )
        self._buffer += piece
        if self._writer is None and len(self._buffer) < SNIFFED_BYTES:
            return
        if self._writer is None or len(self._buffer) >= _WRITE_BYTES:
            await self._flush()

    async def finish(self) -> ReceivedFile | None:
        """All is there; None for a log without a byte. Raises as `Reception.end`."""
        if self._bytes:
            await self._flush()
        if self._writer is None:
            if self.kind == "archive":
                raise UsageError(
                    "the dump is empty",
                    place=self._label,
                    next_step="Send the folder that XLA wrote, packed.",
                    code="empty",
                )
            return None
        incoming = await run_in_threadpool(self._writer.finish)
        return ReceivedFile(self.kind, self._label, incoming)

    def abort(self) -> None:
        """Drop what was written and not finished."""
        if self._writer is not None:
            self._writer.abort()

    async def check_room(self) -> None:
        """Raises `NoSpace` where the disk must not get any fuller."""
        if not await run_in_threadpool(self._blobs.room):
            raise NoSpace

    async def _flush(self) -> None:
        if self._writer is None:
            if self.kind == "archive":
                check_first_bytes(bytes(self._buffer[:SNIFFED_BYTES]), name=self._label)
            self._writer = await run_in_threadpool(self._blobs.receive)
        data = bytes(self._buffer)
        self._buffer.clear()
        await run_in_threadpool(self._writer.write, data)
        if self._writer.bytes - self._room_checked_at >= _CHECK_ROOM_EVERY_BYTES:
            self._room_checked_at = self._writer.bytes
            await self.check_room()


def clean_label(name: str, *, default: str) -> str:
    """A file's name as a label: its last part, without anything that is not seen, cut short."""
    last = name.replace("\\", "/").rpartition("/")[2]
    seen = "".join(c for c in unicodedata.normalize("NFC", last) if not _is_unseen(c))
    label = seen.strip().encode()[:MAX_LABEL_BYTES].decode("utf-8", "ignore")
    return label if label.strip(".") else default


def wish_from(words: Mapping[str, str]) -> Wish:
    """The sender's `WORDS`, each as text; one that is missing is empty.

    Raises:
        UsageError: a word is too long (`field_too_long`) or not what it should be (`bad_field`).
    """
    given = {word: words.get(word, "").strip() for word in WORDS}
    for place, most in (
        ("flags", MAX_FLAGS_CHARACTERS),
        ("release", MAX_RELEASE_CHARACTERS),
        ("label", MAX_LABEL_BYTES),
        ("commit", MAX_LINK_CHARACTERS),
        ("run", MAX_LINK_CHARACTERS),
    ):
        if len(given[place]) > most:
            raise UsageError(
                f"it is longer than {most} characters", place=place, code="field_too_long"
            )
    _check_links(given["commit"], given["run"])
    return Wish(
        Question(
            flags=given["flags"],
            release=given["release"] or None,
            hung=yes_or_no(given["hung"], place="hung"),
            label="".join(c for c in given["label"] if not _is_unseen(c)),
            commit=given["commit"],
            run=given["run"],
        ),
        days_from(given["expire_days"]) if given["expire_days"] else None,
    )


def yes_or_no(text: str, *, place: str) -> bool:
    """Whether a word of a form or of the address means yes.

    Raises:
        UsageError: it is neither yes nor no (`bad_field`).
    """
    word = text.strip().lower()
    if word not in ("", "0", "1", "true", "false", "yes", "no", "on", "off"):
        raise UsageError(
            f"{word[:20]!r} is neither yes nor no",
            place=place,
            next_step="Send 1 for yes, 0 for no.",
            code="bad_field",
        )
    return word in ("1", "true", "yes", "on")


def days_from(text: str) -> int:
    """For how many days a report is to be kept.

    Raises:
        UsageError: it is no whole number of days, or too many (`bad_field`).
    """
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_EXPIRE_DAYS))
    if not (is_number and 1 <= int(text) <= MAX_EXPIRE_DAYS):
        raise UsageError(
            "it is no number of days",
            place="expire_days",
            next_step=f"Send a whole number from 1 to {MAX_EXPIRE_DAYS}.",
            code="bad_field",
        )
    return int(text)


def end_after(days: int | None, now: float) -> float | None:
    """When so many days from `now` are over, in Unix seconds."""
    return None if days is None else now + days * 86400.0


def _check_links(commit: str, run: str) -> None:
    if commit and not (_DIGEST.fullmatch(commit) or _ADDRESS.fullmatch(commit)):
        raise UsageError(
            "it is neither a commit's digest nor an address",
            place="commit",
            next_step="Send 7 to 64 hexadecimal digits, or an address that starts with https://.",
            code="bad_field",
        )
    if run and not _ADDRESS.fullmatch(run):
        raise UsageError(
            "it is no address",
            place="run",
            next_step="Send one that starts with https://.",
            code="bad_field",
        )


def _is_unseen(character: str) -> bool:
    # Controls, format characters (zero width, bidi overrides), surrogates, line separators.
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
