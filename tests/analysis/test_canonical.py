"""Digests of modules: what they take no account of, what they tell apart, where two part."""

import base64
import re
from collections.abc import Callable

import pytest

from app.analysis.canonical import Canonicalizer, elided_constants, module_digest
from app.analysis.canonical_difference import FirstDifference, first_difference
from app.analysis.canonical_payload import without_paths
from hlo_parser import parse_module

PLAIN = """\
HloModule jit_step, entry_computation_layout={(f32[4]{0}, f32[4]{0})->f32[4]{0}}, num_partitions=4

%add.1 (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b), metadata={op_name="jit(step)/add" \
source_file="/one/step.py" source_line=3}
}

ENTRY %main (x: f32[4], y: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %y = f32[4]{0} parameter(1)
  %pair = (f32[4]{0}, f32[4]{0}) tuple(%x, %y)
  %second = f32[4]{0} get-tuple-element(%pair), index=1
  %first = f32[4]{0} negate(%x)
  %all-reduce.7 = f32[4]{0} all-reduce(%first), channel_id=3, \
replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=%add.1
  %call.1 = f32[4]{0} custom-call(%second), custom_call_target="k", \
backend_config={file = "/one/kernel.py"}
  ROOT %result = f32[4]{0} subtract(%all-reduce.7, %call.1)
}
"""
SCHEDULED = PLAIN.replace("HloModule jit_step,", "HloModule jit_step, is_scheduled=true,")


def digest(text: str) -> str:
    module = parse_module(text)
    assert not module.unparsed
    return module_digest(module)


def differing(before: str, after: str) -> FirstDifference | None:
    canonicalizer = Canonicalizer()
    return first_difference(
        canonicalizer.of_module(parse_module(before)), canonicalizer.of_module(parse_module(after))
    )


def named(found: FirstDifference | None) -> tuple[str | None, str | None, tuple[str, ...]]:
    assert found is not None
    before = found.before.name if found.before else None
    return before, found.after.name if found.after else None, found.what


@pytest.mark.parametrize("text", [PLAIN, SCHEDULED], ids=["unscheduled", "scheduled"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("jit_step", "jit_other"),
        ("all-reduce.7", "all-reduce.71.clone"),
        ("add.1", "region_9.99"),
        ("channel_id=3", "channel_id=17"),
        ("/one/", "/home/somebody/else/"),
        ("source_line=3", "stack_frame_id=12"),
        ("f32[4]{0} custom-call(%second)", "f32[4]{0} custom-call(%pair#1)"),
        ("num_partitions=4", 'num_partitions=4, frontend_attributes={fingerprint_before_lhs="ab"}'),
        ("replica_groups={{0,1},{2,3}}", "replica_groups=[2,2]<=[4]"),
        ("replica_groups={{0,1},{2,3}}", "replica_groups=mesh['a'=2,'b'=2] {'b'}"),
    ],
)
def test_names_ids_and_paths_make_no_difference(text: str, old: str, new: str) -> None:
    assert old in text
    assert digest(text.replace(old, new)) == digest(text)
    assert differing(text, text.replace(old, new)) is None


@pytest.mark.parametrize("text", [PLAIN, SCHEDULED], ids=["unscheduled", "scheduled"])
@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("subtract(%all-reduce.7, %call.1)", "subtract(%call.1, %all-reduce.7)", "operands"),
        ("{{0,1},{2,3}}", "{{0,2},{1,3}}", "replica_groups"),
        ("replica_groups={{0,1},{2,3}}, ", "replica_groups={}, ", "replica_groups"),
        ("%first = f32[4]{0}", "%first = f32[4]{0:T(128)}", "shape"),
        ('target="k"', 'target="j"', "custom_call_target"),
        ("use_global_device_ids=true, ", "", "use_global_device_ids"),
    ],
)
def test_what_is_computed_makes_one(text: str, old: str, new: str, what: str) -> None:
    assert old in text
    assert digest(text.replace(old, new)) != digest(text)
    before, after, said = named(differing(text, text.replace(old, new)))
    assert before == after
    assert said == (what,)


