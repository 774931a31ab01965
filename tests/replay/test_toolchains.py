"""Which release gets which adapter, what is installed, and the stand-in driver."""

import ctypes
import shutil
from pathlib import Path

import pytest

from app.errors import NotFound, ToolchainFault, UsageError
from app.replay import stand_in
from app.replay.stand_in import build_driver
from app.replay.toolchains import Adapter, adapter_of, installed, packages_of, toolchain

needs_compiler = pytest.mark.skipif(
    shutil.which("cc") is None, reason="builds the stand-in driver: there is no C compiler"
)


@pytest.mark.parametrize(
    ("release", "adapter"),
    [
        ("0.4.28", Adapter(needs_driver=True, takes_runtime_version=False)),
        ("0.4.33", Adapter(needs_driver=True, takes_runtime_version=False)),
        ("0.4.34", Adapter(needs_driver=False, takes_runtime_version=False)),
        ("0.5.3", Adapter(needs_driver=False, takes_runtime_version=False)),
        ("0.10.2", Adapter(needs_driver=False, takes_runtime_version=True)),
        ("0.12.0", Adapter(needs_driver=False, takes_runtime_version=True, python=(3, 12))),
    ],
)
def test_each_range_has_its_adapter(release: str, adapter: Adapter) -> None:
    assert adapter_of(release) == adapter


@pytest.mark.parametrize("release", ["0.4.27", "0.4.99", "1; rm", ""])
def test_what_cannot_be_replayed_is_refused(release: str) -> None:
    with pytest.raises(UsageError):
        adapter_of(release)


def test_packages_are_of_the_release() -> None:
    assert packages_of("0.4.30")[:2] == ("jax==0.4.30", "jaxlib==0.4.30")
    assert "numpy<2" in packages_of("0.4.30")
    assert "numpy<2" not in packages_of("0.4.31")


def test_only_whole_installations_count(tmp_path: Path) -> None:
    for release, files in (("0.4.30", ["ready"]), ("0.4.9", ["ready"]), ("0.5.0", [])):
        folder = tmp_path / "toolchains" / release
        folder.mkdir(parents=True)
        for name in files:
            (folder / name).touch()
    assert installed(tmp_path) == ("0.4.9", "0.4.30")
    with pytest.raises(NotFound, match=r"--install 0\.5\.0"):
        toolchain(tmp_path, "0.5.0")


@needs_compiler
def test_the_stand_in_shows_devices_of_an_h100(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = ctypes.CDLL(str(build_driver(tmp_path) / "libcuda.so.1"))
    monkeypatch.setenv("HLOSCOPE_DEVICES", "3")
    number = ctypes.c_int()
    assert driver.cuInit(0) == 0
    assert driver.cuDeviceGetCount(ctypes.byref(number)) == 0
    assert number.value == 3
    assert driver.cuDeviceGet(ctypes.byref(number), 3) != 0
    assert driver.cuDeviceGetAttribute(ctypes.byref(number), 75, 0) == 0
    assert number.value == 9
    name = ctypes.create_string_buffer(8)
    assert driver.cuDeviceGetName(name, 8, 0) == 0
    assert name.value == b"NVIDIA "
    entry = ctypes.c_void_p()
    assert driver.cuGetProcAddress(b"cuMemAlloc", ctypes.byref(entry), 12040, 0) == 0
    assert driver.cuGetProcAddress(b"cuLaunchKernel", ctypes.byref(entry), 12040, 0) != 0


@needs_compiler
def test_the_stand_in_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = build_driver(tmp_path)
    monkeypatch.setattr(stand_in.shutil, "which", lambda _: None)
    assert build_driver(tmp_path) == folder


def test_without_a_compiler_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stand_in.shutil, "which", lambda _: None)
    with pytest.raises(ToolchainFault, match="no C compiler"):
        build_driver(tmp_path)


def test_the_library_for_tpus_is_installed_only_when_asked_for() -> None:
    assert not any("tpu" in name for name in packages_of("0.10.2"))
    assert packages_of("0.10.2", tpu=True)[-1] == "jax[tpu]==0.10.2"
