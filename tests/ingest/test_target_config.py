"""What a description of the device says, and what of it reaches the report."""

import pytest

from app.analysis.cost_model import described_device, device_of
from app.ingest.target_config import read_target_config
from app.model.dump import TargetConfig
from ingest.archives import HLO, load, tar_of

TEXT = """gpu_device_info {
  core_count: 108
  fpus_per_core: 64
  memory_bandwidth: 2000000000000
  clock_rate_ghz: 1.41
  device_memory_size: 42949672960
  name: "A card"
}
runtime_version {
  major: 12
}
device_description_str: "A card of ours"
"""
FINAL = "d/module_0001.jit_f.sm_8.0_gpu_after_optimizations.txt"
OTHER = "d/module_0001.jit_f.sm_99.0_gpu_after_optimizations.txt"
CONFIG = "d/module_0001.jit_f.gpu_target_config.pbtxt"


def test_figures_are_read() -> None:
    assert read_target_config(TEXT, file="t") == TargetConfig(
        "t", "A card of ours", 108, 64, 1.41e9, 2e12, 42949672960
    )


@pytest.mark.parametrize(
    "text", ["", "platform: 1", "core_count: -4", "core_count: x", f"core_count: {'9' * 90}"]
)
def test_what_says_nothing_is_none(text: str) -> None:
    assert read_target_config(text, file="t") is None


def test_what_a_file_states_goes_before_the_data_sheet() -> None:
    text = TEXT.replace("2000000000000", "1555000000000")
    (history,) = load(tar_of({FINAL: HLO.encode(), CONFIG: text.encode()})).modules
    device = device_of(history, "GPU")
    assert device is not None
    assert (device.name, device.memory_bandwidth) == ("A card of ours", 1.555e12)
    assert (device.peak_flops, device.is_assumed) == (312e12, False)
    described = described_device(history, "GPU")
    assert described is not None
    assert (described.standing, described.origin) == ("stated", CONFIG)
    assert {figure.name: figure.standing for figure in described.figures} == {
        "cores": "stated",
        "clock_hz": "stated",
        "memory_bytes": "stated",
        "memory_bandwidth": "stated",
        "peak_flops": "inferred",
        "link_bandwidth": "inferred",
    }


@pytest.mark.parametrize(("file", "standing"), [(FINAL, "inferred"), (OTHER, "assumed")])
def test_without_a_file_nothing_is_stated(file: str, standing: str) -> None:
    (history,) = load(tar_of({file: HLO.encode()})).modules
    described = described_device(history, "GPU")
    assert described is not None
    assert described.standing == standing
    assert {figure.standing for figure in described.figures} == {standing}
    assert described_device(history, None) is None or standing == "inferred"
