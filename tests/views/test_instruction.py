"""One instruction in full."""

import msgspec
import pytest

from app.errors import NotFound
from app.model.report import Frame, Source
from app.views.instruction import MAX_NEIGHBOURS, Call, Neighbour, instruction_view
from hlo_parser import parse_module
from views.modules import SMALL, star


def test_parts() -> None:
    answer = instruction_view(SMALL, "main", "dot.1")
    assert (answer.opcode, answer.shape, answer.bytes) == ("dot", "f32[8,8]{1,0}", 256)
    assert answer.operands == (
        Neighbour(name="x", opcode="parameter", shape="f32[8,4]", line=answer.line - 2),
        Neighbour(name="w", opcode="parameter", shape="f32[4,8]", line=answer.line - 1),
    )
    assert [user.name for user in answer.users] == ["send", "late"]
    assert answer.attributes["lhs_contracting_dims"] == "{1}"
    assert answer.op_name == "jit(step)/dense/dot_general"
    assert answer.source == Source(
        file="/job/layers.py",
        line=7,
        column=11,
        function="dense",
        frames=(
            Frame(file="/job/layers.py", line=7, function="dense"),
            Frame(file="/job/train.py", line=40, function="main"),
        ),
    )
    assert not answer.is_root


def test_calls_and_control() -> None:
    root = instruction_view(SMALL, "main", "reduce.2")
    assert root.calls == (Call(role="to_apply", computation="sum", line=SMALL.first_line(
        SMALL.computations[0])),)  # fmt: skip
    assert root.is_root
    assert root.source is None
    assert instruction_view(SMALL, "main", "send").control_predecessors == ("zero",)


def test_operands_the_text_does_not_define() -> None:
    module = parse_module(
        "HloModule m\n\nENTRY %main () -> f32[] {\n  ROOT %a = f32[] negate(%gone#1)\n}\n"
    )
    assert instruction_view(module, "main", "a").operands == (Neighbour(name="gone", path=(1,)),)


def test_unknown() -> None:
    for computation, instruction in (("main", "other"), ("other", "dot.1")):
        with pytest.raises(NotFound):
            instruction_view(SMALL, computation, instruction)


def test_very_many_users() -> None:
    answer = instruction_view(star(50_000), "main", "hub")
    assert (len(answer.users), answer.user_count) == (MAX_NEIGHBOURS, 50_000)
    assert len(msgspec.json.encode(answer)) < 100_000
