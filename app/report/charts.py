"""The interactive figure of a module over its passes, as plotly JSON.

The only module that imports plotly; its untyped values end here. Takes a module and the events of
its loops and gives a plain dictionary for `Plotly.newPlot`. Colours are named in `meta`, not given:
the page's script fills in those of its theme.
"""

# pyright: reportUnknownMemberType=false
# plotly ships no types.

import json
from typing import cast

import plotly.graph_objects as go  # pyright: ignore[reportMissingTypeStubs]

from app.model.report import Dump, Module
from app.report.passes import Events, collective_counts, event_lines, tick_word
from app.report.passes_curves import CurveLine, CurvePanel, curve_panels
from app.report.wording import GROUP_WORDS, EventGroup, numbered_pass, shortened

# Of plotly's symbols those that look like the shapes of `templates/_marks.html`.
_SYMBOLS: dict[EventGroup, str] = {
    "pipelined": "diamond",
    "multiplied": "square",
    "lifetime": "circle",
    "trip_count": "triangle-up",
    "minor": "circle",
}
_DASHES = ("solid", "dash", "dot")
_MAX_OPCODES = 5
_SERIES_COLOURS = 5
_X_TICKS = 12
_MAX_LABEL = 80


def pass_figure(module: Module, events: Events) -> dict[str, object]:
    """Instructions, loop events and collectives of one module over its passes."""
    dumps = module.dumps
    labels = [plain(shortened(numbered_pass(dump), _MAX_LABEL)) for dump in dumps]
    opcodes = _collective_opcodes(dumps)
    traces = [_instruction_trace(dumps, labels, events)]
    traces += [trace for group in GROUP_WORDS for trace in _event_traces(module, events, group)]
    traces += [
        _opcode_trace(dumps, labels, opcode, number) for number, opcode in enumerate(opcodes)
    ]
    figure = go.Figure(data=traces, layout=_layout(dumps, has_collectives=bool(opcodes)))
    return cast(dict[str, object], json.loads(cast(str, figure.to_json())))


def curves_figure(module: Module, events: Events) -> dict[str, object]:
    """All that is counted of a module over its passes, in panels one below the other."""
    dumps = module.dumps
    labels = [plain(shortened(numbered_pass(dump), _MAX_LABEL)) for dump in dumps]
    panels = curve_panels(dumps)
    traces = [_instruction_trace(dumps, labels, events)]
    traces += [trace for group in GROUP_WORDS for trace in _event_traces(module, events, group)]
    looks: dict[str, int] = {}
    for number, panel in enumerate(panels[1:], 2):
        for line in panel.lines:
            is_new = line.name not in looks
            look = looks.setdefault(line.name, len(looks))
            traces.append(_panel_trace(labels, line, f"y{number}", look, is_new=is_new))
    figure = go.Figure(data=traces, layout=_panel_layout(dumps, panels))
    return cast(dict[str, object], json.loads(cast(str, figure.to_json())))


