"""Compiles one module once, in a process of its own with limits.

Given a toolchain, a subject and flags; gives an `Attempt`, whose outcome is named in `outcome.py`.
Nothing is cached and nothing is tried twice here.
"""

import json
import os
import re
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from app.errors import NotFound
from app.ingest.flags import quoted
from app.knowledge.flag_spellings import spelt_for
from app.knowledge.flags import flag_known_in
from app.replay.outcome import Attempt, Ended, judge
from app.replay.subject import Subject
from app.replay.toolchains import Toolchain
from app.sandbox import Limits, run_child

# Among the flags that were not given: the dump's own description of its GPU.
OWN_TARGET = "gpu_target_config.pbtxt"
# Flags of places on the machine of the original run. A dump may say anything: here they would name
# what its author wants to be read or written. `xla_run_hlo_passes_starting_from` names a pass.
_PLACE = re.compile(
    r"xla_dump_\w*|\w*_(?:dir|directory_path|file|filename|to|denylist_path|table_path)"
    r"|\w*(?<!_starting)_from"
)
_NAME = re.compile(r"[A-Za-z0-9_]+")
_SCRIPT = "compile_with_jax.py"
_TARGET = "app.replay.starting:start"
_MOST_LOG_BYTES = 1 << 20
_LOOK_S = 0.5
# Flags that its own library reads, from a variable of its own.
_OF_LIBTPU = ("--xla_tpu_", "--xla_jf_", "--xla_sc_", "--xla_vf_", "--xla_msa_")


@dataclass(frozen=True, slots=True)
class Budget:
    """What one compile may use; `memory_bytes` is address space, and XLA takes much of it.

    `file_bytes` are those of one file, `disk_bytes` those of all that it writes.
    """

    wall_s: int = 300
    memory_bytes: int = 32 << 30
    file_bytes: int = 2 << 30
    disk_bytes: int = 4 << 30

    @property
    def limits(self) -> Limits:
        """As the sandbox takes them; a compile may keep two processors busy all the time."""
        return Limits(
            memory_bytes=self.memory_bytes,
            cpu_s=2 * self.wall_s,
            wall_s=self.wall_s,
            file_bytes=self.file_bytes,
            open_files=1024,
        )


def compile_once(
    tool: Toolchain,
    subject: Subject,
    flags: Mapping[str, str],
    *,
    budget: Budget,
    signature: str = "",
    keep: Path | None = None,
) -> Attempt:
    """Compile `subject` with `flags` (names without dashes) and say what became of it.

    Args:
        tool: the release to compile with.
        subject: the module, its counts and its target.
        flags: as the user's run had them; those that name places are left out.
        budget: the limits of the process.
        signature: that of the failure looked for; empty: any failure is `another failure`.
        keep: a folder that takes the log, and XLA's dump of every pass.

    Raises:
        NotFound: the module is for TPUs, and the toolchain has no library for them.
    """
    if subject.backend == "TPU" and not tool.has_tpu:
        raise NotFound(
            f"jaxlib {tool.release} is installed without libtpu",
            next_step=f"hloscope replay --install {tool.release} --tpu",
            code="toolchain",
        )
    known, dropped = flags_for(tool.release, flags)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hloscope-replay-") as scratch:
        folder = Path(scratch)
        ended = _run(tool, subject, known, budget=budget, folder=folder, keep=keep)
    seconds = time.monotonic() - began
    if ended.result.get("is_usual"):
        dropped = (*dropped, OWN_TARGET)
    kind, found, words = judge(ended, signature)
    return Attempt(kind, found, words, round(seconds, 2), dropped)


