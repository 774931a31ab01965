"""Meshes, axes, runs and devices in words, told alike in the terminal, on the page and in Markdown.

Takes values of a report whose texts are legible; what is inferred or assumed is said to be so.
"""

from collections.abc import Sequence

from app.model.mesh import Mesh
from app.model.report import Collective
from app.report.wording import counted, cut_list, size_text

_MOST_MESHES = 3


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
    return f"{times} x {size_text(collective.bytes)}"


def total_text(collective: Collective) -> str:
    """The bytes that one device sends in a whole run: `at most 3.0 MiB`; "?" where not known."""
    if collective.total_bytes is None:
        return "?"
    most = "at most " if collective.conditional else ""
    return f"{most}{size_text(collective.total_bytes)}"


def heaviest(collectives: Sequence[Collective]) -> list[Collective]:
    """Those that send most in a whole run first; where that is not known, by one execution."""
    return sorted(
        collectives,
        key=lambda item: -(item.bytes if item.total_bytes is None else item.total_bytes),
    )
