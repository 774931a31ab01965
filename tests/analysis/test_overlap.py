"""Hidden and exposed time of collectives, on a device slow enough to reckon with by hand."""

import pytest

from analysis.histories import history_of
from app.analysis.collectives import find_collectives
from app.analysis.cost_model import Device, device_of
from app.analysis.loop_history import follow_loops
from app.analysis.overlap import Overlap, OverlapReader, Transfer
from app.model.dump import DumpName, ModuleHistory, PassDump
from app.model.facts import AsyncPair
from app.model.report import Window
from hlo_parser import parse_module

# One operation a second, one byte of a link a second; memory and starting take no time.
SLOW = Device("slow", 1.0, 1e30, 1.0, 0.0, 0.0)
GROUPS = "channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true"

# One dot takes 2 * 2 * 2 * 2 = 16 seconds, the all-gather of one f32[2,2] 16 seconds on the link.
DOT = "dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}"


def scheduled(*lines: str, result: str = "g") -> str:
    body = "".join(f"  {line}\n" for line in lines)
    return (
        "HloModule m, is_scheduled=true, num_partitions=2\n\nENTRY main {\n"
        f"  a = f32[2,2]{{1,0}} parameter(0)\n{body}"
        f"  ROOT r = f32[4,2]{{1,0}} negate({result})\n}}\n"
    )


def start(name: str) -> str:
    shapes = "(f32[2,2]{1,0}, f32[4,2]{1,0})"
    return f"{name} = {shapes} all-gather-start(a), {GROUPS}, dimensions={{0}}"


def done(name: str, of: str) -> str:
    return f"{name} = f32[4,2]{{1,0}} all-gather-done({of})"


def dot(name: str) -> str:
    return f"{name} = f32[2,2]{{1,0}} {DOT}"


def overlaps(text: str) -> dict[str, Overlap]:
    """By start, with what the collectives send as `find_collectives` says."""
    history = history_of(text)
    module = history.last.module
    found = find_collectives(history, follow_loops(history))
    transfers = [
        Transfer(
            c.computation,
            c.instruction,
            c.bytes,
            AsyncPair(c.computation, c.opcode, c.window.start, c.window.done, between=())
            if c.window and c.is_async
            else None,
        )
        for c in found
    ]
    trips = {
        (loop.last.computation.name, loop.last.name): loop.last.trip_count
        for loop in follow_loops(history)
    }
    reader = OverlapReader(module, SLOW, transfers, trips)
    computations = {c.computation: module.get(c.computation) for c in found}
    pairs = [(c.instruction, computations[c.computation]) for c in found]
    return {
        name: overlap
        for name, computation in pairs
        if computation is not None and (overlap := reader.of(computation, name)) is not None
    }


def test_computation_hides_as_much_as_it_lasts() -> None:
    one = scheduled(start("s"), dot("d"), done("g", "s"))
    assert overlaps(one) == {"s": Overlap(16, 0, ())}
    nothing = scheduled(start("s"), done("g", "s"), dot("d"))
    assert overlaps(nothing) == {"s": Overlap(0, 16, ())}


def test_half_of_a_longer_collective_is_exposed() -> None:
    text = scheduled(start("s"), dot("d"), done("g", "s")).replace("{{0,1}}", "{{0,1,2}}")
    assert overlaps(text) == {"s": Overlap(16, 16, ())}


def test_two_collectives_share_the_link_and_name_each_other() -> None:
    text = scheduled(start("s1"), start("s2"), dot("d"), done("g", "s1"), done("h", "s2"))
    # The second is sent when the first has arrived.
    assert overlaps(text) == {"s1": Overlap(16, 0, ("s2",)), "s2": Overlap(0, 16, ("s1",))}


def test_a_synchronous_collective_in_between_waits_for_the_link() -> None:
    text = scheduled(
        start("s"),
        f"h = f32[4,2]{{1,0}} all-gather(a), {GROUPS}, dimensions={{0}}",
        done("g", "s"),
    )
    assert overlaps(text) == {"s": Overlap(16, 0, ("h",))}


LOOP = """HloModule m, is_scheduled=true, num_partitions=2

body {
  p = (s32[], f32[2,2]{1,0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[2,2]{1,0} get-tuple-element(p), index=1
  d = f32[2,2]{1,0} dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT t = (s32[], f32[2,2]{1,0}) tuple(next, d)
}

condition {
  q = (s32[], f32[2,2]{1,0}) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  n = s32[] constant(3)
  ROOT less = pred[] compare(j, n), direction=LT
}

ENTRY main {
  a = f32[2,2]{1,0} parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[2,2]{1,0}) tuple(zero, a)
  s = (f32[2,2]{1,0}, f32[4,2]{1,0}) all-gather-start(a), GROUPS, dimensions={0}
  loop = (s32[], f32[2,2]{1,0}) while(init), condition=condition, body=body
  g = f32[4,2]{1,0} all-gather-done(s)
  ROOT r = f32[4,2]{1,0} negate(g)
}
"""


@pytest.mark.parametrize(("trips", "hidden"), [("3", 48.0), ("1", 16.0)])
def test_a_loop_hides_with_all_its_iterations(trips: str, hidden: float) -> None:
    # Of nine devices each sends its part eight times: 128 bytes.
    devices = "{{0,1,2,3,4,5,6,7,8}}"
    text = LOOP.replace("GROUPS", GROUPS.replace("{{0,1}}", devices))
    text = text.replace("n = s32[] constant(3)", f"n = s32[] constant({trips})")
    assert overlaps(text) == {"s": Overlap(hidden, 128 - hidden, ())}


