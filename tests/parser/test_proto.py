"""Protos made by hand: what they give, what is noted, what is refused."""

import gzip
import struct
import time
from random import Random

import pytest

from hlo_parser import (
    HloProtoError,
    HloSyntaxError,
    Interner,
    Module,
    modules_differ,
    parse_module,
    parse_proto,
    print_module,
)
from hlo_parser.proto import schema
from hlo_parser.proto.attributes import PRINTERS
from hlo_parser.proto.schema import Message
from hlo_parser.proto.wire import Field, fields_of
from parser.proto_builder import (
    F32,
    PRED,
    S32,
    TUPLE,
    computation,
    encoded,
    instruction,
    module,
    one,
    parameter,
    shape,
)

ADD = (
    parameter(1, "a", 0),
    parameter(2, "b", 1),
    instruction(3, "sum", "add", 1, 2),
)
SIMPLE = one(*ADD)


def noted(read: Module) -> list[tuple[int, str]]:
    return [(entry.span.line, entry.reason) for entry in read.unparsed]


def text_of(read: Module) -> str:
    return b"".join(read.pieces).decode()


# ---- what a proto gives --------------------------------------------------------------------------


def test_a_module_prints_as_xla_would() -> None:
    assert text_of(parse_proto(SIMPLE)) == (
        "HloModule m\n"
        "\n"
        "ENTRY %main (a: f32[2], b: f32[2]) -> f32[2] {\n"
        "  %a = f32[2]{0} parameter(0)\n"
        "  %b = f32[2]{0} parameter(1)\n"
        "  ROOT %sum = f32[2]{0} add(%a, %b)\n"
        "}\n"
        "\n"
    )


def test_ids_are_64_bits() -> None:
    high = 5 << 32
    read = parse_proto(
        one(
            parameter(high | 1, "a", 0),
            parameter(high | 2, "b", 1),
            instruction(high | 3, "sum", "add", high | 1, high | 2),
        )
    )
    assert read.entry.root.operands == ("a", "b")
    assert read.unparsed == ()


def test_callees_roots_and_threads() -> None:
    body = computation(1, "body", 11, parameter(11, "p", 0), execution_thread=b"other")
    condition = computation(
        2, "condition", 22, parameter(21, "p", 0), instruction(22, "lt", "not", 21)
    )
    main = computation(
        3,
        "main",
        31,
        parameter(30, "p", 0),
        instruction(31, "loop", "while", 30, called_computation_ids=[1, 2]),
    )
    read = parse_proto(module(body, condition, main))
    assert [c.name for c in read.computations] == ["body", "condition", "main"]
    assert [(c.role, c.name) for c in read.entry.root.callees] == [
        ("condition", "condition"),
        ("body", "body"),
    ]
    assert read.computations[0].execution_thread == "other"
    assert read.entry.name == "main"


def test_the_schedule_is_the_order_of_lines() -> None:
    sequences = [{"key": 1, "value": {"instruction_ids": [2, 1, 3]}}]
    read = parse_proto(one(*ADD, schedule={"sequences": sequences}))
    assert [i.name for i in read.entry.instructions] == ["b", "a", "sum"]
    assert read.header.is_scheduled
    assert noted(read) == []


def test_a_schedule_with_gaps_loses_no_instruction() -> None:
    sequences = [{"key": 1, "value": {"instruction_ids": [3, 99]}}]
    read = parse_proto(one(*ADD, schedule={"sequences": sequences}))
    assert [i.name for i in read.entry.instructions] == ["sum", "a", "b"]
    assert noted(read) == [(3, "the schedule does not list every instruction once")]


