"""The buffer assignment inside an HloProto."""

import gzip

import pytest

from hlo_parser import HloProtoError, parse_buffer_assignment
from hlo_parser.proto.assignment import AssignedBuffer, BufferAllocation, BufferHeap, BufferLife
from parser.proto_builder import assigned, buffer, event, instruction, one, parameter

MODULE = one(
    parameter(1, "x.1", 0), instruction(2, "a.2", "negate", 1), instruction(3, "b.3", "tanh", 2)
)
PROTO = assigned(
    MODULE,
    logical_buffers=[buffer(7, 8, 1), buffer(8, 8, 2), buffer(9, 8, 3, 0, 1), buffer(10, 8, 99)],
    buffer_allocations=[
        {
            "size": 8,
            "is_entry_computation_parameter": True,
            "maybe_live_out": True,
            "assigned": [{"logical_buffer_id": 7, "size": 8}],
        },
        {
            "index": 1,
            "size": 16,
            "color": 2,
            "is_thread_local": True,
            "is_constant": True,
            "assigned": [
                {"logical_buffer_id": 8, "size": 8},
                {"logical_buffer_id": 9, "size": 8, "offset": 8},
                {"logical_buffer_id": 10, "size": 8},
            ],
        },
    ],
    heap_simulator_traces=[
        {
            "events": [
                event(0, 8, "a.2"),
                event(2, 9, "b.3"),
                event(1, 8, "a.2"),
                event(0, 10, "gone"),
                event(1, 77, "gone"),
            ]
        }
    ],
)


def test_allocations_values_and_lives() -> None:
    found = parse_buffer_assignment(PROTO)
    assert found is not None
    assert found.allocations == (
        BufferAllocation(0, 8, 0, 0, False, False, True, (AssignedBuffer(("x.1", ()), 8, 0),)),
        BufferAllocation(
            number=1,
            size=16,
            color=2,
            parameter=None,
            is_constant=True,
            is_thread_local=True,
            maybe_live_out=False,
            buffers=(AssignedBuffer(("a.2", ()), 8, 0), AssignedBuffer(("b.3", (0, 1)), 8, 8)),
        ),
    )
    lives = (BufferLife(("a.2", ()), 0, 1), BufferLife(("b.3", (0, 1)), 1, 2))
    assert found.heaps == (BufferHeap(("a.2", "b.3", "gone"), lives),)
    assert found.unknown == 1


def test_names_stood_where_numbers_stand_now() -> None:
    old = {"id": 7, "size": 8, "defined_at": {"instruction_name": b"a.2"}}
    allocation = {"size": 8, "assigned": [{"logical_buffer_id": 7, "size": 8}]}
    proto = assigned(MODULE, logical_buffers=[old], buffer_allocations=[allocation])
    found = parse_buffer_assignment(gzip.compress(proto, mtime=0))
    assert found is not None
    assert found.allocations[0].buffers[0].value == ("a.2", ())


def test_a_proto_without_an_assignment_has_none() -> None:
    assert parse_buffer_assignment(assigned(MODULE)) is None


@pytest.mark.parametrize("data", [PROTO[:-3], b"no proto at all", b"\x1a\x03abc"])
def test_broken_bytes_are_no_assignment(data: bytes) -> None:
    with pytest.raises(HloProtoError):
        parse_buffer_assignment(data)
