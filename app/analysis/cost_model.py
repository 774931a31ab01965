"""How long work takes on a device, by its published peaks: the one place for such numbers.

A roofline: an instruction takes as long as its operations at the peak rate or its bytes at the
bandwidth of memory, whichever is longer, and a start-up time; a collective its bytes at the
bandwidth of one device's links, and a start-up time. No kernel reaches these peaks, so times are
low, those of computation more than those of collectives. Good for telling hidden from exposed, not
for predicting a step's time. The peaks are those of dense bf16 products; f32 products run slower.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from app.model.dump import ModuleHistory


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
    """The device that a module was compiled for, a stand-in of the backend, None for none known."""
    for dump in reversed(history.dumps):
        found = _CAPABILITY.fullmatch(dump.name.point)
        if found is not None and found.group(1) in _BY_CAPABILITY:
            return _BY_CAPABILITY[found.group(1)]
    return None if backend is None else _DEFAULTS.get(backend)