def flags_for(release: str, flags: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The flags that `release` knows, as it spells them; and the names of unknown ones.

    Flags of places are left out.
    """
    own = dict(
        spelt_for(release, name, value)
        for name, value in flags.items()
        if not _PLACE.fullmatch(name)
    )
    dropped = tuple(
        name for name in own if not _NAME.fullmatch(name) or flag_known_in(name, release) is False
    )
    return {name: value for name, value in own.items() if name not in dropped}, dropped


def flag_words(flags: Mapping[str, str]) -> tuple[str, ...]:
    """The flags as XLA_FLAGS takes them, in order."""
    return tuple(f"--{name}={value}" for name, value in flags.items())


def _run(
    tool: Toolchain,
    subject: Subject,
    flags: Mapping[str, str],
    *,
    budget: Budget,
    folder: Path,
    keep: Path | None,
) -> Ended:
    module, result, log = folder / "module", folder / "result.json", folder / "log"
    module.write_bytes(subject.data)
    orders = {
        "module": str(module),
        "form": subject.form,
        "replicas": subject.replicas,
        "partitions": subject.partitions,
        "backend": subject.backend,
        "target": _target(tool, subject),
        "usual_target": _usual_target(tool) if subject.target_name else "",
        "result": str(result),
    }
    (folder / "orders.json").write_text(json.dumps(orders), "utf-8")
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        log = keep.absolute() / "replay.log"
    disk = _Disk([folder] if keep is None else [folder, keep], budget.disk_bytes)
    with as_file(files("app.replay").joinpath(_SCRIPT)) as script:
        outcome = run_child(
            _TARGET,
            {
                "command": [str(tool.python), str(script), str(folder / "orders.json")],
                "environ": _environ(tool, subject, flags, folder, keep),
                "log": str(log),
            },
            limits=budget.limits,
            folder=folder,
            tick=disk.look,
            cancelled=disk.is_full,
        )
    said = _tail(log) + outcome.log
    return Ended(outcome.ending, _written(result), said, outcome.signal)


class _Disk:
    """Looks now and then at what a compile has written, and says when that is too much."""

    def __init__(self, folders: Sequence[Path], most_bytes: int) -> None:
        self.is_full = threading.Event()
        self._folders = folders
        self._most_bytes = most_bytes
        self._look_at = 0.0

    def look(self) -> None:
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + _LOOK_S
        if sum(_bytes_below(folder) for folder in self._folders) > self._most_bytes:
            self.is_full.set()


def _bytes_below(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except OSError:
                continue  # gone since it was listed
    return total


def _written(result: Path) -> dict[str, Any]:
    try:
        return json.loads(result.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}  # its process ended before it, or in the middle of it


def _tail(log: Path) -> str:
    if not log.exists():
        return ""
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _MOST_LOG_BYTES, 0))
        return file.read(_MOST_LOG_BYTES).decode("utf-8", "backslashreplace")


def _target(tool: Toolchain, subject: Subject) -> str:
    """What devices are described: by a target config, or for TPUs the name of a topology.

    Nothing where the stand-in shows devices.
    """
    if subject.backend == "TPU":
        return subject.target.strip() or slice_of(subject.devices)
    if subject.backend != "GPU" or tool.adapter.needs_driver:
        return ""
    return _readable(tool, subject.target) if subject.target else _usual_target(tool)


def _usual_target(tool: Toolchain) -> str:
    return _readable(tool, files("app.replay").joinpath("h100.pbtxt").read_text("utf-8"))


def _readable(tool: Toolchain, text: str) -> str:
    if tool.adapter.takes_runtime_version:
        return text
    # The parser of these releases refuses a field that it does not know.
    return "\n".join(line for line in text.split("\n") if not line.startswith("runtime_version"))


def slice_of(devices: int) -> str:
    """The smallest slice of v5e chips that has so many; libtpu describes none below 2x2."""
    rows = columns = 2
    while rows * columns < devices:
        rows, columns = (rows, columns * 2) if columns <= rows else (rows * 2, columns)
    return f"v5e:{rows}x{columns}"


def _environ(
    tool: Toolchain, subject: Subject, flags: Mapping[str, str], folder: Path, keep: Path | None
) -> dict[str, str]:
    words = [
        f"--{name}={quoted(value)}"
        for name, value in flags.items()
        # A dump states all flags, and those of GPUs may have values that another release refuses.
        if subject.backend != "TPU" or not name.startswith("xla_gpu_")
    ]
    if tool.ptxas is not None:
        words.append(f"--xla_gpu_cuda_data_dir={tool.ptxas}")
    if subject.backend == "CPU":
        words.append(f"--xla_force_host_platform_device_count={subject.devices}")
    own = [w for w in words if w.startswith(_OF_LIBTPU)] if subject.backend == "TPU" else []
    words = [word for word in words if word not in own]
    if keep is not None:
        words += [f"--xla_dump_to={keep.absolute() / 'dump'}", "--xla_dump_hlo_pass_re=.*"]
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "JAX_PLATFORMS": "cpu",
        "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
        "XLA_FLAGS": " ".join(words),
    }
    if subject.backend == "TPU":
        # libtpu asks a machine's metadata server what it runs on unless all of this is said.
        environ |= {
            "LIBTPU_INIT_ARGS": " ".join(own),
            "TPU_SKIP_MDS_QUERY": "1",
            "TPU_ACCELERATOR_TYPE": f"v5litepod-{subject.devices}",
            "TPU_WORKER_HOSTNAMES": "localhost",
            "TPU_WORKER_ID": "0",
        }
    if tool.driver is not None and subject.backend == "GPU":
        environ["LD_LIBRARY_PATH"] = str(tool.driver)
        environ["HLOSCOPE_DEVICES"] = str(subject.devices)
    return environ
