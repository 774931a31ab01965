"""The device behind the estimates of a report, and where each of its figures comes from."""

from typing import Literal

from app.model.source import Struct

Standing = Literal["stated", "inferred", "assumed"]
FigureName = Literal[
    "cores", "clock_hz", "memory_bytes", "memory_bandwidth", "peak_flops", "link_bandwidth"
]


class DeviceFigure(Struct, frozen=True, kw_only=True):
    """One figure of a device in units of one a second, a byte or a piece.

    `standing`: `stated` by a file of the dump, `inferred` from what one names (a data sheet for its
    compute capability), `assumed` where nothing names the device. `origin` says it in words.
    """

    name: FigureName
    value: float
    standing: Standing
    origin: str


class TargetDevice(Struct, frozen=True, kw_only=True):
    """The device that the first module was compiled for, or a stand-in of its backend."""

    name: str
    standing: Standing
    origin: str
    figures: tuple[DeviceFigure, ...] = ()
