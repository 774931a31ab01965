"""Policies as text: what they may say, and how nonsense is refused."""

import pytest

from app.analysis.policy_file import Increase, Lines, read_policy
from app.errors import UsageError


def test_a_policy_says_limits_and_expectations() -> None:
    first, second, third = read_policy(
        """
        module = "jit_train*"

        [[check]]
        name = "two gathers a layer"
        measure = "collectives"
        opcode = "all-gather"
        loop = "train.py:55"
        max = 2

        [[check]]
        measure = "peak_memory"
        max = "12 GiB"
        max_increase = "5 %"

        [[check]]
        expect = "no_resharding"
        lines = ["train.py", "model.py:40-60"]
        module = "jit_eval"
        optional = true
        """,
        "p.toml",
    )
    assert (first.name, first.module, first.most) == ("two gathers a layer", "jit_train*", 2.0)
    assert (second.name, second.most) == ("peak memory", 12 * 2**30)
    assert second.increase == Increase(part=0.05)
    assert second.needs_baseline
    assert (third.module, third.optional) == ("jit_eval", True)
    assert third.lines == (Lines("train.py"), Lines("model.py", 40, 60))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[check", "no TOML"),
        ("", "no [[check]]"),
        ("check = 3", "no [[check]]"),
        ("check = [3]", "a check is a table"),
        ('[[check]]\nmeasur = "copies"\nmax = 1', "Did you mean `measure`"),
        ('limit = 1\n[[check]]\nmeasure = "copies"\nmax = 1', "`limit` means nothing"),
        ("[[check]]\nmax = 1", "either `measure` or `expect`"),
        (
            '[[check]]\nmeasure = "copies"\nexpect = "pipelined"\nmax = 1',
            "either `measure` or `expect`",
        ),
        ('[[check]]\nmeasure = "copies"', "needs min, max or max_increase"),
        ('[[check]]\nexpect = "pipelined"\nloop = "a"\nmax = 1', "has no limits"),
        ('[[check]]\nexpect = "pipelined"', "say which"),
        ('[[check]]\nmeasure = "trip_count"\nmin = 1', "say which"),
        ('[[check]]\nmeasure = "flops"\nloop = "a"\nmax = 1', "not known by loop"),
        ('[[check]]\nmeasure = "copies"\nopcode = "copy"\nmax = 1', "narrow collectives"),
        ('[[check]]\nmeasure = "collectives"\nopcode = "all-gathr"\nmax = 1', "`all-gather`?"),
        ('[[check]]\nmeasure = "collectives"\nopcode = "dot"\nmax = 1', "Known: all-gather,"),
        ('[[check]]\nexpect = "no_resharding"\nopcode = "all-gathr*"', "Did you mean `all-gather`"),
        ('[[check]]\nmeasure = "beauty"\nmax = 1', "must be one of"),
        ('[[check]]\nmeasure = "copies"\nmax = "12 GiB"', "`max` must be a number"),
        ('[[check]]\nmeasure = "peak_memory"\nmax = "a lot"', "or a size such as"),
        ('[[check]]\nmeasure = "copies"\nmax = -1', "must be a number"),
        ('[[check]]\nmeasure = "copies"\nmax = true', "must be a number"),
        ('[[check]]\nexpect = "no_resharding"\nlines = [12]', "texts such as"),
        ('[[check]]\nexpect = "no_resharding"\nlines = ["a.py:9-8"]', "texts such as"),
        ('[[check]]\nexpect = "no_resharding"\noptional = "yes"', "true or false"),
        ('[[check]]\nexpect = "no_resharding"\nmodule = ""', "must be a text"),
    ],
)
def test_nonsense_is_refused_with_its_place(text: str, complaint: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_policy(text, "p.toml")
    assert complaint in str(refused.value)
    assert refused.value.place.startswith("p.toml")


@pytest.mark.parametrize("opcode", ["all-*", "collective-permute", "*", "send"])
def test_patterns_of_opcodes_fit_some_collective(opcode: str) -> None:
    (check,) = read_policy(
        f'[[check]]\nmeasure = "collectives"\nopcode = "{opcode}"\nmax = 1', "p.toml"
    )
    assert check.opcode == opcode


def test_a_check_is_named_after_what_it_says_with_names_as_they_are() -> None:
    (check,) = read_policy(
        '[[check]]\nexpect = "double_buffered"\nloop = "train_step.py:55"\n', "p.toml"
    )
    assert check.name == "double buffered in train_step.py:55"
