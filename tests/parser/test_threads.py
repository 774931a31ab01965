"""Values that are made when first asked for, asked for by several threads at once."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pytest

from hlo_parser import parse_module
from hlo_parser.instruction import AttributeList

LINES = 1_500
ROUNDS = 4
HEADER = "HloModule m\n\n"
TABLES = (
    'FileNames\n1 "a.py"\n\nFunctionNames\n1 "f"\n\nFileLocations\n'
    "1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=1 end_column=2}\n\nStackFrames\n"
    + "".join(f"{n} {{file_location_id=1 parent_frame_id={n}}}\n" for n in range(1, 400))
    + "\n\n"
)


@pytest.fixture
def eager_switching() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def at_once(work: Callable[[], object]) -> None:
    """Run it in four threads that begin together; raises what one of them raised."""
    barrier = threading.Barrier(4)
    raised: list[Exception] = []

    def started() -> None:
        barrier.wait()
        try:
            work()
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=started) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


@pytest.mark.usefixtures("eager_switching")
def test_nobody_sees_a_list_of_attributes_half_typed() -> None:
    body = "".join(
        f"  %a{n} = f32[4]{{0}} add(%p, %p), control-predecessors={{%p}},"
        f' frontend_attributes={{k{n}="v"}}, metadata={{op_name="x{n}"}}, backend_config="c{n}"\n'
        for n in range(LINES)
    )
    for _ in range(ROUNDS):
        module = parse_module(
            f"{HEADER}ENTRY %e (p: f32[4]) -> f32[4] {{\n  %p = f32[4]{{0}} parameter(0)\n{body}"
            "  ROOT %r = f32[4]{0} copy(%p)\n}\n\n"
        )
        asked = [each.attribute_list for each in module.entry.instructions[1:-1]]
        wrong: list[str] = []
        at_once(partial(half_typed, asked, wrong))
        assert wrong == []


def half_typed(asked: Iterable[AttributeList], wrong: list[str]) -> None:
    """Note the text of each list that lacks something."""
    for each in asked:
        if not (
            each.metadata
            and each.control_predecessors == ("p",)
            and each.frontend_attributes
            and each.backend_config
        ):
            wrong.append(each.text)


@pytest.mark.usefixtures("eager_switching")
def test_nobody_sees_tables_of_frames_half_read() -> None:
    for _ in range(20 * ROUNDS):
        frames = parse_module(
            f"{HEADER}{TABLES}ENTRY %e (p: f32[4]) -> f32[4] {{\n"
            "  ROOT %p = f32[4]{0} parameter(0)\n}\n\n"
        ).frames
        assert frames is not None
        at_once(frames.unknown_keys)
