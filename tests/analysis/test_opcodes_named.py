"""Opcodes that a message names: as printed, as a class is written, and words that only look so."""

import pytest

from app.analysis.printed import opcodes_in


@pytest.mark.parametrize(
    ("text", "opcodes"),
    [
        ("INTERNAL: Unsupported instruction opcode: topk", ("topk",)),
        ("UNIMPLEMENTED: TopK is not yet supported by XLA:CPU ThunkEmitter", ("topk",)),
        ("UNIMPLEMENTED: Custom Call is not supported", ()),
        ("Layout is not supported; Copy is not implemented; Async is not yet supported", ()),
        ("opcode: tuple", ()),
    ],
)
def test_opcodes_are_named_as_such(text: str, opcodes: tuple[str, ...]) -> None:
    assert opcodes_in(text) == opcodes