def test_the_header() -> None:
    shapes = {"parameters": [{"element_type": F32}], "result": {"element_type": PRED}}
    read = parse_proto(
        one(
            *ADD,
            host_program_shape=shapes,
            device_assignment={"replica_count": 2, "computation_count": 4},
            input_output_alias={
                "entries": [
                    {"output_shape_index": [0], "parameter_number": 1, "kind": 2},
                    {"parameter_shape_index": [1, 0], "kind": 1},
                ]
            },
            buffer_donor={"entries": [{"parameter_number": 3}, {"parameter_shape_index": [2]}]},
            frontend_attributes={"map": [{"key": b"k", "value": b"{a}"}]},
        )
    )
    assert read.header.text == (
        "HloModule m,"
        " input_output_alias={ {0}: (1, {}, must-alias), {}: (0, {1,0}, may-alias) },"
        " buffer_donor={ (3, {}), (0, {2}) },"
        " entry_computation_layout={(f32[])->pred[]},"
        " replica_count=2, num_partitions=4, frontend_attributes={k={a}}"
    )
    assert (read.header.replica_count, read.header.num_partitions) == (2, 4)
    assert noted(read) == []


def test_what_the_header_leaves_out_is_noted() -> None:
    read = parse_proto(one(*ADD, original_value_recovery_table=b"\x0a\x00"))
    assert noted(read) == [(1, "origin_recovery_table is not read from protos")]


def test_frame_tables_give_places() -> None:
    index = {
        "file_names": [b"a.py", b"b.py"],
        "function_names": [b"f", b"g"],
        "file_locations": [
            {"file_name_id": 1, "function_name_id": 1, "line": 3, "column": 4},
            {"file_name_id": 2, "function_name_id": 2, "line": 7, "end_line": 8},
        ],
        "stack_frames": [{"file_location_id": 1}, {"file_location_id": 2, "parent_frame_id": 1}],
    }
    metadata = encoded(schema.OpMetadata, op_name=b"\xc3\xa9\"'", stack_frame_id=2)
    read = parse_proto(one(*ADD[:2], {**ADD[2], "metadata": metadata}, stack_frame_index=index))
    place = read.source_of(read.entry.root)
    assert place is not None
    assert (place.file, place.line, place.end_line, place.function) == ("b.py", 7, 8, "g")
    assert [(frame.file, frame.line) for frame in place.frames] == [("b.py", 7), ("a.py", 3)]
    assert read.entry.root.metadata is not None
    assert read.entry.root.metadata.op_name == "é\"'"


def test_equal_computations_are_shared_with_texts() -> None:
    interner = Interner()
    read = parse_proto(SIMPLE, interner=interner)
    text = b"".join(read.pieces)
    assert parse_module(text, interner=interner).entry is read.entry
    assert parse_proto(SIMPLE, interner=interner).entry is read.entry


# ---- what it stands in ---------------------------------------------------------------------------


def inside(data: bytes, number: int = 1) -> bytes:
    """A message whose only field holds `data`."""
    length, size = b"", len(data)
    while size > 0x7F:
        length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


# Of BufferAssignmentProto: buffers, and aliases that a computation's instructions could be.
BUFFERS = inside(inside(inside(b"name", 2), 2), 2) + inside(inside(b"\x08\x01", 1), 1)
LITERAL = encoded(schema.LiteralProto, shape={"element_type": F32}, f32s=bytes(4))


@pytest.mark.parametrize(
    "data",
    [
        SIMPLE,
        inside(SIMPLE),
        inside(SIMPLE) + inside(BUFFERS, 3),
        inside(inside(SIMPLE)) + inside(LITERAL, 2) + inside(b"Host", 4),
        inside(inside(SIMPLE) + inside(BUFFERS, 3)) + inside(LITERAL, 3),
        inside(SIMPLE) + inside(inside(LITERAL), 2) + b"\x18\x01",
    ],
    ids=[
        "HloModuleProto",
        "HloProto",
        "HloProto with buffers",
        "HloSnapshot",
        "HloSnapshot with buffers",
        "HloUnoptimizedSnapshot",
    ],
)
def test_the_module_is_found_in(data: bytes) -> None:
    for packed in (
        data,
        gzip.compress(data, mtime=0),
        gzip.compress(data[:9], mtime=0) + gzip.compress(data[9:], mtime=0),
    ):
        read = parse_proto(packed)
        assert read.entry.root.operands == ("a", "b")
        assert noted(read) == []


