"""What a kind of cut is, and how lines of a computation are put in each other's place. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from app.replay.draft import Block, Draft, Line, renamed
from app.replay.tidying import tidied

Place = tuple[str, str]
"""A computation and, in it, a line, or the number of an output or a carry."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of cut: where it can be made, and how all of some places are made at once.

    `is_by_name`: its places are lines by name, which other cuts do not count anew; `is_loss`: it
    takes what its lines are made from, where nothing else uses that.
    """

    name: str
    places: Callable[[Draft], tuple[Place, ...]]
    made: Callable[[Draft, frozenset[Place]], Draft]
    is_by_name: bool = True
    is_loss: bool = False


def cut(kind: Kind, draft: Draft, places: Iterable[Place]) -> Draft:
    """The draft with these cuts, tidied."""
    return tidied(kind.made(draft, frozenset(places)))


def with_lines(block: Block, made: Mapping[str, tuple[Line, ...]]) -> Block:
    """The block with these lines in place of those of the names given."""
    lines = [new for line in block.lines for new in made.get(line.name, (line,))]
    return replace(block, lines=tuple(lines))


def with_names(block: Block, names: Mapping[str, str]) -> Block:
    """The block with other lines used in place of those of the names given."""
    lines = tuple(renamed(line, names) for line in block.lines)
    return replace(block, lines=lines, root=names.get(block.root, block.root))


def without_layout(shape: str) -> str:
    """A shape that equals that of another line whose elements only lie otherwise."""
    return shape.partition("{")[0] if not shape.startswith("(") else shape


def weights_below(draft: Draft) -> dict[Place, int]:
    """For each line, how many lines are there for it alone: it, and what only it is made from.

    Lines of computations that it calls count along. What its loss does to the carries of loops is
    not known here, so a cut may save more.
    """
    inner = {block.name: len(block.lines) for block in draft.blocks}
    found: dict[Place, int] = {}
    for block in draft.blocks:
        users: dict[str, list[str]] = {line.name: [] for line in block.lines}
        for line in block.lines:
            for name in set(line.operands):
                users[name].append(line.name)
        depth, above = {block.root: 0}, dict[str, str]()
        weights = {
            line.name: 1 + sum(inner.get(n, 0) for n in line.callees) for line in block.lines
        }
        for line in reversed(block.lines):
            living = [name for name in users[line.name] if name in depth]
            if line.name == block.root or not living:
                continue
            common = living[0]
            for other in living[1:]:
                common = _common(common, other, depth, above)
            above[line.name], depth[line.name] = common, depth[common] + 1
        for line in block.lines:
            if line.name in above:
                weights[above[line.name]] += weights[line.name]
        found.update({(block.name, name): weight for name, weight in weights.items()})
    return found


def _common(one: str, other: str, depth: Mapping[str, int], above: Mapping[str, str]) -> str:
    """The nearest line that both of these are there for alone."""
    while one != other:
        if depth[one] < depth[other]:
            one, other = other, one
        one = above[one]
    return one
