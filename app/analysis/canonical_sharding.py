"""What shardings mean, whichever release of XLA wrote them.

One sharding is written as tiles (`{devices=[4,1]<=[4]}`, ids listed or counted), as axes of a mesh
(`{mesh['x'=4], [{'x'}, {}]}`, printed since 2026), and by Shardy once more beside it, as a frontend
attribute. All become one value: the tiles along each dimension, what is done with the rest of the
devices, and which devices stand where. Dimensions that Shardy may shard further (`?`) count where a
text says so. Given a text alone, or with the meshes of its module; what is not understood, or is of
more than `MOST_DEVICES`, is its text.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod

from app.analysis.meshes import PRINTED_MESH, meshes_in_header, printed_axes, printed_ids
from hlo_parser import Header, ReplicaGroups
from hlo_parser.possessive import compile_pattern

MOST_DEVICES = 4096

_MOST_DIMENSIONS = 32
_SIGNS = compile_pattern(r"[\[\](){},]|'[^']*+'|\"[^\"]*+\"")
_TILES = compile_pattern(
    r"devices=\[([\d,]++)\](<=\[[\d,]++\](?:T\([\d,]++\))?+|[\d,]++)"
    r"(?: (last_tile_dim_replicate)| last_tile_dims=\{([a-z, ]++)\})?+"
)
_AXIS_USE = compile_pattern(r"(?:'([^']*+)'|\"([^\"]*+)\")(?::\((\d{1,9})\)(\d{1,9}))?+")
_REST = compile_pattern(r"(replicated|manual|unreduced)(?:=\{([^{}]*+)\})?+")
# Of one value, or of each of a tuple: `#sdy.sharding_per_value<[<@mesh, [{'x'}]>, <@mesh, []>]>`.
_SDY = compile_pattern(r"#sdy\.sharding(?:_per_value<\[(?:<@[^<>]+>(?:, )?)*\]|<@[^<>]+)>")
_SDY_ONE = compile_pattern(r"<@(?P<mesh>[\w.$-]++)(?P<rest>, [^<>]++)>")
_PRIORITY = compile_pattern(r"\}p\d")

_One = tuple[Hashable, tuple[int, ...]]
"""Where what is, and the dimensions that may be sharded further."""

Meaning = tuple[_One, ...] | str


class _Unknown(Exception):
    """A form that is not understood."""


def sharding_meaning(text: str) -> Meaning:
    """The value of the text of a `sharding` attribute, metadata left out before."""
    try:
        return tuple(_one(part) for part in _parts_of_tuple(text.strip()))
    except _Unknown:
        return text


def shardy_meaning(text: str, meshes: Mapping[str, str]) -> Meaning:
    """The value of a `xla.sdy.sharding` with single quotes, by the meshes of `meshes_of`."""
    if not _SDY.fullmatch(text) or _PRIORITY.search(text):
        return text
    found = [(meshes.get(one["mesh"]), one["rest"]) for one in _SDY_ONE.finditer(text)]
    if len(found) != text.count("@") or any(mesh is None for mesh, _ in found):
        return text
    bodies = [f"{{{mesh}{rest}}}" for mesh, rest in found]
    return sharding_meaning(bodies[0] if len(bodies) == 1 else f"{{{', '.join(bodies)}}}")


def closed(meaning: Meaning) -> Meaning:
    """The value with no dimension that may be sharded further."""
    if isinstance(meaning, str):
        return meaning
    return tuple((where, ()) for where, _ in meaning)


def meshes_of(header: Header) -> Mapping[str, str]:
    """The meshes that a header states, by name, as shardings print them."""
    found: dict[str, str] = {}
    for name, axes, ids in meshes_in_header(header):
        printed = ",".join(f"'{axis.name}'={axis.size}" for axis in axes)
        order = f", device_ids=({','.join(map(str, ids))})" if ids else ""
        found[name] = f"mesh[{printed}]{order}"
    return found


# ---- one sharding --------------------------------------------------------------------------------


def _parts_of_tuple(text: str) -> Iterator[str]:
    if not (text.startswith("{") and text.endswith("}")):
        raise _Unknown
    inner = text[1:-1].strip()
    if not inner.startswith("{"):
        yield inner
        return
    for part in _split(inner):
        if not (part.startswith("{") and part.endswith("}")):
            raise _Unknown
        yield part[1:-1].strip()


def _one(body: str) -> _One:
    if body.startswith("mesh["):
        return _of_mesh(body)
    if body.startswith("devices="):
        return _of_tiles(body), ()
    return ("word", body), ()


def _of_tiles(body: str) -> Hashable:
    found = _TILES.fullmatch(body)
    if found is None:
        raise _Unknown
    tiles = _numbers(found[1])
    count = prod(tiles)
    if not 0 < count <= MOST_DEVICES or len(tiles) > _MOST_DIMENSIONS:
        raise _Unknown
    kinds = [word.strip() for word in (found[4] or "").split(",")] if found[4] else []
    if found[3]:
        kinds = ["replicated"]
    ids = _listed(found[2], count)
    rank = len(tiles) - len(kinds)
    if rank < 0:
        raise _Unknown
    return _meaning(tiles[:rank], list(zip(kinds, tiles[rank:], strict=True)), ids)


def _listed(text: str, count: int) -> Sequence[int]:
    if text.startswith("<="):
        (ids,) = ReplicaGroups(f"[1,{count}]{text}").expand() or ((),)
    else:
        ids = _numbers(text)
    if len(ids) != count:
        raise _Unknown
    return ids


def _of_mesh(body: str) -> _One:
    mesh = PRINTED_MESH.match(body)
    if mesh is None:
        raise _Unknown
    axes = [(axis.name, axis.size) for axis in printed_axes(mesh["axes"])]
    ids = printed_ids(mesh["ids"], printed_axes(mesh["axes"]))
    count = prod(size for _, size in axes)
    if ids is None or not 0 < count <= MOST_DEVICES or len({name for name, _ in axes}) < len(axes):
        raise _Unknown
    dimensions, *others = _split(body[mesh.end() :].removeprefix(",").strip()) or [""]
    if dimensions.startswith("["):
        uses = [_uses(part) for part in _split(dimensions[1:-1])]
        opened = [k for k, part in enumerate(_split(dimensions[1:-1])) if "?" in part]
    else:
        uses, opened, others = [], [], [dimensions, *others]
    rest = _rest(others, [name for name, _ in axes])
    pieces = _pieces(axes, [use for group in (*uses, *rest.values()) for use in group])
    return _arranged(axes, pieces, uses, rest, ids or range(count)), tuple(opened)


_Use = tuple[str, int, int]
"""An axis and the part of it: what stands before it, and its size; 0 and 0 for all of it."""


def _uses(text: str) -> list[_Use]:
    if not (text.startswith("{") and text.endswith("}")):
        raise _Unknown
    return [
        (found[1] if found[1] is not None else found[2], int(found[3] or 0), int(found[4] or 0))
        for found in _AXIS_USE.finditer(text)
    ]


def _rest(words: Sequence[str], names: Sequence[str]) -> dict[str, list[_Use]]:
    """The axes that no dimension has, by what is done with them."""
    found: dict[str, list[_Use]] = {}
    for word in words:
        told = _REST.fullmatch(word)
        if told is None or told[1] in found:
            raise _Unknown
        found[told[1]] = (
            [(name, 0, 0) for name in names] if told[2] is None else _uses(f"{{{told[2]}}}")
        )
    return found


def _pieces(axes: Sequence[tuple[str, int]], uses: Iterable[_Use]) -> list[tuple[str, int, int]]:
    """The axes in order, each cut where a use begins or ends: name, what is before, size."""
    cuts = {name: {1, size} for name, size in axes}
    for name, before, size in uses:
        if name not in cuts:
            raise _Unknown
        if size:
            cuts[name] |= {before, before * size}
    pieces: list[tuple[str, int, int]] = []
    for name, _ in axes:
        for low, high in pairwise(sorted(cuts[name])):
            if not low or high % low:
                raise _Unknown
            pieces.append((name, low, high // low))
    return pieces


def _arranged(
    axes: Sequence[tuple[str, int]],
    pieces: Sequence[tuple[str, int, int]],
    uses: Sequence[Sequence[_Use]],
    rest: Mapping[str, Sequence[_Use]],
    ids: Sequence[int],
) -> Hashable:
    """The devices of a mesh in the order of tiles."""
    sizes = dict(axes)
    free = list(range(len(pieces)))

    def take(use: _Use) -> list[int]:
        name, before, size = use
        low, high = (before, before * size) if size else (1, sizes[name])
        taken = [
            k for k in free if pieces[k][0] == name and low <= pieces[k][1] and pieces[k][1] < high
        ]
        if prod(pieces[k][2] for k in taken) != high // low:
            raise _Unknown
        free[:] = [k for k in free if k not in taken]
        return taken

    by_dimension = [[k for use in group for k in take(use)] for group in uses]
    by_kind = [(kind, [k for use in group for k in take(use)]) for kind, group in rest.items()]
    by_kind.append(("replicated", list(free)))
    order = [k for group in (*by_dimension, *(group for _, group in by_kind)) for k in group]
    strides = [prod(size for _, _, size in pieces[k + 1 :]) for k in range(len(pieces))]
    places = [0]
    for k in order:
        places = [place + at * strides[k] for place in places for at in range(pieces[k][2])]
    tiles = [prod(pieces[k][2] for k in group) for group in by_dimension]
    kinds = [(kind, prod(pieces[k][2] for k in group)) for kind, group in by_kind]
    return _meaning(tiles, kinds, [ids[place] for place in places])


def _meaning(
    tiles: Sequence[int], kinds: Sequence[tuple[str, int]], ids: Sequence[int]
) -> Hashable:
    """The value: what is whole on all devices is a word, else tiles, kinds and groups of devices.

    `ids` stand in the order of the tiles, then of the kinds. The order of devices that hold the
    same makes no difference.
    """
    kinds = [(kind, size) for kind, size in kinds if size > 1]
    if all(tile == 1 for tile in tiles) and len({kind for kind, _ in kinds}) <= 1:
        return "word", kinds[0][0] if kinds else "replicated"
    order = sorted(range(len(kinds)), key=lambda k: (kinds[k][0] == "replicated", kinds[k][0], k))
    sizes = [size for _, size in kinds]
    strides = [prod(sizes[k + 1 :]) for k in range(len(sizes))]
    places = [0]
    for k in order:
        places = [place + at * strides[k] for place in places for at in range(sizes[k])]
    whole = prod(sizes)
    same = prod(size for kind, size in kinds if kind == "replicated")
    turned = [ids[start + place] for start in range(0, len(ids), whole) for place in places]
    groups = tuple(
        tuple(sorted(turned[start : start + same])) for start in range(0, len(turned), same)
    )
    return tuple(tiles), tuple(kinds[k] for k in order if kinds[k][0] != "replicated"), groups


def _split(text: str) -> list[str]:
    """The parts between commas that stand within no bracket and no string."""
    parts: list[str] = []
    depth = start = 0
    for found in _SIGNS.finditer(text):
        sign = found[0]
        if sign in "[({":
            depth += 1
        elif sign in "])}":
            depth -= 1
        elif sign == "," and not depth:
            parts.append(text[start : found.start()].strip())
            start = found.end()
    last = text[start:].strip()
    return [*parts, last] if parts or last else []


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word and len(word) < 10]
