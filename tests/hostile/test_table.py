"""Every hostile input has its row, and every row names tests that are there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \| (tests/.+) \|$", re.MULTILINE)
COUNT = 97


def rows() -> list[tuple[int, str]]:
    """Number and tests of each row."""
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    return [(int(number), tests) for number, _, _, tests in ROW.findall(text)]


def collected_in(path: Path) -> set[str]:
    """What pytest collects in a file: `test_x`, `TestY::test_z`; nothing that is marked to skip."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) if name.startswith("test") and not is_skipped(node):
                found.add(name)
            case ast.ClassDef(name=name, body=body) if name.startswith("Test"):
                found.update(
                    f"{name}::{each.name}"
                    for each in body
                    if isinstance(each, ast.FunctionDef)
                    and each.name.startswith("test")
                    and not is_skipped(each)
                )
            case _:
                pass
    return found


def is_skipped(test: ast.FunctionDef) -> bool:
    marks = " ".join(ast.unparse(each) for each in test.decorator_list)
    return bool(re.search(r"mark\.(skip|xfail)", marks))


def test_all_rows_are_there_in_order() -> None:
    assert [number for number, _ in rows()] == list(range(1, COUNT + 1))


@pytest.mark.parametrize(("number", "tests"), rows())
def test_a_row_names_tests_that_are_collected(number: int, tests: str) -> None:
    for name in tests.split(", "):
        path, _, test = name.partition("::")
        assert (ROOT / path).name.startswith("test_"), (number, path)
        assert test in collected_in(ROOT / path), (number, name)


def test_a_test_that_is_not_there_would_be_noticed() -> None:
    assert "test_no_such_thing" not in collected_in(Path(__file__))
    assert "test_all_rows_are_there_in_order" in collected_in(Path(__file__))
