"""What is printed reads as an equal module, to us and to XLA."""

from collections import Counter

import pytest

from hlo_parser import Interner, Module, modules_differ, parse_module, parse_proto, print_module
from hlo_parser.printer import PrintForm
from parser.dump_texts import hlo_texts
from parser.oracle import Oracle
from samples import Sample, load_samples

EVERY = 29
FORMS: tuple[PrintForm, ...] = ("long", "short")

LONG = """\
HloModule m, is_scheduled=true, entry_computation_layout={(f32[2]{0})->f32[2]{0}}

FileNames
1 "a \\"b\\".py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=1 end_line=2 column=3 end_column=4}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


%body (a.1: (f32[2], s32[])) -> (f32[2], s32[]) {
  ROOT %a.1 = (f32[2]{0}, s32[]) parameter(0)
}, execution_thread="t"

%condition (a.2: (f32[2], s32[])) -> pred[] {
  %a.2 = (f32[2]{0}, s32[]) parameter(0)
  ROOT %s1 = pred[] constant(true)
}

ENTRY %main (p: f32[2], q: s32[]) -> (f32[2], s32[]) {
  %p = f32[2]{0} parameter(0)
  %q = s32[] parameter(1)
  %c = f32[2]{0} constant({...})
  %many = (f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0}, /*index=5*/f32[2]{0}) tuple(%p, %p, %p, %p, %p, /*index=5*/%c)
  %t = (f32[2]{0}, s32[]) tuple(%p, %q), control-predecessors={%c, %many}
  ROOT %w = (f32[2]{0}, s32[]) while(%t), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"5"}}
}

"""  # noqa: E501 -- as XLA prints it

SHORT = """\
HloModule m, is_scheduled=true, entry_computation_layout={(f32[2]{0})->f32[2]{0}}

FileNames
1 "a \\"b\\".py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=1 end_line=2 column=3 end_column=4}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


body {
  ROOT a.1 = (f32[2]{0}, s32[]) parameter(0)
}, execution_thread="t"

condition {
  a.2 = (f32[2]{0}, s32[]) parameter(0)
  ROOT %s1 = pred[] constant(true)
}

ENTRY main {
  p = f32[2]{0} parameter(0)
  q = s32[] parameter(1)
  c = f32[2]{0} constant({...})
  many = (f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0}, f32[2]{0}, /*index=5*/f32[2]{0}) tuple(p, p, p, p, p, /*index=5*/c)
  t = (f32[2]{0}, s32[]) tuple(p, q), control-predecessors={c, many}
  ROOT w = (f32[2]{0}, s32[]) while(t), condition=condition, body=body, backend_config={"known_trip_count":{"n":"5"}}
}

"""  # noqa: E501


def test_both_forms() -> None:
    read = parse_module(LONG, strict=True)
    assert print_module(read) == LONG
    assert print_module(read, form="short") == SHORT
    assert print_module(parse_module(SHORT)) == LONG


def check(read: Module) -> None:
    for form in FORMS:
        printed = print_module(read, form=form)
        again = parse_module(printed)
        assert modules_differ(read, again) == ()
        assert print_module(again, form=form) == printed


# Modules in other spellings than XLA's own, or with what it does not know.
SPELLINGS = """\
ENTRY e {
  ROOT r = f32[] parameter(0)
}
===
f {
  r = f32[] parameter(0)
}

e {
  p = f32[] parameter(0)
  ROOT r = call(p), to_apply=f
}
===
HloModule m:
// c
ENTRY e { ROOT r = f32 [ 2 ] { 0 } add ( f32[2] %a , /* c */ b ) , x={ 1 } }
===
HloModule m

ENTRY e {
  a = s32[2,1]{1,0} constant({ { 1 },
 {2} })
}
===
HloModule m

ENTRY e {
  w = (s32[], (f32[2], f32[])) while(t)
  ROOT n = f32[2] negate(w#1#0)
}
===
HloModule m

ENTRY e {
  ROOT r = f32[] map(p), to_apply=
{
  ROOT t = f32[] parameter(0)
}
}
===
HloModule m

ENTRY e {
  r = f32[] conditional(p), branch_computations={a, %b}, metadata={op_name="q\\303"}
}
===
HloModule m

ENTRY e {
  c = s32[2]{0} custom-call(), literal=s32[2]{0} {1, 2}, backend_config="{\\"a\\":1}"
}
===
HloModule m

ENTRY e {
  ROOT unknown = f32[] add(pred, f32)
  bf16 = f32[] new-opcode(nan), new_key={[(]}
}
===
HloModule m, backend_config={"a":{}}

f {
  r = f32[] parameter(0), backend_config={"b":1}
}, execution_thread="t", backend_config={"c":{"d":[1,")"]}}

ENTRY e {
  ROOT r = f32[] parameter(0)
}, backend_config="x\\ty"
"""


