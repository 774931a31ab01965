"""Builds the stand-in for NVIDIA's driver from its C source with the machine's own compiler.

What it answers, and why it is needed, stands in `stand_in_driver.c`. It is built once per source
text into the folder given.
"""

import hashlib
import os
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

from app.errors import ToolchainFault

_LIBRARY = "libcuda.so.1"
_TIMEOUT_S = 120


def build_driver(root: Path) -> Path:
    """The folder that holds the library, for LD_LIBRARY_PATH.

    Raises:
        ToolchainFault: there is no C compiler, or it fails.
    """
    source = files("app.replay").joinpath("stand_in_driver.c").read_bytes()
    folder = root / hashlib.sha256(source).hexdigest()[:16]
    library = folder / _LIBRARY
    if library.exists():
        return folder
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise ToolchainFault(
            "no C compiler is here, which this release needs for the stand-in driver",
            next_step="Install one (Debian: gcc), or replay on 0.4.34 or newer.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"{_LIBRARY}.{os.getpid()}"
    command = [compiler, "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", str(made), "-ldl"]
    done = subprocess.run(
        command, input=source, capture_output=True, timeout=_TIMEOUT_S, check=False
    )
    if done.returncode:
        words = done.stderr.decode("utf-8", "backslashreplace").strip()[-500:]
        raise ToolchainFault(f"the stand-in driver cannot be built: {words}", place=compiler)
    made.replace(library)
    return folder
