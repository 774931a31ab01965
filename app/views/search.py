"""Finding instructions of one dump by name, opcode, op_name or line of the user's program."""

from collections.abc import Callable, Iterator
from typing import Literal

from app.analysis.sources import how_told
from app.errors import UsageError
from app.model.report import Struct
from app.model.source import SourceHow
from app.views.cut import Cut, cut_text, shown_name
from hlo_parser import Computation, Instruction, Module, SourceLocation

MAX_HITS = 500
MAX_QUERY_CHARACTERS = 500
MAX_TEXT_CHARACTERS = 400

Field = Literal["name", "opcode", "op_name", "source"]
FIELDS: tuple[Field, ...] = ("name", "opcode", "op_name", "source")


class Hit(Struct, frozen=True, kw_only=True):
    """An instruction that matches; `fields` are all those of its parts that do."""

    computation: str
    instruction: str
    opcode: str
    line: int
    fields: tuple[Field, ...]
    text: str
    op_name: str | None = None
    source: str | None = None
    source_how: SourceHow | None = None


class SearchResult(Struct, frozen=True, kw_only=True):
    """Hits in text order from the one at `offset` on.

    `total` is exact and `by_field` counts each field on its own.
    """

    query: str
    total: int
    by_field: dict[Field, int]
    offset: int = 0
    hits: tuple[Hit, ...]
    cut: Cut | None = None


def search_instructions(
    module: Module,
    query: str,
    *,
    fields: tuple[Field, ...] = FIELDS,
    offset: int = 0,
    limit: int = MAX_HITS,
) -> SearchResult:
    """The instructions that contain `query` in any of `fields`, whatever its case.

    For the source `train.py:12` means that line and `train.py` the file, anywhere in the stack.

    Raises:
        UsageError: there is nothing to look for, or far too much of it.
    """
    needle = query.strip().removeprefix("%").lower()
    if not needle or len(needle) > MAX_QUERY_CHARACTERS:
        raise UsageError(
            "a search takes a word", next_step=f"Give 1 to {MAX_QUERY_CHARACTERS} characters."
        )
    limit = min(limit, MAX_HITS)
    by_field: dict[Field, int] = dict.fromkeys(fields, 0)
    hits: list[Hit] = []
    total = 0
    for computation, instruction, found in _matches(module, needle, fields):
        total += 1
        for name in found:
            by_field[name] += 1
        if total > offset and len(hits) < limit:
            hits.append(_hit(module, computation, instruction, found))
    cut = None
    if offset + len(hits) < total:
        cut = Cut(shown=len(hits), total=total, next_step="Search for more of the word.")
    return SearchResult(
        query=query, total=total, by_field=by_field, offset=offset, hits=tuple(hits), cut=cut
    )


def _matches(
    module: Module, needle: str, fields: tuple[Field, ...]
) -> Iterator[tuple[Computation, Instruction, tuple[Field, ...]]]:
    is_source = _source_test(needle)
    tests: dict[Field, Callable[[Instruction], bool]] = {
        "name": lambda item: needle in item.name.lower(),
        "opcode": lambda item: needle in item.opcode,
        "op_name": lambda item: needle in _op_name(item).lower(),
        "source": lambda item: is_source(module.source_of(item)),
    }
    wanted: list[tuple[Field, Callable[[Instruction], bool]]] = [
        (name, tests[name]) for name in fields
    ]
    for computation in module.computations:
        for instruction in computation.instructions:
            found: tuple[Field, ...] = tuple(name for name, test in wanted if test(instruction))
            if found:
                yield computation, instruction, found


def _source_test(needle: str) -> Callable[[SourceLocation | None], bool]:
    file, colon, number = needle.rpartition(":")
    line = int(number) if colon and number.isdecimal() else None
    if line is None:
        file = needle

    def matches(location: SourceLocation | None) -> bool:
        if location is None:
            return False
        places = [(location.file, location.line)]
        places += [(frame.file, frame.line) for frame in location.frames]
        return any(line in (None, at) and file in path.lower() for path, at in places)

    return matches


def _op_name(instruction: Instruction) -> str:
    metadata = instruction.metadata
    return "" if metadata is None else metadata.op_name or ""


def _hit(
    module: Module, computation: Computation, instruction: Instruction, found: tuple[Field, ...]
) -> Hit:
    location = module.source_of(instruction)
    op_name = _op_name(instruction)
    return Hit(
        computation=shown_name(computation.name),
        instruction=shown_name(instruction.name),
        opcode=instruction.opcode,
        line=module.line_of(computation, instruction),
        fields=found,
        text=cut_text(instruction.text, MAX_TEXT_CHARACTERS),
        op_name=cut_text(op_name, MAX_TEXT_CHARACTERS) or None,
        source=None
        if location is None
        else cut_text(f"{location.file}:{location.line}", MAX_TEXT_CHARACTERS),
        source_how=how_told(module, instruction),
    )
