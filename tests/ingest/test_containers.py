"""Every container that is taken gives the same dump."""

import contextlib
import gzip
import io
import os
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import InputError, NotADump
from app.ingest import load_dump
from app.ingest.tar import read_tar
from app.settings import Settings
from ingest.archives import FIRST, HLO, LAST, WHOLE, codes, files_read, gz, load, tar_of, zip_of

TAR = tar_of(WHOLE)
Pack = Callable[[bytes], bytes]

CONTAINERS = {
    "tar": TAR,
    "gnu tar": tar_of(WHOLE, format=tarfile.GNU_FORMAT),
    "ustar": tar_of(WHOLE, format=tarfile.USTAR_FORMAT),
    "tar.gz": gz(TAR),
    "tar.zst": zstd.compress(TAR),
    "tar.zst with a checksum": zstd.compress(
        TAR, options={int(zstd.CompressionParameter.checksum_flag): 1}
    ),
    "zip": zip_of(WHOLE),
    "stored zip": zip_of(WHOLE, method=0),
}


@pytest.mark.parametrize("data", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_same_dump_from_every_container(data: bytes) -> None:
    # The name says nothing: what a container is, its first bytes say.
    contents = load(data, name="mail-attachment")
    assert files_read(contents) == sorted(WHOLE)
    assert contents.input.bytes == len(data)
    assert len(contents.input.sha256) == 64
    coverage = contents.coverage
    assert (coverage.files, coverage.bytes, coverage.hlo_files) == (2, 2 * len(HLO), 2)
    assert (coverage.skipped_count, coverage.remarks) == (0, ())


def test_folder(tmp_path: Path) -> None:
    for name, data in WHOLE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "d" / "module_0001.jit_f.ptx").write_bytes(bytes(1000))
    contents = load_dump(tmp_path, settings=Settings())
    assert files_read(contents) == sorted(WHOLE)
    assert (contents.input.name, contents.input.sha256) == (tmp_path.name, "")
    assert contents.input.bytes == 2 * len(HLO) + 1000


def test_folder_follows_no_links_and_opens_no_pipes(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "module_0002.jit_g.before_optimizations.txt").write_text(HLO)
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / Path(FIRST).name).write_text(HLO)
    (folder / "inside").symlink_to(tmp_path / "out")
    (folder / "module_0003.jit_h.before_optimizations.txt").symlink_to("/etc/passwd")
    os.mkfifo(folder / "module_0004.jit_i.before_optimizations.txt")
    contents = load_dump(folder, settings=Settings())
    assert files_read(contents) == [Path(FIRST).name]
    assert codes(contents) == [
        ("link", "inside"),
        ("link", "module_0003.jit_h.before_optimizations.txt"),
        ("special", "module_0004.jit_i.before_optimizations.txt"),
    ]


@pytest.mark.parametrize("pack", [bytes, gz, zstd.compress], ids=["plain", "gzip", "zstd"])
@pytest.mark.parametrize("name", [Path(FIRST).name, "step.hlo", "module"])
def test_one_text(pack: Pack, name: str) -> None:
    packed = pack(HLO.encode())
    suffix = {b"\x1f\x8b": ".gz", b"\x28\xb5": ".zst"}.get(packed[:2], "")
    contents = load(packed, name=name + suffix)
    assert files_read(contents) == [name]
    assert [module.name for module in contents.modules] == ["jit_f"]


def test_compressed_text_in_an_archive() -> None:
    members = {FIRST + ".gz": gz(HLO.encode()), LAST + ".zst": zstd.compress(HLO.encode())}
    contents = load(tar_of(members))
    assert files_read(contents) == sorted(members)
    assert contents.modules[0].complete


def test_gzip_members_and_zstd_frames_in_a_row() -> None:
    half = len(TAR) // 2
    for pack in (gz, zstd.compress):
        packed = pack(TAR[:half]) + pack(b"") + pack(TAR[half:])
        assert files_read(load(packed)) == sorted(WHOLE)
        assert files_read(load(packed + bytes(700))) == sorted(WHOLE)


