"""An environment of its own per jaxlib release: which can be had, which are there, what each needs.

A toolchain is a folder with a Python, jax, jaxlib and, for GPUs, XLA's CUDA plugin and ptxas.
Nothing is installed but by `install`, which a user has to ask for. No module is compiled here.
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from app.errors import NotFound, ToolchainFault, UsageError
from app.knowledge.releases import PUBLISHED, release_key
from app.replay.stand_in import build_driver

_FIRST_GPU = "0.4.28"
_FIRST_DEVICELESS = "0.4.34"
_FIRST_WITH_RUNTIME_VERSION = "0.6.0"
_FIRST_FOR_NEWER_PYTHON = "0.11.0"
_FIRST_FOR_NUMPY_2 = "0.4.31"
_READY = "ready"
_LIBTPU = "lib/python*/site-packages/libtpu"
_NVCC = "lib/python*/site-packages/nvidia/cuda_nvcc"
# Measured: what an environment takes on disk, most of it XLA's plugin and ptxas.
GIGABYTES = 1.0
# libtpu, and scipy for the Python packages of jax that it comes with.
TPU_GIGABYTES = 0.9
_INSTALL_TIMEOUT_S = 1800


@dataclass(frozen=True, slots=True)
class Adapter:
    """How a range of releases is brought to compile for GPUs that are not there.

    `needs_driver`: the plugin wants to see devices, which the stand-in driver shows;
    `takes_runtime_version`: a target config may name the CUDA runtime; `python` is the oldest
    Python that has packages of these releases.
    """

    needs_driver: bool
    takes_runtime_version: bool
    python: tuple[int, int] = (3, 11)


@dataclass(frozen=True, slots=True)
class Toolchain:
    """One installed release. `python` is its interpreter, `driver` the folder of the stand-in."""

    release: str
    python: Path
    adapter: Adapter
    driver: Path | None = None
    ptxas: Path | None = None
    has_tpu: bool = False


def adapter_of(release: str) -> Adapter:
    """The adapter of a release.

    Raises:
        UsageError: no such release is known, or it is older than what can be replayed.
    """
    if release not in PUBLISHED:
        raise UsageError(
            "no known jaxlib release", place=release, next_step="Give one such as 0.4.30."
        )
    key = release_key(release)
    if key < release_key(_FIRST_GPU):
        raise UsageError(
            f"releases before {_FIRST_GPU} cannot be replayed",
            place=release,
            next_step="Give a newer one.",
        )
    return Adapter(
        needs_driver=key < release_key(_FIRST_DEVICELESS),
        takes_runtime_version=key >= release_key(_FIRST_WITH_RUNTIME_VERSION),
        python=(3, 12) if key >= release_key(_FIRST_FOR_NEWER_PYTHON) else (3, 11),
    )


def packages_of(release: str, *, tpu: bool = False) -> tuple[str, ...]:
    """What is installed for a release, as pip takes it; with `tpu` XLA's library for TPUs, too."""
    key = release_key(release)
    numpy = ("numpy<2",) if key < release_key(_FIRST_FOR_NUMPY_2) else ()
    # Older plugins know no newer ptxas than their own toolkit's.
    nvcc = "==12.3.107" if key < release_key(_FIRST_DEVICELESS) else ">=12.6"
    own = ("jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt")
    packages = (*(f"{name}=={release}" for name in own), *numpy, f"nvidia-cuda-nvcc-cu12{nvcc}")
    return (*packages, f"jax[tpu]=={release}") if tpu else packages


def installed(root: Path) -> tuple[str, ...]:
    """The releases that have a toolchain under `root`, oldest first."""
    found = [marker.parent.name for marker in root.glob(f"toolchains/*/{_READY}")]
    return tuple(sorted(found, key=release_key))


def toolchain(root: Path, release: str) -> Toolchain:
    """The toolchain of a release.

    Raises:
        NotFound: it is not installed.
        UsageError: as `adapter_of`.
        ToolchainFault: the stand-in driver cannot be built.
    """
    adapter = adapter_of(release)
    folder = _folder(root, release)
    if not (folder / _READY).exists():
        raise NotFound(
            f"jaxlib {release} is not installed for replays",
            next_step=f"hloscope replay --install {release}",
            code="toolchain",
        )
    ptxas = next(folder.glob(_NVCC), None)
    driver = build_driver(root / "driver") if adapter.needs_driver else None
    has_tpu = any(folder.glob(_LIBTPU))
    return Toolchain(release, folder / "bin" / "python", adapter, driver, ptxas, has_tpu)


def install(root: Path, release: str, *, tpu: bool = False) -> Toolchain:
    """Make the toolchain of a release anew, with uv where there is one, else with pip.

    Raises:
        UsageError: as `adapter_of`.
        ToolchainFault: no Python that it needs, or the packages cannot be installed.
    """
    adapter = adapter_of(release)
    folder = _folder(root, release)
    python = _find_python(adapter.python)
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    _call([python, "-m", "venv", str(folder)], release)
    inner = str(folder / "bin" / "python")
    uv = shutil.which("uv")
    tool = [uv, "pip", "install", "--python", inner] if uv else [inner, "-m", "pip", "install"]
    _call([*tool, "--quiet", "--only-binary", ":all:", *packages_of(release, tpu=tpu)], release)
    for nvcc in folder.glob(_NVCC):
        # jax of 0.4.34 to 0.5 asks for the file of this package, which newer wheels do not have.
        (nvcc / "__init__.py").touch()
    (folder / _READY).write_text("\n".join(packages_of(release, tpu=tpu)) + "\n", "utf-8")
    return toolchain(root, release)


def _folder(root: Path, release: str) -> Path:
    return root / "toolchains" / release


def _find_python(oldest: tuple[int, int]) -> str:
    """A Python that old releases have packages for: the oldest that will do is tried first."""
    for minor in range(oldest[1], oldest[1] + 2):
        if sys.version_info[:2] == (3, minor):
            return sys.executable
        if found := shutil.which(f"python3.{minor}"):
            return found
    raise ToolchainFault(
        f"no Python {oldest[0]}.{oldest[1]} is here, which that release needs",
        next_step="Install it and see that it is on PATH.",
    )


def _call(command: list[str], release: str) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_INSTALL_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainFault(f"the installation did not end: {error}", place=release) from error
    if done.returncode:
        last = (done.stderr or done.stdout).strip().split("\n")[-3:]
        raise ToolchainFault(
            f"the packages cannot be installed: {' '.join(last)}",
            place=release,
            next_step="Where the package index has no such release, choose another.",
        )
