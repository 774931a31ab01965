"""What a bundle costs: its size against the text, and the time to write it and to read one text.

Takes archives as arguments, by default the largest sample. Times are of this machine; nothing is
judged here.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec

from app.bundle import Bundle, write_bundle
from app.ingest import load_dump
from app.model.report import Report, Tool
from app.settings import Settings

SAMPLE = Path(__file__).resolve().parents[2] / "sample_dumps" / "fsdp_pipelined" / "dump.tar.zst"
READS = 30

P = ParamSpec("P")


def main(archives: list[Path]) -> None:
    """Print one block of figures for each archive."""
    for archive in archives:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{archive.name if archive != SAMPLE else archive.parent.name}")
            for name, value in figures(archive, Path(folder) / "bundle").items():
                print(f"  {name:28} {value}")


def figures(archive: Path, path: Path) -> dict[str, str]:
    """Measure one archive; the bundle is written to `path`."""
    contents = load_dump(archive, settings=Settings())
    report = Report(tool=Tool(name="hloscope", version=""), input=contents.input)
    writing = seconds(write_bundle, path, report, contents)
    raw = sum(dump.byte_size for module in contents.modules for dump in module.dumps)
    size = path.stat().st_size
    opening = seconds(lambda: Bundle.open(path).close())
    with Bundle.open(path) as bundle:
        dumps = [(module.id, dump.index) for module in bundle.modules() for dump in module.dumps]
    some = random.Random(1).sample(dumps, min(READS, len(dumps)))
    first, again, parsing = list[float](), list[float](), list[float]()
    for module_id, index in some:
        with Bundle.open(path) as bundle:
            first.append(seconds(bundle.dump_bytes, module_id, index))
            again.append(seconds(bundle.dump_bytes, module_id, index))
            parsing.append(seconds(bundle.parse, module_id, index))
    return {
        "text": f"{raw / 1e6:.2f} MB in {len(dumps)} dumps",
        "bundle": f"{size / 1e3:.0f} kB, 1 : {raw / size:.0f}",
        "write": f"{writing * 1e3:.0f} ms",
        "open": f"{opening * 1e3:.1f} ms",
        "read a text, just opened": spread(first),
        "read it again": spread(again),
        "parse it, nothing shared": spread(parsing),
    }


def seconds(action: Callable[P, object], *values: P.args, **named: P.kwargs) -> float:
    """How long it takes to call `action` with the values."""
    before = time.perf_counter()
    action(*values, **named)
    return time.perf_counter() - before


def spread(times: list[float]) -> str:
    """Mean and worst."""
    return f"{sum(times) / len(times) * 1e3:.1f} ms, worst {max(times) * 1e3:.1f} ms"


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or [SAMPLE])