# ---- what is noted -------------------------------------------------------------------------------


def test_ids_that_nothing_has() -> None:
    read = parse_proto(
        one(
            *ADD[:2],
            instruction(3, "c", "call", 1, 77, called_computation_ids=[88]),
            instruction(4, "d", "negate", 3, control_predecessor_ids=[-5]),
            root=9,
        )
    )
    call, negate = read.entry.instructions[2:]
    assert call.operands == ("a", "missing.77")
    assert [callee.name for callee in call.callees] == ["missing.88"]
    assert negate.control_predecessors == ("missing.-5",)
    assert noted(read) == [
        (3, "no instruction has the id 9 of the root"),
        (6, "no instruction has the id 77"),
        (6, "no computation has the id 88"),
        (7, "no instruction has the id -5"),
    ]


def test_opcodes_and_fields_of_another_release() -> None:
    data = one(
        parameter(1, "a", 0),
        instruction(
            2,
            "n",
            "quantum-sort",
            1,
            channel_id=3,
            dimensions=[1],
            called_computation_ids=[1],
            replica_groups=[{"replica_ids": [0, 1]}],
        ),
    )
    read = parse_proto(data + b"\xa2\x06\x01x")
    new = read.entry.root
    assert new.opcode == "quantum-sort"
    assert dict(new.attributes) == {
        "channel_id": "3",
        "replica_groups": "{{0,1}}",
        "dimensions": "{1}",
        "called_computations": "{%main}",
    }
    assert noted(read) == [(1, "field 100 of HloModuleProto is not known; lines that have it: 1")]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"shape": shape(99, 2)}, "element type 99 is not known"),
        (
            {"sharding": encoded(schema.OpSharding, type=77)},
            "sharding type 77 is not known",
        ),
        (
            {"frontend_attributes": encoded(schema.FrontendAttributes, map=[{"key": b"a b"}])},
            "a frontend attribute is called 'a b'",
        ),
        ({"backend_config_payload": {"id": 3}}, "payload 3 is missing"),
        ({"opcode": b"fft", "fft_type": 9}, "fft_type 9 is not known"),
        ({"opcode": b"while"}, "0 called computations instead of 2"),
        ({"opcode": b"no opcode\n"}, "'no opcode\\n' is no opcode"),
        ({"name": b"\xff\n}"}, "'\\\\xff\\n}' is no name"),
        ({"name": b"a"}, "a is named twice"),
        ({"id": 1}, "id 1 is given twice"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_line_cannot_say_is_noted(fields: dict[str, object], reason: str) -> None:
    read = parse_proto(
        one(parameter(1, "a", 0), {**instruction(2, "x", "negate", 1), **fields}, root=1)
    )
    assert len(read.entry.instructions) == 2
    assert (5, reason) in noted(read)


def test_names_stay_apart() -> None:
    read = parse_proto(
        one(
            parameter(1, "x", 0),
            parameter(2, "x", 1),
            parameter(3, "x.1", 2),
            instruction(4, "x y", "add", 1, 2),
            instruction(5, "x_y", "add", 2, 3),
        )
    )
    assert [i.name for i in read.entry.instructions] == ["x", "x.1", "x.1.1", "x_y", "x_y.1"]
    assert [i.operands for i in read.entry.instructions[3:]] == [("x", "x.1"), ("x.1", "x.1.1")]
    assert len(read.unparsed) == 4


@pytest.mark.parametrize(
    "raw",
    [b'a"b', b"a\\b", b"\xff\xfe", b"line\nbreak", b"}, x={", b"/* */ //", b"'"],
    ids=repr,
)
def test_no_string_breaks_out(raw: bytes) -> None:
    metadata = encoded(
        schema.OpMetadata, op_name=raw, scheduling_name=raw, source_file=raw, op_type=raw
    )
    attributes = encoded(schema.FrontendAttributes, map=[{"key": b"k", "value": raw}])
    odd = {
        "metadata": metadata,
        "backend_config": raw,
        "frontend_attributes": attributes,
        "custom_call_target": raw,
    }
    read = parse_proto(one(parameter(1, "a", 0), instruction(2, "c", "custom-call", 1, **odd)))
    shown = raw.decode("utf-8", errors="backslashreplace")
    root = read.entry.root
    assert root.custom_call_target == shown
    assert root.backend_config == shown
    assert dict(root.frontend_attributes) == {"k": shown}
    assert root.metadata is not None
    assert (root.metadata.op_name, root.metadata.source_file) == (shown, shown)
    assert noted(read) == []


def test_a_raw_json_value_stays_on_its_line() -> None:
    config = b'{"a":\n1}'
    read = parse_proto(one({**parameter(1, "a", 0), "backend_config": config}))
    assert read.entry.root.backend_config == {"a": 1}


# ---- literals ------------------------------------------------------------------------------------


def constant(literal: bytes) -> str | None:
    read = parse_proto(one(instruction(1, "c", "constant", literal=literal)))
    found = read.entry.root.literal
    assert found is not None
    return found.text


def literal(element_type: int, dimensions: list[int], layout: list[int], **data: object) -> bytes:
    described = {
        "element_type": element_type,
        "dimensions": dimensions,
        "layout": {"minor_to_major": layout},
    }
    return encoded(schema.LiteralProto, shape=described, **data)


def test_elements_are_printed_by_their_index() -> None:
    numbers = list(range(6))
    assert constant(literal(S32, [2, 3], [1, 0], s32s=numbers)) == "{ { 0, 1, 2 }, { 3, 4, 5 } }"
    assert constant(literal(S32, [2, 3], [0, 1], s32s=numbers)) == "{ { 0, 2, 4 }, { 1, 3, 5 } }"


def test_the_bits_of_a_nan_are_kept() -> None:
    assert constant(literal(F32, [], [], f32s=struct.pack("<I", 0xFF800001))) == "-nan(0x1)"


@pytest.mark.parametrize(
    "dimensions", [[11], [2**62], [2**40, 2**40], [2**40, 0], [0, 2**40], [10, 10, 0], [0, -3]]
)
def test_large_literals_cost_nothing(dimensions: list[int]) -> None:
    layout = list(range(len(dimensions)))
    text = constant(literal(F32, dimensions, layout, f32s=b""))
    assert text in {"{...}", "{  }"}


def test_a_literal_that_is_too_short_is_noted() -> None:
    data = literal(S32, [4], [0], s32s=[1])
    read = parse_proto(one(instruction(1, "c", "constant", literal=data)))
    assert read.entry.root.literal is not None
    assert read.entry.root.literal.is_elided
    assert noted(read) == [(4, "the literal does not fit its shape")]


# ---- hostile -------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", range(0, len(SIMPLE), 7))
def test_cut_off(end: int) -> None:
    with pytest.raises(HloProtoError, match="not an HLO module"):
        parse_proto(SIMPLE[:end])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not an HLO module: no bytes at all"),
        (b"HloModule m\n", "not an HLO module: HloProto is cut off or damaged"),
        (b"\x0a\x00", "not an HLO module: no instruction in it"),
        (b"\x0a\xff\xff\xff\xff\x0f", "not an HLO module: HloProto is cut off or damaged"),
        (b"\x0a" + b"\xff" * 9 + b"\x01", "not an HLO module: HloProto is cut off or damaged"),
        (b"\x1f\x8b", "the gzip data is cut off"),
        (b"\x1f\x8b\x08garbage", "damaged gzip data"),
        (gzip.compress(SIMPLE, mtime=0)[:-9], "the gzip data is cut off"),
        (gzip.compress(SIMPLE, mtime=0)[:-5] + b"12345", "damaged gzip data"),
        (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
        (b"\x1a\x00", "not an HLO module: no instruction in it"),
    ],
    ids=range(11),
)
def test_no_proto_at_all(data: bytes, message: str) -> None:
    with pytest.raises(HloProtoError, match=message) as caught:
        parse_proto(data)
    assert isinstance(caught.value, HloSyntaxError)
    assert str(caught.value) == caught.value.message


