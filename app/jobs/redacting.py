"""What runs in the child that makes a share, or shows what a share would hold.

Reads the bundle of the report, and writes another one that holds nothing of what was taken out: a
reader of the share is never given a page of the report itself.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.bundle import Bundle, ModuleTexts, write_texts
from app.ingest import Progress
from app.ingest.log_text import WIDE_MARKS
from app.jobs.aligning import Pair, add_pairs_again, copy_pairs
from app.jobs.analysis import summary_of
from app.jobs.room import room_told
from app.model.dump import ProgramFile
from app.report.redact import Choice, Preview, Redactor, Replaced

_LOG_CHARACTERS = 1 << 20
MAX_SHOWN = 500
"""Things taken out that a preview names."""


def redact_report(
    progress: Progress,
    *,
    source: str,
    logs: Sequence[str],
    redaction: dict[str, bool],
    bundle: str,
) -> dict[str, Any]:
    """Write to `bundle` what may be shown of the bundle `source`, and sum it up.

    Source files of the program that came with the dump are not copied, unless all is. Names of
    people and hosts are learnt from the files `logs` too, of which the report holds only
    some lines.

    Raises:
        NotFound, BadArchive: as `Bundle.open`.
        JobFailed: the disk is full (`no_space`).
    """
    with Bundle.open(Path(source)) as opened, room_told():
        if not redaction["redact"]:
            report = opened.report()
            write_texts(Path(bundle), report, _as_they_are(opened), _program_of(opened))
            copy_pairs(opened, Path(bundle))
            return summary_of(report)
        copy = _Copy(opened, logs, redaction, progress)
        write_texts(Path(bundle), copy.report, copy.modules())
        add_pairs_again(Path(bundle), copy.aligned_pairs())
        kinds = _kinds(copy.redactor)
        return summary_of(copy.report) | {"taken_out": kinds}


def preview_redaction(
    progress: Progress,
    *,
    source: str,
    logs: Sequence[str],
    redaction: dict[str, bool],
    answer: str,
) -> None:
    """Write to the file `answer` what a share would hold, as the JSON of a `Preview`.

    Raises:
        NotFound, BadArchive: as `Bundle.open`.
    """
    with Bundle.open(Path(source)) as opened:
        copy = _Copy(opened, logs, redaction, progress)
        copy.look_at_all()
        replaced = copy.redactor.replaced()
        preview = Preview(
            kinds=_kinds(copy.redactor),
            total=len(replaced),
            replaced=_first_of_each(replaced),
            modules=tuple(module.id for module in copy.report.modules)[:MAX_SHOWN],
            flags=copy.report.environment.flags,
            sources=copy.redactor.kept_sources()[:MAX_SHOWN],
        )
    Path(answer).write_bytes(msgspec.json.encode(preview))


class _Copy:
    """The report and the texts of an open bundle as they may be shown."""

    def __init__(
        self,
        bundle: Bundle,
        logs: Sequence[str],
        redaction: dict[str, bool],
        progress: Progress,
    ) -> None:
        self._bundle = bundle
        self._progress = progress
        self._shown: dict[bytes, bytes | None] = {}
        choice = Choice(op_names=redaction["op_names"], source=redaction["source"])
        self.redactor = Redactor(bundle.report(), choice)
        for text in _pieces_of_logs(logs):
            self.redactor.learn(text)
        self._texts = sum(len(module.dumps) for module in bundle.modules())
        for done, (module_id, index) in enumerate(self._places()):
            progress("learn", done, self._texts)
            for piece in _pieces(bundle.dump_bytes(module_id, index)):
                if piece not in self._shown:
                    self._shown[piece] = None
                    self.redactor.learn(_decoded(piece))
        self.report = self.redactor.report()

    def look_at_all(self) -> None:
        """Take out of every text what goes, for what was taken out alone."""
        for module in self._bundle.modules():
            self.redactor.member(module.id)
            for dump in module.dumps:
                self.redactor.member(dump.file)
        for piece in self._shown:
            self.redactor.text(_decoded(piece))

    def modules(self) -> Iterator[ModuleTexts]:
        """The modules, each text made when it is asked for."""
        done = 0
        for module in self._bundle.modules():
            texts = (
                (self.redactor.member(dump.file), self._redacted(module.id, dump.index))
                for dump in module.dumps
            )
            yield ModuleTexts(self.redactor.member(module.id), texts)
            done += len(module.dumps)
            self._progress("redact", done, self._texts)

    def aligned_pairs(self) -> list[Pair]:
        """The pairs of texts that are kept side by side, by the names of the copy."""
        return [
            (self.redactor.member(module_id), before, after)
            for module_id, before, after in self._bundle.aligned_pairs()
        ]

    def _places(self) -> Iterator[tuple[str, int]]:
        for module in self._bundle.modules():
            for dump in module.dumps:
                yield module.id, dump.index

    def _redacted(self, module_id: str, index: int) -> list[bytes]:
        shown: list[bytes] = []
        for piece in _pieces(self._bundle.dump_bytes(module_id, index)):
            made = self._shown.get(piece)
            if made is None:
                text = self.redactor.text(_decoded(piece))
                made = self._shown[piece] = text.encode("utf-8", "surrogateescape")
            shown.append(made)
        return shown


def _pieces_of_logs(logs: Sequence[str]) -> Iterator[str]:
    for path in logs:
        with Path(path).open(encoding=_encoding_of(path), errors="replace", newline="\n") as file:
            # Whole lines as far as lines are of a usual length: no name goes over one.
            while piece := file.read(_LOG_CHARACTERS) + file.readline(_LOG_CHARACTERS):
                yield piece


def _encoding_of(log: str) -> str:
    with Path(log).open("rb") as file:
        return "utf-16" if file.read(2) in WIDE_MARKS else "utf-8"


def _as_they_are(bundle: Bundle) -> Iterator[ModuleTexts]:
    for module in bundle.modules():
        texts = (
            (dump.file, _pieces(bundle.dump_bytes(module.id, dump.index))) for dump in module.dumps
        )
        yield ModuleTexts(module.id, texts)


def _program_of(bundle: Bundle) -> Iterator[ProgramFile]:
    for position, name in enumerate(bundle.program_names()):
        yield ProgramFile(name, bundle.program_text(position))


def _pieces(data: bytes) -> list[bytes]:
    """What stands between blank lines, which texts share; no name or string goes over one."""
    *whole, last = data.split(b"\n\n")
    return [*(piece + b"\n\n" for piece in whole), last]


def _decoded(piece: bytes) -> str:
    # Bytes that are no UTF-8 come out as they went in.
    return piece.decode("utf-8", "surrogateescape")


def _kinds(redactor: Redactor) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for each in redactor.replaced():
        counts[each.kind] += each.times
    return dict(sorted(counts.items()))


def _first_of_each(replaced: tuple[Replaced, ...]) -> tuple[Replaced, ...]:
    seen: Counter[str] = Counter()
    kinds = max(1, len({each.kind for each in replaced}))
    kept: list[Replaced] = []
    for each in replaced:
        seen[each.kind] += 1
        if seen[each.kind] <= MAX_SHOWN // kinds:
            original = each.original[:400].encode("utf-8", "replace").decode()
            kept.append(msgspec.structs.replace(each, original=original))
    return tuple(kept)
