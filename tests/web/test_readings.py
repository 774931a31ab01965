"""Readings are made once, kept for the last texts, and gone with their bundle."""

import gc
from pathlib import Path

from app.bundle import Bundle, write_bundle
from app.views.source_view import SourceReading
from app.web.readings import Readings
from bundle.contents import contents_of, module_text, report_of

ID = "module_0000.m"
TEXTS = [
    module_text("%p = f32[8]{0} parameter(0)", f"%r.{n} = f32[8]{{0}} add(%p, %p)")
    for n in range(3)
]


def test_the_last_readings_of_an_open_bundle_are_kept(tmp_path: Path) -> None:
    contents = contents_of({ID: TEXTS})
    write_bundle(tmp_path / "b", report_of(contents), contents)
    readings = Readings()
    made: list[int] = []

    def ask(bundle: Bundle, index: int) -> SourceReading:
        def read() -> SourceReading:
            made.append(index)
            return SourceReading([bundle.parse(ID, index)])

        return readings.of(bundle, (ID, index), read)

    with Bundle.open(tmp_path / "b") as bundle:
        first = ask(bundle, 0)
        assert ask(bundle, 0) is first
        ask(bundle, 1)
        assert ask(bundle, 0) is first
        ask(bundle, 2)
        ask(bundle, 1)
        assert made == [0, 1, 2, 1]
    del bundle
    gc.collect()
    with Bundle.open(tmp_path / "b") as again:
        ask(again, 2)
    assert made == [0, 1, 2, 1, 2]
