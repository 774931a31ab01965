"""Protos of modules among the members: read where no text is, left alone where one is."""

import gzip

import pytest

from app.errors import LimitExceeded
from app.model.dump import DumpContents
from ingest.archives import FIRST, HLO, LAST, load, tar_of
from parser.proto_builder import assigned, buffer, event, instruction, one, parameter

MODULE = one(parameter(1, "x.1", 0), instruction(2, "negate.2", "negate", 1), name=b"jit_f")


def wrapped(message: bytes) -> bytes:
    """A message whose first field is `message`: HloProto around a module, HloSnapshot around it."""
    size = len(message)
    return bytes((0x0A, size & 0x7F | 0x80, size >> 7)) + message


PROTO = wrapped(MODULE)
FIRST_PROTO = FIRST.replace(".txt", ".hlo.pb")
LAST_PROTO = LAST.replace(".txt", ".hlo.pb.gz")


def files(contents: DumpContents) -> list[tuple[str, bool]]:
    return [(d.file, d.from_proto) for m in contents.modules for d in m.dumps]


def test_a_dump_of_protos_is_one_of_passes() -> None:
    contents = load(tar_of({FIRST_PROTO: PROTO, LAST_PROTO: gzip.compress(PROTO, mtime=0)}))
    assert files(contents) == [(FIRST_PROTO, True), (LAST_PROTO, True)]
    (history,) = contents.modules
    assert (history.id, history.complete) == ("module_0001.jit_f", True)
    first, last = (dump.module.entry for dump in history.dumps)
    assert first is last
    assert [i.opcode for i in first.instructions] == ["parameter", "negate"]
    assert history.last.byte_size == len(PROTO)
    (remark,) = contents.coverage.remarks
    assert remark.startswith("proto: 2 passes have no text")
    assert contents.coverage.skipped == ()
    assert contents.coverage.hlo_files == 2


@pytest.mark.parametrize("order", [1, -1])
def test_the_text_of_a_pass_goes_before_its_proto(order: int) -> None:
    members = [
        (FIRST, HLO.encode()),
        (FIRST_PROTO, PROTO),
        (LAST_PROTO, gzip.compress(PROTO, mtime=0)),
    ]
    contents = load(tar_of(dict(members[::order])))
    assert files(contents) == [(FIRST, False), (LAST_PROTO, True)]
    assert [remark.split(": ")[0] for remark in contents.coverage.remarks] == (
        ["proto_twin", "proto"] if order == 1 else ["proto", "proto_twin"]
    )


def test_a_proto_stands_in_for_a_text_that_is_none() -> None:
    contents = load(tar_of({FIRST: b"", FIRST_PROTO: PROTO}))
    assert files(contents) == [(FIRST_PROTO, True)]
    assert [entry.code for entry in contents.coverage.skipped] == ["empty"]


@pytest.mark.parametrize(
    ("name", "data", "code", "reason"),
    [
        (FIRST_PROTO, PROTO[:-3], "bad_proto", ""),
        (FIRST_PROTO, b"", "bad_proto", ""),
        (FIRST_PROTO, b"no proto at all", "bad_proto", ""),
        (LAST_PROTO, gzip.compress(PROTO, mtime=0)[:-6], "truncated", "breaks off"),
        (LAST_PROTO, gzip.compress(PROTO, mtime=0)[:-8] + bytes(8), "bad_crc", "broken"),
        (LAST_PROTO, gzip.compress(bytes(5000), mtime=0), "member_too_large", "unpacks to more"),
        ("d/module_0001.jit_f.0001.a.after_b.before_c.riegeli", PROTO, "not_yet_read", "riegeli"),
    ],
)
def test_a_broken_proto_is_listed_with_its_reason(
    name: str, data: bytes, code: str, reason: str
) -> None:
    other = name.replace("f.b", "g.b")
    contents = load(tar_of({FIRST: HLO.encode(), other: data}), max_member_bytes=4096)
    assert files(contents) == [(FIRST, False)]
    (skipped,) = contents.coverage.skipped
    assert skipped.code == code
    assert reason in skipped.reason
    assert skipped.reason


