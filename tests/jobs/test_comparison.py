from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.jobs.comparison import compare_in_child
from app.settings import Settings
from app.store import Problem, Store

HERE = Path(__file__).parent
SETTINGS = Settings(job_cpu_s=1, job_timeout_s=20, job_memory_bytes=512 << 20)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "data") as opened:
        yield opened


def compare(store: Store, module_id: str, settings: Settings = SETTINGS) -> bytes | Problem:
    return compare_in_child(
        store,
        settings,
        Path("bundle"),
        module_id=module_id,
        texts=(0, 1),
        target="child_targets:compare",
        paths=[HERE],
    )


def test_the_answer_comes_back_and_nothing_is_left(store: Store) -> None:
    assert compare(store, "fine") == b'"fine"'
    assert list((store.folder / "work").iterdir()) == []


@pytest.mark.parametrize(("module_id", "code"), [("hog", "memory"), ("spin", "cpu_time")])
def test_a_text_that_takes_too_much_is_told(store: Store, module_id: str, code: str) -> None:
    problem = compare(store, module_id, replace(SETTINGS, job_cpu_s=1))
    assert isinstance(problem, Problem)
    assert problem.code == code


def test_a_child_that_is_lost_once_is_nobodys_matter(store: Store, tmp_path: Path) -> None:
    marker = tmp_path / "was lost"
    assert compare(store, f"lose once: {marker}") == b'"lose once"'
    assert marker.exists()


def test_a_child_that_is_lost_again_is_told_with_what_to_do(store: Store) -> None:
    problem = compare(store, "kill its server")
    assert isinstance(problem, Problem)
    assert (problem.code, problem.where) == ("worker_lost", "kill its server")
    assert problem.hint.startswith("Ask again")
    assert list((store.folder / "work").iterdir()) == []


def test_a_bundle_that_is_not_there_is_told(store: Store) -> None:
    problem = compare_in_child(
        store,
        replace(SETTINGS, job_cpu_s=20),
        store.folder / "nothing",
        module_id="m",
        texts=(0, 1),
    )
    assert isinstance(problem, Problem)
    assert problem.code == "not_found"