def test_a_difference_inside_a_callee_is_found_there() -> None:
    found = differing(PLAIN, PLAIN.replace("f32[] add(%a, %b)", "f32[] add(%b, %a)"))
    assert named(found) == ("sum", "sum", ("operands",))
    assert found is not None
    assert found.before_computation == "add.1"


def test_what_stands_in_the_header_alone_is_said_to() -> None:
    aliased = PLAIN.replace("num_partitions=4", "input_output_alias={ {}: (0, {}) }")
    plain = PLAIN.replace("num_partitions=4", "input_output_alias={ {}: (1, {}) }")
    assert named(differing(aliased, plain)) == (None, None, ("header",))


def swapped(text: str) -> str:
    """The text with two lines exchanged that nothing orders."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if "%all-reduce.7 =" in line)
    lines[first], lines[first + 1] = lines[first + 1], lines[first]
    return "\n".join(lines)


def test_order_counts_where_it_is_a_schedule() -> None:
    assert digest(swapped(PLAIN)) == digest(PLAIN)
    assert digest(swapped(SCHEDULED)) != digest(SCHEDULED)
    assert named(differing(SCHEDULED, swapped(SCHEDULED))) == ("all-reduce.7", "call.1", ("order",))


def test_control_edges_count() -> None:
    waiting = PLAIN.replace(
        ', backend_config={file = "/one',
        ', control-predecessors={%all-reduce.7}, backend_config={file = "/one',
    )
    assert digest(waiting) != digest(PLAIN)


SHARED_VALUES = """\
HloModule m

ENTRY %main () -> (f32[], f32[]) {
  %one = f32[] rng(), distribution=rng_uniform
  %two = f32[] rng(), distribution=rng_uniform
  %f = f32[] add(%one, %ONE)
  %g = f32[] multiply(%TWO, %two)
  ROOT %r = (f32[], f32[]) tuple(%f, %g)
}
"""


def test_who_shares_a_value_counts() -> None:
    apart = SHARED_VALUES.replace("%ONE", "%one").replace("%TWO", "%two")
    crossed = SHARED_VALUES.replace("%ONE", "%two").replace("%TWO", "%one")
    assert digest(apart) != digest(crossed)


def test_which_collectives_share_a_channel_counts() -> None:
    lines = PLAIN.replace(
        "  ROOT %result",
        "  %other = f32[4]{0} all-reduce(%call.1), channel_id=CH, replica_groups={{0,1},{2,3}}, "
        "to_apply=%add.1\n  ROOT %result",
    )
    assert digest(lines.replace("CH", "3")) != digest(lines.replace("CH", "4"))
    assert digest(lines.replace("CH", "4")) == digest(lines.replace("CH", "5"))


def test_text_that_was_not_understood_counts() -> None:
    broken = parse_module(PLAIN.replace("  ROOT %result", "  ?? one\n  ROOT %result"))
    other = parse_module(PLAIN.replace("  ROOT %result", "  ?? two\n  ROOT %result"))
    assert broken.unparsed
    assert module_digest(broken) != module_digest(other)


def test_what_nothing_calls_does_not_count() -> None:
    dead = "%dead (q: f32[4]) -> f32[4] {\n  %q = f32[4]{0} parameter(0)\n  ROOT %z = f32[4]{0} "
    dead += "all-reduce(%q), channel_id=3, replica_groups={}, to_apply=%add.1\n}\n\nENTRY"
    assert digest(PLAIN.replace("ENTRY", dead)) == digest(PLAIN)


def test_calls_in_a_circle_come_to_an_end() -> None:
    text = """\
HloModule m

%one (a: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  ROOT %c = f32[] call(%a), to_apply=%two
}

%two (b: f32[]) -> f32[] {
  %b = f32[] parameter(0)
  ROOT %d = f32[] call(%b), to_apply=%one
}

