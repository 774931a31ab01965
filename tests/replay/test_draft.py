"""What XLA would not read is no draft: it is refused in words, and has no older form."""

import pytest

from app.errors import UsageError
from app.replay.draft import draft_of
from app.replay.older import older_form
from hlo_parser import Module, parse_module

PAIR = "%t = (f32[8], f32[8]) parameter(0)"


def entry(*lines: str) -> str:
    inner = "".join(f"  {line}\n" for line in lines)
    return f"ENTRY %e {{\n{inner}}}\n"


def module_of(text: str) -> Module:
    module = parse_module(f"HloModule m\n\n{text}")
    assert not module.unparsed
    return module


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (entry(PAIR, "ROOT %r = f32[8] negate(%t#7)"), "element 7 of %t"),
        (entry(PAIR, "ROOT %r = f32[8] negate(%t#0#1)"), "element 1 of %t.0"),
        (entry("%p = f32[8] parameter(0)", "ROOT %r = f32[8] negate(%p#0)"), "element 0 of %p"),
        (entry(PAIR, "ROOT %r = f32[8] negate(%zz#0)"), "%zz"),
        (entry("ROOT %r = f32[8] negate(%t#0)", PAIR), "%t"),
        (entry(PAIR, "ROOT %r = pred[] compare(%zz), direction=EQ"), "%zz"),
        (entry("ROOT %r = pred[] tuple(%t)", PAIR), "%t"),
        (entry(PAIR, "%r = f32[8] negate(%r)", "ROOT %q = f32[8] negate(%r)"), "%r"),
        (entry(PAIR, "%t = f32[8] negate(%t#0)", "ROOT %r = f32[8] negate(%t)"), "%t"),
        (entry(PAIR, "ROOT %r = f32[8] call(%t), to_apply=%away"), "%away"),
        (
            "%a {\n  ROOT %p = f32[8] parameter(0)\n}\n\n" * 2
            + entry("%p = f32[8] parameter(0)", "ROOT %r = f32[8] call(%p), to_apply=%a"),
            "%a",
        ),
    ],
)
def test_a_name_that_means_nothing_or_two_things_is_refused(text: str, says: str) -> None:
    module = module_of(text)
    with pytest.raises(UsageError, match=f"{says}( |,|$)"):
        draft_of(module)
    assert older_form(module) is None


def test_elements_become_lines_of_their_own() -> None:
    module = module_of(entry(PAIR, "ROOT %r = f32[8] add(%t#0, %t#1)"))
    assert [line.text for line in draft_of(module).entry.lines] == [
        "%t = (f32[8], f32[8]) parameter(0)",
        "%t.0 = f32[8] get-tuple-element(%t), index=0",
        "%t.1 = f32[8] get-tuple-element(%t), index=1",
        "%r = f32[8] add(%t.0, %t.1)",
    ]


def test_a_constant_has_no_operands() -> None:
    module = module_of(entry("ROOT %c = f32[2] constant({1, 2})"))
    assert draft_of(module).entry.lines[0].arguments == "{1, 2}"
