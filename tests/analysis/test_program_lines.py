"""Lines of the program: figures of a text by line, and counts over the texts of a module."""

from analysis.histories import history_of
from app.analysis.loop_history import follow_loops
from app.analysis.program_lines import MOST_LINES, program_lines
from app.model.program import SourceLine

LOOP = """HloModule m, num_partitions=2

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

body {
  p = (s32[], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[8,8] get-tuple-element(p), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  h = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, METADATA
  r = f32[8,8] all-reduce(h), replica_groups={{0,1}}, to_apply=add, metadata={source_file="a.py" source_line=4}
  ROOT t = (s32[], f32[8,8]) tuple(next, r)
}

condition {
  q = (s32[], f32[8,8]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  n = s32[] BOUND
  ROOT less = pred[] compare(j, n), direction=LT
}

ENTRY main {
  x0 = f32[8,8] parameter(0)
  start = s32[] constant(0)
  init = (s32[], f32[8,8]) tuple(start, x0)
  loop = (s32[], f32[8,8]) while(init), condition=condition, body=body
  ROOT out = f32[8,8] get-tuple-element(loop), index=1
}
"""  # noqa: E501
STATED = 'metadata={source_file="a.py" source_line=3}'


def text_of(*, metadata: str = STATED, bound: str = "constant(5)") -> str:
    return LOOP.replace("METADATA", metadata).replace("BOUND", bound)


def lines_of(*texts: str) -> dict[int, SourceLine]:
    history = history_of(*texts)
    found = program_lines(history, follow_loops(history))
    return {line.line: line for file in found.files for line in file.lines}


def test_work_counts_as_often_as_it_runs() -> None:
    lines = lines_of(text_of())
    assert (lines[3].instructions, lines[3].flops, lines[3].bytes) == (1, 5 * 1024, 5 * 3 * 256)
    assert (lines[4].collectives, lines[4].at_least) == (1, False)
    assert lines[4].collective_bytes > 0


def test_a_loop_of_unknown_trips_counts_once_and_says_so() -> None:
    lines = lines_of(text_of(bound="get-tuple-element(q), index=0"))
    assert (lines[3].flops, lines[3].at_least) == (1024, True)


def test_what_an_earlier_text_stated_is_inferred() -> None:
    lines = lines_of(text_of(), text_of(metadata="metadata={}"))
    # The product itself; the loop and its result, whose place was inferred from it before, too.
    assert (lines[3].instructions, lines[3].inferred) == (0, 3)
    assert lines[3].flops == 5 * 1024


def test_counts_over_the_texts_are_told_where_they_change() -> None:
    gone = text_of(metadata="metadata={}")
    lines = lines_of(text_of(), text_of(), gone, gone, text_of())
    assert lines[3].texts == ((0, 1), (2, 0), (4, 1))
    assert lines[4].texts == ((0, 1),)


def test_a_line_of_earlier_texts_alone_is_kept() -> None:
    other = text_of(metadata='metadata={source_file="b.py" source_line=30}')
    lines = lines_of(other, text_of())
    assert (lines[30].instructions, lines[30].texts) == (0, ((0, 1), (1, 0)))


def test_very_many_lines_are_cut_to_those_with_most() -> None:
    count = MOST_LINES + 7
    rows = "\n".join(
        f'  v{n} = f32[] negate(x), metadata={{source_file="a.py" source_line={n}}}'
        for n in range(1, count + 1)
    )
    head, tail = "HloModule m\n\nENTRY e {\n  x = f32[] parameter(0)", "  ROOT y = f32[] copy(x)\n}"
    history = history_of(f"{head}\n{rows}\n{tail}\n")
    found = program_lines(history, ())
    assert (sum(len(file.lines) for file in found.files), found.lines_left_out) == (MOST_LINES, 7)
    assert found.unplaced == 2
