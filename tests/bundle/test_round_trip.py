"""What is written into a bundle comes back: the report, and each text to the byte."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec import structs

from app.bundle import Bundle, BundleDump, reader, write_bundle, writer
from app.bundle.layout import FRAME_BYTES, PIECE_BYTES
from app.errors import LimitExceeded, NotFound
from app.model.codec import report_to_json
from app.model.report import Renumbered
from app.views.instruction import instruction_view
from bundle.contents import contents_of, module_text, report_of, texts_of_archive
from samples import Sample, load_samples

SAMPLES = load_samples()
ID = "module_0000.m"
ADD = module_text("%p = f32[8]{0} parameter(0)", "%r = f32[8]{0} add(%p, %p)")
MULTIPLY = ADD.replace("add(", "multiply(")


def written(path: Path, *texts: str | bytes) -> Path:
    contents = contents_of({ID: texts})
    write_bundle(path / "b", report_of(contents), contents)
    return path / "b"


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample.name for sample in SAMPLES])
def test_every_text_of_a_sample_comes_back(sample: Sample, tmp_path: Path) -> None:
    texts = texts_of_archive(sample.archive)
    contents = contents_of(texts)
    write_bundle(tmp_path / "b", report_of(contents), contents)
    with Bundle.open(tmp_path / "b") as bundle:
        found = {
            module.id: [bundle.dump_bytes(module.id, dump.index) for dump in module.dumps]
            for module in bundle.modules()
        }
        assert bundle.report() == report_of(contents)
    assert found == texts
    raw = sum(len(text) for history in texts.values() for text in history)
    size = (tmp_path / "b").stat().st_size
    print(f"{sample.name}: {raw} bytes of text in a bundle of {size}")
    # A history shrinks a hundredfold; a dump of one text still four times.
    assert size < raw / 4 + 32_000


@pytest.mark.parametrize(
    "text",
    [
        ADD,
        ADD.rstrip(),
        ADD + "\n\n",
        "\n\n" + ADD,
        "left over from a log\n" + ADD,
        ADD + "and after\x00it",
        ADD.replace("\n", "\r\n"),
        ADD.replace("\n", "\r\n", 2),
        "\ufeff" + ADD,
        ADD.replace("parameter(0)", 'parameter(0), metadata={op_name="\xe9\u4e2d\U0001f600"}'),
    ],
    ids=str.split,
)
def test_odd_texts_come_back(text: str, tmp_path: Path) -> None:
    with Bundle.open(written(tmp_path, ADD, text)) as bundle:
        assert bundle.dump_bytes(ID, 1) == text.encode()
        assert bundle.dump_text(ID, 1) == text


def test_bytes_that_are_no_utf8_come_back(tmp_path: Path) -> None:
    text = ADD.encode().replace(b"parameter(0)", b'parameter(0), metadata={op_name="\xff"}')
    with Bundle.open(written(tmp_path, text)) as bundle:
        assert bundle.dump_bytes(ID, 0) == text
        assert 'op_name="\\xff"' in bundle.dump_text(ID, 0)


def test_pieces_and_frames_of_any_size(tmp_path: Path) -> None:
    # One computation of several pieces, and more of them than a frame holds.
    def long(tag: str) -> str:
        value = ", ".join(f"{tag}{n}" for n in range(PIECE_BYTES // 4))
        return ADD.replace("parameter(0)", f"constant({{{value}}})")

    texts = [long(str(n)) for n in range(1, 5)]
    assert len(texts[0]) > PIECE_BYTES
    assert sum(map(len, texts)) > FRAME_BYTES
    with Bundle.open(written(tmp_path, *texts)) as bundle:
        assert [bundle.dump_text(ID, n) for n in (3, 0, 2, 1)] == [texts[n] for n in (3, 0, 2, 1)]


def test_recipes_longer_than_a_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "PIECE_BYTES", 5)
    with Bundle.open(written(tmp_path, ADD, MULTIPLY)) as bundle:
        assert bundle.dump_text(ID, 0) == ADD
        assert bundle.dump_text(ID, 1) == MULTIPLY


def test_texts_seen_before_take_no_room(tmp_path: Path) -> None:
    once = written(tmp_path, ADD).stat().st_size
    assert written(tmp_path, *[ADD] * 20).stat().st_size - once < 4096


def test_index(tmp_path: Path) -> None:
    contents = contents_of({"b.second": [ADD], "a.first": [ADD, MULTIPLY]})
    write_bundle(tmp_path / "b", report_of(contents), contents)
    with Bundle.open(tmp_path / "b") as bundle:
        assert [(module.id, len(module.dumps)) for module in bundle.modules()] == [
            ("b.second", 1),
            ("a.first", 2),
        ]
        assert bundle.modules()[1].dumps[1] == BundleDump(1, "a.first.0001.txt", len(MULTIPLY))
        assert bundle.dump_text("a.first", 1) == MULTIPLY


def test_parse_shares_and_remembers(tmp_path: Path) -> None:
    with Bundle.open(written(tmp_path, ADD, MULTIPLY)) as bundle:
        first, second = bundle.parse(ID, 0), bundle.parse(ID, 1)
        assert bundle.parse(ID, 0) is first
        assert first.entry.instructions[0] is second.entry.instructions[0]
        assert second.entry.root.opcode == "multiply"


def test_sharing_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SHARED_INSTRUCTIONS", 3)
    monkeypatch.setattr(reader, "PARSED_MODULES", 2)
    texts = [ADD.replace("%r", f"%r.{n}") for n in range(8)]
    with Bundle.open(written(tmp_path, *texts)) as bundle:
        modules = [bundle.parse(ID, n) for n in range(8)]
        assert [module.entry.root.name for module in modules] == [f"r.{n}" for n in range(8)]
        parameters = {id(module.entry.instructions[0]) for module in modules}
        assert len(parameters) == 3
        assert bundle.parse(ID, 7) is modules[7]
        assert bundle.parse(ID, 0) is not modules[0]


def test_unpacked_frames_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "FRAME_CACHE_BYTES", 1)
    monkeypatch.setattr(writer, "FRAME_BYTES", 100)
    texts = [ADD.replace("%r", f"%r.{n}") for n in range(8)]
    with Bundle.open(written(tmp_path, *texts)) as bundle:
        assert [bundle.dump_text(ID, n) for n in range(8)] == texts


def test_computation_text(tmp_path: Path) -> None:
    with Bundle.open(written(tmp_path, ADD)) as bundle:
        assert bundle.computation_text(ID, 0, "main") == ADD.partition("\n\n")[2].rstrip()
        with pytest.raises(NotFound, match="there is no computation 'other'"):
            bundle.computation_text(ID, 0, "other")


@pytest.mark.parametrize(("module_id", "index"), [("nobody", 0), (ID, 1), (ID, -1), ("", 10**30)])
def test_unknown_dump(module_id: str, index: int, tmp_path: Path) -> None:
    with Bundle.open(written(tmp_path, ADD)) as bundle:
        for question in (bundle.dump_text, bundle.dump_bytes, bundle.parse):
            with pytest.raises(NotFound, match="there is no"):
                question(module_id, index)


def test_no_dump_but_a_report(tmp_path: Path) -> None:
    report = report_of(contents_of({}))
    write_bundle(tmp_path / "b", report, None)
    with Bundle.open(tmp_path / "b") as bundle:
        assert bundle.modules() == ()
        assert bundle.report() == report
        assert bundle.report_json() == report_to_json(report)


def test_texts_over_the_limit_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, ADD)
    with (
        Bundle.open(path, max_text_bytes=len(ADD) - 1) as bundle,
        pytest.raises(LimitExceeded, match=f"the text has {len(ADD)} bytes"),
    ):
        bundle.dump_text(ID, 0)


def test_equal_input_makes_equal_bytes(tmp_path: Path) -> None:
    first = written(tmp_path, ADD, MULTIPLY).read_bytes()
    assert written(tmp_path, ADD, MULTIPLY).read_bytes() == first


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = written(tmp_path, ADD)
    before = path.read_bytes()
    contents = contents_of({ID: [MULTIPLY]})
    # SQLite takes no text that is not Unicode: stands for any failure half-way.
    broken = contents_of({"\ud800": [ADD]})
    with pytest.raises(UnicodeEncodeError):
        write_bundle(path, report_of(contents), broken)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["b"]


def test_threads_share_one_bundle(tmp_path: Path) -> None:
    texts = [ADD.replace("%r", f"%r.{n}") for n in range(40)]
    with Bundle.open(written(tmp_path, *texts)) as bundle, ThreadPoolExecutor(8) as pool:
        numbers = [n % 40 for n in range(400)]
        assert list(pool.map(lambda n: bundle.dump_text(ID, n), numbers)) == [
            texts[n] for n in numbers
        ]
        roots = pool.map(lambda n: bundle.parse(ID, n).entry.root.name, numbers)
        assert list(roots) == [f"r.{n}" for n in numbers]


def test_frame_ids_that_fit_no_table_stay_so(tmp_path: Path) -> None:
    tables = (
        '\n\nFileNames\n1 "train.py"\n\nFunctionNames\n1 "step"\n\nFileLocations\n'
        "1 {file_name_id=1 function_name_id=1 line=14 end_line=14 column=0 end_column=0}\n"
        "2 {file_name_id=1 function_name_id=1 line=52 end_line=52 column=0 end_column=0}\n\n"
        "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
        "2 {file_location_id=2 parent_frame_id=1}\n\n\n"
    )
    text = (
        f"HloModule jit_f{tables}ENTRY %main (x: f32[]) -> f32[] {{\n  %x = f32[] parameter(0)\n"
        '  ROOT %r = f32[] sine(%x), metadata={op_name="sin" stack_frame_id=1}\n}\n'
    )
    contents = contents_of({ID: [text, text]})
    report = report_of(contents)
    (module,) = report.modules
    unfit = Renumbered(first=1, last=1, rows=((1, 2),))
    told = structs.replace(report, modules=(structs.replace(module, renumbered=(unfit,)),))
    write_bundle(tmp_path / "b.hlob", told, contents)
    with Bundle.open(tmp_path / "b.hlob") as bundle:
        lines = [instruction_view(bundle.parse(ID, n), "main", "r") for n in (0, 1)]
    assert [(each.source and each.source.line, each.source_how) for each in lines] == [
        (14, "stated"),
        (52, "renumbered"),
    ]
