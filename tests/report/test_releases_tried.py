"""Where a failure came and went: told of the releases tried, with those that were not."""

import io

import msgspec
import pytest
from rich.console import Console

from app.model.experiments import Experiment, Outcome, Replay
from app.model.report import Input, Report, Tool
from app.report.html import report_page
from app.report.markdown import report_markdown
from app.report.releases_tried import span_of, span_words
from app.report.terminal_experiments import print_replay

OUTCOMES: dict[str, Outcome] = {
    "c": "compiles",
    "f": "same signature",
    "o": "another failure",
    "-": "not tried",
}


def tried(**outcomes: str) -> tuple[Experiment, ...]:
    names = {name.replace("_", ".")[1:]: outcome for name, outcome in outcomes.items()}
    return tuple(
        Experiment(question="releases", name=name, release=name, outcome=OUTCOMES[outcome])
        for name, outcome in names.items()
    )


def words(*experiments: Experiment) -> tuple[str, ...]:
    span = span_of(experiments)
    assert span is not None
    return span_words(span)


def test_what_was_not_tried_between_is_named() -> None:
    found = tried(r0_4_28="c", r0_4_31="f", r0_4_33="f", r0_4_38="c")
    assert words(*found) == (
        "First bad of the releases tried: 0.4.31; not tried between 0.4.28, which compiles, and"
        " it: 0.4.29, 0.4.30.",
        "First good of the releases tried after 0.4.33: 0.4.38; not tried between:"
        " 0.4.34, 0.4.35, 0.4.36.",
    )


def test_neighbours_have_none_between_them() -> None:
    found = tried(r0_4_28="c", r0_4_29="f", r0_4_30="c")
    assert words(*found) == (
        "First bad of the releases tried: 0.4.29; not tried between 0.4.28, which compiles, and"
        " it: none.",
        "First good of the releases tried after 0.4.29: 0.4.30; not tried between: none.",
    )


def test_another_failure_is_no_answer() -> None:
    found = tried(r0_4_28="o", r0_4_29="f", r0_4_30="f", r0_4_31="o", r0_4_33="c")
    assert words(*found) == (
        "First bad of the releases tried: 0.4.29; none older that was tried compiles;"
        " no answer from 0.4.28 (another failure).",
        "First good of the releases tried after 0.4.30: 0.4.33; not tried between: 0.4.32;"
        " no answer from 0.4.31 (another failure).",
    )


def test_one_for_which_the_time_did_not_last_was_not_tried() -> None:
    found = tried(r0_4_28="c", r0_4_29="-", r0_4_30="f")
    assert "and it: 0.4.29." in words(*found)[0]
    assert words(*found)[1] == "First good of the releases tried after 0.4.30: none."


def test_a_failure_that_comes_and_goes_is_told_so() -> None:
    found = tried(r0_4_28="f", r0_4_29="c", r0_4_30="f")
    assert words(*found)[-1] == "It comes and goes: 0.4.29 in between compile."


def test_where_none_fails_all_are_named() -> None:
    found = tried(r0_4_29="o", r0_4_30="c")
    assert words(*found) == ("None of the releases tried fails so: 0.4.29, 0.4.30.",)
    assert span_of(()) is None


@pytest.mark.parametrize("form", ["terminal", "markdown", "page"])
def test_every_form_says_it(form: str) -> None:
    replay = Replay(module="m", file="x", release="1", experiments=tried(r0_4_28="c", r0_4_30="f"))
    report = Report(
        tool=Tool(name="hloscope", version="0"),
        input=Input(name="x", bytes=0, sha256=""),
        replay=replay,
    )
    if form == "terminal":
        out = io.StringIO()
        print_replay(replay, Console(file=out, width=200))
        text = out.getvalue()
    else:
        text = report_markdown(report) if form == "markdown" else report_page(report, offline=True)
    text = text.replace("&#46;", ".").replace("&#58;", ":")
    said = "First bad of the releases tried: 0.4.30; not tried between 0.4.28, which compiles, and"
    assert f"{said} it: 0.4.29." in text


def test_json_keeps_it() -> None:
    span = span_of(tried(r0_4_28="c", r0_4_30="f"))
    found = msgspec.to_builtins(span)
    assert (found["first_bad_of_tried"], found["not_tried_before"]) == ("0.4.30", ("0.4.29",))
