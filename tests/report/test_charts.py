"""The figure for plotly: what it shows, and that it shows a dump's text as text."""

import hashlib
import itertools
import json
import re

import msgspec
import plotly.offline

from app.report.charts import curves_figure, pass_figure, plain
from app.report.passes import events_by_dump
from app.report.passes_curves import curve_panels
from app.settings import static_dir
from report import builders


def figure_of_crash() -> dict[str, list[dict[str, object]]]:
    report = builders.crash_report()
    events = events_by_dump(builders.MODULE, report.loops)
    return json.loads(json.dumps(pass_figure(report.modules[0], events)))


def test_figure_has_instructions_events_and_collectives() -> None:
    figure = figure_of_crash()
    traces = {str(trace["name"]): trace for trace in figure["data"]}
    dumps = builders.crash_dumps()
    assert traces["instructions"]["y"] == [dump.instructions for dump in dumps]
    assert traces["all-gather"]["y"] == [dump.counts.get("all-gather", 0) for dump in dumps]
    assert traces["created or removed"]["x"] == [0]
    assert {trace["type"] for trace in figure["data"]} == {"scatter"}


def test_all_curves_stand_in_panels_and_share_their_looks() -> None:
    report = builders.crash_report()
    events = events_by_dump(builders.MODULE, report.loops)
    figure = json.loads(json.dumps(curves_figure(report.modules[0], events)))
    panels = curve_panels(report.modules[0].dumps)
    lines = [line for panel in panels for line in panel.lines]
    drawn = [trace for trace in figure["data"] if trace["mode"] == "lines"]
    assert [trace["name"] for trace in drawn] == [line.name for line in lines]
    assert [trace["y"] for trace in drawn] == [list(line.values) for line in lines]
    axes = [key for key in figure["layout"] if key.startswith("yaxis")]
    assert len(axes) == len(panels)
    domains = sorted(figure["layout"][axis]["domain"] for axis in axes)
    assert all(low < high for low, high in domains)
    assert all(upper[0] > lower[1] for lower, upper in itertools.pairwise(domains))
    for name in {trace["name"] for trace in drawn[1:]}:
        same = [trace for trace in drawn if trace["name"] == name]
        assert len({(trace["meta"], trace["line"]["dash"]) for trace in same}) == 1
        assert [trace["showlegend"] for trace in same] == [True] + [False] * (len(same) - 1)


def test_bytes_and_operations_are_told_with_si_prefixes() -> None:
    # A billion bytes is 1GB, where plotly on its own would say 1B.
    module = builders.crash_report().modules[0]
    dumps = tuple(
        msgspec.structs.replace(dump, flops=10**9, collective_bytes={"all-gather": 10**9})
        for dump in module.dumps
    )
    figure = json.loads(json.dumps(curves_figure(msgspec.structs.replace(module, dumps=dumps), {})))
    axes = {
        axis["title"]["text"]: (axis.get("tickformat"), axis.get("ticksuffix"))
        for name, axis in figure["layout"].items()
        if name.startswith("yaxis")
    }
    assert axes["bytes sent"] == ("~s", "B")
    assert axes["FLOP"] == ("~s", "")
    assert axes["instructions"] == (None, None)


def test_figure_names_colours_for_the_theme_to_fill_in() -> None:
    styles = (static_dir() / "css" / "report_passes.css").read_text(encoding="utf-8")
    for trace in figure_of_crash()["data"]:
        assert f"--{trace['meta']}:" in styles


def test_text_of_a_dump_is_no_markup_for_plotly() -> None:
    report = builders.hostile_report()
    events = events_by_dump(builders.MODULE, report.loops)
    module = report.modules[0]
    text = json.dumps([pass_figure(module, events), curves_figure(module, events)])
    assert set(re.findall(r"<[^>]*>?", text)) == {"<br>", "<extra>", "</extra>"}
    assert plain("<b>&lt; %{x}") == "&lt;b>&amp;lt; %&#123;x}"


def test_vendored_bundle_is_the_one_python_draws_for() -> None:
    folder = static_dir() / "vendor" / "plotly"
    lines = (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sums = {name: digest for digest, name in (line.split("  ") for line in lines)}
    for name, digest in sums.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
    assert set(sums) == {"plotly-basic.min.js", "plotly-global.css", "LICENSE"}
    head = (folder / "plotly-basic.min.js").read_text(encoding="utf-8")[:200]
    assert f"v{plotly.offline.get_plotlyjs_version()}" in head