def test_a_damaged_part_is_named() -> None:
    with pytest.raises(HloProtoError, match=r"^ShapeProto is cut off or damaged$"):
        parse_proto(one({**parameter(1, "a", 0), "shape": b"\x1a\x05"}))


def test_what_unpacks_to_too_much() -> None:
    with pytest.raises(HloProtoError, match="unpacks to more than 1000000 bytes"):
        parse_proto(gzip.compress(bytes(10_000_000), mtime=0), max_bytes=1_000_000)


def test_a_shape_two_thousand_deep() -> None:
    deep = shape(F32)
    for _ in range(2000):
        deep = inside(deep, 4) + bytes([2 << 3, TUPLE])
    with pytest.raises(HloProtoError, match="ShapeProto is cut off or damaged"):
        parse_proto(one({**parameter(1, "a", 0), "shape": deep}))


@pytest.mark.parametrize(
    "paths", [[[0] * 100_000], [[0], [0]], [[0], [0, 1]], [[0, 1], [0]], [[], []]]
)
def test_an_origin_that_is_no_tree(paths: list[list[int]]) -> None:
    array = {"instruction_name": b"x"}
    elements = [{"shape_index": path, "original_array": array} for path in paths]
    origin = encoded(schema.OriginalValueProto, elements=elements)
    read = parse_proto(one({**parameter(1, "a", 0), "original_value": origin}))
    assert read.entry.root.attributes["origin"] == "{{}}"
    assert noted(read) == [(4, "the tree of an origin contradicts itself or is too deep")]