def test_of_a_stacked_operand_only_the_slice_is_read() -> None:
    # Memory counts here, at a byte a second, and operations do not.
    module = parse_module(
        "HloModule m, is_scheduled=true\n\nfused {\n  p = f32[100,2]{1,0} parameter(0)\n"
        "  i = s32[] parameter(1)\n  z = s32[] constant(0)\n"
        "  ROOT s = f32[1,2]{1,0} dynamic-slice(p, i, z), dynamic_slice_sizes={1,2}\n}\n\n"
        "update {\n  p = f32[100,2]{1,0} parameter(0)\n  u = f32[1,2]{1,0} parameter(1)\n"
        "  i = s32[] parameter(2)\n  z = s32[] constant(0)\n"
        "  ROOT s = f32[100,2]{1,0} dynamic-update-slice(p, u, i, z)\n}\n\nENTRY main {\n"
        "  x = f32[100,2]{1,0} parameter(0)\n  i = s32[] parameter(1)\n"
        '  c = f32[] custom-call(), custom_call_target="t"\n'
        "  f = f32[1,2]{1,0} fusion(x, i), kind=kLoop, calls=fused\n"
        "  g = f32[100,2]{1,0} fusion(x, f, i), kind=kLoop, calls=update\n"
        '  ROOT d = f32[] custom-call(g), custom_call_target="t"\n}\n'
    )
    device = Device("memory", 1e30, 1.0, 1.0, 0.0, 0.0)
    pair = AsyncPair("main", "all-gather", "c", "d", between=())
    reader = OverlapReader(module, device, [Transfer("main", "c", 1000, pair)], {})
    overlap = reader.of(module.entry, "c")
    assert overlap is not None
    # 8 + 4 read and 8 written by the one, 8 + 4 read and 8 written by the other.
    assert overlap.hidden == 20 + 20


def test_calls_in_a_circle_take_no_time() -> None:
    text = LOOP.replace("GROUPS", GROUPS).replace("body=body", "body=main")
    assert overlaps(text) == {"s": Overlap(0, 16, ())}


def named(point: str) -> ModuleHistory:
    history = history_of("HloModule m\n\nENTRY main {\n  ROOT x = f32[] parameter(0)\n}\n")
    dump = history.last
    name = DumpName(file="m.txt", point=point)
    return ModuleHistory(
        id=history.id,
        name=history.name,
        role="user",
        complete=True,
        dumps=(PassDump(index=0, name=name, module=dump.module, byte_size=1),),
    )


@pytest.mark.parametrize(
    ("point", "backend", "device", "assumed"),
    [
        ("sm_9.0a_gpu_after_optimizations", "GPU", "H100", False),
        ("sm_8.0_gpu_after_optimizations", None, "A100", False),
        ("sm_99.9_gpu_after_optimizations", "GPU", "H100", True),
        ("after_optimizations", "TPU", "TPU v5e", True),
    ],
)
def test_the_device_is_named_by_the_final_text(
    point: str, backend: str | None, device: str, assumed: bool
) -> None:
    found = device_of(named(point), backend)
    assert found is not None
    assert (found.name, found.is_assumed) == (device, assumed)


def test_without_a_backend_there_are_no_times() -> None:
    assert device_of(named("before_optimizations"), None) is None
    history = history_of(scheduled(start("s"), dot("d"), done("g", "s")))
    (found,) = find_collectives(history, ())
    assert found.window == Window(start="s", done="g", instructions=1, flops=16, bytes=16)


def test_times_are_those_of_the_device() -> None:
    history = history_of(scheduled(start("s"), dot("d"), done("g", "s")))
    (found,) = find_collectives(history, (), backend="GPU")
    assert found.window is not None
    assert found.window.device == "H100"
    assert found.window.device_assumed
    # 10 us to begin and 16 bytes at 450 GB/s, of which a kernel of 2 us hides a fifth.
    assert found.window.hidden_us == pytest.approx(2.0, abs=0.01)
    assert found.window.exposed_us == pytest.approx(8.0, abs=0.01)


@pytest.mark.parametrize("backend", ["GPU", None])
def test_all_that_a_synchronous_collective_takes_is_waited_for(backend: str | None) -> None:
    gather = f"g = f32[4,2]{{1,0}} all-gather(a), {GROUPS}, dimensions={{0}}"
    (found,) = find_collectives(history_of(scheduled(gather)), (), backend=backend)
    assert (found.is_async, found.window) == (False, None)
    # 10 us to begin and 16 bytes at 450 GB/s.
    assert found.waited_us == (pytest.approx(10.0, abs=0.01) if backend else None)


def test_a_start_that_is_marked_synchronous_is_waited_for() -> None:
    marked = start("s") + ', backend_config={"collective_backend_config":{"is_sync":true}}'
    history = history_of(scheduled(marked, dot("d"), done("g", "s")))
    (found,) = find_collectives(history, (), backend="GPU")
    assert found.waited_us == pytest.approx(10.0, abs=0.01)
    assert found.window is not None
    assert found.window.exposed_us is None


def test_of_what_is_asynchronous_or_not_scheduled_no_time_is_waited_for_as_a_whole() -> None:
    gather = f"g = f32[4,2]{{1,0}} all-gather(a), {GROUPS}, dimensions={{0}}"
    unscheduled = scheduled(gather).replace("is_scheduled=true, ", "")
    for text in (unscheduled, scheduled(start("s"), dot("d"), done("g", "s"))):
        (found,) = find_collectives(history_of(text), (), backend="GPU")
        assert found.waited_us is None
