"""Every form by itself: what XLA takes is read whole, what it refuses is refused in its place."""

import pytest

from hlo_parser import HloSyntaxError, parse_module
from parser.form_texts import LINE, Form, forms
from parser.oracle import Oracle

FORMS = forms()


def names(form: Form) -> str:
    return form.shown[:60]


@pytest.mark.parametrize("form", [form for form in FORMS if form.verdict in "+>"], ids=names)
def test_taken(form: Form):
    assert parse_module(form.text).unparsed == ()
    parse_module(form.text, strict=True)


@pytest.mark.parametrize("form", [form for form in FORMS if form.verdict in "-!"], ids=names)
def test_refused(form: Form):
    with pytest.raises(HloSyntaxError) as caught:
        parse_module(form.text, strict=True)
    error = caught.value
    assert error.line_text == form.text.split("\n")[error.span.line - 1]
    assert 1 <= error.span.column <= len(error.line_text) + 1
    if form.text.startswith("HloModule m\n\nadd2"):
        assert error.span.line in (LINE, LINE + 1)


def test_the_verdicts_are_those_of_xla():
    with Oracle() as oracle:
        for form in FORMS:
            answer = oracle.serialized(form.text.encode())
            verdict = "+" if isinstance(answer, bytes) else "-"
            verdict = "!" if answer == "crashed" else verdict
            expected = form.verdict if form.verdict in "+-!" else verdict.replace("+", "-")
            assert verdict == expected, form.shown
