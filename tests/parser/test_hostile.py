"""Hostile texts: four times the text takes about four times as long, and gets a clear answer."""

import gc
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import hlo_parser
from hlo_parser import HloSyntaxError, Module, parse_module
from hlo_parser.body import MAX_BODY_DEPTH
from hlo_parser.grammar import MAX_TEXT
from hlo_parser.lines import MAX_DEPTH

SIZE = 4_000
GROWTH = 4
# Quadratic would be 16; the rest is noise of a busy machine.
LIMIT = 10
FLOOR_S = 0.01


def body(*lines: str) -> str:
    """A module whose entry has the lines and a root."""
    middle = "".join(f"  {line}\n" for line in lines)
    return f"HloModule m\n\nENTRY e {{\n{middle}  ROOT r = f32[] constant(0)\n}}\n\n"


def before_entry(text: str) -> str:
    """A module with the text in front of its entry."""
    return f"HloModule m\n\n{text}\nENTRY e {{\n  ROOT r = f32[] constant(0)\n}}\n\n"


def ones(count: int) -> str:
    return ",".join(["1"] * count)


def numbers(count: int) -> str:
    return ",".join(map(str, range(count)))


TEXTS: dict[str, Callable[[int], str]] = {
    "million-element literal": lambda n: body(f"c = f32[{n}] constant({{{'1.5, ' * n}}})"),
    "literal in rows": lambda n: body(f"c = f32[{n},2] constant({{\n{'    {1, 2},' * n}\n  }})"),
    "braces in an attribute": lambda n: body("c = f32[] add(r), k=" + "{" * n),
    "closed braces": lambda n: body("c = f32[] add(r), k=" + "{" * n + "}" * n),
    "many open values": lambda n: body("c = f32[] add(r)" + ", a={" * n),
    "many attributes": lambda n: body("c = f32[] add(r)" + ", a=b" * n),
    "many attributes, then junk": lambda n: body("c = f32[] add(r)" + ", a=b" * n + ", !!"),
    "escaped quotes": lambda n: body('c = f32[] add(r), a="' + '\\"' * n),
    "quotes in braces": lambda n: body("c = f32[] add(r), a={" + '"\\"' * n),
    "open arguments": lambda n: body("c = f32[] add(" + "(" * n),
    "deep arguments": lambda n: body("c = f32[] add(" + "(" * n + ")" * n + ")"),
    "operands": lambda n: body("c = f32[] add(" + ", ".join(["r"] * n) + ")"),
    "operands, then junk": lambda n: body("c = f32[] add(" + "r, " * n + "!)"),
    "deep shape": lambda n: body("c = " + "(" * n + "f32[]" + ")" * n + " add(r)"),
    "wide shape": lambda n: body("c = (" + ", ".join(["f32[2]{0:T(8)}"] * n) + ") add(r)"),
    "dimensions": lambda n: body("c = f32[" + ",".join(["9"] * n) + "] add(r)"),
    "dimensions that are reduced": lambda n: body(
        f"a = f32[{ones(n)}] parameter(0)",
        "z = f32[] parameter(1)",
        f"b = reduce(a, z), dimensions={{{numbers(n)}}}",
    ),
    "dimensions that are gathered": lambda n: body(
        f"a = f32[{ones(n)}] parameter(0)",
        "i = s32[0] parameter(1)",
        f"b = gather(a, i), offset_dims={{{numbers(n)}}}, slice_sizes={{{ones(n)}}}, "
        "index_vector_dim=0",
    ),
    "dimensions that are scattered": lambda n: body(
        f"a = f32[{ones(n)}] parameter(0)",
        "i = s32[0] parameter(1)",
        f"b = scatter(a, i, a), update_window_dims={{{numbers(n)}}}, index_vector_dim=0",
    ),
    "deep configuration": lambda n: body(
        "c = f32[] add(r), backend_config=" + '{"a":' * n + "}" * n
    ),
    "deep JSON list": lambda n: body(
        'c = f32[] add(r), backend_config={"a":' + "[" * n + "]" * n + "}"
    ),
    "digits": lambda n: body("c = s32[] constant(" + "9" * n + ")"),
    "a long name": lambda n: body("x" * n + " = f32[] add(r)"),
    "a long line of junk": lambda n: body("?" * n),
    "lines of junk": lambda n: body(*["junk !"] * n),
    "instructions of junk": lambda n: body(*["%x = garbage !!"] * n),
    "unclosed instructions": lambda n: body(*["%x = f32[] add("] * n),
    "unclosed strings": lambda n: body(*['x = f32[] add(r), a="'] * n),
    "an instruction of many lines": lambda n: body("x = f32[] add(r,\n" + "r,\n" * n + "r)"),
    "instructions on one line": lambda n: before_entry("c { " + "p = f32[] iota() " * n + "}"),
    "bodies in bodies": lambda n: before_entry("c {\n a = b()" + ", to_apply={ a = b()" * n),
    "unclosed signatures": lambda n: before_entry("a(\n" * n),
    "open comments": lambda n: before_entry("/*" * n),
    "closed comments": lambda n: before_entry("/**/" * n),
    "line comments": lambda n: before_entry("//\n" * n),
    "apostrophes before comments": lambda n: before_entry("it's // so\n" * n),
    "open JSON": lambda n: body("c = f32[] add(r) // c" + ", backend_config={" * n),
    "open JSON in frontend attributes": lambda n: body(
        "c = f32[] add(r) /* c */" + ", frontend_attributes={a={" * n
    ),
    "escaped quotes in open JSON": lambda n: before_entry("//\nbackend_config={" + '\\"' * n),
    "escaped quotes in an open foot": lambda n: before_entry(
        "a {\n r = f32[] iota()\n}, origin={" + '\\"' * n
    ),
    "escaped quotes in open frontend attributes": lambda n: body(
        "c = f32[] add(r) /* c */, frontend_attributes={a={" + '\\"' * n
    ),
    "lines of an open string": lambda n: before_entry("//\n" + "\"\\'\n" * n),
    "lines of escaped quotes": lambda n: before_entry("//\n" + '\\"\n' * n),
    "lines of escaped apostrophes": lambda n: body("c = f32[] add(\n" + "\\'\n" * n),
    "escaped quotes before an instruction": lambda n: before_entry(
        '//\n"\n' + '\\"\n' * n + ' x = f32[] "y'
    ),
    "escaped quotes in a header": lambda n: with_header(', origin_recovery_table={"' + '\\"\n' * n),
    "apostrophes behind a body": lambda n: body(
        'c = f32[] call(r), to_apply={ a = f32[] iota(), b="c" }, k={\'' + "\\'" * n + "}"
    ),
    "open feet": lambda n: before_entry("a {\n r = f32[] iota()\n}, b={\n" * n),
    "comments in values": lambda n: body("c = f32[] add(r), a={" + "/* } */" * n + "}"),
    "blank lines": lambda n: before_entry("\n" * n),
    "computations without bodies": lambda n: before_entry("a {\n" * n),
    "empty computations": lambda n: before_entry("a {\n}\n" * n),
    "odd computations": lambda n: before_entry("a {\n r = iota()\n}\n" * n),
    "a header of braces": lambda n: body().replace("m\n", f"m, a={'{' * n}\n", 1),
    "a header of lines": lambda n: body().replace("m\n", "m," + "\n" * n + "a=b\n", 1),
    "half a frame table": lambda n: before_entry("FileNames\n" + '1 "a"\n' * n + "\n\n"),
}


