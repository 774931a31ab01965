"""Whole texts: what is found, where it stands, what is not understood."""

import re

import pytest

from hlo_parser import HloSyntaxError, Interner, Module, Span, parse_module

LONG = """\
HloModule jit_step, is_scheduled=true, entry_computation_layout={(f32[4])->f32[4]}, num_partitions=8

FileNames
1 "train.py"

FunctionNames
1 "step"

FileLocations
1 {file_name_id=1 function_name_id=1 line=20 end_line=20 column=4 end_column=31}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y)
}

%other (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  ROOT %n = f32[4]{0} negate(%p)
}, execution_thread="sparsecore"

ENTRY %main (a: f32[4]) -> f32[4] {
  %a = f32[4]{0} parameter(0), metadata={op_name="a"}
  %r = f32[4]{0} all-reduce(%a), channel_id=1, replica_groups=[1,8]<=[8], to_apply=%add
  ROOT %c = f32[4]{0} call(%r), to_apply=%other, metadata={op_name="c" stack_frame_id=1}
}

"""

SHORT = """\
HloModule jit_step

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT sum = f32[] add(x, y)
} // add

ENTRY main {
  a = f32[4]{0} parameter(0)
  ROOT r = f32[4]{0} all-reduce(a), replica_groups={{0,1}}, to_apply=add
}

"""


def lines_of(module: Module) -> dict[str, int]:
    """1-based line of every instruction by `computation/instruction`."""
    return {
        f"{computation.name}/{instruction.name}": module.line_of(computation, instruction)
        for computation in module.computations
        for instruction in computation.instructions
    }


def test_a_long_text_gives_all_its_parts():
    module = parse_module(LONG)
    assert module.name == "jit_step"
    assert module.unparsed == ()
    assert [c.name for c in module.computations] == ["add", "other", "main"]
    assert module.entry.name == "main"
    assert module.entry.root.name == "c"
    assert (module.line_count, module.byte_size) == (LONG.count("\n"), len(LONG))
    assert module.instruction_count == 8
    header = module.header
    assert (header.is_scheduled, header.num_partitions, header.replica_count) == (True, 8, 1)
    assert header.attributes["entry_computation_layout"] == "{(f32[4])->f32[4]}"
    assert [c.execution_thread for c in module.computations] == ["main", "sparsecore", "main"]


def test_lines_are_those_of_the_text():
    module = parse_module(LONG)
    text = LONG.split("\n")
    for name, line in lines_of(module).items():
        assert name.partition("/")[2] in text[line - 1]
    main = module.computations[2]
    assert text[module.first_line(main) - 1].startswith("ENTRY")
    assert module.computation_at(module.first_line(main) + 1) is main
    assert module.computation_at(1) is None


def test_calls_are_found_both_ways():
    module = parse_module(LONG)
    add, other, main = module.computations
    assert module.callees(main.instructions[1]) == (("to_apply", add),)
    assert module.callers("other") == ((main, main.instructions[2]),)
    assert module.callers("nobody") == ()
    assert module.get("add") is add
    assert module.get("nobody") is None
    assert other.users["p"] == (other.root,)


def test_a_frame_id_gives_the_place():
    module = parse_module(LONG)
    place = module.source_of(module.entry.root)
    assert place is not None
    assert (place.file, place.line, place.column, place.function) == ("train.py", 20, 4, "step")
    assert module.source_of(module.entry.instructions[0]) is None


def test_an_inline_place_has_no_frames():
    text = SHORT.replace(
        "to_apply=add", 'to_apply=add, metadata={source_file="a.py" source_line=7}'
    )
    module = parse_module(text)
    place = module.source_of(module.entry.root)
    assert place is not None
    assert (place.file, place.line, place.function, place.frames) == ("a.py", 7, None, ())


def test_a_short_text_reads_as_a_long_one():
    module = parse_module(SHORT)
    assert module.unparsed == ()
    assert [c.name for c in module.computations] == ["add", "main"]
    assert module.entry.root.callees[0].name == "add"
    assert lines_of(module)["main/a"] == 10


@pytest.mark.parametrize(
    ("planted", "text"),
    [
        ("  %x = garbage !!\n", "%x = garbage !!"),
        ("  what is this\n", "what is this"),
        ('  %x = f32[] add(%y), a="unclosed\n', '%x = f32[] add(%y), a="unclosed'),
        ("  %x = f32[] add(%y, (%z\n", "%x = f32[] add(%y, (%z"),
        ("  %x = f32[] add(%y), k={{}\n", "%x = f32[] add(%y), k={{}"),
    ],
)
def test_a_planted_line_costs_only_itself(planted: str, text: str):
    line = "  %y = f32[] parameter(1)\n"
    module = parse_module(LONG.replace(line, line + planted))
    (gap,) = module.unparsed
    assert gap.text == text
    number = LONG[: LONG.index(line)].count("\n") + 2
    assert gap.span == Span(number, 3, number, 3 + len(text))
    assert gap.reason
    assert module.instruction_count == 8
    assert module.line_of(module.entry, module.entry.root) == LONG.count("\n") - 1


