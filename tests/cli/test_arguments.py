"""The command line before argparse reads it."""

import pytest

from app.cli.arguments import with_flags_attached


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("analyze d --flags --xla_a=1 --json -", "analyze d --flags=--xla_a=1 --json -"),
        ("compare a b --flags-a --xla_a=1", "compare a b --flags-a=--xla_a=1"),
        ("analyze d --flags @file", "analyze d --flags @file"),
        ("analyze d --flags --json -", "analyze d --flags --json -"),
        ("run -- p --flags --xla_a=1", "run -- p --flags --xla_a=1"),
        ("analyze --flags", "analyze --flags"),
    ],
)
def test_a_single_flag_is_the_value_of_its_option(words: str, expected: str) -> None:
    assert with_flags_attached(words.split()) == expected.split()


def test_a_value_of_several_flags_stays_one_word() -> None:
    assert with_flags_attached(["--flags", "--xla_a=1 --xla_b=2"]) == [
        "--flags=--xla_a=1 --xla_b=2"
    ]
