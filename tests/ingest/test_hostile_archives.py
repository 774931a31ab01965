"""Archives that want to do harm, or that a crash cut off; each has its answer.

Refused: nothing of it is used. Left out: the member is listed with its code, the rest is read.
Remarked: all is read, and the report says what is odd.
"""

import io
import random
import struct
import tarfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from backports import zstd

from app.errors import NotADump
from app.ingest.tar import read_tar
from app.settings import Settings
from ingest.archives import (
    END,
    FIRST,
    HLO,
    LAST,
    WHOLE,
    codes,
    files_read,
    gz,
    header,
    load,
    pax,
    pax_record,
    refusal,
    remarks,
    tar_of,
    zip_of,
)

TEXT = HLO.encode()
Pack = Callable[[Any], bytes]
GOOD = header(FIRST.encode(), len(TEXT), content=TEXT)
SECOND = header(LAST.encode(), len(TEXT), content=TEXT)


# ---- not an archive ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty"),
        (b"\x7fELF\x02\x01\x01" + bytes(600), "not_a_dump"),
        (b"%PDF-1.7\n" + b"x" * 600, "not_a_dump"),
        (b"\xff\xd8\xff\xe0" + bytes(range(256)) * 4, "not_a_dump"),
        (b"<html><body>HloModule</body></html>", "not_a_dump"),
        (b"just some words", "not_a_dump"),
        (b"\nmodule @jit_f attributes {mhlo.num_partitions = 8 : i32} {\n", "not_a_dump"),
        (b"\xfd7zXZ\x00" + bytes(600), "unsupported_archive"),
        (b"BZh91AY&SY" + bytes(600), "unsupported_archive"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(600), "unsupported_archive"),
        (b"Rar!\x1a\x07\x01\x00" + bytes(600), "unsupported_archive"),
        (b"PK\x07\x08PK\x03\x04" + bytes(600), "split_archive"),
        (gz(zip_of(WHOLE)), "nested_archive"),
        (gz(gz(TEXT)), "nested_archive"),
        (zstd.compress(gz(tar_of(WHOLE))), "nested_archive"),
    ],
)
def test_foreign_bytes_are_refused(data: bytes, code: str) -> None:
    assert refusal(data) == code


def test_archive_without_any_file_of_xla() -> None:
    data = tar_of({"README": b"hello", "photo.jpg": b"\xff\xd8\xff", "train.log": b"step 1"})
    assert refusal(data) == "no_xla_files"
    assert refusal(END) == "no_xla_files"
    assert refusal(zip_of({})) == "no_xla_files"


def test_what_was_left_out_of_such_an_archive_is_named() -> None:
    infos: list[tarfile.TarInfo] = []
    for number, kind in enumerate((*[tarfile.SYMTYPE] * 600, tarfile.FIFOTYPE)):
        info = tarfile.TarInfo(f"module_{number:04}.jit_f.before_optimizations.txt")
        info.type, info.linkname = kind, "/etc/passwd"
        infos.append(info)
    with pytest.raises(NotADump) as caught:
        load(tar_of({}, *infos))
    assert caught.value.code == "no_xla_files"
    assert caught.value.cause == (
        "none of the files is XLA's (no file at all); left out: "
        "module_0000.jit_f.before_optimizations.txt and 599 more (links are not followed), "
        "module_0600.jit_f.before_optimizations.txt (neither a file nor a folder)"
    )
    inner = tar_of({"run/dump.tgz": gz(tar_of(WHOLE)), "notes": b"hello"})
    with pytest.raises(NotADump) as caught:
        load(inner)
    assert caught.value.cause == (
        "none of the files is XLA's (2 unknown); left out: "
        "run/dump.tgz (archives inside the archive are not opened)"
    )


# ---- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "d/../../x.txt",
        "/etc/passwd",
        "C:\\x\\module_0001.jit_f.before_optimizations.txt",
        "\\\\host\\share\\x.txt",
        "..\\..\\x",
        "c:x",
        ".",
    ],
)
@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_paths_that_lead_outside(name: str, pack: Pack) -> None:
    contents = load(pack({**WHOLE, name: TEXT}))
    assert codes(contents) == [("bad_path", name)]
    assert files_read(contents) == sorted(WHOLE)