def test_unpacked_protos_count_against_the_budget_of_the_input() -> None:
    data = tar_of({LAST_PROTO: gzip.compress(bytes(100_000), mtime=0)})
    with pytest.raises(LimitExceeded):
        load(data, max_unpacked_bytes=50_000)


def test_a_snapshot_holds_a_module_that_nothing_else_does() -> None:
    values = wrapped(PROTO)
    names = [f"d/module_0001.jit_f.execution_000{n}.hlo_snapshot.pb" for n in (1, 2)]
    contents = load(tar_of(dict.fromkeys(names, values)))
    assert files(contents) == [(names[0], True)]
    assert [history.name for history in contents.modules] == ["jit_f"]
    contents = load(tar_of({names[0]: values, FIRST: HLO.encode()}))
    assert files(contents) == [(FIRST, False)]
    lone = load(tar_of({FIRST.replace("0001", "0002"): HLO.encode(), "d/snapshot.7.pb": values}))
    assert [name for name, _ in files(lone)] == [
        FIRST.replace("0001", "0002"),
        "d/snapshot.7.pb",
    ]


ASSIGNED = assigned(
    MODULE,
    logical_buffers=[buffer(1, 8, 1), buffer(2, 8, 2), buffer(3, 8, 2, 1)],
    buffer_allocations=[
        {
            "size": 8,
            "is_entry_computation_parameter": True,
            "assigned": [{"logical_buffer_id": 1, "size": 8}],
        },
        {
            "index": 4,
            "size": 16,
            "assigned": [
                {"logical_buffer_id": 2, "size": 8},
                {"logical_buffer_id": 3, "size": 8, "offset": 8},
            ],
        },
    ],
    heap_simulator_traces=[
        {
            "buffer_allocation_index": 77,
            "events": [event(0, 2, "negate.2"), event(0, 3, "negate.2"), event(1, 2, "negate.2")],
        }
    ],
)


def test_a_buffer_assignment_is_read_from_a_proto_where_no_text_has_it() -> None:
    contents = load(tar_of({LAST: HLO.encode(), LAST_PROTO: gzip.compress(ASSIGNED, mtime=0)}))
    (found,) = contents.buffer_assignments
    assert (found.file, found.module_id) == (LAST_PROTO, "module_0001.jit_f")
    assert [(a.number, a.role, a.parameter, a.size) for a in found.allocations] == [
        (0, "parameter", 0, 8),
        (4, "temp", None, 16),
    ]
    whole, inner = found.allocations[1].values
    assert (whole.name, whole.index, whole.size, whole.offset) == ("negate.2", "", 8, 0)
    assert (inner.index, inner.offset, inner.shape) == ("{1}", 8, "")
    (live,) = contents.live_ranges
    assert live.sequence == ("negate.2", "negate.2")
    assert [(r.path, r.start, r.end) for r in live.ranges] == [((), 0, 1), ((1,), 1, 1)]
    assert [remark.split(": ")[0] for remark in contents.coverage.remarks] == [
        "proto_twin",
        "proto_assignment",
    ]


def test_a_buffer_assignment_as_text_goes_before_the_one_in_a_proto() -> None:
    side = LAST.replace(".txt", "-buffer-assignment.txt")
    text = b"BufferAssignment:\nallocation 0: size 4, constant:\n"
    members = {LAST: HLO.encode(), LAST_PROTO: gzip.compress(ASSIGNED, mtime=0), side: text}
    contents = load(tar_of(members))
    assert [entry.file for entry in contents.buffer_assignments] == [side]


@pytest.mark.parametrize("data", [ASSIGNED[:-3], b"", gzip.compress(ASSIGNED, mtime=0)[:-6]])
def test_a_broken_proto_beside_a_text_is_listed_once(data: bytes) -> None:
    contents = load(tar_of({LAST: HLO.encode(), LAST_PROTO: data}))
    assert contents.buffer_assignments == ()
    assert len(contents.coverage.skipped) == (1 if data else 0)


def test_a_proto_of_an_earlier_pass_is_not_asked() -> None:
    contents = load(tar_of({FIRST: HLO.encode(), FIRST_PROTO: ASSIGNED}))
    assert contents.buffer_assignments == ()
