"""A module in a form that an older release reads, and what that leaves out. Pure.

Newer releases print stack-frame tables, further words about an instruction's origin, and attributes
of Shardy that the parsers of older ones refuse. What says nothing of the program goes, and is
named; the lines of the program stay, as older texts have them. Elements of tuples, orders of
comparisons and shardings along mesh axes are said in the older words. What else an older release
does not know (an operation, an attribute that means something) is left for it to refuse.
"""

import math
import re
from collections import Counter
from dataclasses import replace

from app.errors import UsageError
from app.replay.draft import Block, Draft, Line, draft_of
from app.replay.kinds import with_names
from hlo_parser import Module, SourceLocation

OF_TEXT = "of the text: "
"""What the names of such things begin with, among what a release was not given."""

_STRING = r'"(?:\\.|[^"\\])*"'
# What 0.4.28 knows in a metadata attribute, beside the place.
_OLD_METADATA = re.compile(rf"\bop_(?:type|name)={_STRING}")
# Frontend attributes are printed as strings, those of Shardy's meshes as a dictionary of their own.
_PLAIN_FRONTEND = re.compile(rf"\{{(?:[\w.\-]+={_STRING}(?:,\s*)?)*\}}")
# Nothing but plain axes of a mesh in the usual order of devices; anything else is left.
_MESH_SHARDING = re.compile(
    r"\{mesh\[(?P<mesh>'\w+'=\d+(?:,\s*'\w+'=\d+)*)\], "
    r"(?:replicated|\[(?P<dimensions>\{(?:'\w+'(?:, ?'\w+')*)?\}"
    r"(?:, \{(?:'\w+'(?:, ?'\w+')*)?\})*)\])\}"
)
_AXIS = re.compile(r"'(\w+)'=(\d+)")
_DIMENSION = re.compile(r"\{([^{}]*)\}")
_NAMED = re.compile(r"'(\w+)'")
_FLOATS = re.compile(r"b?f\d")
_SHARDY_RESULT = "xla.sdy.FuncResultSharding"
# They say where an instruction came from, and nothing of what it does.
_OF_ORIGIN = ("origin", "original_value", "original_value_recovery_table", "statistics")


def older_form(module: Module, *, has_shardy: bool = False) -> tuple[bytes, tuple[str, ...]] | None:
    """The text and what was left out; None where not all of the module can be said in older words.

    With `has_shardy` the release partitions by Shardy, so what is Shardy's stays.
    """
    if any(c.execution_thread != "main" or c.backend_config for c in module.computations):
        return None
    try:
        draft = draft_of(module)
    except UsageError:
        return None
    gone = Counter[str]()
    header = dict(module.header.attributes)
    for key in [k for k, v in header.items() if _is_refused(k, v) and not has_shardy]:
        gone[f"{key} of the header"] += 1
        del header[key]
    if module.frames is not None:
        gone["stack frames but for the innermost"] += 1
    named = (f"{key}={value}" for key, value in header.items())
    head = ", ".join([f"HloModule {module.header.name}", *named]) + "\n"
    sources = {
        (computation.name, i.name): module.source_of(i)
        for computation in module.computations
        for i in computation.instructions
    }
    calls = None if has_shardy else _SHARDY_RESULT
    blocks = tuple(_older_block(block, sources, gone, calls) for block in draft.blocks)
    if not has_shardy and any(_is_of_shardy(line) for block in blocks for line in block.lines):
        return None
    return Draft(head, blocks).text.encode("utf-8", "surrogateescape"), _named(gone)


def _is_of_shardy(line: Line) -> bool:
    return line.attribute("custom_call_target").startswith('"xla.sdy.')


def _named(gone: Counter[str]) -> tuple[str, ...]:
    counted = (f"{what} ({count})" if count > 1 else what for what, count in gone.items())
    return tuple(f"{OF_TEXT}{what}" for what in counted)


def _is_refused(key: str, value: str) -> bool:
    return key in _OF_ORIGIN or (
        key == "frontend_attributes" and _PLAIN_FRONTEND.fullmatch(value) is None
    )


def _older_block(
    block: Block,
    sources: dict[tuple[str, str], SourceLocation | None],
    gone: Counter[str],
    repeats: str | None,
) -> Block:
    by_name = block.by_name
    is_sharded = bool(by_name[block.root].attribute("sharding"))
    names: dict[str, str] = {}
    kept: list[Line] = []
    for line in block.lines:
        is_call = repeats is not None and repeats in line.attribute("custom_call_target")
        if is_call and is_sharded and len(line.operands) == 1:
            # It says again how a result is sharded.
            gone["custom calls of Shardy"] += 1
            names[line.name] = names.get(line.operands[0], line.operands[0])
        else:
            of = by_name[line.operands[0]].shape if line.operands else ""
            source = sources.get((block.name, line.name))
            kept.append(_older_line(line, source, gone, is_of_floats=_FLOATS.match(of) is not None))
    if not names:
        return replace(block, lines=tuple(kept))
    return with_names(replace(block, lines=tuple(kept)), names)


def _older_line(
    line: Line, source: SourceLocation | None, gone: Counter[str], *, is_of_floats: bool
) -> Line:
    attributes: list[tuple[str, str]] = []
    for key, value in line.attributes:
        if _is_refused(key, value):
            gone[f"{key} of instructions"] += 1
        elif key == "metadata":
            attributes.append((key, _older_metadata(value, source)))
        elif key == "sharding":
            attributes.append((key, _MESH_SHARDING.sub(_tiled, value)))
        elif line.opcode == "compare" and key == "order":
            attributes += _older_order(value, is_of_floats)
        else:
            attributes.append((key, value))
    return replace(line, attributes=tuple(attributes))


def _tiled(found: re.Match[str]) -> str:
    """`{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}` for a sharding along mesh axes.

    As xla/hlo/ir/named_sharding.h means it: devices lie in the mesh row by row, an axis that no
    dimension names holds copies. What names no axis of the mesh is left as it is.
    """
    axes = {name: int(size) for name, size in _AXIS.findall(found["mesh"])}
    dimensions = [_NAMED.findall(each) for each in _DIMENSION.findall(found["dimensions"] or "")]
    used = [name for names in dimensions for name in names]
    if not axes.keys() >= set(used) or len(set(used)) < len(used):
        return found[0]
    sizes = [math.prod(axes[name] for name in names) for names in dimensions]
    if math.prod(sizes) == 1:
        return "{replicated}"
    order = [*used, *(name for name in axes if name not in used)]
    total, mesh = math.prod(axes.values()), list(axes)
    devices = f"<=[{total}]"
    if order != mesh:
        turned = ",".join(str(mesh.index(name)) for name in order)
        devices = f"<=[{','.join(map(str, axes.values()))}]T({turned})"
    copies = total // math.prod(sizes)
    tiles = ",".join(map(str, [*sizes, copies] if copies > 1 else sizes))
    replicated = " last_tile_dim_replicate" if copies > 1 else ""
    return f"{{devices=[{tiles}]{devices}{replicated}}}"


def _older_order(value: str, is_of_floats: bool) -> tuple[tuple[str, str], ...]:
    """The order of a comparison, as older texts have it: where it is not the usual one."""
    return (("type", "TOTALORDER"),) if is_of_floats and value == "TOTAL" else ()


def _older_metadata(value: str, source: SourceLocation | None) -> str:
    words = _OLD_METADATA.findall(value)
    if source is not None:
        file = source.file.replace("\\", "\\\\").replace('"', '\\"')
        words += [f'source_file="{file}"', f"source_line={source.line}"]
    return f"{{{' '.join(words)}}}"