def test_each_planted_line_is_counted():
    text = SHORT.replace("  ROOT", "  ?\n  b = !\n  ROOT")
    module = parse_module(text)
    assert [gap.span.line for gap in module.unparsed] == [6, 7, 13, 14]
    assert module.instruction_count == 5


def test_an_unknown_attribute_is_kept_raw():
    text = SHORT.replace("to_apply=add", 'new_thing={a=[1,{2}], "}"}, to_apply=add, other=x:y@3')
    root = parse_module(text).entry.root
    assert root.attributes["new_thing"] == '{a=[1,{2}], "}"}'
    assert root.attributes["other"] == "x:y@3"
    assert list(root.attributes) == ["replica_groups", "new_thing", "to_apply", "other"]


def test_text_between_computations_is_not_understood():
    module = parse_module(SHORT.replace("ENTRY", "!!! noise\nmore\n\nENTRY"))
    (gap,) = module.unparsed
    assert (gap.span, gap.reason) == (Span(9, 1, 11, 1), "expected a computation")
    assert lines_of(module)["main/a"] == 13


def test_a_truncated_text_keeps_what_is_there():
    module = parse_module(SHORT[: SHORT.index("replica_groups")])
    assert [c.name for c in module.computations] == ["add", "main"]
    assert [i.name for i in module.entry.instructions] == ["a"]
    assert [gap.reason for gap in module.unparsed][-1] == "the computation is not closed"


def test_an_unclosed_computation_ends_where_the_next_begins():
    module = parse_module(SHORT.replace("} // add\n\n", ""))
    assert [c.name for c in module.computations] == ["add", "main"]
    assert [gap.reason for gap in module.unparsed] == ["the computation before is not closed"]


@pytest.mark.parametrize("text", ["", "hello", "{}", "module @m {\n}\n", "HloModule m\n", "\0" * 9])
def test_other_text_is_refused(text: str):
    with pytest.raises(HloSyntaxError, match="no HLO computation"):
        parse_module(text)


def test_the_header_may_be_odd():
    module = parse_module("/* x */ HloModule m,\n  a={\n1,\n2}, b=c\n" + SHORT.partition("\n")[2])
    assert module.name == "m"
    assert dict(module.header.attributes) == {"a": "{\n1,\n2}", "b": "c"}
    assert module.unparsed == ()


def test_a_header_that_is_not_understood_is_counted():
    module = parse_module(SHORT.replace("jit_step", "jit_step, ?"))
    assert module.name == "jit_step"
    (gap,) = module.unparsed
    assert gap.span == Span(1, 1, 1, 22)
    assert [c.name for c in module.computations] == ["add", "main"]


def test_a_text_may_have_no_header():
    module = parse_module(SHORT.partition("\n\n")[2])
    assert (module.name, module.header.text) == ("module_main", "")
    assert lines_of(module)["add/x"] == 2


def test_without_marks_the_last_is_entry_and_root():
    module = parse_module("HloModule m\n\na {\n  x = f32[] iota()\n  y = f32[] negate(x)\n}\n\n")
    assert module.entry.name == "a"
    assert module.entry.root.name == "y"


ODD = """HloModule m
// a comment { that "opens
/* and another
   } */
sum {
 x = f32[] parameter(0) /* { */
 y = f32[]
   parameter(1),
   sharding={replicated}

 ROOT s = f32[] add(x,
   // between
   y)
}
ENTRY e { p = f32[] parameter(0) %q=f32[]{:T(128)} negate(p), k=v ROOT r = map(p, q), to_apply=sum }
"""


def test_odd_spellings_are_read():
    module = parse_module(ODD)
    assert module.unparsed == ()
    assert lines_of(module) == {
        "sum/x": 6,
        "sum/y": 7,
        "sum/s": 11,
        "e/p": 15,
        "e/q": 15,
        "e/r": 15,
    }
    total, entry = module.computations
    assert total.root.operands == ("x", "y")
    assert total.instructions[1].parameter_number == 1
    assert total.instructions[1].sharding == "{replicated}"
    assert entry.instructions[1].attributes == {"k": "v"}
    assert entry.root.shape.text == "f32[]"
    assert entry.root.callees[0].name == "sum"


def test_a_constant_may_have_several_rows():
    text = SHORT.replace(
        "  a =", "  k = f32[2,2]{1,0} constant({\n    {1, 2},\n    {3, 4}\n  })\n  a ="
    )
    for spelled in (text, text.replace("x, y", "x,y")):
        module = parse_module(spelled)
        assert module.unparsed == ()
        assert lines_of(module)["main/k"] == 10
        assert lines_of(module)["main/a"] == 14
        assert module.entry.instructions[0].text.endswith("{3, 4}\n  })")


