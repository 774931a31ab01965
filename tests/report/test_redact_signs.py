"""A sign stands in every text in which its pattern finds something."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import planted_everywhere
from app.report import redact_hlo, redact_people, redact_places, redact_secrets
from app.report.redact_signs import Sign, has_long_run, has_sign
from report.test_redact import test_places_and_people_become_words as shown_cases
from report.test_redact_everywhere import LINES

PEOPLE, PLACES, SECRETS = vars(redact_people), vars(redact_places), vars(redact_secrets)
SIGNED: dict[str, tuple[tuple[Sign, ...], re.Pattern[str]]] = {
    **{str(signs): (signs, pattern) for signs, pattern in (*PEOPLE["_USERS"], *PEOPLE["_HOSTS"])},
    **{
        name: (room[f"{name}_SIGNS"], room[name])
        for room, names in (
            (PEOPLE, ("_DOMAIN", "_CLOUD", "_IPV4")),
            (PLACES, ("_QUOTED", "_DRIVE", "_RESOURCE", "_QUOTED_SOURCE")),
            (SECRETS, ("_FORM", "_VARIABLE")),
        )
        for name in names
    },
}
_MARKS: list[pytest.Mark] = getattr(shown_cases, "pytestmark")  # noqa: B009 -- pytest's own, untyped
(CASES,) = (mark.args[1] for mark in _MARKS if mark.name == "parametrize")
TEXTS = (
    *(text for text, _ in CASES),
    *(
        place.replace("{}", kind)
        for place in LINES.values()
        for kind in planted_everywhere.KINDS.values()
    ),
    *planted_everywhere.LOG.split("\n"),
    *planted_everywhere.ENVIRONMENT.split("\n"),
    *planted_everywhere.OPTIONS.split("\n"),
    "Nov 30 11:10:00 node17 python[123]: died",
    "[node17:12345] *** Process received signal",
    "running on node-17, ip-10-1-2-3",
    "whoami=mirabelle, uid=1000(mirabelle), logged in as mirabelle",
    "on host quokka-3, host name quokka-4",
    *("hostname=quokka9", "--host quokka-7", "node_name: quokka9", "coordinator_address=quokka9"),
    *('1 "job/train.py"', r"12 \"job/train.py\"", r"C:\\Users\\me\\x", "registry.numbat.io:5000/x"),
    *("hf-abcdefghijklmnopqrst", "r8_abcdefghijklmnopqrst", "Basic abcdefghijkl", "A_B=c"),
)


@pytest.mark.parametrize("name", SIGNED)
def test_it_stands_wherever_the_pattern_finds_something(name: str) -> None:
    signs, pattern = SIGNED[name]
    found = [text for text in TEXTS if pattern.search(text)]
    assert found
    assert all(has_sign(text, signs) for text in found)


@given(st.text("aZ9+/=-_. \n\u00e9", max_size=200), st.integers(1, 70))
def test_a_long_run_is_one_of_base64(text: str, length: int) -> None:
    found = re.search(rf"[A-Za-z0-9+/]{{{length}}}", text)
    assert has_long_run(text, length) is bool(found)


@given(st.text("\"'ab\\ \n=op_name", max_size=60), st.integers(0, 300))
def test_a_text_passed_over_holds_no_long_string(text: str, inner: int) -> None:
    payloads = vars(redact_hlo)
    text = text.replace("a", "a" * inner, 1)
    if not payloads["_may_hold_long_string"](text):
        made = redact_hlo.Payloads(redact_hlo.Words())
        assert made._replace_long_strings(text) == text