def test_links_devices_and_pipes() -> None:
    kinds = {
        tarfile.SYMTYPE: "link",
        tarfile.LNKTYPE: "link",
        tarfile.CHRTYPE: "special",
        tarfile.BLKTYPE: "special",
        tarfile.FIFOTYPE: "special",
    }
    infos: list[tarfile.TarInfo] = []
    for kind in kinds:
        info = tarfile.TarInfo(f"odd{kind.decode()}.txt")
        info.type, info.linkname = kind, "/etc/passwd"
        infos.append(info)
    contents = load(tar_of(WHOLE, *infos))
    assert codes(contents) == [(kinds[info.type], info.name) for info in infos]
    assert files_read(contents) == sorted(WHOLE)


def test_first_of_two_equal_names_wins() -> None:
    other = header(FIRST.encode(), 5, content=b"other")
    contents = load(GOOD + other + SECOND + END)
    assert codes(contents) == [("duplicate", FIRST)]
    assert files_read(contents) == sorted(WHOLE)


@pytest.mark.parametrize("twin", ["D/MODULE_0001.jit_f.before_optimizations.TXT", FIRST + "."])
def test_names_that_some_file_systems_take_for_equal(twin: str) -> None:
    assert remarks(load(tar_of({**WHOLE, twin: TEXT}))) == ["similar_name"]


def test_composed_and_decomposed_names() -> None:
    # Both spell the same letter, once composed and once with a combining mark.
    names = (
        "d/module_0002.jit_\u00e9.before_optimizations.txt",
        "d/module_0002.jit_e\u0301.before_optimizations.txt",
    )
    contents = load(tar_of({**WHOLE, **dict.fromkeys(names, TEXT)}))
    assert remarks(contents) == ["similar_name"]
    assert contents.coverage.hlo_files == 4


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("d/a\x1b[31mb.txt", "d/a\\x1b[31mb.txt"),
        ("d/a\nb.txt", "d/a\\x0ab.txt"),
        ("d/a\u202etxt.exe", "d/aU+202Etxt.exe"),
        ("d/a\u200bb.txt", "d/aU+200Bb.txt"),
        ("d/a\u2066b.txt", "d/aU+2066b.txt"),
    ],
)
def test_odd_names_are_escaped_and_remarked(name: str, shown: str) -> None:
    contents = load(tar_of({**WHOLE, name: TEXT}, format=tarfile.GNU_FORMAT))
    assert remarks(contents) == ["odd_name"]
    assert shown in files_read(contents)


def test_name_that_is_not_utf8() -> None:
    contents = load(GOOD + header(b"d/caf\xe9.txt", len(TEXT), content=TEXT) + END)
    assert "d/caf\\xe9.txt" in files_read(contents)
    for text in (*files_read(contents), *contents.coverage.remarks):
        assert text.encode()


def test_long_and_deep_names() -> None:
    long, deep = "d/" + "x" * 2000, "d/" * 50_000 + "x"
    contents = load(tar_of({**WHOLE, long: b"", deep: b""}, format=tarfile.GNU_FORMAT))
    assert [code for code, _ in codes(contents)] == ["name_too_long", "name_too_long"]
    assert all(len(name) <= 200 for _, name in codes(contents))
    contents = load(tar_of({**WHOLE, "d/" * 40 + "x": b""}))
    assert [code for code, _ in codes(contents)] == ["too_deep"]


# ---- budgets -------------------------------------------------------------------------------------


def test_too_many_members() -> None:
    many = {f"d/{number}": b"" for number in range(60)}
    assert refusal(gz(tar_of(many)), max_members=50) == "too_many_members"
    assert refusal(zip_of(many), max_members=50) == "too_many_members"
    assert load(tar_of({**many, **WHOLE}), max_members=62).coverage.files == 62


def test_zip_with_more_members_than_its_end_record_states() -> None:
    data = bytearray(zip_of({f"d/{number}": b"" for number in range(60)}))
    struct.pack_into("<2H", data, data.rfind(b"PK\5\6") + 8, 1, 1)
    assert refusal(bytes(data), max_members=50) == "too_many_members"


def test_zip_with_another_end_record_than_the_stated_one() -> None:
    record = struct.Struct("<4sQ2H2L4Q")
    decoy = record.pack(b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, 50, 0)
    many = {f"d/{number}": b"" for number in range(60)}
    data = zip_of({**many, "d/decoy": decoy}, method=zipfile.ZIP_STORED)
    place = data.rfind(b"PK\5\6")
    size, start = struct.unpack_from("<2L", data, place + 12)

    def with_records(count: int, stated: int) -> bytes:
        end64 = record.pack(b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, start)
        locator = struct.pack("<4sLQL", b"PK\6\7", 0, stated, 1)
        return data[:place] + end64 + locator + data[place:]

    assert refusal(with_records(61, data.index(decoy)), max_members=50) == "bad_archive"
    assert refusal(with_records(61, place), max_members=50) == "too_many_members"
    assert refusal(with_records(1, place), max_members=50) == "too_many_members"
    assert refusal(with_records(61, place), max_members=61) == "no_xla_files"


