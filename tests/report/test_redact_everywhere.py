"""Each kind of secret in each place of a text: none of it is left."""

import pytest

from app.model.report import Input, Report, Tool
from app.report.redact import Choice, Redactor
from planted_everywhere import ENVIRONMENT, HLO, KINDS, LATER, LOG, OPTIONS, traces

LINES = {
    "op_name": '  %a = f32[] add(%b, %c), metadata={{op_name="jit(f)/g[x={}]/add" source_line=3}}',
    "source_file": '  %a = f32[] add(%b, %c), metadata={{source_file="{}" source_line=3}}',
    "table of files": 'FileNames\n1 "{}"\n',
    "attribute": '  %a = f32[] add(%b, %c), frontend_attributes={{x="{}"}}',
    "attribute, once": "  %a = f32[] add(%b, %c), frontend_attributes={{x='{}'}}",
    "payload": '  %a = f32[] custom-call(%b), backend_config="{}"',
    "payload, once": "  %a = f32[] custom-call(%b), backend_config='{}'",
    "payload of JSON": '  %a = f32[] custom-call(%b), backend_config={{"x":"{}"}}',
    "opaque": '  %a = f32[] custom-call(%b), opaque="{}"',
    "flag": "XLA_FLAGS=--xla_gpu_x={}",
    "debug options": 'xla_gpu_x: "{}"',
    "log": "E0412 10:11:12.345678 4242 pass.cc:12] about {} and more",
    "log, quoted": "INTERNAL: Check failed: a == b ('{}' vs. \"{}\")",
    "traceback": '  File "{}", line 3, in f\n    g({})',
    "bare": "{}",
    "brackets": "({}) [{}] <{}>",
}


@pytest.mark.parametrize("place", LINES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_trace_is_left(kind: str, place: str) -> None:
    text = LINES[place].replace("{}", KINDS[kind]).replace("{{", "{").replace("}}", "}")
    made = Redactor(
        Report(tool=Tool(name="hloscope", version="1"), input=Input(name="a.tar", bytes=1)),
        Choice(),
    )
    made.learn(ENVIRONMENT)
    made.learn(text)
    assert traces(text)
    shown = made.text(text)
    assert traces(shown) == set()
    assert shown.count("\n") == text.count("\n")


@pytest.mark.parametrize("text", [ENVIRONMENT, HLO, LATER, LOG, OPTIONS])
def test_no_trace_is_left_of_whole_texts(text: str) -> None:
    made = Redactor(
        Report(tool=Tool(name="hloscope", version="1"), input=Input(name="a.tar", bytes=1)),
        Choice(),
    )
    made.learn(ENVIRONMENT)
    made.learn(text)
    shown = made.text(text)
    assert traces(shown) == set()
    assert "20240417" not in shown
