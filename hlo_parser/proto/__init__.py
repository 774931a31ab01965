"""HloProto (`.hlo.pb`) to modules, by way of the text XLA prints of them.

`parse_proto` is the door, `parse_buffer_assignment` the one to what stands beside a module. Behind
them `wire.py` decodes with the fields of `schema.py`; `module_text.py` and the files it uses print
what was decoded, and the parser of texts reads it.
"""

from hlo_parser.proto.assignment import BufferAssignment, parse_buffer_assignment
from hlo_parser.proto.reading import parse_proto

__all__ = ["BufferAssignment", "parse_buffer_assignment", "parse_proto"]