@pytest.mark.parametrize("text", [LONG, SHORT, ODD])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.rstrip(),
        lambda text: text + "\n\n\n",
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n\n", "\n \n"),
        lambda text: text.replace("{\n", "{\r\n"),
        lambda text: text.replace("\n}", "\n  ?\n}"),
    ],
)
def test_the_text_comes_back_and_lines_are_right(text: str, change):
    changed = change(text)
    module = parse_module(changed)
    assert b"".join(module.pieces) == changed.encode()
    assert module.byte_size == len(changed.encode())
    lines = changed.removeprefix("\ufeff").splitlines()
    assert module.line_count == len(lines)
    for name, line in lines_of(module).items():
        assert re.search(rf"\b{name.partition('/')[2]} ?=", lines[line - 1])
    for computation in module.computations:
        assert computation.name in lines[module.first_line(computation) - 1]


def test_bytes_and_text_give_the_same():
    assert parse_module(LONG.encode()).entry.root.text == parse_module(LONG).entry.root.text


def test_bytes_that_are_no_utf8_are_shown():
    module = parse_module(
        SHORT.encode().replace(b"to_apply=add", b'to_apply=add, a="\xff\xc3\xa9"')
    )
    assert module.entry.root.attributes["a"] == '"\\xff\u00e9"'


def test_equal_text_is_one_object():
    interner = Interner()
    first = parse_module(LONG, interner=interner)
    second = parse_module(LONG.replace("negate(%p)", "exponential(%p)"), interner=interner)
    assert first.computations[0] is second.computations[0]
    assert first.computations[1] is not second.computations[1]
    assert first.computations[1].instructions[0] is second.computations[1].instructions[0]
    assert first.computations[2] is second.computations[2]
    assert first.frames is second.frames
    assert first.header is second.header
    stats = interner.stats
    assert (stats.texts, stats.computations, stats.distinct_computations) == (2, 6, 4)
    assert (stats.instructions, stats.distinct_instructions) == (16, 9)
    assert stats.bytes == 2 * len(LONG) + len("exponential") - len("negate")


def test_equal_text_is_one_object_within_the_first_text_too():
    body = "%{} (x: f32[]) -> f32[] {{\n  %x = f32[] parameter(0)\n  ROOT %y = f32[] {}(%x)\n}}\n\n"
    pieces = [body.format(*each) for each in (("a", "abs"), ("b", "cosine"), ("c", "cosine"))]
    entry = "ENTRY " + body.format("main", "negate")
    text = "HloModule m\n\n" + "".join(pieces) + pieces[0] + pieces[1] + entry
    made = parse_module(text, interner=Interner()).computations
    assert len({id(each.instructions[0]) for each in made}) == 1
    assert made[0] is made[3]
    assert made[1] is made[4]
    assert made[1].instructions[1] is made[2].instructions[1]
    assert made[0].instructions[1] is not made[1].instructions[1]


def test_sharing_changes_no_answer():
    interner = Interner()
    texts = [
        LONG,
        SHORT,
        LONG.replace("%add", "%plus"),
        SHORT.replace("ROOT", "? \n  ROOT"),
        LONG,
        ODD,
    ]
    for text in texts:
        shared, alone = parse_module(text, interner=interner), parse_module(text)
        assert lines_of(shared) == lines_of(alone)
        assert shared.unparsed == alone.unparsed
        assert [c.text for c in shared.computations] == [c.text for c in alone.computations]


def test_a_name_means_the_computation_of_its_own_module():
    interner = Interner()
    first = parse_module(LONG, interner=interner)
    second = parse_module(LONG.replace("negate(%p)", "exponential(%p)"), interner=interner)
    call = first.entry.root
    assert call is second.entry.root
    assert first.callees(call)[0][1].root.opcode == "negate"
    assert second.callees(call)[0][1].root.opcode == "exponential"


def test_bodies_in_place_become_computations():
    body = "to_apply={ x = f32[] parameter(0) ROOT y = f32[] negate(x) }"
    text = SHORT.replace("to_apply=add", body) + SHORT.replace("to_apply=add", body)[18:]
    for spelled in (text, text.replace("{ x", "{\n    x").replace("x) }", "x)\n  }")):
        module = parse_module(spelled)
        assert module.unparsed == ()
        inner = [made for made in module.computations if made.is_in_place]
        assert [made.name for made in inner] == ["to_apply.1", "to_apply.2"]
        for made in inner:
            ((outer, caller),) = module.callers(made.name)
            assert module.callees(caller) == (("to_apply", made),)
            assert module.first_line(made) == module.line_of(outer, caller)
            assert module.computation_at(module.line_of(made, made.root)) is made
            assert b"".join(module.pieces) == spelled.encode()


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_a_comment_ends_with_its_line_whatever_ends_lines(end: str) -> None:
    lines = [
        "HloModule s:",
        "// G",
        "ENTRY c1 {",
        "// Foo = f32[] bar(",
        "ROOT c = f32[] iota(), iota_dimension=0 // x",
        "}",
    ]
    module = parse_module(end.join(lines), strict=True)
    assert [made.name for made in module.entry.instructions] == ["c"]
