import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.analysis.diff import Differ, diff_modules
from app.model.facts import ComputationDiff, InstructionChange, ModuleDiff
from hlo_parser import Interner, Module, parse_module

BASE = """HloModule m

%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[], f32[8]{0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %x = f32[8]{0} get-tuple-element(%p), index=1
  %ar = f32[8]{0} all-reduce(%x), replica_groups={}, to_apply=%add
  %y = f32[8]{0} multiply(%ar, %x)
  ROOT %r = (s32[], f32[8]{0}) tuple(%next, %y)
}

%cond (q: (s32[], f32[8])) -> pred[] {
  %q = (s32[], f32[8]{0}) parameter(0)
  %j = s32[] get-tuple-element(%q), index=0
  %n = s32[] constant(4)
  ROOT %c = pred[] compare(%j, %n), direction=LT
}

ENTRY %main (x0: f32[8]) -> f32[8] {
  %x0 = f32[8]{0} parameter(0)
  %zero = s32[] constant(0)
  %init = (s32[], f32[8]{0}) tuple(%zero, %x0)
  %w = (s32[], f32[8]{0}) while(%init), condition=%cond, body=%body
  ROOT %out = f32[8]{0} get-tuple-element(%w), index=1
}
"""


def diff(before: str, after: str) -> ModuleDiff:
    """Compare as two texts of one dump, which share what is equal."""
    interner = Interner()
    return diff_modules(
        parse_module(before, interner=interner), parse_module(after, interner=interner)
    )


def only(found: ModuleDiff) -> ComputationDiff:
    (computation,) = found.computations
    return computation


def edited(old: str, new: str, text: str = BASE) -> str:
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
    return text.replace(old, new)


def test_equal_texts_differ_in_nothing() -> None:
    assert diff(BASE, BASE) == ModuleDiff(computations=(), unchanged=4)


def test_equal_texts_of_two_dumps_differ_in_nothing() -> None:
    found = diff_modules(parse_module(BASE), parse_module(BASE))
    assert found == ModuleDiff(computations=(), unchanged=4)


@pytest.mark.parametrize(
    ("old", "new", "name", "what"),
    [
        ("%y = f32[8]{0} multiply", "%y = f32[8]{0} subtract", "y", ("opcode",)),
        ("%y = f32[8]{0}", "%y = f32[8]{0:T(8)}", "y", ("layout",)),
        ("%y = f32[8]{0}", "%y = f32[8]{0:S(1)}", "y", ("memory_space", "layout")),
        ("%y = f32[8]{0:S(1)}", "%y = f32[8]{0:S(2)}", "y", ("memory_space",)),
        ("multiply(%ar, %x)", "multiply(%ar, %ar)", "y", ("operands",)),
        ("multiply(%ar, %x)", "multiply(%ar#0, %x)", "y", ("operands",)),
        ("%one = s32[] constant(1)", "%one = s32[] constant(2)", "one", ("literal",)),
        ("replica_groups={}", "replica_groups={{0,1}}", "ar", ("attributes",)),
        ("multiply(%ar, %x)", "multiply(%ar, %x), sharding={replicated}", "y", ("sharding",)),
        ("multiply(%ar, %x)", 'multiply(%ar, %x), metadata={op_name="n"}', "y", ("metadata",)),
        (
            "multiply(%ar, %x)",
            'multiply(%ar, %x), backend_config={"a":1}',
            "y",
            ("backend_config",),
        ),
        (
            "multiply(%ar, %x)",
            'multiply(%ar, %x), frontend_attributes={k="v"}',
            "y",
            ("frontend_attributes",),
        ),
        (
            "multiply(%ar, %x)",
            "multiply(%ar, %x), control-predecessors={%next}",
            "y",
            ("control_predecessors",),
        ),
        (
            "%y = f32[8]{0} multiply(%ar, %x)",
            "%y = bf16[8]{0:S(1)} divide(%x, %ar)",
            "y",
            ("opcode", "shape", "operands"),
        ),
    ],
)
def test_what_changed(old: str, new: str, name: str, what: tuple[str, ...]) -> None:
    before = BASE if old in BASE else edited("%y = f32[8]{0}", old)
    found = only(diff(before, edited(old, new, before)))
    assert (found.before, found.after) == ("body", "body")
    assert found.changed == (InstructionChange(name, name, what, "same name"),)
    assert (found.added, found.removed, found.renamed, found.unchanged) == ((), (), (), 7)


