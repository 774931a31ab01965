"""Texts read with one interner give what each gives alone, however one turns into the next."""

import random

import pytest

from hlo_parser import Interner, Module, parse_module

LINES = 60


def line(number: int, opcode: str = "add") -> str:
    """A line of a hundred bytes, so that computations are long enough to be compared."""
    note = f'metadata={{op_name="jit(step)/layer_{number}/{opcode}" stack_frame_id={number}}}'
    return f"  %{opcode}.{number} = f32[8,16]{{1,0}} {opcode}(%x, %x), {note}"


def text_of(body: list[str], name: str = "main", foot: str = "}") -> bytes:
    """A module of a small computation, one with this body, and another small one."""
    small = "%{} (p: f32[]) -> f32[] {{\n  ROOT %p = f32[] parameter(0)\n}}"
    head = f"ENTRY %{name} (x: f32[8,16]) -> f32[8,16] {{"
    middle = "\n".join((head, "  %x = f32[8,16]{1,0} parameter(0)", *body, foot))
    return "\n\n".join(("HloModule m", small.format("a"), middle, small.format("b"))).encode()


def told(module: Module) -> list[object]:
    """All that reading tells of a text, places too."""
    computations = [
        (
            computation.name,
            computation.text,
            computation.execution_thread,
            computation.line_count,
            [(made.text, module.line_of(computation, made)) for made in computation.instructions],
        )
        for computation in module.computations
    ]
    return [computations, module.first_lines, module.unparsed, module.line_count, module.pieces]


def assert_alike(texts: list[bytes]) -> Interner:
    """Every text gives with those before it what it gives alone."""
    interner = Interner()
    for text in texts:
        assert told(parse_module(text, interner=interner)) == told(parse_module(text))
    return interner


BODY = [line(number) for number in range(LINES)]
CONSTANT = "  %c = s32[2,2]{1,0} constant({\n    { 1, 2 },\n    { 3, 4 }\n  })"


@pytest.mark.parametrize(
    "body",
    [
        [line(99), *BODY],
        [*BODY, line(99)],
        [*BODY[:30], line(99), *BODY[30:]],
        [*BODY[:30], *BODY[31:]],
        BODY[1:],
        BODY[:-1],
        [*BODY[:30], *BODY[20:]],
        [*BODY, *BODY],
        [*BODY[:10], line(10, "subtract"), *BODY[11:50], line(50, "divide"), *BODY[51:]],
        [*BODY[:30], "  %odd = ] f32 [", *BODY[30:]],
        [*BODY[:30], "  what is this", *BODY[30:]],
        [*BODY[:30], CONSTANT, *BODY[31:]],
        [*BODY[:30], line(30).replace("jit", "é\u4e2d"), *BODY[31:]],
        [*BODY[:30], "", *BODY[30:]],
        [*BODY[:30], "}", "", "%other () -> f32[] {", *BODY[30:]],
        [f" {text}" for text in BODY],
    ],
)
def test_a_changed_body_is_read_as_if_alone(body: list[str]) -> None:
    assert_alike([text_of(BODY), text_of(body), text_of(BODY), text_of(body)])
    assert_alike([text_of(body), text_of(BODY)])


@pytest.mark.parametrize(
    "odd",
    [
        "  %k = f32[] constant(1)",
        "  %k = f32[3]{0} constant({1, 2, 3})",
        "  %k = f32[8,16]{1,0} add(f32[8,16]{1,0} %x, f32[8,16]{1,0} %x)",
        CONSTANT,
        "  %k = f32[8,16]{1,0} add(%x, /*which*/ %x)",
        "  %k = f32[8,16]{1,0} add(%x, %x), note={",
        '  %k = f32[8,16] add(%x, %x), metadata={op_name="caf\u00e9"}',
        "   %k = f32[8,16]{1,0} add(%x, %x)",
        " %k = f32[8,16]{1,0} add(%x, %x)",
        "  %k = f32[8,16]{1,0} add(%x, %x)  ",
        "  %k = f32[8,16]{1,0} add(%x, %x)\r",
        "  %k = f32[8,16]{1,0} add(%x,\n  %x)",
        "  %k = f32[8,?x]{1,0} add(%x, %x)",
        "  this is no instruction",
        "  %k = f32[8,16]{1,0} parameter(%x)",
        "  add.0 = f32[4] add(%x, %x)",
        line(3),
        "  ",
        "",
        "}",
        "  }",
    ],
)
@pytest.mark.parametrize("place", [0, 30, LINES])
def test_an_odd_line_is_read_alike_in_a_first_and_a_second_text(odd: str, place: int) -> None:
    assert_alike([text_of(BODY[:5]), text_of([*BODY[:place], odd, *BODY[place:]])])
    assert_alike([text_of(BODY[:5]), text_of([odd])])


@pytest.mark.parametrize("foot", ['}, execution_thread="host"', "} // main", "}  ", "}}"])
def test_a_changed_foot_is_read_as_if_alone(foot: str) -> None:
    assert_alike([text_of(BODY), text_of(BODY, foot=foot), text_of([line(7), *BODY], foot=foot)])


def test_computations_of_one_name_in_a_first_text_are_shared_by_their_text() -> None:
    twice, other = text_of(BODY) + b"\n\n", text_of(BODY[1:]).partition(b"\n\n")[2] + b"\n\n"
    body = twice.partition(b"\n\n")[2]
    interner = Interner()
    module = parse_module(twice + body + other + body, interner=interner)
    assert told(module) == told(parse_module(twice + body + other + body))
    entries = [made for made in module.computations if made.name == "main"]
    assert entries[0] is entries[1] is entries[3] is not entries[2]
    again = parse_module(other.join((b"HloModule m\n\n", b"")), interner=interner)
    assert again.computations[1] is entries[2]
    assert interner.stats.distinct_computations == 4


def test_bodies_of_other_names_and_equal_size_are_kept_apart() -> None:
    bodies = [[*BODY[:30], line(90 + number), *BODY[31:]] for number in range(9)]
    interner = assert_alike([text_of(body) for body in (*bodies, *bodies)])
    assert interner.stats.distinct_computations == len(bodies) + 2


def test_lines_at_both_ends_are_the_same_objects() -> None:
    interner = Interner()
    first, second = (
        parse_module(text_of(body), interner=interner).entry.instructions
        for body in (BODY, [*BODY[:30], line(99), *BODY[31:]])
    )
    assert [one is other for one, other in zip(first, second, strict=True)].count(False) == 1


@pytest.mark.parametrize("seed", range(20))
def test_many_small_changes(seed: int) -> None:
    chance = random.Random(seed)
    body, texts = list(BODY), [text_of(BODY)]
    for step in range(12):
        for _ in range(chance.choice((1, 1, 2, 9))):
            place = chance.randrange(len(body))
            new = chance.choice((line(100 + step), line(place, "multiply"), CONSTANT, "  odd"))
            body[place : place + chance.choice((0, 1, 1, 3))] = chance.choice(([], [new], [new]))
            body = body or list(BODY)
        texts.append(text_of(body))
    assert_alike(texts)


def test_a_head_of_two_lines_counts_as_two() -> None:
    body = b"{\n  ROOT %a = f32[] parameter(0)\n}\n"
    text = b"HloModule m\n\n%f (a: f32[],\nb: f32[]) -> f32[] " + body
    module = parse_module(text)
    assert module.line_of(module.entry, module.entry.root) == 5
    assert module.line_count == 6
