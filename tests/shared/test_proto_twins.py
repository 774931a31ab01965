"""Protos of the shared dumps against the texts beside them, and all texts printed again."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from conftest import SHARED
from hlo_parser import (
    Interner,
    Module,
    modules_differ,
    parse_module,
    parse_proto,
    print_module,
)
from parser.dump_texts import dump_files, hlo_texts
from parser.oracle import Oracle

DUMPS = sorted((SHARED / "dumps").glob("*.tar.gz"))
EVERY = 80
PROTO = re.compile(r"\.hlo\.pb(\.gz)?$")

# What a proto does not hold (xla/service/hlo.proto, HloModuleProto).
NOT_IN_PROTO = {
    "allow_spmd_sharding_propagation_to_parameters",
    "allow_spmd_sharding_propagation_to_output",
}
# How many pairs of text and proto each dump has, and what else they may differ in.
TWINS = {
    # The texts of 0.4.30 print places inline and no tables, and no frame ids; the protos have both.
    "s000n_crash_proto__jax0.4.30": (66, {"frames", "metadata.stack_frame_id"}),
    "s000_fsdp_gradacc_proto__jax0.10.2": (3, set[str]()),
    # Paths were replaced in the texts of this dump, not in its compressed protos.
    "s004_pmap_urlflags__cpu_jax0.10.2": (39, {"frames"}),
    "gpt_dp_tp_proto__cpu_jax0.10.2": (0, set[str]()),
}

# What XLA's reader of texts does to any text: it takes `num_partitions` for no device assignment,
# numbers frames anew, and numbers instructions in text order, which another order follows from.
XLA_CHANGES = {
    "num_partitions",
    "frames",
    "metadata.stack_frame_id",
    "order of computations",
}


def protos(name: str) -> Iterator[tuple[str, bytes, bytes | None]]:
    """Name and bytes of every proto of a dump, and the text of the same pass if it has one."""
    files = dict(dump_files(SHARED / "dumps" / f"{name}.tar.gz"))
    for path, data in files.items():
        if PROTO.search(path):
            yield path, data, files.get(PROTO.sub(".txt", path))


@pytest.mark.parametrize("name", TWINS)
def test_text_and_proto_of_a_pass_are_equal(name: str) -> None:
    pairs, also = TWINS[name]
    found: Counter[str] = Counter()
    texts, read_protos = Interner(), Interner()
    for path, data, text in protos(name):
        proto = parse_proto(data, interner=read_protos)
        assert proto.unparsed == (), path
        found["protos"] += 1
        if text is None:
            continue
        found["pairs"] += 1
        read = parse_module(text, interner=texts)
        differences = modules_differ(read, proto)
        assert {d.what for d in differences} <= NOT_IN_PROTO | also, path
        for difference in differences:
            if difference.what == "metadata.stack_frame_id":
                assert difference.first == "None", path
        assert_same_places(read, proto)
    print(name, dict(found))
    assert found["pairs"] == pairs
    assert found["protos"] > 0


def assert_same_places(read: Module, proto: Module) -> None:
    """Inline places of old texts and the tables of their protos tell the same lines."""
    for computation in read.computations:
        twin = proto.get(computation.name)
        assert twin is not None
        for instruction in computation.instructions:
            other = twin.get(instruction.name)
            assert other is not None
            place, table = read.source_of(instruction), proto.source_of(other)
            assert (place is None) == (table is None)
            if place is not None and table is not None:
                assert place.line == table.line
                assert Path(place.file).name == Path(table.file).name


@pytest.mark.parametrize("name", TWINS)
def test_xla_reads_what_a_proto_prints_as_the_same(name: str) -> None:
    with Oracle() as oracle:
        for index, (path, data, _) in enumerate(protos(name)):
            if index % 5:
                continue
            proto = parse_proto(data)
            again = oracle.serialized(print_module(proto).encode())
            assert isinstance(again, bytes), (path, again)
            read = parse_proto(again)
            assert {d.what for d in modules_differ(proto, read)} <= XLA_CHANGES, path
            assert_same_places(proto, read)


def agreement(dump: Path, step: int) -> Counter[str]:
    """Print every `step`-th distinct text of a dump; counts of what XLA says of it."""
    counts: Counter[str] = Counter()
    interner, of_protos = Interner(), Interner()
    distinct = {text: name for name, text in hlo_texts(dump)}
    with Oracle() as oracle:
        for text, name in islice(distinct.items(), 0, None, step):
            read = parse_module(text, interner=interner)
            counts["identical"] += print_module(read).encode() == text
            original = oracle.serialized(text)
            for form in ("long", "short"):
                printed = print_module(read, form=form)
                assert modules_differ(read, parse_module(printed)) == (), name
                counts["printed"] += 1
                if isinstance(original, str):
                    counts["refused by XLA"] += 1
                    continue
                again = oracle.serialized(printed.encode())
                assert isinstance(again, bytes), (name, again)
                if again != original:
                    meant = parse_proto(original, interner=of_protos)
                    assert modules_differ(parse_proto(again, interner=of_protos), meant) == (), name
                counts["agreed"] += 1
    print(dump.name, dict(counts))
    return counts


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.name.removesuffix(".tar.gz"))
def test_texts_are_printed(dump: Path) -> None:
    agreement(dump, EVERY)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.name.removesuffix(".tar.gz"))
def test_all_texts_are_printed(dump: Path) -> None:
    agreement(dump, 1)
