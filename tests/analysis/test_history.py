from analysis.histories import history_of
from app.analysis.history import describe_dumps

PLAIN = """HloModule m, entry_computation_layout={(f32[4]{0})->f32[32]{0}}

%body (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  ROOT %copy.1 = f32[4]{0} copy(%p)
}

%cond (q: f32[4]) -> pred[] {
  %q = f32[4]{0} parameter(0)
  ROOT %c = pred[] constant(false)
}

ENTRY %main (x: f32[4]) -> f32[32] {
  %x = f32[4]{0} parameter(0)
  %w = f32[4]{0} while(%x), condition=%cond, body=%body
  ROOT %ag = f32[32]{0} all-gather(%w), replica_groups=[1,8]<=[8], dimensions={0}
}
"""

NATIVE = """HloModule m, is_scheduled=true

ENTRY %main (x: f32[4]) -> f32[32] {
  %x = f32[4]{0} parameter(0)
  %s = (f32[4]{0}, f32[32]{0}) all-gather-start(%x), replica_groups=[1,8]<=[8], dimensions={0}
  ROOT %d = f32[32]{0} all-gather-done(%s)
}
"""

GENERIC = """HloModule m, is_scheduled=true

%wrapped (p: f32[4]) -> f32[32] {
  %p = f32[4]{0} parameter(0)
  ROOT %ag = f32[32]{0} all-gather(%p), replica_groups=[1,8]<=[8], dimensions={0}
}

ENTRY %main (x: f32[4]) -> f32[32] {
  %x = f32[4]{0} parameter(0)
  %ag-start = ((f32[4]{0}), f32[32]{0}) async-start(%x), calls=%wrapped
  ROOT %ag-done = f32[32]{0} async-done(%ag-start)
}
"""

SUGAR = """HloModule m, is_scheduled=true

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main {
  x = f32[32]{0} parameter(0)
  rs = ((f32[32]{0}), f32[4]{0}) reduce-scatter-start(x), replica_groups={}, to_apply=add
  ROOT d = f32[4]{0} reduce-scatter-done(rs)
}
"""


def test_counts_opcodes_of_interest_and_nothing_else() -> None:
    (row,) = describe_dumps(history_of(PLAIN))
    assert row.counts == {"all-gather": 1, "copy": 1, "while": 1}
    assert (row.instructions, row.computations, row.changed) == (7, 3, 3)
    assert not row.scheduled


def test_every_spelling_of_an_asynchronous_collective_counts_once() -> None:
    native, generic, sugar = describe_dumps(history_of(NATIVE, GENERIC, SUGAR))
    assert native.counts == generic.counts == {"all-gather": 1}
    assert sugar.counts == {"reduce-scatter": 1}
    assert native.scheduled


def test_host_transfers_are_no_collectives() -> None:
    text = """HloModule m

ENTRY %main (x: f32[4]) -> token[] {
  %x = f32[4]{0} parameter(0)
  %t = token[] after-all()
  %s = (f32[4]{0}, u32[], token[]) send(%x, %t), channel_id=1, is_host_transfer=true
  %r = (f32[4]{0}, u32[], token[]) send(%x, %t), channel_id=2
  %sd = token[] send-done(%s), channel_id=1, is_host_transfer=true
  ROOT %rd = token[] send-done(%r), channel_id=2
}
"""
    assert describe_dumps(history_of(text))[0].counts == {"send": 1}


def test_changed_counts_computations_that_the_text_before_does_not_hold() -> None:
    edited = PLAIN.replace("copy(%p)", 'copy(%p), metadata={op_name="new"}')
    rows = describe_dumps(history_of(PLAIN, PLAIN, edited, PLAIN))
    assert [row.changed for row in rows] == [3, 0, 1, 1]
    assert {tuple(row.counts.items()) for row in rows} == {
        (("all-gather", 1), ("copy", 1), ("while", 1))
    }


def test_counts_follow_what_comes_and_goes() -> None:
    rows = describe_dumps(history_of(PLAIN, NATIVE, PLAIN))
    assert rows[0].counts == rows[2].counts
    assert "while" not in rows[1].counts


def test_names_of_the_pass_are_handed_on() -> None:
    row = describe_dumps(history_of(PLAIN, PLAIN))[1]
    assert (row.index, row.file, row.pipeline, row.after) == (1, "m.1.txt", "p", "pass1")
    assert row.bytes == len(PLAIN)
