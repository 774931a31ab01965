"""Where the boxes and lines of a drawn graph go: layers from top to bottom, few crossings.

Given box widths and edges by position, gives boxes and lines in pixels, y downwards. The usual four
steps (Sugiyama): edges that close a cycle are turned, boxes are ranked by their longest path, ranks
are ordered by barycentres, and each rank is placed as near to its neighbours as gaps allow. Knows
nothing of instructions.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

BOX_HEIGHT = 44.0
GAP = 18.0
LAYER_GAP = 42.0
MARGIN = 12.0

_SWEEPS = 6
_BEND_WIDTH = 2.0
_MAX_BENDS = 6_000
"""Bends of long edges beyond which they are drawn straight, for the sake of time."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A box: its upper left corner and width; all are `BOX_HEIGHT` high."""

    x: float
    y: float
    width: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes and lines in the order in which nodes and edges were given; a line has 2+ points."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[tuple[Point, ...], ...]


def layered(widths: Sequence[float], edges: Sequence[tuple[int, int]]) -> Drawing:
    """The drawing of a graph whose edges go from earlier (above) to later (below)."""
    if not widths:
        return Drawing(0.0, 0.0, (), ())
    turned = _turned(len(widths), edges)
    down = [(b, a) if turn else (a, b) for (a, b), turn in zip(edges, turned, strict=True)]
    ranks = _ranks(len(widths), down)
    grid = _Grid(widths, ranks)
    routes = [grid.route(a, b) for a, b in down]
    grid.order()
    grid.place()
    return grid.drawing(routes, turned)


def _turned(count: int, edges: Sequence[tuple[int, int]]) -> list[bool]:
    """Whether each edge closes a cycle, seen in depth-first order; loops on one box do, too."""
    after: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for position, (a, b) in enumerate(edges):
        after[a].append((b, position))
    turned = [False] * len(edges)
    state = [0] * count  # 1: on the path that is being followed, 2: done
    for start in range(count):
        if state[start]:
            continue
        state[start] = 1
        path = [(start, iter(after[start]))]
        while path:
            node, rest = path[-1]
            step = next(rest, None)
            if step is None:
                state[node] = 2
                path.pop()
            elif state[step[0]] == 1:
                turned[step[1]] = True
            elif state[step[0]] == 0:
                state[step[0]] = 1
                path.append((step[0], iter(after[step[0]])))
    return turned


def _ranks(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each node: below all it follows; a root stands just above its first use."""
    after: dict[int, list[int]] = defaultdict(list)
    waiting = [0] * count
    for a, b in edges:
        if a != b:
            after[a].append(b)
            waiting[b] += 1
    roots = [node for node in range(count) if not waiting[node]]
    ranks = [0] * count
    ready = list(roots)
    for node in ready:
        for other in after[node]:
            ranks[other] = max(ranks[other], ranks[node] + 1)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    for node in roots:
        if after[node]:
            ranks[node] = min(ranks[other] for other in after[node]) - 1
    return ranks


class _Grid:
    """Boxes and the bends of long edges in layers; bends are numbered on from the boxes."""

    def __init__(self, widths: Sequence[float], ranks: list[int]) -> None:
        self._boxes = len(widths)
        self._widths = list(widths)
        self._ranks = list(ranks)
        self._layers: list[list[int]] = [[] for _ in range(max(ranks) + 1)]
        for node, rank in enumerate(ranks):
            self._layers[rank].append(node)
        self._above: dict[int, list[int]] = defaultdict(list)
        self._below: dict[int, list[int]] = defaultdict(list)
        self._left = [0.0] * len(widths)

    def route(self, a: int, b: int) -> list[int]:
        """The cells that an edge goes through, bends made for the layers between."""
        cells = [a]
        span = range(self._ranks[a] + 1, self._ranks[b])
        if len(self._widths) - self._boxes + len(span) <= _MAX_BENDS:
            for rank in span:
                cells.append(len(self._widths))
                self._widths.append(_BEND_WIDTH)
                self._left.append(0.0)
                self._ranks.append(rank)
                self._layers[rank].append(cells[-1])
        cells.append(b)
        for upper, lower in pairwise(cells):
            if upper != lower:
                self._above[lower].append(upper)
                self._below[upper].append(lower)
        return cells

    def order(self) -> None:
        """Order each layer by the mean position of its neighbours, down and up in turn."""
        at = {cell: float(i) for layer in self._layers for i, cell in enumerate(layer)}
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            neighbours = self._above if down else self._below
            for layer in self._layers if down else reversed(self._layers):
                mean = {cell: _mean([at[n] for n in neighbours[cell]], at[cell]) for cell in layer}
                layer.sort(key=lambda cell: (mean[cell], at[cell]))
                at.update((cell, float(i)) for i, cell in enumerate(layer))

    def place(self) -> None:
        """Set the left side of each cell."""
        for layer in self._layers:
            x = 0.0
            for cell in layer:
                self._left[cell] = x
                x += self._widths[cell] + GAP
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            neighbours = self._above if down else self._below
            for layer in self._layers if down else reversed(self._layers):
                self._place_layer(layer, neighbours)

    def _place_layer(self, layer: list[int], neighbours: dict[int, list[int]]) -> None:
        """The places nearest to what each cell wants that keep order and gaps.

        Cells that would overlap become one block at the mean of their wishes: isotonic regression
        by pooling adjacent violators.
        """
        blocks: list[tuple[float, list[int]]] = []  # sum of wished left sides, cells
        offset: dict[int, float] = {}
        x = 0.0
        for cell in layer:
            offset[cell] = x
            x += self._widths[cell] + GAP
        for cell in layer:
            middle = _mean([self._middle(n) for n in neighbours[cell]], self._middle(cell))
            total, cells = middle - self._widths[cell] / 2 - offset[cell], [cell]
            while blocks and blocks[-1][0] / len(blocks[-1][1]) > total / len(cells):
                before = blocks.pop()
                total, cells = before[0] + total, before[1] + cells
            blocks.append((total, cells))
        for total, cells in blocks:
            for cell in cells:
                self._left[cell] = total / len(cells) + offset[cell]

    def _middle(self, cell: int) -> float:
        return self._left[cell] + self._widths[cell] / 2

    def drawing(self, routes: list[list[int]], turned: list[bool]) -> Drawing:
        """All of it, moved so that the leftmost box stands at the margin."""
        shift = MARGIN - min(self._left)
        right = max(left + width for left, width in zip(self._left, self._widths, strict=True))
        boxes = tuple(
            Box(round(self._left[node] + shift, 1), self._top(node), self._widths[node])
            for node in range(self._boxes)
        )
        return Drawing(
            width=round(right + shift + MARGIN, 1),
            height=self._layer_top(len(self._layers)) - LAYER_GAP + MARGIN,
            boxes=boxes,
            lines=tuple(
                self._line(cells, shift)[:: -1 if turn else 1]
                for cells, turn in zip(routes, turned, strict=True)
            ),
        )

    def _line(self, cells: list[int], shift: float) -> tuple[Point, ...]:
        points: list[Point] = []
        for position, cell in enumerate(cells):
            x = round(self._middle(cell) + shift, 1)
            if position > 0:
                points.append((x, self._top(cell)))
            if position < len(cells) - 1:
                points.append((x, self._top(cell) + BOX_HEIGHT))
        return tuple(points)

    def _top(self, cell: int) -> float:
        return self._layer_top(self._ranks[cell])

    @staticmethod
    def _layer_top(rank: int) -> float:
        return MARGIN + rank * (BOX_HEIGHT + LAYER_GAP)


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
