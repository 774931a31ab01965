"""The lock files: complete, hashed, and silent about where packages come from."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ["requirements.lock", "requirements-test.lock", "requirements-scale.lock"]
REQUIREMENT = re.compile(r"([a-z0-9-]+)==[0-9][^ ]*(?: ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked_names(lock: str) -> set[str]:
    return set(REQUIREMENT.findall((ROOT / lock).read_text(encoding="utf-8")))


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_is_hashed_and_names_no_host(lock: str) -> None:
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    odd = [
        line
        for line in lines
        if not (line.startswith("# ") or REQUIREMENT.fullmatch(line) or HASH.fullmatch(line))
    ]
    assert odd == []
    assert not any("://" in line or "index" in line for line in lines)


def test_locks_hold_every_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    name = re.compile(r"[A-Za-z0-9._-]+")

    def names(requirements: list[str]) -> set[str]:
        return {canonical(found[0]) for item in requirements if (found := name.match(item))}

    runtime = names(project["project"]["dependencies"]) | names(project["build-system"]["requires"])
    assert runtime <= locked_names("requirements.lock")
    test = names(project["project"]["optional-dependencies"]["test"])
    assert runtime | test <= locked_names("requirements-test.lock")


def test_the_lock_of_the_image_takes_its_pins_from_the_tested_ones() -> None:
    scale, test = (
        (ROOT / lock).read_text(encoding="utf-8").splitlines() for lock in reversed(LOCKS[1:])
    )
    assert set(scale) <= set(test)


def test_test_lock_extends_the_runtime_lock() -> None:
    runtime, test = ((ROOT / lock).read_text(encoding="utf-8").splitlines() for lock in LOCKS[:2])
    pins = {line for line in runtime if REQUIREMENT.fullmatch(line)}
    assert pins <= set(test)
