"""An instruction followed back through texts: what is an event, what it was, where it ends."""

from collections.abc import Sequence

import pytest

from app.errors import NotFound
from app.views import instruction_history as history
from app.views.instruction_history import InstructionHistory, Texts, instruction_history
from hlo_parser import Module, parse_module


def text(*lines: str, others: str = "", name: str = "main") -> str:
    body = "\n".join(f"  {line}" for line in ("%p = f32[8]{0} parameter(0)", *lines))
    return f"HloModule m\n\n{others}ENTRY %{name} (p: f32[8]) -> f32[8] {{\n{body}\n}}\n"


def followed(texts: Sequence[str], name: str, *, computation: str = "main") -> InstructionHistory:
    asked: list[int] = []

    def parse(number: int) -> Module:
        asked.append(number)
        return parse_module(texts[number])

    changed = [n for n in range(1, len(texts)) if texts[n] != texts[n - 1]]
    found = instruction_history(
        Texts(parse, texts.__getitem__, changed), len(texts) - 1, computation, name
    )
    assert len(asked) <= 2 * len(found.stages) + 3
    return found


FIRST = text("ROOT %n = f32[8]{0} negate(%p)")
SUM = 'ROOT %ar = f32[8]{0} all-reduce(%n), metadata={op_name="sum"}'
WITH_SUM = text("%n = f32[8]{0} negate(%p)", SUM)


def test_the_pass_that_made_it_is_named_and_quiet_texts_are_not() -> None:
    texts = [FIRST, FIRST, WITH_SUM, WITH_SUM, WITH_SUM.replace("negate", "abs")]
    found = followed(texts, "ar")
    assert [(stage.dump, stage.kind, stage.before) for stage in found.stages] == [(2, "made", "")]
    assert found.ending == "made"
    assert found.stages[0].line == 6


@pytest.mark.parametrize(
    ("computation", "name", "kind"),
    [
        pytest.param("fresh", "p", "made", id="the same line in another computation"),
        pytest.param("main", "n", "renamed", id="the end of a longer line"),
        pytest.param("main", "p", "changed", id="the beginning of a longer line"),
    ],
)
def test_the_like_of_a_line_is_not_the_line(computation: str, name: str, kind: str) -> None:
    both = "{\n  %q = f32[8]{0} parameter(0)\n  ROOT %s = f32[8]{0} sine(%q)\n}\n\n"
    fresh = "%fresh " + both.replace("%q", "%p")
    first = text(
        "mn = f32[8]{0} negate(%p)", "ROOT %r = f32[8]{0} negate(mn)", others="%old " + both
    )
    first = first.replace("parameter(0)\n  mn", "parameter(0), sharding={replicated}\n  mn")
    second = text(
        "n = f32[8]{0} negate(%p)", "ROOT %r = f32[8]{0} add(n, n)", others="%old " + both + fresh
    )
    found = followed([first, second], name, computation=computation)
    assert [(stage.dump, stage.kind) for stage in found.stages] == [(1, kind)]


def test_lines_that_nobody_indented_are_the_same_lines() -> None:
    texts = [each.replace("\n  ", "\n") for each in (FIRST, FIRST.replace("m\n", "m2\n"))]
    found = followed(texts, "n")
    assert (found.stages, found.ending) == ((), "first_text")


def test_names_shapes_and_opcodes_are_followed_backwards() -> None:
    renamed = WITH_SUM.replace("%ar", "%all-reduce.7")
    started = text(
        "%n = f32[8]{0} negate(%p)",
        '%s = f32[8]{0} all-reduce-start(%n), metadata={op_name="sum"}',
        "ROOT %done = f32[8]{0} all-reduce-done(%s)",
    )
    found = followed([FIRST, WITH_SUM, renamed, started], "s")
    told = [(stage.dump, stage.kind, stage.before, stage.after) for stage in found.stages]
    assert told == [
        (3, "changed", "all-reduce.7", "s"),
        (2, "renamed", "ar", "all-reduce.7"),
        (1, "made", "", "ar"),
    ]
    assert "opcode" in found.stages[0].what


def test_one_that_keeps_its_name_changes_in_named_parts() -> None:
    wider = WITH_SUM.replace('op_name="sum"', 'op_name="total"')
    found = followed([WITH_SUM, wider], "ar")
    assert [(stage.kind, stage.what, stage.how) for stage in found.stages] == [
        ("changed", ("metadata",), "same name")
    ]
    assert found.ending == "first_text"


def test_one_that_moves_into_another_computation_is_followed_there() -> None:
    lines = (
        "%c = f32[8]{0} cosine(%p)",
        '%e = f32[8]{0} exponential(%c), metadata={op_name="e"}',
    )
    before = text(*lines, "ROOT %n = f32[8]{0} negate(%e)")
    fused = (
        "%fused (q: f32[8]) -> f32[8] {\n  %q = f32[8]{0} parameter(0)\n"
        "  %c.1 = f32[8]{0} cosine(%q)\n"
        '  ROOT %e.1 = f32[8]{0} exponential(%c.1), metadata={op_name="e"}\n}\n\n'
    )
    after = text(
        "%f = f32[8]{0} fusion(%p), kind=kLoop, calls=%fused",
        "ROOT %n = f32[8]{0} negate(%f)",
        others=fused,
    )
    found = followed([before, after], "e.1", computation="fused")
    assert [(stage.kind, stage.before) for stage in found.stages] == [("moved", "e")]
    assert found.ending == "first_text"


def test_large_texts_are_not_followed_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_BYTES_MATCHED", 10)
    found = followed([FIRST, WITH_SUM], "ar")
    assert (found.stages, found.ending) == ((), "given_up")


def test_what_is_not_there_is_refused() -> None:
    for name, computation in (("nothing", "main"), ("ar", "nowhere")):
        with pytest.raises(NotFound):
            followed([WITH_SUM], name, computation=computation)
