"""Meshes, axes, runs, devices and how many lines are known, in words, told alike everywhere.

Takes values of a report whose texts are legible; what is inferred or assumed is said to be so.
"""

from collections.abc import Sequence
from typing import TypeVar

from app.model.device import DeviceFigure, Standing, TargetDevice
from app.model.mesh import Mesh
from app.model.report import Collective, Loop, Module, Report
from app.model.source import SourceCoverage
from app.report.wording import counted, cut_list, place_text, size_text

_Part = TypeVar("_Part", Loop, Collective)

_MOST_MESHES = 3
_STANDINGS: tuple[tuple[Standing, str], ...] = (
    ("stated", "stated"),
    ("inferred", "by its data sheet"),
    ("assumed", "assumed"),
)


def meshes_text(meshes: Sequence[Mesh], module: str) -> str:
    """`mesh dp=2, tp=4`, or `mesh of 2 x 4 (inferred)`; "" for a module without one."""
    own = [mesh for mesh in meshes if mesh.module == module]
    return cut_list([_mesh_text(mesh) for mesh in own], _MOST_MESHES)


def _mesh_text(mesh: Mesh) -> str:
    if mesh.standing == "inferred":
        sizes = " x ".join(f"{axis.size:,}" for axis in mesh.axes)
        return f"mesh of {sizes} (inferred from shardings)"
    return "mesh " + ", ".join(f"{axis.name}={axis.size:,}" for axis in mesh.axes)


def axes_text(collective: Collective) -> str:
    """The mesh axes a collective runs along, and whether the mesh is inferred; "" for none."""
    inferred = " (inferred)" if collective.axes_from == "shardings" else ""
    return ", ".join(collective.axes) + inferred if collective.axes else ""


def kind_text(collective: Collective) -> str:
    """`all-gather`; `reduce-scatter (inferred)` where the text prints something else."""
    return collective.opcode + (" (inferred)" if collective.printed else "")


def inferred_text(collectives: Sequence[Collective]) -> str:
    """Why collectives are told as another kind than the text prints; "" where none is."""
    found = [item for item in collectives if item.printed]
    if not found:
        return ""
    first = found[0]
    return (
        f"Inferred: {counted(len(found), first.opcode)}. The text prints an {first.printed} in a "
        f"fusion that hands out each device's own part of it alone, as {first.instruction} calls "
        f"{first.fused}; bytes and times are those of a {first.opcode}."
    )


def runs_text(collective: Collective) -> str:
    """`48 times`, `at most 3 times`, or that it is not known."""
    runs = collective.executions
    if runs is None:
        return "not known how often"
    most = "at most " if collective.conditional else ""
    return f"{most}{counted(runs, 'time')}"


def sends_text(collective: Collective) -> str:
    """`48 x 2.0 MiB`: how often, and the bytes that one device sends each time."""
    runs = collective.executions
    times = "?" if runs is None else f"{runs:,}"
    if _only_receives(collective):
        return f"receives {times} x"
    return f"{times} x {size_text(collective.bytes)}"


def sent_text(collective: Collective) -> str:
    """`2.0 MiB`: what one device sends each time; a recv only takes what a send is counted for."""
    return "receives" if _only_receives(collective) else size_text(collective.bytes)


def _only_receives(collective: Collective) -> bool:
    return collective.opcode == "recv"


def total_text(collective: Collective) -> str:
    """The bytes that one device sends in a whole run: `at most 3.0 MiB`; "?" where not known.

    "" for what only receives.
    """
    if _only_receives(collective):
        return ""
    if collective.total_bytes is None:
        return "?"
    most = "at most " if collective.conditional else ""
    return f"{most}{size_text(collective.total_bytes)}"


def sum_text(collectives: Sequence[Collective]) -> str:
    """The bytes that one device sends through all of them in a run, as far as known; "" for none.

    `at most 94.5 MiB` where one of them stands in a branch, which may not be taken.
    """
    known = [item for item in collectives if item.total_bytes is not None]
    if not known:
        return ""
    most = "at most " if any(item.conditional for item in known) else ""
    return f"{most}{size_text(sum(item.total_bytes or 0 for item in known))}"


