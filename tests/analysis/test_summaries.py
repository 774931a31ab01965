"""Loops as the report holds them."""

from pathlib import Path

from app.analysis.loop_history import follow_loops
from app.analysis.summaries import summarize_loops
from app.ingest.load import load_dump
from app.settings import Settings

TEXT = """HloModule jit_step, num_partitions=2

wrapped {
  a = f32[4] parameter(0)
  ROOT x = f32[4] all-to-all(a), replica_groups={{0,1}}, dimensions={0}
}

cond {
  c = (s32[], f32[4]) parameter(0)
  n = s32[] get-tuple-element(c), index=0
  k = s32[] constant(3)
  ROOT less = pred[] compare(n, k), direction=LT
}

body {
  c = (s32[], f32[4]) parameter(0)
  n = s32[] get-tuple-element(c), index=0
  v = f32[4] get-tuple-element(c), index=1
  one = s32[] constant(1)
  next = s32[] add(n, one)
  s = ((f32[4]), f32[4]) async-start(v), calls=wrapped
  d = f32[4] async-done(s)
  ROOT r = (s32[], f32[4]) tuple(next, d)
}

ENTRY main {
  zero = s32[] constant(0)
  p = f32[4] parameter(0)
  t = (s32[], f32[4]) tuple(zero, p)
  ROOT w = (s32[], f32[4]) while(t), condition=cond, body=body
}
"""


def test_a_collective_in_an_asynchronous_wrapper_counts_for_its_loop(tmp_path: Path) -> None:
    (tmp_path / "module_0001.jit_step.sm_9.0_gpu_after_optimizations.txt").write_text(TEXT)
    (history,) = load_dump(tmp_path, settings=Settings()).modules
    (loop,) = summarize_loops(history, follow_loops(history))
    assert loop.collectives == {"all-to-all": 1}
