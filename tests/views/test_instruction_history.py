"""An instruction followed back through texts: what is an event, what it was, where it ends."""

from collections.abc import Mapping, Sequence

import msgspec
import pytest

from app.errors import NotFound
from app.model.report import Loop, LoopEvent
from app.views import instruction_history as history
from app.views.instruction_history import (
    InstructionHistory,
    Texts,
    instruction_history,
    names_of_loop,
)
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


def test_what_a_collective_became_is_told_where_it_turned() -> None:
    made = 'op_name="sum"}'
    start = f"%ar = f32[8]{{0}} all-reduce-start(%n), metadata={{{made}"
    done = "ROOT %d = f32[8]{0} all-reduce-done(%ar)"
    apart = text("%n = f32[8]{0} negate(%p)", start, done)
    marked = apart.replace(
        made, made + ', backend_config={"collective_backend_config":{"is_sync":true}}'
    )
    found = followed([WITH_SUM, apart, marked, marked.replace("negate", "abs")], "ar")
    assert [(stage.dump, stage.turned) for stage in found.stages] == [
        (2, "synchronous"),
        (1, "asynchronous"),
    ]


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
    found = followed([WITH_SUM.replace("%ar", "%sum"), WITH_SUM], "ar")
    assert (found.stages, found.ending) == ((), "given_up")


