"""Protos made by hand, through the same descriptors that read them."""

from typing import Any

from hlo_parser.proto import buffer_schema, schema
from hlo_parser.proto.schema import Message
from hlo_parser.proto.wire import message_class

F32, S32, PRED, TUPLE = 11, 4, 1, 13


def encoded(kind: type[Message], **fields: object) -> bytes:
    """A serialized message; messages inside are dicts, or bytes where the schema has bytes."""
    made: Any = message_class(kind)(**fields)
    return made.SerializeToString()


def shape(element_type: int, *dimensions: int) -> bytes:
    layout = {"minor_to_major": list(range(len(dimensions)))[::-1]}
    return encoded(
        schema.ShapeProto, element_type=element_type, dimensions=dimensions, layout=layout
    )


def instruction(
    number: int, name: str, opcode: str, *operands: int, **fields: object
) -> dict[str, object]:
    fields.setdefault("shape", shape(F32, 2))
    return {
        "id": number,
        "name": name.encode(),
        "opcode": opcode.encode(),
        "operand_ids": operands,
        **fields,
    }


def parameter(number: int, name: str, position: int, **fields: object) -> dict[str, object]:
    return instruction(number, name, "parameter", parameter_number=position, **fields)


def computation(
    number: int, name: str, root: int, *instructions: dict[str, object], **fields: object
) -> dict[str, object]:
    return {
        "id": number,
        "name": name.encode(),
        "root_id": root,
        "instructions": [encoded(schema.HloInstructionProto, **made) for made in instructions],
        **fields,
    }


def module(*computations: dict[str, object], **fields: object) -> bytes:
    """An encoded HloModuleProto named `m`; the last computation is its entry."""
    fields.setdefault("name", b"m")
    fields.setdefault("entry_computation_id", computations[-1]["id"] if computations else 0)
    return encoded(schema.HloModuleProto, computations=computations, **fields)


def one(*instructions: dict[str, object], root: int | None = None, **fields: object) -> bytes:
    """A module of one computation, `main`, whose last instruction is its root."""
    last = instructions[-1]["id"] if root is None else root
    assert isinstance(last, int)
    return module(computation(1, "main", last, *instructions), **fields)


def assigned(module_proto: bytes, **fields: object) -> bytes:
    """An encoded HloProto of a module and what its BufferAssignmentProto holds."""
    assignment = encoded(buffer_schema.BufferAssignmentProto, **fields)
    inner = message_class(schema.HloModuleProto).FromString(module_proto)
    return encoded(schema.HloProto, hlo_module=inner, buffer_assignment=assignment)


def buffer(number: int, size: int, instruction_id: int, *path: int) -> dict[str, object]:
    """A LogicalBufferProto."""
    location = {"instruction_id": instruction_id, "shape_index": path}
    return {"id": number, "size": size, "defined_at": location}


def event(kind: int, number: int, name: str) -> dict[str, object]:
    """An event of a HeapSimulatorTrace: 0 takes bytes, 1 gives them back, 2 shares."""
    return {"kind": kind, "buffer_id": number, "instruction_name": name.encode()}