def test_added_instruction_and_its_user() -> None:
    after = edited(
        "%y = f32[8]{0} multiply(%ar, %x)",
        "%copy = f32[8]{0} copy(%x)\n  %y = f32[8]{0} multiply(%ar, %copy)",
    )
    found = only(diff(BASE, after))
    assert found.added == ("copy",)
    assert found.changed == (InstructionChange("y", "y", ("operands",), "same name"),)
    back = only(diff(after, BASE))
    assert back.removed == ("copy",)
    assert back.added == ()


def test_new_name_alone_is_a_rename_and_no_operand_change() -> None:
    after = BASE.replace("%ar", "%all-reduce.7")
    found = only(diff(BASE, after))
    assert found.renamed == (("ar", "all-reduce.7"),)
    assert found.changed == ()
    assert found.unchanged == 7


def test_names_handed_round_do_not_mislead() -> None:
    new = {"i": "one", "one": "next", "next": "x", "x": "ar", "ar": "y", "y": "i"}
    after = re.sub(r"%(i|one|next|x|ar|y)\b", lambda found: "%" + new[found.group(1)], BASE)
    found = only(diff(BASE, after))
    assert set(found.renamed) == set(new.items())
    assert (found.added, found.removed, found.changed) == ((), (), ())


def test_renamed_computation_is_unchanged_under_another_name() -> None:
    after = BASE.replace("%body", "%region_0.1_spmd.clone")
    found = diff(BASE, after)
    assert found == ModuleDiff(
        computations=(), unchanged=4, renamed=(("body", "region_0.1_spmd.clone"),)
    )


def test_renamed_and_changed_body_is_found_through_its_caller() -> None:
    after = edited("multiply(%ar, %x)", "divide(%ar, %x)").replace("%body", "%wide.body.sunk.1")
    found = only(diff(BASE, after))
    assert (found.before, found.after, found.how) == ("body", "wide.body.sunk.1", "body of w")
    assert [change.what for change in found.changed] == [("opcode",)]


def test_collective_made_asynchronous() -> None:
    after = (
        BASE.replace("%ar = f32[8]{0} all-reduce(%x)", "%ar-start = f32[8]{0} all-reduce-start(%x)")
        .replace(
            "%y = f32[8]{0} multiply",
            "%ar-done = f32[8]{0} all-reduce-done(%ar-start)\n  %y = f32[8]{0} multiply",
        )
        .replace("(%ar, ", "(%ar-done, ")
    )
    found = only(diff(BASE, after))
    assert found.added == ("ar-done",)
    assert found.removed == ()
    assert {(c.before, c.after, c.what) for c in found.changed} == {
        ("ar", "ar-start", ("opcode",)),
        ("y", "y", ("operands",)),
    }


def test_other_callee_under_the_same_line() -> None:
    other = """%other (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] maximum(%a, %b)
}

"""
    before = BASE.replace("%body (", other + "%body (")
    after = edited("to_apply=%add", "to_apply=%other", before)
    found = only(diff(before, after))
    assert [(c.before, c.what) for c in found.changed] == [("ar", ("callees",))]
    assert found.unchanged == 7


def test_computations_added_and_removed() -> None:
    extra = "%extra {\n  %e = f32[] parameter(0)\n  ROOT %f = f32[] cosine(%e)\n}\n\n"
    after = BASE.replace("%body (", extra + "%body (")
    found = only(diff(BASE, after))
    assert (found.before, found.after, found.added) == (None, "extra", ("e", "f"))
    back = only(diff(after, BASE))
    assert (back.before, back.after, back.removed) == ("extra", None, ("e", "f"))


def test_a_name_given_out_again_is_no_counterpart() -> None:
    after = re.sub(
        r"%add \(a.*?\n}\n",
        "%add {\n  %z = f32[] constant(0)\n  ROOT %t = f32[] cosine(%z)\n}\n",
        BASE.replace("to_apply=%add", "to_apply=%sum"),
        flags=re.DOTALL,
    ).replace(
        "%body (",
        "%sum {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n"
        "  ROOT %s = f32[] add(%a, %b)\n}\n\n%body (",
    )
    found = diff(BASE, after)
    assert found.renamed == (("add", "sum"),)
    assert only(found).after == "add"
    assert only(found).before is None


def test_control_edges_compare_by_counterpart() -> None:
    before = edited("multiply(%ar, %x)", "multiply(%ar, %x), control-predecessors={%next, %i}")
    after = (
        before.replace("{%next, %i}", "{%i, %next.1}")
        .replace("%next =", "%next.1 =")
        .replace("tuple(%next,", "tuple(%next.1,")
    )
    found = only(diff(before, after))
    assert found.renamed == (("next", "next.1"),)
    assert found.changed == ()