def ask_everything(module: Module) -> None:
    """Make every lazy value."""
    for computation in module.computations:
        assert computation.users is not None
        for made in computation.instructions:
            values = (
                made.operands,
                made.attributes,
                made.callees,
                made.backend_config,
                made.shape.elements,
            )
            assert values is not None
            assert made.shape.byte_size >= 0


@contextmanager
def uncollected() -> Generator[None]:
    """No garbage collection: it takes as long as the objects of all earlier tests want."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds(text: str) -> float:
    """The lesser of two times of reading a text and asking it everything."""
    times: list[float] = []
    for _ in range(2):
        with uncollected():
            start = time.process_time()
            with suppress(HloSyntaxError):
                ask_everything(parse_module(text))
            times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("make", TEXTS.values(), ids=TEXTS.keys())
def test_time_grows_with_the_text(make: Callable[[int], str]):
    small, large = seconds(make(SIZE)), seconds(make(GROWTH * SIZE))
    assert large < LIMIT * max(small, FLOOR_S)


ROOT = "ROOT r = f32[] add(p, p)"
STRICT_TEXTS: dict[str, Callable[[int], str]] = {
    "sound instructions": lambda n: sound(
        *(f'a{i} = f32[] add(p, p), metadata={{op_name="{"x" * 400}"}}' for i in range(n)), ROOT
    ),
    "an attribute twice behind others": lambda n: sound(
        ROOT + "".join(f", a{i}=1" for i in range(n)) + f", a{n - 1}=1"
    ),
    "open comments in a value": lambda n: sound(ROOT + ", backend_config={" + "/* " * n + "}"),
    "open strings in a value": lambda n: sound(ROOT + ", backend_config={'" + "\\'" * n + "}"),
    "open feet in a string": lambda n: sound(
        ROOT + ', metadata={op_name="' + '}, a={{{\\"' * n + '"}'
    ),
    "open bodies in each other": lambda n: sound(ROOT + ", calls={a = " * (n // 80)),
    "open bodies with instructions in each other": lambda n: sound(
        *(ROOT, "a = f32[] call(p), to_apply={ p = f32[] parameter(0)") * (n // 40)
    ),
    "open comments in a header": lambda n: sound(ROOT).replace("m\n", f"m, a={{{'/* ' * n}}}\n", 1),
}


def sound(*lines: str) -> str:
    """A module whose entry has a parameter and the lines."""
    middle = "".join(f"  {line}\n" for line in lines)
    return f"HloModule m\n\nENTRY e {{\n  p = f32[] parameter(0)\n{middle}}}\n\n"


def seconds_strictly(text: str) -> float:
    """The time of one strict reading."""
    with uncollected():
        start = time.process_time()
        with suppress(HloSyntaxError):
            parse_module(text, strict=True)
        return time.process_time() - start


@pytest.mark.parametrize("make", STRICT_TEXTS.values(), ids=STRICT_TEXTS.keys())
def test_time_of_strict_reading_grows_with_the_text(make: Callable[[int], str]):
    small, large = seconds_strictly(make(SIZE)), seconds_strictly(make(GROWTH * SIZE))
    assert large < LIMIT * max(small, FLOOR_S)


@pytest.mark.parametrize("make", TEXTS.values(), ids=TEXTS.keys())
def test_the_entry_is_found_whatever_stands_around_it(make: Callable[[int], str]):
    module = parse_module(make(50))
    assert module.entry.name == "e"
    assert module.entry.instructions


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("c = f32[] add(r), k=" + "{" * 1000 + "}" * 1000, "nest deeper than 64"),
        ("c = " + "(" * 1000 + "f32[]" + ")" * 1000 + " add(r)", "nest deeper than 64"),
        ("c = f32[] add(r), ?" + "x" * 2_000_000, "longer than 1048576 characters"),
        ("c = f32[] add(r), k={" * 3, "expected"),
    ],
)
def test_what_is_too_much_is_said(line: str, reason: str):
    (gap,) = parse_module(body(line)).unparsed
    assert reason in gap.reason
    assert gap.span.line == 4
    assert len(gap.text) <= 200


def test_the_readme_tells_the_limits():
    text = (Path(hlo_parser.__file__).parent / "README.md").read_text("utf-8")
    assert f"| bodies in bodies deeper than {MAX_BODY_DEPTH} |" in text
    assert f"| brackets nested deeper than {MAX_DEPTH}, a line of unusual form longer than " in text
    assert f"longer than {MAX_TEXT >> 20} MiB |" in text


def test_a_huge_constant_is_read_whole():
    text = body(f"c = f32[300000,2] constant({{ {', '.join(['{1, 2}'] * 300_000)} }})")
    module = parse_module(text)
    assert module.unparsed == ()
    literal = module.entry.instructions[0].literal
    assert literal is not None
    assert len(literal.text) == 300_000 * 8 + 2


HUGE = "9" * 5_000


@pytest.mark.parametrize(
    "line",
    [
        f"c = f32[2]{{{HUGE}}} iota()",
        f"c = f32[2]{{0:S({HUGE})}} iota()",
        f"c = f32[{HUGE}] iota()",
        f"c = f32[] add(r#{HUGE}, r)",
        f"c = s32[] constant({HUGE})",
        f"c = f32[] all-reduce(r), channel_id={HUGE}, replica_groups={{{{{HUGE}}}}}",
        f"c = f32[] all-reduce(r), replica_groups=mesh['a'={HUGE}] {{'a':({HUGE}){HUGE}}}",
        f"c = f32[] all-reduce(r), replica_groups=[{HUGE},2]<=[{HUGE}]",
        f'c = f32[] add(r, r), metadata={{source_line={HUGE} op_name="a"}}',
        f"c = f32[] get-tuple-element(r), index={HUGE}",
        f"c = f32[] parameter({HUGE})",
    ],
)
def test_numbers_longer_than_python_reads_are_no_surprise(line: str) -> None:
    module = parse_module(body(line))
    for made in module.entry.instructions:
        repr((made.shape.minor_to_major, made.shape.memory_space, made.shape.byte_size))
        repr((made.operand_paths, made.replica_groups, made.metadata, made.channel_id))
        repr((made.tuple_index, made.parameter_number, made.literal and made.literal.scalar))
        if made.replica_groups is not None:
            repr(made.replica_groups.group_size)
    with suppress(HloSyntaxError):
        parse_module(body(line), strict=True)


def with_header(attributes: str) -> str:
    """A module whose header has the attributes."""
    return body().replace("m\n", f"m{attributes}\n", 1)


LONG_TEXTS: dict[str, tuple[Callable[[int], str], int]] = {
    "a line of 10 MB": (lambda n: body(f'c = f32[] add(r), k="{"x" * n}"'), 10_000_000),
    "a name of 10 MB": (lambda n: body("x" * n + " = f32[] add(r)"), 10_000_000),
    "braces 100,000 deep": (
        lambda n: body("c = f32[] add(r), k=" + "{" * n + "}" * n),
        100_000,
    ),
    "80 kB of open braces in a tail": (lambda n: body("c = f32[] add(r), k=" + "{" * n), 80_000),
    "80 kB of open braces for an instruction": (lambda n: body("{" * n), 80_000),
    "20,000 lines of an open brace": (lambda n: body("{\n" * n), 20_000),
    "a million elements": (
        lambda n: body(f"c = s32[{n}] constant({{{', '.join(['1'] * n)}}})"),
        1_000_000,
    ),
    "a million operands": (
        lambda n: body("c = f32[] add(" + ", ".join(["r"] * n) + ")"),
        1_000_000,
    ),
    "100,000 attributes": (
        lambda n: body("c = f32[] add(r)" + "".join(f", a{i}=b" for i in range(n))),
        100_000,
    ),
    "100,000 frontend attributes": (
        lambda n: body(
            "c = f32[] add(r), frontend_attributes={"
            + ",".join(f'a{i}="b"' for i in range(n))
            + "}"
        ),
        100_000,
    ),
    "100,000 header attributes": (
        lambda n: with_header("".join(f", a{i}=b" for i in range(n))),
        100_000,
    ),
    "100,000 computations": (
        lambda n: before_entry(
            "".join(f"a{i} {{\n  ROOT r = f32[] iota()\n}}\n\n" for i in range(n))
        ),
        100_000,
    ),
    "open comments in a table of frames": (
        lambda n: before_entry('FileNames\n1 "a"\n\nFileLocations\n1 {' + "/*x " * n + "\n\n"),
        8_000,
    ),
    "a chain of comments": (lambda n: before_entry("/**/ // a\n" * n), 100_000),
}


def seconds_long(text: str) -> float:
    """As `seconds`, with frontend attributes and header, once."""
    with uncollected():
        start = time.process_time()
        with suppress(HloSyntaxError):
            parse_module(text, strict=True)
        with suppress(HloSyntaxError):
            module = parse_module(text)
            ask_everything(module)
            assert module.header.attributes is not None
            for made in module.entry.instructions:
                assert made.frontend_attributes is not None
        return time.process_time() - start


@pytest.mark.parametrize(("make", "size"), LONG_TEXTS.values(), ids=LONG_TEXTS.keys())
def test_long_texts_cost_in_proportion(make: Callable[[int], str], size: int):
    # A busy machine lengthens some runs: the longest of the small, the shortest of the large.
    small = max(seconds_long(make(size // GROWTH)) for _ in range(2))
    large = seconds_long(make(size))
    if large >= LIMIT * max(small, FLOOR_S):
        large = seconds_long(make(size))
    assert large < LIMIT * max(small, FLOOR_S)