@pytest.mark.parametrize("text", SPELLINGS.split("===\n"), ids=range(10))
def test_other_spellings(text: str) -> None:
    for given in (text, text.replace("\n", "\r\n")):
        read = parse_module(given)
        assert read.instruction_count > 0
        check(read)


def test_what_was_not_understood_is_not_printed() -> None:
    read = parse_module("HloModule m\n\nENTRY e {\n  a = f32[] parameter(0)\n  ((( ]\n}\n")
    assert len(read.unparsed) == 1
    assert "(((" not in print_module(read)


def test_frames_of_the_first_printer_are_printed_as_all_others() -> None:
    """In December 2025 parents were not one too high: 0 meant none."""
    rows = "StackFrames\n1 {file_location_id=1 parent_frame_id=1}"
    old = LONG.replace(rows, rows.replace("parent_frame_id=1", "parent_frame_id=0"))
    assert old != LONG
    assert print_module(parse_module(old)) == LONG


def agreement(sample: Sample, step: int) -> Counter[str]:
    """Print every `step`-th text of a sample in both forms; counts of what XLA read."""
    counts: Counter[str] = Counter()
    interner = Interner()
    with Oracle() as oracle:
        for index, (name, text) in enumerate(hlo_texts(sample.archive)):
            if index % step:
                continue
            read = parse_module(text, interner=interner)
            check(read)
            original = oracle.serialized(text)
            if isinstance(original, str):
                counts["refused"] += 1
                continue
            proto = parse_proto(original)
            assert proto.unparsed == (), name
            for form in FORMS:
                again = oracle.serialized(print_module(read, form=form).encode())
                assert isinstance(again, bytes), (name, again)
                assert again == original or modules_differ(parse_proto(again), proto) == (), name
            counts["agreed"] += 1
    return counts


@pytest.mark.parametrize("sample", load_samples(), ids=lambda sample: sample.name)
def test_texts_of_the_samples(sample: Sample) -> None:
    counts = agreement(sample, EVERY)
    assert counts["agreed"] > 0
    assert counts["refused"] == 0


@pytest.mark.long
@pytest.mark.parametrize("sample", load_samples(), ids=lambda sample: sample.name)
def test_all_texts_of_the_samples(sample: Sample) -> None:
    assert agreement(sample, 1)["refused"] == 0


@pytest.mark.parametrize(
    "line",
    [
        "p = f32[2]{\n0} parameter(0)",
        "p = f32[4//a{\n] parameter(0)",
        "p = (f32[2]{0}, /*index=5*,2]{0}, /*x*/f32[3]{0}) parameter(0)",
        "p = f32[4] parameter(0), sharding={devices=[2]\n}",
        'p = f32[4] parameter(0), metadata={op_name="a"\n}',
        "p = f32[4] parameter(0), backend_config='{\n  a = 1\n}'",
        'p = f32[4] parameter(0), backend_config={\n "a":[ {\n "b\\n": 1\n }\n }',
    ],
)
def test_odd_line_breaks_and_comments_are_not_printed_into_other_places(line: str) -> None:
    read = parse_module(f"HloModule m\n\nENTRY e {{\n  {line}\n}}\n")
    assert read.unparsed == ()
    for form in ("long", "short"):
        assert modules_differ(read, parse_module(print_module(read, form=form))) == ()


@pytest.mark.parametrize("thread", ["", "main", "side"])
@pytest.mark.parametrize("form", FORMS)
def test_the_thread_of_a_computation_is_read_as_printed(thread: str, form: PrintForm) -> None:
    """An empty one too, which a reader of whole lines and one of odd lines took differently."""
    text = f"""HloModule m

%c () -> f32[] {{
  ROOT %r = f32[] constant(1)
}}, execution_thread="{thread}"

ENTRY %e (a: f32[]) -> f32[] {{
  ROOT %a = f32[] parameter(0)
}}

"""
    for spelling in (text, text.replace("execution_thread=", "/*odd*/execution_thread=")):
        module = parse_module(spelling, strict=True)
        assert [each.execution_thread for each in module.computations] == [thread, "main"]
        assert modules_differ(module, parse_module(print_module(module, form=form))) == ()
