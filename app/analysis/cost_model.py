"""How long work takes on a device, by its published peaks: the one place for such numbers.

A roofline: an instruction takes as long as its operations at the peak rate or its bytes at the
bandwidth of memory, whichever is longer, and a start-up time; a collective its bytes at the
bandwidth of one device's links, and a start-up time. No kernel reaches these peaks, so times are
low, those of computation more than those of collectives. Good for telling hidden from exposed, not
for predicting a step's time. The peaks are those of dense bf16 products; f32 products run slower.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from app.model.device import DeviceFigure, FigureName, Standing, TargetDevice
from app.model.dump import ModuleHistory, TargetConfig


@dataclass(frozen=True, slots=True)
class Device:
    """One kind of device: operations and bytes a second, seconds to begin something.

    `link_bandwidth` is what one device sends to others of its host or slice, in one direction.
    `is_assumed` says that the dump does not name the device and this is a stand-in of its backend.
    """

    name: str
    peak_flops: float
    memory_bandwidth: float
    link_bandwidth: float
    launch: float
    collective_launch: float
    is_assumed: bool = False

    def compute_seconds(self, flops: int, touched: int) -> float:
        """Of one instruction that does `flops` operations and reads and writes `touched` bytes."""
        busy = max(flops / self.peak_flops, touched / self.memory_bandwidth)
        return busy + self.launch if busy else 0.0

    def collective_seconds(self, sent: int) -> float:
        """Of one collective in which a device sends `sent` bytes."""
        return sent / self.link_bandwidth + self.collective_launch if sent else 0.0


def _gpu(name: str, peak: float, memory: float, link: float, *, assumed: bool = False) -> Device:
    return Device(
        name=name,
        peak_flops=peak * 1e12,
        memory_bandwidth=memory * 1e12,
        link_bandwidth=link * 1e9,
        launch=2e-6,
        collective_launch=1e-5,
        is_assumed=assumed,
    )


# By compute capability, which the name of the final text holds: the data centre's card of that
# generation. Vendor data sheets: bf16 (fp16 for 7.0) without sparsity, memory, NVLink one way
# (PCIe where there is none).
_BY_CAPABILITY: Mapping[str, Device] = {
    "7.0": _gpu("V100", 125, 0.9, 150),
    "7.5": _gpu("T4", 65, 0.32, 16),
    "8.0": _gpu("A100", 312, 2.0, 300),
    "8.6": _gpu("A10", 125, 0.6, 32),
    "8.9": _gpu("L40S", 362, 0.86, 32),
    "9.0": _gpu("H100", 989, 3.35, 450),
    "10.0": _gpu("B200", 2250, 8.0, 900),
}
_DEFAULTS: Mapping[str, Device] = {
    "GPU": _gpu("H100", 989, 3.35, 450, assumed=True),
    "TPU": Device("TPU v5e", 197e12, 819e9, 100e9, 0.0, 1e-6, is_assumed=True),
    "CPU": Device("CPU", 1e12, 100e9, 20e9, 0.0, 1e-5, is_assumed=True),
}
# `sm_9.0a_gpu_after_optimizations`; until 2024 without the letter.
_CAPABILITY = re.compile(r"sm_(\d{1,3}\.\d{1,2})[a-z]?_gpu_after_optimizations.*+")


def device_of(history: ModuleHistory, backend: str | None) -> Device | None:
    """The device that a module was compiled for, a stand-in of the backend, None for none known.

    What the dump's own description of the device says goes before the data sheet.
    """
    known = _by_capability(history)
    device = known or (None if backend is None else _DEFAULTS.get(backend))
    target = history.target
    if device is None or target is None:
        return device
    return replace(
        device,
        name=target.name or device.name,
        memory_bandwidth=target.memory_bandwidth or device.memory_bandwidth,
        is_assumed=known is None,
    )


def described_device(history: ModuleHistory, backend: str | None) -> TargetDevice | None:
    """The device of `device_of` for the report: each figure, and whether the dump states it."""
    device = device_of(history, backend)
    if device is None:
        return None
    target = history.target or TargetConfig(file="")
    sheet: tuple[Standing, str] = ("inferred", "data sheet for the compute capability")
    if device.is_assumed:
        sheet = ("assumed", f"stand-in for any {backend}")
    stated: tuple[Standing, str] = ("stated", target.file)
    bandwidth = stated if target.memory_bandwidth else sheet
    rows: tuple[tuple[FigureName, float | None, tuple[Standing, str]], ...] = (
        ("cores", target.cores, stated),
        ("clock_hz", target.clock_hz, stated),
        ("memory_bytes", target.memory_bytes, stated),
        ("memory_bandwidth", device.memory_bandwidth, bandwidth),
        ("peak_flops", device.peak_flops, sheet),
        ("link_bandwidth", device.link_bandwidth, sheet),
    )
    named = stated if target.name else sheet
    return TargetDevice(
        name=device.name,
        standing=named[0],
        origin=named[1],
        figures=tuple(
            DeviceFigure(name=name, value=float(value), standing=standing, origin=origin)
            for name, value, (standing, origin) in rows
            if value is not None
        ),
    )


def _by_capability(history: ModuleHistory) -> Device | None:
    for dump in reversed(history.dumps):
        found = _CAPABILITY.fullmatch(dump.name.point)
        if found is not None and found.group(1) in _BY_CAPABILITY:
            return _BY_CAPABILITY[found.group(1)]
    return None
