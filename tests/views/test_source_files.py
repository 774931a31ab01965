"""Finding the file that a dump names among those that came with it."""

import pytest

from app.views.source_files import matching_file

NAMES = ["train.py", "src/train.py", "src/model/layers.py", "other/layers.py"]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("/home/me/src/train.py", 1),
        ("/work/train.py", None),
        ("train.py", None),
        ("/home/me/model/layers.py", 2),
        ("C:\\job\\other\\layers.py", 3),
        ("/home/me/layers.py", None),
        ("/home/me/nothing.py", None),
        ("", None),
    ],
)
def test_the_longest_common_end_decides(file: str, expected: int | None) -> None:
    assert matching_file(file, NAMES) == expected


def test_a_lone_name_is_enough() -> None:
    assert matching_file("/deep/in/train.py", ["x/train.py"]) == 0
