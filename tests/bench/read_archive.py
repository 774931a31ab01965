"""Reads the HLO texts of an archive, member by member, as a stream; its memory is the largest text.

Run as a script it prints the highest memory of doing so, in MiB.
"""

import gc
import sys
import tarfile
from contextlib import ExitStack
from pathlib import Path

from backports import zstd
from isal import igzip

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from hlo_parser import Interner, parse_module  # noqa: E402 -- the path is set above
from parser.dump_texts import is_hlo  # noqa: E402


def modules_of_archive(archive: Path) -> Interner:
    """Parse every HLO text of a .tar.gz or .tar.zst and drop it."""
    interner = Interner()
    with ExitStack() as stack:
        opened = zstd.open(archive, "rb") if archive.suffix == ".zst" else igzip.open(archive, "rb")
        stream = stack.enter_context(opened)
        members = stack.enter_context(tarfile.open(fileobj=stream, mode="r|"))  # pyright: ignore[reportArgumentType, reportCallIssue] -- isal types its reader as text
        for member in members:
            members.members.clear()
            content = members.extractfile(member)
            if content is not None and is_hlo(data := content.read()):
                parse_module(data, interner=interner)
    return interner


if __name__ == "__main__":
    gc.disable()
    modules_of_archive(Path(sys.argv[1]))
    # Not ru_maxrss: a child begins with its parent's.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    print(int(status.partition("VmHWM:")[2].split()[0]) // 1024)