@pytest.mark.parametrize("pack", [gz, zstd.compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize("inner", ["tar", "text"])
def test_compression_bomb(pack: Pack, inner: str) -> None:
    zeros = bytes(64 << 20)
    data = pack(
        header(FIRST.encode(), len(zeros), content=zeros) if inner == "tar" else b" " * len(zeros)
    )
    assert len(data) < 1 << 18
    tracemalloc.start()
    assert refusal(data, max_unpacked_bytes=8 << 20) == "unpacked_limit"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 48 << 20


def test_high_ratio_alone_is_honest() -> None:
    line = "  %y.{} = f32[4]{{0}} negate(%x.1)\n"
    text = HLO.replace("  ROOT", "".join(line.format(n) for n in range(3)) + "  ROOT").encode()
    text += b"\n" * (1 << 20)
    data = zstd.compress(tar_of({FIRST: text}))
    assert len(text) / len(data) > 600
    assert files_read(load(data)) == [FIRST]


def test_upload_limit() -> None:
    data = gz(tar_of(WHOLE))
    assert refusal(data, max_upload_bytes=len(data) - 1) == "too_large"
    assert load(data, max_upload_bytes=len(data)).coverage.files == 2


@pytest.mark.parametrize("pack", [tar_of, zip_of])
def test_large_member_is_left_out(pack: Pack) -> None:
    data = pack({FIRST: TEXT, "d/module_0001.jit_f.cpu_after_optimizations.txt": TEXT * 9})
    contents = load(data, max_member_bytes=len(TEXT))
    assert codes(contents) == [("member_too_large", LAST)]
    assert files_read(contents) == [FIRST]


def test_too_many_instructions() -> None:
    assert refusal(tar_of(WHOLE), max_instructions=3) == "too_many_instructions"
    assert load(tar_of(WHOLE), max_instructions=4).coverage.lines


def test_zstd_window_of_two_gibibytes() -> None:
    maker = zstd.ZstdCompressor(options={int(zstd.CompressionParameter.window_log): 31})
    data = maker.compress(tar_of(WHOLE)) + maker.flush()
    assert refusal(data) == "zstd_window"


# ---- cut off and broken --------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [gz, zstd.compress], ids=["gzip", "zstd"])
def test_cut_off_archive_keeps_whole_members(pack: Pack) -> None:
    noise = random.Random(1).randbytes(400_000)
    data = pack(tar_of({FIRST: TEXT, "d/module_0001.jit_f.ptx": noise, LAST: TEXT}))
    contents = load(data[: len(data) * 3 // 4])
    assert files_read(contents) == [FIRST]
    assert remarks(contents) == ["truncated"]
    assert "truncated" in {code for code, _ in codes(contents)}
    assert refusal(data[:60]) == "truncated"


@pytest.mark.parametrize("cut", [len(GOOD) + 100, len(GOOD) + 600, len(GOOD) + 512, len(GOOD)])
def test_cut_off_tar_keeps_whole_members(cut: int) -> None:
    contents = load((GOOD + SECOND + END)[:cut])
    assert files_read(contents) == [FIRST]
    assert remarks(contents) == ["truncated"]
    assert refusal(GOOD[:600]) == "truncated"


def test_cut_off_text_is_not_whole() -> None:
    assert refusal(gz(TEXT * 100)[:-30], name="x.txt.gz") == "truncated"


def test_cut_off_zip() -> None:
    assert refusal(zip_of(WHOLE)[:-30]) == "truncated"


@pytest.mark.parametrize("pack", ["gzip", "zstd"])
def test_wrong_checksum_keeps_whole_members(pack: str) -> None:
    if pack == "gzip":
        data = bytearray(gz(tar_of(WHOLE)))
        data[-6] ^= 1
    else:
        option = {int(zstd.CompressionParameter.checksum_flag): 1}
        data = bytearray(zstd.compress(tar_of(WHOLE), options=option))
        data[-1] ^= 1
    contents = load(bytes(data))
    assert files_read(contents) == sorted(WHOLE)
    assert remarks(contents) == ["bad_crc"]
    assert [code for code, _ in codes(contents)] == ["bad_crc"]


def test_bytes_after_the_end() -> None:
    for rest in (b"junk", GOOD + END):
        contents = load(tar_of(WHOLE) + rest)
        assert files_read(contents) == sorted(WHOLE)
        assert remarks(contents) == ["trailing_bytes"]
        assert remarks(load(gz(tar_of(WHOLE) + rest))) == ["trailing_bytes"]
    for pack in (gz, zstd.compress):
        assert refusal(pack(tar_of(WHOLE)) + b"junk") == "trailing_bytes"
    assert remarks(load(tar_of(WHOLE) + bytes(100_000))) == []


def test_negative_size_ends_at_once() -> None:
    started = time.monotonic()
    for size in (b"\xff" * 12, b"\xff" * 11 + b"\x00", b"-0000000001\0"):
        assert refusal(GOOD + header(b"d/x", size) + END) == "bad_header"
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("size", [b"\x80" + bytes(3) + b"\x80" + bytes(7), b"77777777777\0"])
def test_size_beyond_the_end(size: bytes) -> None:
    name = b"d/module_0001.jit_f.ptx"
    assert refusal(header(name, size, content=b"x" * 512) + END) == "truncated"
    contents = load(GOOD + header(name, size, content=b"x" * 512) + END)
    assert files_read(contents) == [FIRST]
    assert remarks(contents) == ["truncated"]


@pytest.mark.parametrize("kind", [b"x", b"g", b"L", b"K"])
def test_extended_header_of_many_bytes(kind: bytes) -> None:
    data = gz(GOOD + header(b"h", 200 << 20, kind, b"a" * (2 << 20)))
    tracemalloc.start()
    assert refusal(data) == "header_too_large"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 << 20


def test_endless_extended_headers() -> None:
    assert refusal(GOOD + header(b"h", 0, b"x") * 20 + SECOND + END) == "bad_header"


@pytest.mark.parametrize(
    "records",
    [
        pax_record("size", b"-1"),
        pax_record("size", b"1e3"),
        pax_record("path", b"a\0b"),
        b"999 path=x\n",
        b"0 path=x\n",
        b"12 path=x\n\n",
        b"path=x\n",
    ],
)
def test_broken_pax_records(records: bytes) -> None:
    assert refusal(GOOD + pax(records) + SECOND + END) == "bad_header"


def test_pax_size_is_the_real_size() -> None:
    lying = header(b"short", 1)
    data = GOOD + pax(pax_record("size", b"%d" % len(TEXT)) + pax_record("path", LAST.encode()))
    data += lying + TEXT + bytes(-len(TEXT) % 512) + END
    assert files_read(load(data)) == sorted(WHOLE)


def test_sparse_members() -> None:
    sparse = header(b"d/big", 0, b"S")
    by_pax = pax(pax_record("GNU.sparse.major", b"1")) + header(b"d/huge", 0)
    contents = load(GOOD + sparse + by_pax + SECOND + END)
    assert codes(contents) == [("sparse", "d/big"), ("sparse", "d/huge")]
    assert files_read(contents) == sorted(WHOLE)


def test_wrong_header_checksum() -> None:
    broken = bytearray(SECOND)
    broken[0] ^= 1
    contents = load(GOOD + bytes(broken) + END)
    assert files_read(contents) == [FIRST]
    assert remarks(contents) == ["bad_header"]
    assert refusal(bytes(broken) + END) == "bad_header"


def test_archives_in_the_archive() -> None:
    inner = {
        "d/inner.tar": tar_of(WHOLE),
        "d/a.zip": zip_of(WHOLE),
        "d/b.tar.gz": gz(tar_of(WHOLE)),
    }
    for pack in (tar_of, zip_of):
        contents = load(pack({**WHOLE, **inner}))
        assert codes(contents) == [("nested_archive", name) for name in inner]


def test_two_dumps_in_one_archive() -> None:
    data = tar_of({f"{run}/{name}": TEXT for run in ("a", "b") for name in WHOLE})
    contents = load(data)
    assert remarks(contents) == ["several_dumps"]
    assert [module.id for module in contents.modules] == [
        "a/d/module_0001.jit_f",
        "b/d/module_0001.jit_f",
    ]


# ---- zip -----------------------------------------------------------------------------------------


def test_zip_entries_over_one_body() -> None:
    data = zip_of({"a.txt": b"x" * 1000})
    place = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry = data[place:end]
    directory = entry * 1000
    record = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1000, 1000, len(directory), place, 0)
    assert refusal(data[:place] + directory + record) == "zip_overlap"


def test_zip_directory_is_counted_before_it_is_read() -> None:
    data = bytearray(zip_of(WHOLE))
    end = data.rindex(b"PK\x05\x06")
    struct.pack_into("<H", data, end + 10, 60_000)
    assert refusal(bytes(data), max_members=1000) == "too_many_members"
    struct.pack_into("<H", data, end + 10, 2)
    struct.pack_into("<L", data, end + 12, 1 << 31)
    assert refusal(bytes(data)) == "too_many_members"


def test_zip_with_encrypted_linked_and_foreign_members() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in WHOLE.items():
            archive.writestr(name, data)
        link = zipfile.ZipInfo("d/link.txt")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("d/locked.txt", b"x")
        archive.writestr("d/bzip2.txt", b"x" * 99, zipfile.ZIP_BZIP2)
    data = bytearray(stream.getvalue())
    place = data.rindex(b"d/locked.txt") - 46
    data[place + 8] |= 1
    contents = load(bytes(data))
    assert codes(contents) == [
        ("link", "d/link.txt"),
        ("encrypted", "d/locked.txt"),
        ("method", "d/bzip2.txt"),
    ]
    assert files_read(contents) == sorted(WHOLE)


def test_zip_member_with_wrong_checksum() -> None:
    data = bytearray(zip_of(WHOLE, method=0))
    data[data.index(b"negate")] ^= 1
    contents = load(bytes(data))
    assert codes(contents) == [("bad_crc", FIRST)]
    assert files_read(contents) == [LAST]
    one = bytearray(zip_of({FIRST: TEXT}, method=0))
    one[one.index(b"negate")] ^= 1
    assert refusal(bytes(one)) == "bad_crc"


@pytest.mark.parametrize("stated", [10, len(TEXT) + 10])
def test_zip_member_of_another_size_than_stated(stated: int) -> None:
    data = bytearray(zip_of(WHOLE))
    place = data.index(b"PK\x01\x02")
    struct.pack_into("<L", data, place + 24, stated)
    contents = load(bytes(data))
    assert codes(contents)[0][0] in ("size_mismatch", "bad_crc")
    assert files_read(contents) == [LAST]


def test_zip_with_two_names_for_one_member() -> None:
    data = bytearray(zip_of(WHOLE))
    place = data.index(FIRST.encode())
    data[place : place + 1] = b"e"
    contents = load(bytes(data))
    assert codes(contents) == [("name_mismatch", FIRST)]


def test_zip_whose_own_header_makes_no_sense() -> None:
    data = bytearray(zip_of({"d/\u00e9.txt": TEXT, **WHOLE}))
    data[data.index(b"\xc3\xa9")] = 0x80
    assert codes(load(bytes(data))) == [("bad_data", "d/\u00e9.txt")]


def test_zip_names_of_another_alphabet() -> None:
    name = "d/module_0003.jit_\u00e9.before_optimizations.txt"
    data = zip_of({**WHOLE, name: TEXT})
    assert name in files_read(load(data))
    # Without the mark that says UTF-8 the bytes are those of code page 437.
    unmarked = bytearray(data)
    local, central = data.index(name.encode()) - 30, data.rindex(name.encode()) - 46
    for place in (local + 7, central + 9):
        assert unmarked[place] == 0x08
        unmarked[place] = 0
    contents = load(bytes(unmarked))
    assert codes(contents) == []
    assert name.encode().decode("cp437") in files_read(contents)


def test_zip_name_with_nul() -> None:
    data = zip_of({**WHOLE, "d/a.txt_.exe": TEXT}).replace(b"a.txt_.exe", b"a.txt\0.exe")
    assert codes(load(data)) == [("bad_path", "d/a.txt\\x00.exe")]


# ---- the reader itself ---------------------------------------------------------------------------


def test_memory_does_not_grow_with_the_number_of_members() -> None:
    one = header(b"d/x", 0)

    class Many:
        def __init__(self, count: int) -> None:
            self._left = count

        def read(self, size: int, /) -> bytes:
            self._left -= 1
            return one[:size] if self._left >= 0 else bytes(size)

    tracemalloc.start()
    count = sum(1 for _ in read_tar(Many(50_000), Settings()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 50_000
    assert peak < 1 << 20