def test_moved_in_the_schedule() -> None:
    line = "  %one = s32[] constant(1)\n"
    later = (
        BASE.replace(line, "")
        .replace("  %x = f32", line + "  %x = f32")
        .replace("  %next = s32[] add(%i, %one)\n", "")
        .replace("  %y =", "  %next = s32[] add(%i, %one)\n  %y =")
    )
    scheduled = "HloModule m, is_scheduled=true"
    found = only(
        diff(BASE.replace("HloModule m", scheduled), later.replace("HloModule m", scheduled))
    )
    assert found.moved == ("next",)
    assert (found.changed, found.added, found.removed) == ((), (), ())
    # Without a schedule the order of lines means nothing.
    assert diff(BASE, later).computations == ()


def test_names_given_twice_are_answered_alike_in_both_directions() -> None:
    twice = BASE.replace(
        "ENTRY", "%cond (q: s32[]) -> s32[] {\n  ROOT %q = s32[] parameter(0)\n}\n\nENTRY"
    ).replace("  %x0 =", "  %x0 = f32[8]{0} parameter(0)\n  %x0 =")
    forth, back = diff(BASE, twice), diff(twice, BASE)
    assert sum(len(c.added) for c in forth.computations) == 2
    assert sum(len(c.removed) for c in back.computations) == 2
    assert forth.unchanged == back.unchanged == 3


FRAMES = """HloModule m

FileNames
1 "a.py"
2 "b.py"

FunctionNames
1 "f"

FileLocations
{locations}

StackFrames
{frames}

ENTRY %main (x0: f32[8]) -> f32[8] {{
  %x0 = f32[8]{{0}} parameter(0)
  ROOT %n = f32[8]{{0}} negate(%x0), metadata={{op_name="n" stack_frame_id={id}}}
}}
"""
LOCATION = "{file_name_id=%d function_name_id=1 line=%d end_line=%d column=1 end_column=2}"
FRAME = "{file_location_id=%d parent_frame_id=1}"


def with_frames(*places: tuple[int, int], frame: int) -> str:
    return FRAMES.format(
        locations="\n".join(
            f"{n} " + LOCATION % (file, line, line) for n, (file, line) in enumerate(places, 1)
        ),
        frames="\n".join(f"{n} " + FRAME % n for n in range(1, len(places) + 1)),
        id=frame,
    )


def test_frame_numbers_compare_by_the_line_they_mean() -> None:
    before = with_frames((1, 5), (2, 9), frame=1)
    renumbered = with_frames((2, 9), (1, 5), frame=2)
    elsewhere = with_frames((2, 9), (1, 6), frame=2)
    assert diff(before, renumbered).computations == ()
    assert [c.what for c in only(diff(before, elsewhere)).changed] == [("metadata",)]


def test_one_differ_answers_as_many_do() -> None:
    interner = Interner()
    texts = [
        BASE,
        edited("multiply(%ar, %x)", "divide(%ar, %x)"),
        BASE.replace("%body", "%body.clone"),
        edited("constant(4)", "constant(5)"),
    ]
    modules = [parse_module(text, interner=interner) for text in texts]
    differ = Differ()
    for before in modules:
        for after in modules:
            assert differ.diff(before, after) == diff_modules(before, after)


def assert_told_alike(before: Module, after: Module) -> int:
    """That `of_one` says of each instruction what the whole diff says; of how many it does."""
    differ, told = Differ(), 0
    whole = {each.after: each for each in differ.diff(before, after).computations}
    for there in after.computations:
        for instruction in there.instructions:
            alone = differ.of_one(before, after, there.name, instruction.name)
            if alone is None:
                continue
            told += 1
            full = whole.get(there.name, ComputationDiff(there.name, there.name, ""))
            assert alone.before == full.before
            assert alone.changed == tuple(c for c in full.changed if c.after == instruction.name)
            assert alone.renamed == tuple(r for r in full.renamed if r[1] == instruction.name)
            assert instruction.name not in full.added
    return told


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("multiply(%ar, %x)", "divide(%ar, %x)", id="opcode"),
        pytest.param("%ar =", "%sum =", id="name"),
        pytest.param("constant(4)", "constant(5)", id="literal"),
        pytest.param("%add ", "%plus ", id="callee"),
    ],
)
def test_one_instruction_is_told_without_the_rest(old: str, new: str) -> None:
    assert assert_told_alike(parse_module(BASE), parse_module(edited(old, new))) > 4


# ---- properties ----------------------------------------------------------------------------------

OPCODES = {1: ("negate", "exponential", "copy"), 2: ("add", "multiply", "subtract")}


