"""A toolchain without jaxlib: its Python is a script that answers by the flags it is given."""

import json
import sys
from pathlib import Path

from app.replay.toolchains import Adapter, Toolchain

CHECK = (
    "2024-07-01 12:57:35.488299: F external/xla/xla/service/collective_pipeliner.cc:675] "
    "Check failed: last_cloned != nullptr (0 vs. nullptr)"
)
OTHER = (
    "2024-07-01 12:57:35.488299: F external/xla/xla/service/hlo_verifier.cc:12] "
    "Check failed: is_sound (0 vs. 1)"
)

_SCRIPT = """#!{python}
import json, os, pathlib, sys
flags = dict(w.lstrip('-').split('=', 1) for w in os.environ['XLA_FLAGS'].split())
orders = json.loads(pathlib.Path(sys.argv[2]).read_text())
text = pathlib.Path(orders['module']).read_text()
{answers}
pathlib.Path(orders['result']).write_text(json.dumps({{'stage': 'done'}}))
"""


def make_toolchain(folder: Path, answers: str, release: str = "0.4.30") -> Toolchain:
    """A toolchain whose compiler runs `answers` with `flags` and `text`, then says `done`."""
    script = folder / "python"
    script.write_text(_SCRIPT.format(python=sys.executable, answers=answers))
    script.chmod(0o700)
    return Toolchain(release, script, Adapter(needs_driver=False, takes_runtime_version=False))


def dies(message: str) -> str:
    """Code that prints `message` and dies as XLA does."""
    return f"print({json.dumps(message)}, file=sys.stderr, flush=True); os.abort()"