def test_zip_through_a_pipe() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: object) -> int:
            raise OSError("a pipe cannot seek")

    data = zip_of(WHOLE)
    contents = load_dump(None, stream=Pipe(data), name="p", settings=Settings())
    assert files_read(contents) == sorted(WHOLE)
    assert contents.input.bytes == len(data)


def test_stream_that_gives_single_bytes() -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(1 if size else 0)

    for data in (TAR, gz(TAR), zstd.compress(TAR)):
        contents = load_dump(None, stream=Slow(data), name="s", settings=Settings())
        assert files_read(contents) == sorted(WHOLE)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(NotADump, match=r"nowhere: cannot be opened: No such file") as caught:
        load_dump(tmp_path / "nowhere", settings=Settings())
    assert caught.value.code == "unreadable"


def _content(archive: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(info)
    assert file is not None
    return file.read()


NAMES = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=300
)


@settings(max_examples=60, deadline=None)
@given(
    members=st.dictionaries(NAMES, st.binary(max_size=1500), max_size=5),
    format=st.sampled_from((tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)),
)
def test_tar_reader_agrees_with_the_standard_library(
    members: dict[str, bytes], format: int
) -> None:
    data = tar_of(members, format=format)
    with tarfile.open(fileobj=io.BytesIO(data), mode="r|") as archive:
        expected = [
            (info.name.rstrip("/"), _content(archive, info)) for info in archive if info.isreg()
        ]
    ours = [
        (member.name.rstrip("/"), b"".join(member.pieces()))
        for member in read_tar(io.BytesIO(data), Settings())
        if member.kind == "file"
    ]
    assert ours == expected


def _as_zip(_: bytes) -> bytes:
    return zip_of(WHOLE)


@settings(max_examples=300, deadline=None)
@given(
    place=st.integers(0, len(TAR) - 1),
    byte=st.integers(0, 255),
    cut=st.integers(0, len(TAR)),
    pack=st.sampled_from((bytes, gz, zstd.compress, _as_zip)),
)
def test_broken_bytes_raise_nothing_but_input_errors(
    place: int, byte: int, cut: int, pack: Pack
) -> None:
    data = bytearray(pack(TAR))
    data[place % len(data)] = byte
    try:
        contents = load(bytes(data[: max(cut % (len(data) + 1), 1)]))
    except InputError:
        return
    assert contents.coverage.files == sum(contents.coverage.kinds.values())


def test_stream_is_closed_whatever_happens() -> None:
    for data in (b"", b"%PDF", TAR, TAR[:-1200], gz(TAR), zip_of(WHOLE)):
        stream = io.BytesIO(data)
        with contextlib.suppress(InputError):
            load_dump(None, stream=stream, name="s", settings=replace(Settings(), max_members=1))
        assert stream.closed


def test_file_that_is_gone_when_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, data in WHOLE.items():
        (tmp_path / Path(name).name).write_bytes(data)
    real = os.lstat

    def lstat(path: str) -> os.stat_result:
        if path.endswith(Path(LAST).name):
            raise FileNotFoundError(2, "No such file or directory", path)
        return real(path)

    monkeypatch.setattr("app.ingest.archive.os.lstat", lstat)
    contents = load_dump(tmp_path, settings=Settings())
    assert codes(contents) == [("unreadable", Path(LAST).name)]
    assert files_read(contents) == [Path(FIRST).name]


def test_log_among_the_files_is_remarked() -> None:
    contents = load(tar_of({**WHOLE, "d/train.log": b"step 1"}))
    assert contents.coverage.remarks == (
        "log: 1 of the files is a log, read only where given as such (first: d/train.log)",
    )


def test_gzip_of_python_and_of_pigz_headers() -> None:
    stream = io.BytesIO()
    with gzip.GzipFile("a name in the header.tar", "wb", fileobj=stream, mtime=1) as file:
        file.write(TAR)
    assert files_read(load(stream.getvalue())) == sorted(WHOLE)