def test_calls_two_thousand_deep_and_in_circles() -> None:
    def calling(number: int, callee: int) -> dict[str, object]:
        call = instruction(1, "c", "call", called_computation_ids=[callee])
        return computation(number, f"f{number}", 1, call)

    chain = [calling(number, number - 1) for number in range(2000)]
    assert len(parse_proto(module(*chain)).computations) == 2000
    circle = [calling(number, (number + 1) % 3) for number in range(3)]
    assert [c.name for c in parse_proto(module(*circle)).computations] == ["f2", "f1", "f0"]


def test_an_unknown_field_is_told_once_however_deep() -> None:
    layout = inside(b"\xa2\x06\x01x", 5)
    odd = shape(F32) + layout
    read = parse_proto(one({**ADD[0], "shape": odd}, {**ADD[1], "shape": odd}, ADD[2]))
    assert noted(read) == [(4, "field 100 of LayoutProto is not known; lines that have it: 2")]


def test_a_mistyped_field_is_noted() -> None:
    data = one(parameter(1, "a", 0)) + b"\x10\x05"
    assert noted(parse_proto(data)) == [
        (1, "field 2 of HloModuleProto is not known; lines that have it: 1")
    ]


def test_a_small_proto_prints_no_terabytes() -> None:
    name = "n" * 200_000
    many = instruction(2, "t", "tuple", *[1] * 100_000)
    with pytest.raises(HloProtoError, match="prints as more than 32 times its"):
        parse_proto(one(parameter(1, name, 0), many))


def _seconds_for_names_that_collide(count: int) -> float:
    taken = [parameter(n, f"x.{n}", n) for n in range(1, count + 1)]
    same = [parameter(2 * count + n, "x", n) for n in range(count)]
    data = one(*taken, *same)
    start = time.process_time()
    assert len(parse_proto(data).unparsed) == count - 1
    return time.process_time() - start


