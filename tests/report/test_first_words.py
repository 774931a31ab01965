"""What is told before the end of an analysis."""

from app.model.dump import CheckFailure, LogFacts
from app.report.first_words import words_of_input
from bundle.contents import contents_of, module_text

TEXT = module_text("%p = f32[8]{0} parameter(0)", "%r = f32[8]{0} add(%p, %p)")


def test_modules_of_the_program_come_first_and_few() -> None:
    contents = contents_of({f"module_000{n}.jit_{n}": [TEXT, TEXT] for n in range(4)})
    assert words_of_input(contents, LogFacts()) == (
        "jit_0: 2 texts, 2 instructions in the last",
        "jit_1: 2 texts, 2 instructions in the last",
        "and 2 more modules of the program",
    )


def test_a_failure_is_told_in_one_harmless_line() -> None:
    text = "Check failed: a\u202e != b " + "x" * 300 + "\nmore"
    failure = CheckFailure(kind="check", text=text, signature="", log="run.log", line_number=1)
    (words,) = words_of_input(None, LogFacts(failures=(failure,)))
    assert words.startswith("The log says: Check failed: a\\u202e != b x")
    assert len(words) <= 160
    assert "more" not in words
