from analysis.histories import history_of
from app.analysis.collectives import find_collectives
from app.analysis.diff import Differ
from app.analysis.lineage import trace_back
from app.model.dump import ModuleHistory

ADD = """%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

"""
PLACE = 'metadata={op_name="psum" source_file="t.py" source_line=7}'


def text(*lines: str) -> str:
    body = "".join(f"  {line}\n" for line in lines)
    return f"HloModule m, num_partitions=8\n\n{ADD}ENTRY %main {{\n{body}}}\n"


X, Y = "%x = f32[8]{0} parameter(0)", "%y = f32[8]{0} parameter(1)"
GROUPS = "replica_groups={}, to_apply=%add"


def names_back(history: ModuleHistory, name: str) -> list[str]:
    last = len(history.dumps) - 1
    entry = history.last.module.entry
    instruction = entry.get(name)
    assert instruction is not None
    return [
        f"{s.dump} {s.instruction.name}"
        for s in trace_back(history, last, entry, instruction, Differ())
    ]


REDUCED = text(
    X, Y, f"%ar = f32[8]{{0}} all-reduce(%x), {GROUPS}, {PLACE}", "ROOT %n = negate(%ar)"
)
SCATTERED = text(
    X,
    Y,
    f"%rs.1 = f32[1]{{0}} reduce-scatter(%x), {GROUPS}, dimensions={{0}}",
    "ROOT %n = negate(%rs.1)",
)
COMBINED = text(
    X,
    Y,
    f"%both = (f32[1]{{0}}, f32[1]{{0}}) reduce-scatter(%x, %y), {GROUPS}, dimensions={{0}}",
    "%g = f32[1]{0} get-tuple-element(%both), index=0",
    "ROOT %n = negate(%g)",
)
STARTED = text(
    X,
    Y,
    f"%both-start = (f32[1], f32[1]) reduce-scatter-start(%x, %y), {GROUPS}, dimensions={{0}}",
    "%both-done = (f32[1], f32[1]) reduce-scatter-done(%both-start)",
    "%g = f32[1]{0} get-tuple-element(%both-done), index=0",
    "ROOT %n = negate(%g)",
)


def test_through_what_passes_make_of_a_collective() -> None:
    history = history_of(REDUCED, SCATTERED, COMBINED, STARTED)
    assert names_back(history, "both-start") == ["2 both", "1 rs.1", "0 ar"]


def test_the_place_comes_from_the_newest_text_that_has_it() -> None:
    history = history_of(REDUCED, SCATTERED, COMBINED, STARTED)
    (found,) = find_collectives(history, ())
    assert found.source is not None
    assert (found.source.file, found.source.line, found.source_from) == ("t.py", 7, 0)
    (stated,) = find_collectives(history_of(STARTED, REDUCED), ())
    assert stated.source_from == 1


def test_a_copy_goes_on_with_its_original() -> None:
    copied = REDUCED.replace("%ar", "%ar.3.double_buffer_clone.1").replace("ENTRY %main", "%other")
    copied += "\nENTRY %main {\n  ROOT %x = f32[8]{0} parameter(0)\n}\n"
    before = REDUCED.replace("%ar", "%ar.3")
    history = history_of(before, copied)
    other = history.last.module.get("other")
    assert other is not None
    copy = other.get("ar.3.double_buffer_clone.1")
    assert copy is not None
    (found,) = trace_back(history, 1, other, copy, Differ())
    assert (found.computation.name, found.instruction.name) == ("main", "ar.3")


def test_what_is_new_has_no_past() -> None:
    history = history_of(
        text(X, "ROOT %n = f32[8]{0} negate(%x)"),
        text(X, f"%ar = f32[8]{{0}} all-reduce(%x), {GROUPS}", "ROOT %n = f32[8]{0} negate(%ar)"),
    )
    assert names_back(history, "ar") == []
    (found,) = find_collectives(history, ())
    assert (found.source, found.source_from) == (None, None)