def plain(text: str) -> str:
    """Text that plotly shows as it stands: it reads a few HTML tags, entities and `%{...}`."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("%{", "%&#123;")


def _instruction_trace(dumps: tuple[Dump, ...], labels: list[str], events: Events) -> go.Scatter:
    told = [
        "<br>".join([label, *(plain(line) for line in event_lines(events.get(place, ())))])
        for place, label in enumerate(labels)
    ]
    return go.Scatter(
        x=list(range(len(dumps))),
        y=[dump.instructions for dump in dumps],
        mode="lines",
        line={"shape": "hv", "width": 2},
        name="instructions",
        meta="chart-line",
        customdata=told,
        hovertemplate="%{y:,} instructions, %{customdata}<extra></extra>",
    )


def _event_traces(module: Module, events: Events, group: EventGroup) -> list[go.Scatter]:
    marked = [
        (place, found)
        for place, found in sorted(events.items())
        if found[0].group == group and place < len(module.dumps)
    ]
    if not marked:
        return []
    return [
        go.Scatter(
            x=[place for place, _ in marked],
            y=[module.dumps[place].instructions for place, _ in marked],
            mode="markers",
            marker={"symbol": _SYMBOLS[group], "size": 6 if group == "minor" else 11},
            name=GROUP_WORDS[group],
            meta=f"mark-{group}",
            showlegend=False,
            # The line below tells what happened here.
            hoverinfo="skip",
        )
    ]


def _opcode_trace(
    dumps: tuple[Dump, ...], labels: list[str], opcode: str, number: int
) -> go.Scatter:
    return go.Scatter(
        x=list(range(len(dumps))),
        y=[dump.counts.get(opcode, 0) for dump in dumps],
        yaxis="y2",
        mode="lines",
        line={"shape": "hv", "width": 2, "dash": _DASHES[number % len(_DASHES)]},
        name=plain(opcode),
        meta=f"chart-series-{number + 1}",
        customdata=labels,
        hovertemplate="%{customdata}<br>" + plain(opcode) + " %{y:,}<extra></extra>",
    )


def _panel_trace(
    labels: list[str], line: CurveLine, axis: str, number: int, *, is_new: bool
) -> go.Scatter:
    """One curve; what several panels count of one thing looks alike and has one legend."""
    return go.Scatter(
        x=list(range(len(labels))),
        y=list(line.values),
        yaxis=axis,
        mode="lines",
        line={"shape": "hv", "width": 2, "dash": _DASHES[number % len(_DASHES)]},
        name=plain(line.name),
        legendgroup=plain(line.name),
        showlegend=is_new,
        meta=f"chart-series-{number % _SERIES_COLOURS + 1}",
        customdata=[
            f"{label}<br>{plain(line.name)} {told}"
            for label, told in zip(labels, line.told, strict=True)
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _panel_layout(dumps: tuple[Dump, ...], panels: tuple[CurvePanel, ...]) -> dict[str, object]:
    layout = _layout(dumps, has_collectives=False)
    count = len(panels)
    layout["height"] = 120 + 110 * (count + 1)
    layout["xaxis"] = {
        **cast(dict[str, object], layout["xaxis"]),
        "anchor": f"y{count}" if count > 1 else "y",
    }
    # The first panel is twice as high as each of the others.
    unit = 1.0 / (count + 1)
    upper = {"rangemode": "tozero", "fixedrange": True}
    for number, panel in enumerate(panels):
        top = 1.0 - (number + 1) * unit if number else 1.0
        bottom = 1.0 - (number + 2) * unit
        layout["yaxis" if number == 0 else f"yaxis{number + 1}"] = {
            **upper,
            "domain": [max(0.0, round(bottom + 0.03, 4)), round(top, 4)],
            "title": {"text": panel.title},
            "nticks": 4,
            # Else a billion is called 2B, which beside bytes reads as two of them.
            **({} if panel.unit is None else {"tickformat": "~s", "ticksuffix": panel.unit}),
        }
    return layout


def _collective_opcodes(dumps: tuple[Dump, ...]) -> list[str]:
    most: dict[str, int] = {}
    for dump in dumps:
        for opcode, number in collective_counts(dump).items():
            most[opcode] = max(most.get(opcode, 0), number)
    ordered = sorted(most.items(), key=lambda item: (-item[1], item[0]))
    return [opcode for opcode, number in ordered[:_MAX_OPCODES] if number]


def _layout(dumps: tuple[Dump, ...], *, has_collectives: bool) -> dict[str, object]:
    step = -(-len(dumps) // _X_TICKS) or 1
    ticks = list(range(0, len(dumps), step))
    upper = {"rangemode": "tozero", "fixedrange": True, "title": {"text": "instructions"}}
    layout: dict[str, object] = {
        "template": "none",
        "height": 400 if has_collectives else 280,
        "margin": {"l": 64, "r": 24, "t": 8, "b": 32},
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "xaxis": {
            "tickmode": "array",
            "tickvals": ticks,
            "ticktext": [plain(tick_word(dumps, tick)) for tick in ticks],
            "anchor": "y2" if has_collectives else "y",
            "zeroline": False,
            "range": [-0.5, len(dumps) - 0.5],
        },
        "yaxis": {**upper, "domain": [0.38, 1.0]} if has_collectives else upper,
    }
    if has_collectives:
        layout["yaxis2"] = {**upper, "domain": [0.0, 0.3], "title": {"text": "collectives"}}
    return layout