@st.composite
def modules(draw: st.DrawFn) -> str:
    """A module: an entry and up to three computations it calls, of random instructions."""
    texts: list[str] = []
    names: list[str] = []
    for number in range(draw(st.integers(0, 3))):
        texts.append(f"%f{number} {{\n{draw(bodies(()))}}}\n")
        names.append(f"f{number}")
    texts.append(f"ENTRY %main {{\n{draw(bodies(tuple(names)))}}}\n")
    return "HloModule m\n\n" + "\n".join(texts)


@st.composite
def bodies(draw: st.DrawFn, callees: tuple[str, ...]) -> str:
    """Lines of a computation in which everything made is used, so that all of it has a place."""
    lines = ["%v0 = f32[4]{0} parameter(0)"]
    unused = ["v0"]
    made = ["v0"]
    for callee in callees:
        lines.append(f"%c_{callee} = f32[4]{{0}} fusion(%v0), kind=kLoop, calls=%{callee}")
        unused.append(f"c_{callee}")
    for number in range(1, draw(st.integers(1, 12))):
        name = f"v{number}"
        size = draw(st.sampled_from((4, 8)))
        arity = draw(st.sampled_from((0, 1, 1, 2)))
        if arity == 0:
            lines.append(f"%{name} = f32[{size}]{{0}} constant({{{draw(st.integers(0, 2))}...}})")
        else:
            operands = [draw(st.sampled_from(made)) for _ in range(arity)]
            opcode = draw(st.sampled_from(OPCODES[arity]))
            arguments = ", ".join(f"%{operand}" for operand in operands)
            lines.append(f"%{name} = f32[{size}]{{0}} {opcode}({arguments})")
            unused = [other for other in unused if other not in operands]
        made.append(name)
        unused.append(name)
    lines.append(f"ROOT %t = () tuple({', '.join('%' + name for name in unused)})")
    return "".join(f"  {line}\n" for line in lines)


def renamed(text: str, order: list[int]) -> str:
    """The same module with every name replaced; names are dealt out in another order."""
    names = sorted(set(re.findall(r"%([a-z_]\w*)", text)))
    new = dict(
        zip(names, (f"n{order[i % len(order)]}_{i}" for i in range(len(names))), strict=True)
    )
    return re.sub(r"%([a-z_]\w*)", lambda found: "%" + new[found.group(1)], text)


@settings(max_examples=60, deadline=None)
@given(modules())
def test_a_module_and_itself(text: str) -> None:
    found = diff(text, text)
    assert found.computations == ()
    assert found.renamed == ()


@settings(max_examples=100, deadline=None)
@given(modules(), st.permutations(range(7)))
def test_a_module_and_its_renamed_self_differ_in_names_only(text: str, order: list[int]) -> None:
    found = diff(text, renamed(text, order))
    for computation in found.computations:
        assert computation.before is not None
        assert computation.after is not None
        assert (computation.added, computation.removed, computation.changed) == ((), (), ())


@settings(max_examples=100, deadline=None)
@given(modules(), modules())
def test_one_instruction_alone_is_told_as_among_all(one: str, other: str) -> None:
    assert_told_alike(parse_module(one), parse_module(other))


@settings(max_examples=100, deadline=None)
@given(modules(), modules())
def test_both_directions_say_the_same(one: str, other: str) -> None:
    forth, back = diff(one, other), diff(other, one)
    assert forth.unchanged == back.unchanged
    assert sorted(forth.renamed) == sorted((b, a) for a, b in back.renamed)

    def seen(found: ModuleDiff, *, swap: bool) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = []
        for c in found.computations:
            names = (c.after, c.before) if swap else (c.before, c.after)
            added, taken = (c.removed, c.added) if swap else (c.added, c.removed)
            changed = sorted(
                ((x.after, x.before) if swap else (x.before, x.after), sorted(x.what), x.how)
                for x in c.changed
            )
            pairs = sorted((b, a) if swap else (a, b) for a, b in c.renamed)
            rows.append((names, added, taken, changed, pairs, c.unchanged))
        return sorted(rows, key=str)

    assert seen(forth, swap=False) == seen(back, swap=True)


def test_ten_thousand_equals_take_no_square() -> None:
    def text(shift: int) -> str:
        lines = "".join(f"  %n{i + shift} = f32[4]{{0}} negate(%p)\n" for i in range(10_000))
        return f"HloModule m\n\nENTRY %main {{\n  %p = f32[4]{{0}} parameter(0)\n{lines}}}\n"

    found = only(diff(text(0), text(20_000)))
    assert len(found.renamed) == 10_000
    assert (found.added, found.removed, found.changed) == ((), (), ())
