"""Runs XLA's own parser over texts and tells what that costs; for parse_bench.py.

    python jaxlib_child.py PACK

PACK holds texts, each behind a line with its length in bytes. Nothing but jaxlib is needed, of
any release since 0.4.30. Prints JSON lines: first the release and which texts are accepted, then,
for each line of numbers on standard input, the processor seconds of one run over those texts.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from pathlib import Path


def reader() -> Callable[[str], object]:
    """The parser, from where its release keeps it."""
    try:
        return import_module("jaxlib._hlo").hlo_module_from_text
    except ModuleNotFoundError:
        return import_module("jaxlib.xla_client")._xla.hlo_module_from_text


def unpacked(pack: bytes) -> Iterator[str]:
    """The texts of a pack."""
    position = 0
    while position < len(pack):
        start = pack.index(b"\n", position) + 1
        position = start + int(pack[position:start])
        yield pack[start:position].decode()


def main() -> int:
    """Answer until standard input ends."""
    read = reader()
    texts = list(unpacked(Path(sys.argv[1]).read_bytes()))
    # XLA's warnings are written from C++.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    accepted: list[int] = []
    for index, text in enumerate(texts):
        try:
            read(text)
        except (ValueError, RuntimeError):
            continue
        accepted.append(index)
    print(json.dumps([version("jaxlib"), accepted]), flush=True)
    gc.disable()
    for line in sys.stdin:
        chosen = [texts[int(word)] for word in line.split()]
        start = time.process_time()
        for text in chosen:
            read(text)
        print(json.dumps(time.process_time() - start), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
