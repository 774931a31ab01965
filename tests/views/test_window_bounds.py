"""What bounds the window of a collective: makers and takers, through elements, and no guesses."""

import pytest

from app.views.collectives_schedule import schedules_of
from app.views.window_bounds import Bound, maker_of, taker_of
from hlo_parser import parse_module
from views.test_collectives_schedule import COLLECTIVES, TEXT

LINES = """HloModule m, is_scheduled=true

ENTRY main {{
  p = f32[8] parameter(0)
  a = f32[8] negate(p)
  b = f32[8] abs(p)
  {before}
  s = (f32[8], f32[8]) all-gather-start({sent}), replica_groups={{{{0}}}}, dimensions={{0}}
  c = f32[8] cosine(p)
  d = f32[8] all-gather-done(s)
  e = f32[8] sine(p)
  {after}
}}
"""


def bounds(sent: str, after: str, before: str = "") -> tuple[Bound | None, Bound | None]:
    module = parse_module(LINES.format(sent=sent, after=after, before=before))
    computation = module.entry
    places = {each.name: place for place, each in enumerate(computation.instructions)}
    return maker_of(computation, "s", places), taker_of(computation, "d", places)


@pytest.mark.parametrize(
    ("sent", "before", "made_by"),
    [
        ("b", "", Bound(name="b", between=0)),
        ("a", "", Bound(name="a", between=1)),
        ("p", "", None),
        ("t", "t = f32[8] bitcast(a)", Bound(name="a", between=2)),
        # Which part of a tuple it waits for is not followed.
        ("g", "t = (f32[8], f32[8]) tuple(a, b)\n  g = f32[8] get-tuple-element(t), index=0", None),
        ("nothing", "", None),
    ],
)
def test_what_makes_its_data(sent: str, before: str, made_by: Bound | None) -> None:
    assert bounds(sent, "ROOT r = f32[8] add(d, e)", before)[0] == made_by


@pytest.mark.parametrize(
    ("after", "taken_by"),
    [
        ("ROOT r = f32[8] add(d, e)", Bound(name="r", between=1)),
        ("v = f32[8] bitcast(d)\n  ROOT r = f32[8] negate(v)", Bound(name="r", between=2)),
        ("ROOT t = (f32[8], f32[8]) tuple(d, e)", None),
        (
            "t = (f32[8]) tuple(d)\n  ROOT w = (f32[8]) call(t), to_apply=main",
            Bound(name="w", between=2),
        ),
        (
            "t = (f32[8], f32[8]) tuple(d, e)\n  g = f32[8] get-tuple-element(t), index=1\n"
            "  ROOT r = f32[8] negate(g)",
            None,
        ),
        ("ROOT r = f32[8] negate(e)", None),
    ],
)
def test_what_takes_its_result(after: str, taken_by: Bound | None) -> None:
    assert bounds("a", after)[1] == taken_by


def test_windows_of_a_schedule_have_them() -> None:
    (schedule,) = schedules_of(parse_module(TEXT), COLLECTIVES, "m")
    windows = {window.index: window for window in schedule.windows}
    assert (windows[0].made_by, windows[0].taken_by) == (None, None)
    assert windows[3].made_by == Bound(name="d", between=0)
    assert windows[3].taken_by == Bound(name="r", between=0)


def test_what_it_is_told_to_await_is_not_told_to_make_its_data() -> None:
    text = LINES.format(sent="a", after="ROOT r = f32[8] add(d, e)", before="")
    told = text.replace("dimensions={0}", "dimensions={0}, control-predecessors={b}", 1)
    computation = parse_module(told).entry
    places = {each.name: place for place, each in enumerate(computation.instructions)}
    assert maker_of(computation, "s", places) is None