def line_text(collective: Collective) -> str:
    """The line a collective stands for and whether it is inferred; "" where none is known."""
    if collective.source is None:
        return ""
    inferred = collective.source_how not in (None, "stated", "earlier_text")
    return place_text(collective.source) + (" (inferred)" if inferred else "")


def of_the_program(report: Report, found: Sequence[_Part]) -> list[_Part]:
    """Those that are not in a small module, in the order given."""
    small = {module.id for module in report.modules if module.role == "helper"}
    return [each for each in found if each.module not in small]


def heaviest(collectives: Sequence[Collective]) -> list[Collective]:
    """Those that send most in a whole run first; where that is not known, by one execution."""
    return sorted(
        collectives,
        key=lambda item: -(item.bytes if item.total_bytes is None else item.total_bytes),
    )


def memory_text(report: Report, module: Module | None) -> str:
    """`3.2 GiB at the peak, fusion.4 (train.py:12)`; an estimate is said to be one."""
    if module is None:
        return ""
    known = (*report.memory, *report.memory_estimates)
    memory = next((each for each in known if each.module == module.id and each.peak), None)
    if memory is None or memory.peak is None:
        return ""
    peak = memory.peak
    parts = [f"{size_text(peak.bytes)} at the peak"]
    if peak.instruction:
        line = f" ({place_text(peak.source)})" if peak.source else ""
        parts.append(f"{peak.instruction}{line}")
    text = ", ".join(parts)
    if memory.estimate is None:
        return text
    reasons = "; ".join(("no buffer assignment in the dump", *memory.estimate.limits))
    return f"estimate: {text}; {reasons}"


def device_text(device: TargetDevice | None) -> str:
    """The device that times are estimated for with its figures, by where they come from."""
    if device is None:
        return ""
    parts = [
        f"{figures} ({words})"
        for standing, words in _STANDINGS
        if (figures := ", ".join(_figure_text(f) for f in device.figures if f.standing == standing))
    ]
    stand_in = " (a stand-in: the dump names none)" if device.standing == "assumed" else ""
    name = f"{device.name}{stand_in}"
    return f"{name}: {'; '.join(parts)}" if parts else name


def _figure_text(figure: DeviceFigure) -> str:
    value = figure.value
    match figure.name:
        case "cores":
            return f"{value:,.0f} cores"
        case "clock_hz":
            return f"{value / 1e9:.2f} GHz"
        case "memory_bytes":
            return f"{size_text(int(value))} of memory"
        case "memory_bandwidth":
            return f"{value / 1e12:.2f} TB/s"
        case "peak_flops":
            return f"{value / 1e12:,.0f} TFLOP/s"
        case "link_bandwidth":
            return f"{value / 1e9:,.0f} GB/s to others"


def sources_text(module: Module | None) -> str:
    """How many instructions of a module have a line of the program; "" where it was not counted.

    `98 % of 599 instructions lead to a line of the program, 37 % by inference; at first 97 %`
    """
    if module is None or not module.sources or not module.sources[-1].instructions:
        return ""
    last = module.sources[-1]
    known, inferred = _shares(last)
    text = f"{known} of {counted(last.instructions, 'instruction')} lead to a line of the program"
    if inferred:
        text += f", {inferred} by inference"
    first = module.sources[0]
    if first is last or not first.instructions:
        return text
    return f"{text}; at first {_shares(first)[0]}"


def _shares(coverage: SourceCoverage) -> tuple[str, str]:
    """The part of the instructions whose line is known, and that of those where it is inferred."""
    inferred = sum(coverage.inferred.values())
    known, by_inference = (
        f"{100 * count / coverage.instructions:.0f} %"
        for count in (coverage.stated + inferred, inferred)
    )
    return known, by_inference if inferred else ""