def test_names_that_collide_cost_linear_time() -> None:
    # Eight times as many: 8 times as long when linear, 64 times when not.
    few = max(_seconds_for_names_that_collide(2_000) for _ in range(3))
    assert min(_seconds_for_names_that_collide(16_000) for _ in range(2)) < 32 * few


# ---- any values ----------------------------------------------------------------------------------

# Messages that the schema has as bytes.
NESTED = {
    "shape": schema.ShapeProto,
    "outfeed_shape": schema.ShapeProto,
    "operand_shapes_with_layout": schema.ShapeProto,
    "metadata": schema.OpMetadata,
    "literal": schema.LiteralProto,
    "sharding": schema.OpSharding,
    "domain_entry_sharding": schema.OpSharding,
    "domain_exit_sharding": schema.OpSharding,
    "frontend_attributes": schema.FrontendAttributes,
    "statistics_viz": schema.StatisticsViz,
    "original_value": schema.OriginalValueProto,
    "instructions": schema.HloInstructionProto,
}
NUMBERS = [0, 1, 1, 2, 2, 3, 4, 7, 11, 13, 14, 17, 34, 77, -1, 2**31, 2**63 - 1, -(2**63)]
STRINGS = [b"", b"a", b"x.1", b"main", b"{a}", b"}{", b'"', b"\n", b"\xff", b"a b", b"kLoop"]


class Chance:
    """Random messages of any kind in the schema, a few levels deep."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def message(self, kind: type[Message], depth: int = 0) -> dict[str, object]:
        return {
            field.name: self.value(field, depth)
            for field in fields_of(kind)
            if self.random.random() < (0.3 if depth else 0.9)
        }

    def value(self, field: Field, depth: int) -> object:
        if not field.is_repeated:
            return self.single(field, depth)
        count = 0 if depth > 5 else self.random.choice([0, 1, 2, 3])
        return [self.single(field, depth) for _ in range(count)]

    def single(self, field: Field, depth: int) -> object:
        if issubclass(field.kind, Message):
            return self.message(field.kind, depth + 1) if depth < 6 else {}
        if field.name in NESTED and field.kind is bytes and self.random.random() < 0.998:
            kind = NESTED[field.name]
            return encoded(kind, **(self.message(kind, depth + 1) if depth < 6 else {}))
        if field.name == "opcode":
            return self.random.choice([*OPCODES, *STRINGS])
        if field.kind is bytes:
            return self.random.choice([*STRINGS, self.random.randbytes(8)])
        if field.kind is bool:
            return self.random.random() < 0.5
        if field.kind is float:
            return self.random.choice([0.0, 1.5, -1e300, float("nan"), float("inf")])
        number = self.random.choice(NUMBERS)
        return number % 2**64 if field.encoding == "uint64" else number


OPCODES = [opcode.encode() for opcode in PRINTERS]


@pytest.mark.parametrize("seed", range(12))
def test_any_values_give_a_module(seed: int) -> None:
    chance = Chance(seed)
    modules = [any_module(chance) for _ in range(8)]
    read = [parse_proto(data) for data in modules if is_whole(data)]
    assert len(read) >= 4
    for module_read in read:
        for held in module_read.computations:
            assert held.root in held.instructions
            assert all(made.shape.byte_size >= 0 for made in held.instructions)
        again = parse_module(print_module(module_read))
        assert {d.what for d in modules_differ(module_read, again)} <= {"unparsed"}


def any_module(chance: Chance) -> bytes:
    fields = chance.message(schema.HloModuleProto)
    computations = [chance.message(schema.HloComputationProto) for _ in range(3)]
    # One that is sound, so that there is a module at all.
    computations.append(computation(1, "main", 1, parameter(1, "a", 0)))
    return encoded(schema.HloModuleProto, **{**fields, "computations": computations})


def is_whole(data: bytes) -> bool:
    """Whether a proto is read; else it must say so in the one way it may."""
    try:
        parse_proto(data)
    except HloProtoError as error:
        return "cut off or damaged" not in error.message
    return True
