"""HLO text and HloProto to values: computations, instructions, shapes, attributes, source places.

Usable alone: `from hlo_parser import parse_module`. Pure: reads no files but its own grammar,
no network, no clock. See README.md for the grammar notes and known gaps.
"""

from hlo_parser.computation import Computation
from hlo_parser.equality import Difference, modules_differ
from hlo_parser.errors import HloProtoError, HloSyntaxError, Span, Unparsed
from hlo_parser.frames import Frame, FrameTables, SourceLocation
from hlo_parser.groups import ReplicaGroups
from hlo_parser.instruction import Instruction
from hlo_parser.interner import Interner, InternerStats
from hlo_parser.module import Header, Module
from hlo_parser.parse import parse_module
from hlo_parser.printer import print_module
from hlo_parser.proto import BufferAssignment, parse_buffer_assignment, parse_proto
from hlo_parser.shapes import Shape
from hlo_parser.values import Callee, Literal, Metadata

__all__ = [
    "BufferAssignment",
    "Callee",
    "Computation",
    "Difference",
    "Frame",
    "FrameTables",
    "Header",
    "HloProtoError",
    "HloSyntaxError",
    "Instruction",
    "Interner",
    "InternerStats",
    "Literal",
    "Metadata",
    "Module",
    "ReplicaGroups",
    "Shape",
    "SourceLocation",
    "Span",
    "Unparsed",
    "modules_differ",
    "parse_buffer_assignment",
    "parse_module",
    "parse_proto",
    "print_module",
]
