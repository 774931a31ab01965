"""Whom a message is about, and what the instructions printed in it say."""

import pytest

from app.analysis.printed import (
    misread_words,
    printed_in,
    rendezvous_in,
    subjects_in,
    targets_in,
    without_print,
)

PRINT = (
    "%sum.4 = f32[4]{0} reduce(f32[4,8]{1,0} %x.1, f32[] %zero), dimensions={1}, to_apply=%add, "
    'metadata={op_name="jit(f)/sum[axes=(1,)]" source_file="/a b/f.py" source_line=13}'
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"cannot remove instruction: {PRINT}", ("sum.4",)),
        ("%a = f32[] add(%x, %y) vs %b = f32[] add(%y, %x)", ("a", "b")),
        (
            "failed.; current tracing scope: all-reduce-start.163; current profiling",
            ("all-reduce-start.163",),
        ),
        ("- Failure occurred when compiling fusion dot.9 with config '{block_m:8}'", ("dot.9",)),
        ("HloInstruction 'get-tuple-element.3' is of type", ("get-tuple-element.3",)),
        ('Found an instruction ("scatter.5") which does device compute', ("scatter.5",)),
        ('(from "a.1") was used by an instruction ("b") not acceptable', ("a.1", "b")),
        ("ptxas error   : Entry function 'input_fusion_2' uses too much", ("input_fusion_2",)),
        ("  pad.16 (displaying the full instruction incurs a runtime overhead)", ("pad.16",)),
        ("Directed cycle:\n  tuple.22.0\n wrapped\n tuple.22.0", ("tuple.22.0", "wrapped")),
        ("neither %left nor %right.1 will do", ("left", "right.1")),
        ("Conv: f32[2]{0} custom-call(%a, %b)", ()),
        ("nothing is named", ()),
    ],
)
def test_subjects(text: str, names: tuple[str, ...]) -> None:
    assert subjects_in(text) == names


def test_a_print_is_read() -> None:
    (printed,) = printed_in(PRINT)
    assert (printed.name, printed.opcode) == ("sum.4", "reduce")
    assert printed.op_name == "jit(f)/sum[axes=(1,)]"
    assert printed.source is not None
    assert (printed.source.file, printed.source.line) == ("/a b/f.py", 13)


def test_a_print_without_name_or_metadata() -> None:
    (printed,) = printed_in(
        "trying fallback algorithms.  Conv: (f32[2]{0}, u8[0]{0}) custom-call(%a)"
    )
    assert (printed.name, printed.opcode, printed.op_name, printed.source) == (
        None,
        "custom-call",
        None,
        None,
    )


def test_words_without_the_print() -> None:
    assert without_print(f"no sharding: {PRINT}\nand more") == "no sharding: %sum.4\nand more"


def test_targets() -> None:
    assert targets_in("No registered implementation for custom call to te_f for platform CUDA") == (
        "te_f",
    )
    assert targets_in("No FFI handler registered for my.k$1 on a platform CUDA") == ("my.k$1",)
    assert targets_in("custom call failed") == ()


def test_words_of_an_assembler() -> None:
    assert misread_words("line 13; fatal   : Parsing error near '.349': syntax error") == (".349",)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`rendezvous of collective-permute; run_id=15; op id:1` for 20 seconds", (1, ())),
        ("RendezvousKey{run_id=RunId: 1, global_devices=[0, 1], op_id=3}", (3, (0, 1))),
        ("`Acquire clique: devices=4:[1,2,3,5]; local_participants=..`", (None, (1, 2, 3, 5))),
        ("`first call` for 10 seconds", (None, ())),
    ],
)
def test_the_name_of_a_rendezvous(text: str, found: tuple[int | None, tuple[int, ...]]) -> None:
    assert rendezvous_in(text) == found


def test_the_place_that_xla_suspects_is_that_of_the_first_instruction() -> None:
    text = (
        "RET_CHECK failure (xla/hlo_verifier.cc:4) n == 8 : %psum.7 = f32[] all-reduce(%x), "
        "channel_id=1\n\n\nSuspected Python Code Location:\n  /a/net.py:44:14 [body]\n"
        "  /a/net.py:52 [<module>]\n\nFailed after pipeline-start"
    )
    (printed,) = printed_in(text)
    assert printed.source is not None
    assert (printed.source.file, printed.source.line, printed.source.function) == (
        "/a/net.py",
        44,
        "body",
    )
    assert [(f.line, f.function) for f in printed.source.frames] == [(52, "<module>")]
