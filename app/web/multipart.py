"""A form with files, taken apart as it arrives: files go to the store, words are kept in memory.

The parts are `dump` (one file), `log` (files or pasted text, a few) and the `WORDS` of
`receiving.py` (ten fields at most). A file field that was left empty is no file.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from python_multipart import multipart
from python_multipart.exceptions import FormParserError, MultipartParseError

from app.errors import UsageError
from app.web.receiving import MAX_LOGS, WORDS, Reception, Sink, Wish, clean_label, wish_from

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

_MAX_FIELDS = 10
_MAX_PARTS = 1 + MAX_LOGS + _MAX_FIELDS
_MAX_WORD_BYTES = 256 << 10
_MAX_HEADER_BYTES = 64 << 10
_MAX_BOUNDARY_BYTES = 200


async def receive_form(
    reception: Reception, content_type: str, pieces: AsyncIterator[bytes]
) -> Wish:
    """Read the form in `pieces` into `reception`; what stands in its other fields is returned.

    Raises:
        UsageError: it is no well-formed form (`bad_multipart`), has an unknown field, or more parts
            or a longer word than any form has (`too_many_parts`).
        InputError, NoSpace: as `Reception` raises them.
    """
    form = _Form(reception)
    parser = multipart.MultipartParser(
        _boundary_of(content_type),
        callbacks=form.callbacks(),
        max_header_size=_MAX_HEADER_BYTES,
    )
    async for piece in pieces:
        try:
            parser.write(piece)
        except (MultipartParseError, FormParserError) as error:
            raise _bad_form(str(error)) from error
        await form.take_in()
    if not form.is_complete:
        raise _bad_form("it ends before its last boundary")
    return wish_from(form.words)


@dataclass(slots=True)
class _Part:
    """One part as the parser describes it: its headers so far, and then its name and file."""

    header_name: bytes = b""
    header_value: bytes = b""
    headers: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])


class _Form:
    """Takes the parser's calls, which cannot wait, as events, and works them off in between."""

    def __init__(self, reception: Reception) -> None:
        self._reception = reception
        self._events: list[tuple[str, bytes]] = []
        self._header = _Part()
        self._parts = self._fields = 0
        self._name = ""
        self._sink: Sink | None = None
        self._word = bytearray()
        self.is_complete = False
        self.words: dict[str, str] = dict.fromkeys(WORDS, "")

    def callbacks(self) -> "MultipartCallbacks":
        def on_header_field(data: bytes, start: int, end: int) -> None:
            self._header.header_name += data[start:end]

        def on_header_value(data: bytes, start: int, end: int) -> None:
            self._header.header_value += data[start:end]

        def on_header_end() -> None:
            part = self._header
            part.headers[part.header_name.lower()] = part.header_value
            part.header_name = part.header_value = b""

        def on_headers_finished() -> None:
            disposition = self._header.headers.get(b"content-disposition", b"")
            self._header = _Part()
            self._events.append(("begin", disposition))

        def on_part_data(data: bytes, start: int, end: int) -> None:
            self._events.append(("data", data[start:end]))

        def on_part_end() -> None:
            self._events.append(("end", b""))

        def on_end() -> None:
            self.is_complete = True

        return {
            "on_header_field": on_header_field,
            "on_header_value": on_header_value,
            "on_header_end": on_header_end,
            "on_headers_finished": on_headers_finished,
            "on_part_data": on_part_data,
            "on_part_end": on_part_end,
            "on_end": on_end,
        }

    async def take_in(self) -> None:
        """Work off what the parser called so far."""
        events, self._events = self._events, []
        for kind, data in events:
            if kind == "begin":
                await self._begin(data)
            elif kind == "data":
                await self._add(data)
            else:
                await self._end()

    async def _begin(self, disposition: bytes) -> None:
        self._parts += 1
        if self._parts > _MAX_PARTS:
            raise _too_much(f"the form has more than {_MAX_PARTS} parts")
        kind, options = multipart.parse_options_header(disposition.decode("latin-1"))
        self._name = _text(options.get(b"name", b""))
        if kind != b"form-data" or not self._name:
            raise _bad_form("a part has no name")
        file_name = _text(options.get(b"filename", b""))
        self._word.clear()
        if self._name == "dump":
            if file_name:
                label = clean_label(file_name, default="dump")
                self._sink = await self._reception.begin("archive", label)
        elif self._name == "log":
            label = clean_label(file_name, default="log")
            self._sink = await self._reception.begin("log", label)
        elif self._name not in WORDS:
            raise UsageError(
                "the form has a field this server does not know",
                place=clean_label(self._name, default="field"),
                next_step=f"It takes dump, log, {', '.join(WORDS)}.",
                code="unknown_field",
            )
        else:
            self._fields += 1
            if self._fields > _MAX_FIELDS:
                raise _too_much(f"the form has more than {_MAX_FIELDS} fields beside its files")

    async def _add(self, data: bytes) -> None:
        if self._sink is not None:
            await self._sink.write(data)
            return
        self._word += data
        if len(self._word) > _MAX_WORD_BYTES:
            raise _too_much(f"a field of the form holds more than {_MAX_WORD_BYTES >> 10} KiB")

    async def _end(self) -> None:
        if self._sink is not None:
            sink, self._sink = self._sink, None
            await self._reception.end(sink)
        elif self._name == "dump" and self._word:
            raise UsageError(
                "the dump is no file",
                place="dump",
                next_step="Give the part a file name.",
                code="bad_field",
            )
        elif self._name != "dump":
            self.words[self._name] = _text(bytes(self._word))


def _boundary_of(content_type: str) -> bytes:
    _, options = multipart.parse_options_header(content_type)
    boundary = options.get(b"boundary", b"")
    if not 0 < len(boundary) <= _MAX_BOUNDARY_BYTES:
        raise _bad_form("its boundary is missing or too long")
    return boundary


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _too_much(cause: str) -> UsageError:
    return UsageError(
        cause,
        place="body",
        next_step="Pack the dump into one archive, and send logs as files.",
        code="too_many_parts",
    )


def _bad_form(cause: str) -> UsageError:
    return UsageError(
        f"the form cannot be read: {cause}",
        place="body",
        next_step="Send it as multipart/form-data, as browsers and `curl -F` do.",
        code="bad_multipart",
    )