def test_the_first_of_its_operation_needs_no_matching(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_BYTES_MATCHED", 10)
    found = followed([FIRST, WITH_SUM], "ar")
    assert [stage.kind for stage in found.stages] == ["made"]


def test_what_is_not_there_is_refused() -> None:
    for name, computation in (("nothing", "main"), ("ar", "nowhere")):
        with pytest.raises(NotFound):
            followed([WITH_SUM], name, computation=computation)


def looping(name: str, work: str, *, tag: str = "") -> str:
    """A text with one loop; other work, so that its computations are not matched by content."""
    others = (
        f"%body{tag} (b: f32[8]) -> f32[8] {{\n  %b = f32[8]{{0}} parameter(0)\n"
        f"  ROOT %w = f32[8]{{0}} {work}(%b)\n}}\n\n"
        f"%cond{tag} (c: f32[8]) -> pred[] {{\n  %c = f32[8]{{0}} parameter(0)\n"
        "  ROOT %t = pred[] constant(true)\n}\n\n"
    )
    loop = f"%{name} = f32[8]{{0}} while(%p), condition=%cond{tag}, body=%body{tag}"
    return text(loop, f"ROOT %n = f32[8]{{0}} {work}(%{name})", others=others)


def test_a_loop_goes_by_the_names_it_was_followed_under() -> None:
    texts = [looping("while.4", "negate"), looping("while.17", "sine", tag=".2")]
    texts[1] = texts[1].replace("while(", "while(/*index=0*/")
    changed = [1]

    def told(*loops: Mapping[int, str]) -> list[tuple[str, str]]:
        found = instruction_history(
            Texts(lambda n: parse_module(texts[n]), texts.__getitem__, changed, loops),
            1,
            "main",
            "while.17",
        )
        return [(stage.kind, stage.before) for stage in found.stages]

    assert told({0: "while.4", 1: "while.17"}) == [("renamed", "while.4")]
    # Two loops of one name, or one that only this text holds, tell nothing.
    assert told({0: "while.4", 1: "while.17"}, {1: "while.17"}) == told()


def test_the_names_of_a_loop_are_those_of_its_events() -> None:
    loop = Loop(
        id="m/while.1",
        module="m",
        name="while.7",
        names=("while.1", "while.4", "while.7"),
        first_dump=1,
        last_dump=4,
        events=(
            LoopEvent(dump=1, kind="created"),
            LoopEvent(dump=2, kind="renamed", detail="while.1 -> while.4"),
            LoopEvent(dump=4, kind="renamed", detail="while.4 -> while.7"),
        ),
    )
    assert names_of_loop(loop) == {1: "while.1", 2: "while.4", 3: "while.4", 4: "while.7"}
    assert names_of_loop(msgspec.structs.replace(loop, name="while.9")) == {}


def test_what_may_be_one_that_is_gone_is_not_said_to_be_made() -> None:
    parts = ("k.{0}", "x.{0}", "y.{0}", "{1}")
    line = (
        "%{0} = f32[] constant(1)",
        '%{1} = f32[8]{{0}} broadcast(%{0}), dimensions={{}}, metadata={{op_name="x"}}',
        '%{2} = f32[8]{{0}} add(%{3}, %{1}), metadata={{op_name="y"}}',
    )

    def work(number: int, given: str) -> list[str]:
        names = [part.format(number, given) for part in parts]
        return [each.format(*names) for each in line]

    inner = "\n".join(f"  {each}" for each in ("%q = f32[8]{0} parameter(0)", *work(0, "q")))
    called = f"%f (q: f32[8]) -> f32[8] {{\n{inner.replace('%y.0', 'ROOT %y.0')}\n}}\n\n"
    before = text(
        "%c1 = f32[8]{0} call(%p), to_apply=%f",
        "%s = f32[8]{0} sine(%c1)",
        "ROOT %c2 = f32[8]{0} call(%s), to_apply=%f",
        others=called,
    )
    first, last = work(1, "p"), work(2, "s")
    after = text(*first, "%s = f32[8]{0} sine(%y.1)", *last[:2], "ROOT " + last[2])
    kinds = {name: followed([before, after], name).stages[0].kind for name in ("x.1", "x.2", "k.2")}
    # What says nothing of its origin is taken for new.
    assert kinds == {"x.1": "moved", "x.2": "first_seen", "k.2": "made"}


def gathers(*places: tuple[str, str, int]) -> str:
    """A computation for each place: its name, the name of its all-gather and the channel."""
    return "".join(
        f"%{computation} (q: f32[4]) -> f32[8] {{\n  %q = f32[4]{{0}} parameter(0)\n"
        f"  %{work}.{name} = f32[4]{{0}} {work}(%q)\n"
        f"  ROOT %{name} = f32[8]{{0}} all-gather(%{work}.{name}), channel_id={channel}, "
        'replica_groups={{0,1}}, dimensions={0}, metadata={op_name="jit(f)/dot"}\n}\n\n'
        for (computation, name, channel), work in zip(
            places, ("negate", "sine", "cosine"), strict=False
        )
    )


ONE = ("body", "ag.1", 1)
OTHER = ("peeled", "ag.2", 2)


@pytest.mark.parametrize(
    ("before", "clone", "kind", "origin", "alike"),
    [
        pytest.param([ONE], ("new", "ag.9", 5), "copied", "ag.1", (), id="the only one"),
        pytest.param([ONE, OTHER], ("new", "ag.9", 2), "copied", "ag.2", (), id="its channel"),
        pytest.param([ONE, OTHER], ("body.clone", "ag.9", 5), "copied", "ag.1", (), id="its name"),
        pytest.param([ONE, OTHER], ("new", "ag.9", 5), "made", "", ("ag.1", "ag.2"), id="neither"),
    ],
)
def test_a_collective_that_a_pass_cloned_names_its_origin(
    before: list[tuple[str, str, int]],
    clone: tuple[str, str, int],
    kind: str,
    origin: str,
    alike: tuple[str, ...],
) -> None:
    calls = [f"%c{n} = f32[8]{{0}} call(%h), to_apply=%{each[0]}" for n, each in enumerate(before)]
    half = "%h = f32[4]{0} slice(%p), slice={[0:4]}"
    new = f"ROOT %r = f32[8]{{0}} call(%h), to_apply=%{clone[0]}"
    texts = [
        text(half, *calls, "ROOT %r = f32[8]{0} negate(%c0)", others=gathers(*before)),
        text(half, *calls, new, others=gathers(*before, clone)),
    ]
    found = followed(texts, clone[1], computation=clone[0])
    stage = found.stages[0]
    assert (stage.kind, stage.before, stage.alike) == (kind, origin, alike)
    assert found.ending == ("first_text" if origin else "made")


@pytest.mark.parametrize("kept", [True, False])
def test_what_is_gone_since_was_replaced_not_copied(kept: bool) -> None:
    half = "%h = f32[4]{0} slice(%p), slice={[0:4]}"
    gather = (
        "f32[8]{0} all-gather(%q), channel_id=1, replica_groups={{0,1}}, dimensions={0}, "
        'metadata={op_name="jit(f)/dot"}'
    )
    plain = f"%ag.1 = {gather.replace('%q', '%h')}"
    fused = "%f = f32[8]{0} fusion(%h), kind=kCustom, calls=%inside"
    inside = (
        "%inside (q: f32[4]) -> f32[8] {\n  %q = f32[4]{0} parameter(0)\n"
        f"  ROOT %own = {gather}\n}}\n\n"
    )
    lines = [half, plain, fused] if kept else [half, fused]
    texts = [
        text(half, plain, "ROOT %r = f32[8]{0} negate(%ag.1)"),
        text(*lines, "ROOT %r = f32[8]{0} negate(%f)", others=inside),
    ]
    stage = followed(texts, "f").stages[0]
    assert (stage.kind, stage.before) == ("copied" if kept else "replaced", "ag.1")
