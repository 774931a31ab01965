"""The command line before argparse reads it."""

import pytest

from app.cli.arguments import with_flags_attached
from app.cli.main import main


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


@pytest.mark.parametrize("value", ["abc", "0", "-1", "nan", "inf"])
@pytest.mark.parametrize("words", ["run --timeout", "replay --budget"])
def test_a_time_that_is_none_is_told(
    words: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, option = words.split()
    with pytest.raises(SystemExit) as ended:
        main([command, f"{option}={value}", "x"])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert f"argument {option}: must be a number of seconds, more than 0" in told
