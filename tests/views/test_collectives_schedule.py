"""Where collectives stand in a schedule: places, lanes, what runs meanwhile, what is in flight."""

import time

from app.model.report import Collective, Window
from app.views.collectives_schedule import MAX_WINDOWS, schedules_of
from hlo_parser import Module, parse_module

TEXT = """HloModule m, is_scheduled=true

ENTRY main {
  p = f32[64,64] parameter(0)
  c = f32[] constant(1)
  s1 = f32[64,64] all-reduce-start(p), replica_groups={{0,1}}, to_apply=add
  d = f32[64,64] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s2 = f32[64,64] all-reduce-start(d), replica_groups={{0,1}}, to_apply=add
  n = f32[64,64] negate(d)
  e1 = f32[64,64] all-reduce-done(s1)
  a = f32[64,64] abs(n)
  e2 = f32[64,64] all-reduce-done(s2)
  ROOT r = f32[64,64] all-reduce(e2), replica_groups={{0,1}}, to_apply=add
}

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}
"""


def collective(name: str, done: str = "", module: str = "m") -> Collective:
    return Collective(
        module=module,
        dump=0,
        computation="main",
        instruction=name,
        opcode="all-reduce",
        bytes=16_384,
        is_async=bool(done),
        window=Window(start=name, done=done, instructions=2) if done else None,
    )


COLLECTIVES = (
    collective("s1", "e1"),
    collective("r"),
    collective("other", module="n"),
    collective("s2", "e2"),
)


def test_windows_stand_in_schedule_order_and_know_what_runs_meanwhile() -> None:
    (schedule,) = schedules_of(parse_module(TEXT), COLLECTIVES, "m")
    windows = {window.index: window for window in schedule.windows}
    assert [window.index for window in schedule.windows] == [0, 3, 1]
    assert (windows[0].start, windows[0].end, windows[0].lane) == (0, 4, 0)
    assert (windows[3].start, windows[3].end, windows[3].lane) == (2, 6, 1)
    assert (windows[1].start, windows[1].end, windows[1].lane) == (7, 7, 0)
    assert [work.name for work in windows[0].behind] == ["d", "n"]
    assert windows[0].behind[0].flops == 2 * 64**3
    assert [work.name for work in windows[3].behind] == ["n", "a"]
    assert windows[1].behind == ()
    assert schedule.in_flight == ((0, 1), (2, 2), (4, 1), (6, 0))
    assert (schedule.places, schedule.lanes, schedule.scheduled) == (8, 2, True)


def test_a_text_without_these_computations_has_no_schedule() -> None:
    module = parse_module("HloModule m\n\nENTRY other {\n  ROOT p = f32[] parameter(0)\n}\n")
    assert schedules_of(module, COLLECTIVES, "m") == ()


def many(count: int) -> tuple[Module, tuple[Collective, ...]]:
    lines = [f"  s{n} = f32[8] all-reduce-start(p), to_apply=add" for n in range(count)]
    lines += [f"  w{n} = f32[8] abs(p)" for n in range(count)]
    lines += [f"  e{n} = f32[8] all-reduce-done(s{n})" for n in range(count)]
    text = "HloModule m, is_scheduled=true\n\nENTRY main {\n  p = f32[8] parameter(0)\n"
    module = parse_module(text + "\n".join([*lines, "  ROOT r = f32[8] copy(p)", "}", ""]))
    return module, tuple(collective(f"s{n}", f"e{n}") for n in range(count))


def test_very_many_collectives_are_counted_and_cut() -> None:
    module, collectives = many(5_000)
    start = time.process_time()
    (schedule,) = schedules_of(module, collectives, "m")
    assert time.process_time() - start < 5
    assert len(schedule.windows) == MAX_WINDOWS
    assert schedule.left_out == 5_000 - MAX_WINDOWS
    assert schedule.windows[0].behind_total == 5_000
