"""Reads the log of a run: which failures it states, and what verbose passes said before them.

Lines are taken one after another and grouped to messages (`log_messages`). Then repeats and
consequences are folded: a failure that a hundred ranks print is one, and the abort that follows a
failed check is none. While no message is open, the lines that `log_marks` finds dull are only
counted. Work is linear in the log, and a file is read block by block, so a log of gigabytes is read
like a short one. A few lines in which nothing is found may be an excerpt (`log_excerpts`).
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from app.errors import NotADump
from app.ingest.failures import fold, names_in
from app.ingest.log_blocks import BLOCK_BYTES, blocks_of_bytes, blocks_of_file, blocks_of_text
from app.ingest.log_excerpts import Excerpt
from app.ingest.log_lines import LineCleaner
from app.ingest.log_marks import LineMarker, may_be_headed
from app.ingest.log_messages import MessageReader
from app.ingest.log_text import WIDE_MARKS, begins_with_module, no_log, refuse_what_is_no_log
from app.model.dump import LogFacts

# So many blocks at the end of a log are read in full.
_READ_AT_END = 8
# What tells whether the text of a module is all there is.
_HEAD = 200
# No place of a block.
_NOWHERE = (1 << 62, 1 << 62)
_WAITING = (b"stuck", b"Termination", b"rendezvous")


def read_log(text_or_lines: str | bytes | Iterable[str], *, name: str) -> LogFacts:
    """What one log says.

    Args:
        text_or_lines: the whole log, or its lines one after another; of lines none is skipped.
        name: how the log is called in the report.

    Raises:
        NotADump: it is the text of a module and nothing else (`not_a_log`).
    """
    reader = _LogReader(name)
    if isinstance(text_or_lines, bytes):
        if not text_or_lines.startswith(WIDE_MARKS):
            data = text_or_lines
            pieces = (data[at : at + BLOCK_BYTES] for at in range(0, len(data), BLOCK_BYTES))
            reader.feed_blocks(blocks_of_bytes(pieces))
            return reader.finish(len(text_or_lines))
        text_or_lines = text_or_lines.decode("utf-16", "replace")
    if isinstance(text_or_lines, str):
        reader.feed_blocks(blocks_of_text(text_or_lines))
        return reader.finish(len(text_or_lines.encode("utf-8", "replace")))
    return reader.finish(reader.feed_lines(text_or_lines))


def read_log_file(path: Path, *, name: str) -> LogFacts:
    """What the log in a file says; the file is never held as a whole.

    Raises:
        NotADump: the file cannot be read, is plainly no log, or as in `read_log` (`not_a_log`).
    """
    reader = _LogReader(name)
    try:
        with path.open("rb") as file:
            head = file.read(1 << 16)
        refuse_what_is_no_log(head, name)
        if head.startswith(WIDE_MARKS):
            with path.open(encoding="utf-16", errors="replace", newline="\n") as lines:
                reader.feed_lines(lines)
        else:
            reader.feed_blocks(blocks_of_file(path))
        return reader.finish(path.stat().st_size)
    except OSError as error:
        raise NotADump(
            f"cannot read: {error.strerror}", place=name, next_step="Check the path."
        ) from error


def merge_logs(logs: Sequence[LogFacts]) -> LogFacts:
    """The facts of several logs of one run, in the order given."""
    failures = fold([failure for log in logs for failure in log.failures])
    return LogFacts(
        failures=failures,
        flags={name: value for log in logs for name, value in log.flags.items()},
        passes=tuple(name for log in logs for name in log.passes),
        verbose=tuple(move for log in logs for move in log.verbose),
        releases=tuple(dict.fromkeys(release for log in logs for release in log.releases)),
        hung=any(log.hung for log in logs),
        lines=sum(log.lines for log in logs),
        names=names_in(failures),
        byte_size=sum(log.byte_size for log in logs),
        remarks=tuple(remark for log in logs for remark in log.remarks),
        stacks=tuple(stack for log in logs for stack in log.stacks),
        platforms=tuple(dict.fromkeys(name for log in logs for name in log.platforms)),
    )


class _LogReader:
    """Takes a log as lines or as blocks, and hands on what must be read."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._head = ""
        self._messages = MessageReader(name)
        self._excerpt = Excerpt()
        self._cleaner = LineCleaner()
        self._marker = LineMarker(self._messages.is_read)
        self._lines = 0
        self._repeats = 0

    def feed_lines(self, lines: Iterable[str]) -> int:
        """Returns how many bytes the lines had."""
        size = 0
        for number, raw in enumerate(lines, start=1):
            size += len(raw.encode("utf-8", "replace"))
            self._lines = number
            if len(self._head) < _HEAD:
                self._head += raw[:_HEAD]
            self._excerpt.feed(raw)
            self._messages.feed(self._cleaner.clean(number, raw))
        return size

    def feed_blocks(self, blocks: Iterable[bytes]) -> None:
        # How a log ends is read in full, whether or not it was said before.
        last: deque[bytes] = deque()
        for block in blocks:
            self._head = self._head or _decoded(block[:_HEAD])
            self._excerpt.feed_block(block)
            last.append(block)
            if len(last) > _READ_AT_END:
                self._feed_block(last.popleft())
        for block in last:
            self._feed_block(block, is_last=True)

    def _feed_block(self, block: bytes, *, is_last: bool = False) -> None:
        marks = self._marker.mark(block)
        starts = marks.starts
        told = iter([] if is_last else marks.told)
        told_from, told_to = next(told, _NOWHERE)
        place = mark = 0
        while place < len(block):
            if place >= told_from:
                if place < told_to:
                    self._pass_told(block, place, told_to)
                    place = told_to
                told_from, told_to = next(told, _NOWHERE)
                continue
            if not self._messages.is_busy:
                while mark < len(starts) and starts[mark] < place:
                    mark += 1
                after = starts[mark] if mark < len(starts) else len(block)
                if after > place:
                    self._pass_over(block, place, after, is_headed=marks.is_headed)
                    place = after
                    continue
            end = block.find(b"\n", place)
            end = len(block) if end < 0 else end
            self._lines += 1
            self._messages.feed(self._cleaner.clean(self._lines, _decoded(block[place:end])))
            place = end + 1

    def _pass_told(self, block: bytes, start: int, end: int) -> None:
        """Count lines that were told before; the last words on waiting are heard all the same."""
        self._messages.end_messages()
        found = (block.rfind(word, start, end) for word in _WAITING)
        for place in sorted({block.rfind(b"\n", 0, at) + 1 for at in found if at >= 0}):
            before = self._lines + block.count(b"\n", start, place)
            raw = block[place : block.find(b"\n", place)]
            self._messages.feed(self._cleaner.clean(before + 1, _decoded(raw)))
            self._messages.end_messages()
        lines = block.count(b"\n", start, end)
        self._lines += lines
        self._repeats += lines

    def _pass_over(self, block: bytes, start: int, end: int, *, is_headed: bool) -> None:
        """Count the lines from `start` to `end`; the last header counts, for its prefix."""
        self._lines += block.count(b"\n", start, end) + (block[end - 1 : end] != b"\n")
        while is_headed and end > start:
            line = block.rfind(b"\n", start, end - 1) + 1 or start
            raw = block[line:end]
            if may_be_headed(raw) and self._cleaner.clean(0, _decoded(raw)).is_headed:
                return
            end = line

    def finish(self, byte_size: int) -> LogFacts:
        facts = self._messages.finish(lines=self._lines, byte_size=byte_size, repeats=self._repeats)
        complaints = self._excerpt.complaints(facts, self._name)
        told = sorted((*facts.verbose, *complaints), key=lambda line: line.line_number)
        says = told or facts.failures or facts.flags or facts.passes or facts.hung or facts.stacks
        if begins_with_module(self._head) and not says:
            raise no_log("an HLO text", self._name)
        return replace(facts, verbose=tuple(told))


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")