ENTRY %main (x: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  ROOT %r = f32[] call(%x), to_apply=%one
}
"""
    assert digest(text) == digest(text.replace("%one", "%eins"))
    assert digest(text) != digest(text.replace("call(%b)", "negate(%b)"))


def test_constants_without_values_are_counted() -> None:
    text = PLAIN.replace("  ROOT %result", "  %big = f32[4]{0} constant({...})\n  ROOT %result")
    assert elided_constants(parse_module(text)) == 1


# ---- payloads -----------------------------------------------------------------------------------


def number(value: int) -> bytes:
    """As MLIR writes numbers: the trailing zeros of the first byte say how many bytes follow."""
    for extra in range(7):
        if value < 1 << (7 * (extra + 1)):
            shifted = ((value << 1) | 1) << extra
            return shifted.to_bytes(extra + 1, "little")
    raise AssertionError(value)


def bytecode(*strings: bytes, rest: bytes = b"\x01\x02") -> bytes:
    texts = [string + b"\x00" for string in strings]
    section = number(len(texts)) + b"".join(number(len(t)) for t in reversed(texts))
    section += b"".join(texts)
    pieces = b"ML\xefR" + number(6) + b"LLVM\x00"
    for kind, data in ((0, section), (4, rest)):
        pieces += bytes((kind,)) + number(len(data)) + data
    return pieces


def as_mlir(payload: bytes) -> str:
    escaped = "".join(
        chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in payload
    )
    return f'{{grid_x = 4 : i32, ir = "{escaped}"}}'


def as_json(payload: bytes) -> str:
    return f'{{"custom_call_config":{{"body":"{base64.b64encode(payload).decode()}"}}}}'


@pytest.mark.parametrize("written", [as_mlir, as_json])
def test_paths_in_a_kernel_make_no_difference(written: Callable[[bytes], str]) -> None:
    here = written(bytecode(b"/one/kernel.py", b"kernel", b"x" * 200))
    there = written(
        bytecode(b"/a/much/longer/" + b"p" * 300 + b"/kernel.py", b"kernel", b"x" * 200)
    )
    assert without_paths(here) == without_paths(there)
    assert without_paths(here) != without_paths(
        written(bytecode(b"/one/kernel.py", b"k", b"x" * 200))
    )
    other = written(bytecode(b"/one/kernel.py", b"kernel", b"x" * 200, rest=b"\x01\x03"))
    assert without_paths(here) != without_paths(other)


@pytest.mark.parametrize("cut", [4, 6, 12, 20])
def test_bytecode_that_breaks_off_counts_as_it_stands(cut: int) -> None:
    payload = bytecode(b"/one/kernel.py", b"kernel", b"x" * 200)[:cut]
    assert re.search(r"[0-9a-f]{32}", without_paths(as_mlir(payload)))


def test_relative_names_and_quotients_stay() -> None:
    for text in ('{name="jit(f)/mul"}', '{x="a/b"}', "{scale=1/8}", '{x="//"}', '{s="\\"q\\""}'):
        assert without_paths(text) == text
    assert without_paths('{f="/a/b/c.py", g="C:\\\\dir\\\\d.py"}') == '{f="c.py", g="d.py"}'


def test_the_address_of_a_python_callback_makes_no_difference() -> None:
    text = PLAIN.replace('target="k"', 'target="xla_python_cpu_callback"')
    text = text.replace('{file = "/one/kernel.py"}', '"94123412344"')
    assert digest(text) == digest(text.replace("94123412344", "94000000000"))


def test_tuples_in_tuples_without_end_take_time_in_proportion() -> None:
    lines = ["  %e0 = f32[4]{0} get-tuple-element(%x), index=0"]
    lines += [
        f"  %e{k} = f32[4]{{0}} get-tuple-element(%e{k - 1}), index=0" for k in range(1, 20_000)
    ]
    text = "HloModule m\n\nENTRY %main {\n  %x = f32[4]{0} parameter(0)\n" + "\n".join(lines)
    assert len(digest(f"{text}\n  ROOT %r = f32[4]{{0}} negate(%e19999)\n}}\n")) == 32


def test_blanks_and_slashes_take_time_in_proportion() -> None:
    for text in (" " * 100_000, "/" * 100_000, "/a" * 50_000, ', "ML\\EFR' * 20_000, ":/" * 50_000):
        without_paths(f"{{x={text}}}")
