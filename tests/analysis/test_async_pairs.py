from analysis.tpu_texts import ASYNC_FUSIONS
from app.analysis.async_pairs import MAX_BETWEEN, find_async_pairs
from app.model.facts import AsyncPair
from hlo_parser import parse_module

SCHEDULED = "HloModule m, is_scheduled=true\n\n"


def pairs_in(text: str) -> tuple[AsyncPair, ...]:
    return find_async_pairs(parse_module(text))


NATIVE_BODY = """ENTRY %main (x: f32[4], y: f32[2]) -> (f32[32], f32[2]) {
  %x = f32[4]{0} parameter(0)
  %y = f32[2]{0} parameter(1)
  %s = (f32[4]{0}, f32[32]{0}) all-gather-start(%x), replica_groups={}, dimensions={0}
  %n = f32[2]{0} negate(%y)
  %m = f32[2]{0} negate(%n)
  %d = f32[32]{0} all-gather-done(%s)
  ROOT %t = (f32[32]{0}, f32[2]{0}) tuple(%d, %m)
}
"""


def test_native_pair_and_what_lies_between() -> None:
    assert pairs_in(SCHEDULED + NATIVE_BODY) == (
        AsyncPair("main", "all-gather", "s", "d", between=("n", "m")),
    )


def test_without_a_schedule_nothing_is_said_to_lie_between() -> None:
    (pair,) = pairs_in("HloModule m\n\n" + NATIVE_BODY)
    assert pair.done == "d"
    assert pair.between is None


def test_synchronous_collectives_are_no_pairs() -> None:
    text = SCHEDULED + NATIVE_BODY.replace("all-gather-start", "copy").replace(
        "all-gather-done", "bitcast"
    )
    assert pairs_in(text) == ()


def test_sugar_names_its_operation() -> None:
    text = (
        SCHEDULED
        + """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main {
  x = f32[32]{0} parameter(0)
  rs = ((f32[32]{0}), f32[4]{0}) reduce-scatter-start(x), replica_groups={}, to_apply=add
  ROOT rd = f32[4]{0} reduce-scatter-done(rs)
}
"""
    )
    assert pairs_in(text) == (
        AsyncPair("main", "reduce-scatter", "rs", "rd", between=(), spelling="sugar"),
    )


GENERIC = (
    SCHEDULED
    + """%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

%inner (p: f32[32]) -> f32[4] {
  %p = f32[32]{0} parameter(0)
  %b = f32[32]{0} bitcast(%p)
  ROOT %rs = f32[4]{0} reduce-scatter(%b), replica_groups={}, dimensions={0}, to_apply=%add
}

%wrapped (q: f32[32]) -> f32[4] {
  %q = f32[32]{0} parameter(0)
  ROOT %c = f32[4]{0} call(%q), to_apply=%inner
}

ENTRY %main (x: f32[32]) -> f32[4] {
  %x = f32[32]{0} parameter(0)
  %start = ((f32[32]{0}), f32[4]{0}, u32[]) async-start(%x), calls=%wrapped
  %n = f32[32]{0} negate(%x)
  %u1 = ((f32[32]{0}), f32[4]{0}, u32[]) async-update(%start)
  %u2 = ((f32[32]{0}), f32[4]{0}, u32[]) async-update(%u1)
  ROOT %done = f32[4]{0} async-done(%u2)
}
"""
)


def test_generic_start_is_what_the_nested_call_wraps() -> None:
    (pair,) = pairs_in(GENERIC)
    assert (pair.opcode, pair.spelling) == ("reduce-scatter", "generic")
    assert (pair.start, pair.updates, pair.done) == ("start", ("u1", "u2"), "done")
    assert pair.between == ("n", "u1", "u2")


def test_generic_start_around_several_operations_is_a_call() -> None:
    text = GENERIC.replace(
        "ROOT %rs = f32[4]{0} reduce-scatter(%b), replica_groups={}, dimensions={0}, to_apply=%add",
        "%e = f32[32]{0} exponential(%b)\n  ROOT %rs = f32[4]{0} slice(%e), slice={[0:4]}",
    )
    assert pairs_in(text)[0].opcode == "call"
    one = text.replace("  %e = f32[32]{0} exponential(%b)\n", "").replace("slice(%e)", "slice(%b)")
    assert pairs_in(one)[0].opcode == "slice"


def test_start_without_done_is_kept() -> None:
    text = (
        SCHEDULED
        + """ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %s = (f32[4]{0}, f32[4]{0}, u32[]) copy-start(%x)
  ROOT %r = f32[4]{0} negate(%x)
}
"""
    )
    assert pairs_in(text) == (AsyncPair("main", "copy", "s", None),)


