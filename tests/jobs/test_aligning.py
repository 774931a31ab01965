"""The pairs of texts that are put side by side while their bundle is made."""

import sqlite3
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest

from app.bundle import Bundle, write_bundle
from app.bundle.layout import compress
from app.errors import BadArchive
from app.ingest import quiet
from app.jobs import aligning, comparing
from app.jobs.analysis import analyse_upload
from app.jobs.comparing import pane_rows_of
from app.jobs.redacting import redact_report
from app.jobs.upload import Upload
from app.views.diff_panes import FORM
from bundle.contents import contents_of, module_text, report_of
from hlo_parser import Module
from samples import load_sample

ID = "module_0000.m"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aligning, "MIN_CHANGED", 20)


@pytest.fixture
def bundle(few: None, tmp_path: Path) -> Path:
    del few
    sample = load_sample("pipeliner_crash")
    upload = Upload(str(sample.archive), sample.archive.name)
    analyse_upload(quiet, upload=asdict(upload), bundle=str(tmp_path / "whole"))
    return tmp_path / "whole"


def of(*sizes: int) -> list[str]:
    """Texts of so many instructions, of which none stands in the text before."""
    return [
        module_text(
            "%p = f32[8]{0} parameter(0)",
            *(f"%a.{n}.{index} = f32[8]{{0}} add(%p, %p)" for index in range(size)),
        )
        for n, size in enumerate(sizes)
    ]


@pytest.mark.usefixtures("few")
def test_pairs_that_changed_much_are_costly_and_the_most_of_them_kept() -> None:
    texts = of(10, 10, 50, 60, 70, 80, 90)
    pairs = aligning.costly_pairs(contents_of({ID: texts}))
    assert pairs == tuple((ID, after - 1, after) for after in (3, 4, 5, 6))
    assert aligning.costly_pairs(contents_of({ID: texts[:2]})) == ()
    assert aligning.costly_pairs(contents_of({ID: of(200, 10, 200)})) == ()
    assert aligning.costly_pairs(None) == ()


@pytest.mark.usefixtures("few")
def test_what_stays_is_no_change() -> None:
    (text,) = of(200)
    grown = text.replace("HloModule m", "HloModule m, is_scheduled=true")
    assert aligning.costly_pairs(contents_of({ID: [text, grown, text]})) == ()


@pytest.mark.usefixtures("few")
def test_texts_of_very_many_bytes_are_left_to_their_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aligning, "MAX_BYTES", 1_000)
    assert aligning.costly_pairs(contents_of({ID: of(100, 100)})) == ()


def test_kept_rows_are_those_that_would_be_made(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Bundle.open(bundle) as opened:
        pairs = opened.aligned_pairs()
        assert len(pairs) == aligning.MAX_ALIGNED
        kept = [pane_rows_of(opened, module_id, (a, b)) for module_id, a, b in pairs]
        monkeypatch.setattr(comparing, "FORM", FORM + 1)
        made = [pane_rows_of(opened, module_id, (a, b)) for module_id, a, b in pairs]
    assert kept == made


def test_nothing_is_matched_for_kept_rows(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(comparing, "diff_modules")
    with Bundle.open(bundle) as opened:
        module_id, before, after = opened.aligned_pairs()[0]
        assert pane_rows_of(opened, module_id, (before, after)).edits


@pytest.mark.parametrize("redact", [True, False])
def test_a_share_has_the_same_pairs_of_its_own_texts(
    bundle: Path, tmp_path: Path, redact: bool
) -> None:
    copy = tmp_path / "copy"
    choice = {"redact": redact, "op_names": True, "source": True}
    redact_report(quiet, source=str(bundle), logs=[], redaction=choice, bundle=str(copy))
    with Bundle.open(bundle) as whole, Bundle.open(copy) as shared:
        assert len(shared.aligned_pairs()) == aligning.MAX_ALIGNED
        assert [texts for _, *texts in shared.aligned_pairs()] == [
            texts for _, *texts in whole.aligned_pairs()
        ]
        for module_id, *texts in shared.aligned_pairs():
            rows = pane_rows_of(shared, module_id, (texts[0], texts[1]))
            lines = [shared.dump_text(module_id, index).count("\n") + 1 for index in texts]
            assert max(rows.lines_before) <= lines[0]
            assert max(rows.lines_after) <= lines[1]
            named = {name for each in rows.computations for name in (each.before, each.after)}
            known = {each.name for n in texts for each in shared.parse(module_id, n).computations}
            assert named - {None} <= known


def test_a_share_of_all_is_not_matched_again(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(aligning, "diff_modules")
    choice = {"redact": False, "op_names": True, "source": True}
    redact_report(
        quiet, source=str(bundle), logs=[], redaction=choice, bundle=str(tmp_path / "copy")
    )
    with Bundle.open(bundle) as whole, Bundle.open(tmp_path / "copy") as shared:
        assert shared.aligned_pairs() == whole.aligned_pairs()
        for pair in whole.aligned_pairs():
            assert shared.aligned(*pair, form=FORM) == whole.aligned(*pair, form=FORM)


def test_rows_of_no_form_that_is_read_are_told(bundle: Path) -> None:
    with closing(sqlite3.connect(bundle)) as connection, connection:
        connection.execute("UPDATE aligned SET raw_bytes = ?, data = ?", (2, compress(b"{}")))
    with Bundle.open(bundle) as opened:
        module_id, before, after = opened.aligned_pairs()[0]
        with pytest.raises(BadArchive, match="side by side") as caught:
            pane_rows_of(opened, module_id, (before, after))
    assert caught.value.code == "bad_bundle"


def test_what_takes_too_long_is_left_out_and_the_bundle_is_whole(
    few: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    del few
    monkeypatch.setattr(aligning, "MAX_SECONDS", 0.2)
    real = aligning.diff_modules
    done: list[int] = []

    def endless(before: Module, after: Module) -> object:
        done.append(1)
        while len(done) > 1:
            pass
        return real(before, after)

    monkeypatch.setattr(aligning, "diff_modules", endless)
    contents = contents_of({ID: of(50, 60, 70)})
    write_bundle(tmp_path / "b", report_of(contents), contents)
    aligning.add_costly_pairs(tmp_path / "b", contents, quiet)
    with Bundle.open(tmp_path / "b") as opened:
        assert opened.aligned_pairs() == ((ID, 0, 1),)
        assert opened.dump_text(ID, 2)
    assert "only 1 of 2 pairs" in caplog.text


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_what_cannot_be_done_is_left_out(
    few: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    del few

    def failing(before: Module, after: Module) -> object:
        raise error

    monkeypatch.setattr(aligning, "diff_modules", failing)
    contents = contents_of({ID: of(50, 60)})
    write_bundle(tmp_path / "b", report_of(contents), contents)
    aligning.add_costly_pairs(tmp_path / "b", contents, quiet)
    with Bundle.open(tmp_path / "b") as opened:
        assert opened.aligned_pairs() == ()


def test_the_server_does_not_itself_match_what_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = contents_of({ID: of(50, 60)})
    write_bundle(tmp_path / "b", report_of(contents), contents)
    with Bundle.open(tmp_path / "b") as opened:
        assert comparing.pane_rows_at_once(opened, ID, (0, 1)) is not None
        monkeypatch.setattr(aligning, "MIN_CHANGED", 20)
        assert comparing.pane_rows_at_once(opened, ID, (0, 1)) is None
        aligning.add_costly_pairs(tmp_path / "b", contents, quiet)
    with Bundle.open(tmp_path / "b") as opened:
        assert comparing.pane_rows_at_once(opened, ID, (0, 1)) is not None
