"""One instruction in full: its text and parts, its neighbours, and the stack that traced it."""

from app.analysis.sources import how_told
from app.errors import NotFound
from app.model.report import Frame, Source, Struct
from app.model.source import SourceHow
from app.views.cut import cut_text, shown_name, shown_text
from hlo_parser import Computation, Instruction, Module, SourceLocation

MAX_TEXT_CHARACTERS = 20_000
MAX_VALUE_CHARACTERS = 4_000
MAX_NEIGHBOURS = 200
MAX_ATTRIBUTES = 100
MAX_FRAMES = 100


class Neighbour(Struct, frozen=True, kw_only=True):
    """An operand or user; `line` is None for an operand that the text does not define.

    `path` leads into the operand's tuple where a hidden get-tuple-element was printed in short.
    """

    name: str
    opcode: str = ""
    shape: str = ""
    line: int | None = None
    path: tuple[int, ...] = ()


class Call(Struct, frozen=True, kw_only=True):
    """A computation that the instruction calls, and as what (`body`, `to_apply`, ...)."""

    role: str
    computation: str
    line: int


class InstructionView(Struct, frozen=True, kw_only=True):
    """An instruction of one dump; counts are exact where a tuple is cut to its first entries.

    `attributes` holds the raw values in printed order, long ones cut, as `text` is; `left_out` are
    the characters cut from `text`.
    """

    computation: str
    name: str
    opcode: str
    shape: str
    bytes: int
    line: int
    is_root: bool
    text: str
    left_out: int = 0
    operands: tuple[Neighbour, ...] = ()
    operand_count: int = 0
    users: tuple[Neighbour, ...] = ()
    user_count: int = 0
    control_predecessors: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    attributes: dict[str, str]
    op_name: str | None = None
    source: Source | None = None
    source_how: SourceHow | None = None


def instruction_view(module: Module, computation: str, instruction: str) -> InstructionView:
    """The instruction of that name in the computation of that name.

    Raises:
        NotFound: the module has no such computation, or that no such instruction.
    """
    found = module.get(computation)
    item = None if found is None else found.get(instruction)
    if found is None or item is None:
        raise NotFound(
            f"there is no instruction {instruction!r}", place=f"{module.name}, {computation}"
        )
    text, left_out = shown_text(item.text, MAX_TEXT_CHARACTERS)
    users = found.users.get(item.name, ())
    metadata = item.metadata
    return InstructionView(
        computation=shown_name(computation),
        name=shown_name(item.name),
        opcode=item.opcode,
        shape=_value(item.shape.text),
        bytes=item.shape.byte_size,
        line=module.line_of(found, item),
        is_root=item is found.root,
        text=text,
        left_out=left_out,
        operands=tuple(
            _operand(module, found, name, path)
            for name, path in zip(
                item.operands[:MAX_NEIGHBOURS], item.operand_paths[:MAX_NEIGHBOURS], strict=True
            )
        ),
        operand_count=len(item.operands),
        users=tuple(_neighbour(module, found, user) for user in users[:MAX_NEIGHBOURS]),
        user_count=len(users),
        control_predecessors=tuple(map(shown_name, item.control_predecessors[:MAX_NEIGHBOURS])),
        calls=tuple(
            Call(role=role, computation=shown_name(called.name), line=module.first_line(called))
            for role, called in module.callees(item)[:MAX_NEIGHBOURS]
        ),
        attributes={
            key: _value(value) for key, value in list(item.attributes.items())[:MAX_ATTRIBUTES]
        },
        op_name=_value(metadata.op_name) if metadata and metadata.op_name else None,
        source=source_from_location(module.source_of(item)),
        source_how=how_told(module, item),
    )


def source_from_location(location: SourceLocation | None) -> Source | None:
    """The place of the parser as the one of reports, its stack cut to the innermost frames."""
    if location is None:
        return None
    return Source(
        file=_value(location.file),
        line=location.line,
        column=location.column,
        function=None if location.function is None else _value(location.function),
        frames=tuple(
            Frame(
                file=_value(frame.file),
                line=frame.line,
                function=None if frame.function is None else _value(frame.function),
            )
            for frame in location.frames[:MAX_FRAMES]
        ),
    )


def _operand(
    module: Module, computation: Computation, name: str, path: tuple[int, ...]
) -> Neighbour:
    operand = computation.get(name)
    if operand is None:
        return Neighbour(name=shown_name(name), path=path)
    return _neighbour(module, computation, operand, path)


def _neighbour(
    module: Module, computation: Computation, item: Instruction, path: tuple[int, ...] = ()
) -> Neighbour:
    return Neighbour(
        name=shown_name(item.name),
        opcode=item.opcode,
        shape=_value(item.shape.without_layout),
        line=module.line_of(computation, item),
        path=path,
    )


def _value(text: str) -> str:
    return cut_text(text, MAX_VALUE_CHARACTERS)
