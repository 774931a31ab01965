"""The page of a module's memory tells why two figures of one peak differ."""

import msgspec
import pytest

from app.model.memory import Memory, MemoryPeak, StatedPeak
from app.report.memory import memory_page
from report import builders


@pytest.mark.parametrize(
    ("stated", "is_explained"), [(1 << 30, True), (4 << 30, True), (3 << 30, False), (None, False)]
)
def test_a_peak_that_xla_states_otherwise_is_explained(
    stated: int | None, *, is_explained: bool
) -> None:
    memory = Memory(
        module=builders.MODULE,
        dump=0,
        file="m-buffer-assignment.txt",
        total_bytes=8 << 30,
        peak=MemoryPeak(bytes=3 << 30, position=4, instruction="b"),
        stated_peak=StatedPeak(position=3, bytes=stated),
    )
    report = msgspec.structs.replace(builders.crash_report(), memory=(memory,))
    page = memory_page(report, here="/r/x")
    assert ("bytes that several values share counted several times" in page) is is_explained
    assert ("Peak as XLA states it" in page) is (stated is not None)