def test_send_and_recv_through_tuple_access_in_either_spelling() -> None:
    long = (
        SCHEDULED
        + """ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %t = token[] after-all()
  %s = (f32[4]{0}, u32[], token[]) send(%x, %t), channel_id=1
  %r = (f32[4]{0}, u32[], token[]) recv(%t), channel_id=1
  %both = ((f32[4]{0}, u32[], token[]), (f32[4]{0}, u32[], token[])) tuple(%s, %r)
  %g = (f32[4]{0}, u32[], token[]) get-tuple-element(%both), index=1
  %rd = (f32[4]{0}, token[]) recv-done(%g), channel_id=1
  %h = (f32[4]{0}, u32[], token[]) get-tuple-element(%both), index=0
  %sd = token[] send-done(%h), channel_id=1
  ROOT %y = f32[4]{0} get-tuple-element(%rd), index=0
}
"""
    )
    compact = long.replace("recv-done(%g)", "recv-done(%both#1)").replace(
        "send-done(%h)", "send-done(%both#0)"
    )
    for text in (long, compact):
        assert [(p.opcode, p.start, p.done) for p in pairs_in(text)] == [
            ("send", "s", "sd"),
            ("recv", "r", "rd"),
        ]


def test_is_sync_in_both_backend_config_forms() -> None:
    for config in (
        '{"collective_backend_config":{"is_sync":true}}',
        '"{\\"is_sync\\":true,\\"no_parallel_custom_call\\":false}"',
    ):
        text = NATIVE_BODY.replace(
            "all-gather-start(%x), replica_groups={}, dimensions={0}",
            "all-gather-start(%x), replica_groups={}, dimensions={0}, backend_config=" + config,
        )
        assert pairs_in(SCHEDULED + text)[0].is_sync
    assert not pairs_in(SCHEDULED + NATIVE_BODY)[0].is_sync


OVER_THE_BACK_EDGE = (
    SCHEDULED
    + """%body (p: (s32[], (f32[4], u32[], token[]))) -> (s32[], (f32[4], u32[], token[])) {
  %p = (s32[], (f32[4]{0}, u32[], token[])) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %old = (f32[4]{0}, u32[], token[]) get-tuple-element(%p), index=1
  %done = (f32[4]{0}, token[]) recv-done(%old), channel_id=1
  %t = token[] after-all()
  %new = (f32[4]{0}, u32[], token[]) recv(%t), channel_id=1
  ROOT %r = (s32[], (f32[4]{0}, u32[], token[])) tuple(%i, %new)
}

%cond (q: (s32[], (f32[4], u32[], token[]))) -> pred[] {
  %q = (s32[], (f32[4]{0}, u32[], token[])) parameter(0)
  ROOT %c = pred[] constant(false)
}

ENTRY %main (x: s32[]) -> s32[] {
  %x = s32[] parameter(0)
  %t0 = token[] after-all()
  %first = (f32[4]{0}, u32[], token[]) recv(%t0), channel_id=1
  %init = (s32[], (f32[4]{0}, u32[], token[])) tuple(%x, %first)
  %w = (s32[], (f32[4]{0}, u32[], token[])) while(%init), condition=%cond, body=%body
  %last = (f32[4]{0}, u32[], token[]) get-tuple-element(%w), index=1
  %end = (f32[4]{0}, token[]) recv-done(%last), channel_id=1
  ROOT %out = s32[] get-tuple-element(%w), index=0
}
"""
)


def test_a_start_that_the_next_iteration_finishes() -> None:
    body, entry = pairs_in(OVER_THE_BACK_EDGE)
    assert (body.computation, body.start, body.done, body.between) == ("body", "new", "done", None)
    assert (entry.start, entry.done) == ("first", None)


def test_libtpu_fusions_are_one_pair_under_the_fusions_that_are_scheduled() -> None:
    assert pairs_in(ASYNC_FUSIONS) == (
        AsyncPair(
            "main",
            "all-gather",
            "ac-start",
            "ac-done",
            updates=("mid",),
            between=("neg", "mid"),
            spelling="custom-call",
        ),
    )


def test_cycles_and_undefined_names_end_the_walk() -> None:
    text = (
        SCHEDULED
        + """ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0)
  %s = (f32[4]{0}, f32[4]{0}, u32[]) copy-start(%x)
  %u1 = (f32[4]{0}, f32[4]{0}, u32[]) async-update(%u2)
  %u2 = (f32[4]{0}, f32[4]{0}, u32[]) async-update(%u1)
  %a = f32[4]{0} async-done(%u2)
  %b = f32[4]{0} copy-done(%nowhere)
  ROOT %r = f32[4]{0} negate(%x)
}
"""
    )
    assert pairs_in(text) == (AsyncPair("main", "copy", "s", None),)


def test_windows_that_all_overlap_are_not_spelled_out_without_end() -> None:
    count = 4_000
    starts = "".join(f"  %s{i} = (f32[4], f32[4], u32[]) copy-start(%x)\n" for i in range(count))
    dones = "".join(f"  %d{i} = f32[4] copy-done(%s{i})\n" for i in range(count))
    pairs = pairs_in(f"{SCHEDULED}ENTRY %main {{\n  %x = f32[4] parameter(0)\n{starts}{dones}}}\n")
    assert all(pair.done is not None for pair in pairs)
    spelled = [pair for pair in pairs if pair.between is not None]
    assert 0 < len(spelled) < count
    assert sum(len(pair.between or ()) for pair in pairs) <= MAX_BETWEEN
