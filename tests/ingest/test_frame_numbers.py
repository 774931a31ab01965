from collections.abc import Sequence

from app.analysis.source_repair import SourceRepairer
from app.analysis.sources import renumbered_texts
from app.ingest.history import ParsedText, group_texts
from app.ingest.names import read_file_name
from app.model.dump import ModuleHistory
from hlo_parser import Interner, parse_module

LINES = (3, 14, 20, 52)


def tables(lines: Sequence[int] = LINES) -> str:
    locations = "\n".join(
        f"{n} {{file_name_id=1 function_name_id=1 line={line} end_line={line} column=4 "
        "end_column=9}"
        for n, line in enumerate(lines, 1)
    )
    frames = "\n".join(
        f"{n} {{file_location_id={n} parent_frame_id=1}}" for n in range(1, len(lines) + 1)
    )
    return (
        '\nFileNames\n1 "train.py"\n\nFunctionNames\n1 "step"\n\n'
        f"FileLocations\n{locations}\n\nStackFrames\n{frames}\n\n"
    )


def text(*operations: tuple[str, str, int], lines: Sequence[int] = LINES) -> str:
    """A module of unary operations: each of a name, a name of JAX's, and a frame id."""
    body = ["  %x = f32[8]{0} parameter(0)"]
    before = "x"
    for name, op_name, frame in operations:
        mark = "ROOT " if (name, op_name, frame) == operations[-1] else ""
        body.append(
            f"  {mark}%{name} = f32[8]{{0}} negate(%{before}), "
            f'metadata={{op_name="jit(f)/{op_name}" stack_frame_id={frame}}}'
        )
        before = name
    inner = "\n".join(body)
    return (
        "HloModule jit_f, entry_computation_layout={(f32[8]{0})->f32[8]{0}}\n"
        f"{tables(lines)}\nENTRY %main (x: f32[8]) -> f32[8] {{\n{inner}\n}}\n"
    )


def history(*texts: str, shared: bool = True) -> ModuleHistory:
    interner = Interner()
    parsed = [
        ParsedText(
            read_file_name(f"module_0001.jit_f.{n:04}.p.after_a.before_b.txt").name,
            parse_module(each.encode(), interner=interner if shared else Interner()),
            len(each),
        )
        for n, each in enumerate(texts)
    ]
    (found,) = group_texts(parsed)
    return found


def told(history: ModuleHistory, position: int) -> dict[str, tuple[int, str] | None]:
    """Line of each operation, and how it is known."""
    repairer = SourceRepairer(history)
    entry = history.dumps[position].module.entry
    found = {
        i.name: repairer.of(position, entry, i) for i in entry.instructions if i.opcode == "negate"
    }
    return {
        name: None if placed is None else (placed.source.line, placed.how)
        for name, placed in found.items()
    }


SOUND = text(("a.1", "sin", 2), ("b.1", "cos", 3), ("c.1", "rng", 4))
ANEW = text(("a.0", "sin", 1), ("b.0", "cos", 2), ("c.0", "rng", 3))


def test_ids_that_fit_are_stated() -> None:
    found = history(SOUND, SOUND.replace("%a.1", "%a.2"))
    assert told(found, 1) == {"a.2": (14, "stated"), "b.1": (20, "stated"), "c.1": (52, "stated")}
    assert renumbered_texts(found) == ()


def test_ids_counted_anew_over_an_old_table_tell_the_lines_from_before() -> None:
    found = history(SOUND, ANEW)
    assert told(found, 0)["c.1"] == (52, "stated")
    assert told(found, 1) == {
        "a.0": (14, "renumbered"),
        "b.0": (20, "renumbered"),
        "c.0": (52, "renumbered"),
    }


def test_equal_tables_need_not_be_one_object() -> None:
    assert told(history(SOUND, ANEW, shared=False), 1)["c.0"] == (52, "renumbered")


def test_a_line_that_stands_beside_the_id_is_stated() -> None:
    inline = 'source_file="train.py" source_line=52 stack_frame_id=3'
    after = ANEW.replace("stack_frame_id=3", inline)
    assert told(history(SOUND, after), 1) == {
        "a.0": (14, "renumbered"),
        "b.0": (20, "renumbered"),
        "c.0": (52, "stated"),
    }
    assert told(history(after), 0)["c.0"] == (52, "stated")


def test_later_texts_stay_so_though_names_from_before_are_gone() -> None:
    found = history(SOUND, ANEW, text(("z", "new", 3), ("y", "other", 4)))
    assert told(found, 2) == {"z": (52, "renumbered"), "y": None}
    (stretch,) = renumbered_texts(found)
    assert (stretch.first, stretch.last, stretch.rows) == (1, 2, ((1, 2), (2, 3), (3, 4)))


def test_of_a_name_at_several_lines_the_order_tells_which() -> None:
    before = text(("c.1", "rng", 4), ("a.1", "sin", 2), ("b.1", "sin", 3))
    after = text(("c.0", "rng", 3), ("a.0", "sin", 4), ("b.0", "sin", 1))
    assert told(history(before, after), 1) == {
        "c.0": (52, "renumbered"),
        "a.0": (14, "renumbered"),
        "b.0": (20, "renumbered"),
    }


def test_where_one_of_them_is_gone_no_line_is_told() -> None:
    before = text(("c.1", "rng", 4), ("a.1", "sin", 2), ("b.1", "sin", 3))
    after = text(("c.0", "rng", 3), ("a.0", "sin", 4))
    assert told(history(before, after), 1) == {"c.0": (52, "renumbered"), "a.0": None}


def test_two_ids_for_one_row_are_believed_in_neither() -> None:
    before = text(("c.1", "rng", 4), ("a.1", "sin", 2), ("b.1", "sin", 2), ("d.1", "sin", 3))
    after = text(("c.0", "rng", 3), ("a.0", "sin", 1), ("b.0", "sin", 2), ("d.0", "sin", 4))
    found = told(history(before, after), 1)
    assert (found["a.0"], found["b.0"], found["d.0"]) == (None, None, (20, "renumbered"))


def test_the_same_name_after_the_break_may_be_another_instruction() -> None:
    before = text(("c.1", "rng", 4), ("a.1", "sin", 2), ("b.1", "sin", 3))
    after = text(("c.0", "rng", 3), ("b.1", "sin", 4))
    assert told(history(before, after), 1)["b.1"] is None


def test_lines_of_what_is_called_are_paired_by_the_calls() -> None:
    """Bodies may change places in the text, so the first is not the first any more."""

    def called(first: str, second: str, *frames: int) -> str:
        line = (
            '  ROOT %{0} = f32[8]{{0}} negate(%{0}.x), metadata={{op_name="g" stack_frame_id={1}}}'
        )
        bodies = {
            name: f"%{name} ({name}.x: f32[8]) -> f32[8] {{\n"
            f"  %{name}.x = f32[8]{{0}} parameter(0)\n{line.format(name, frame)}\n}}\n"
            for name, frame in zip((first, second), frames, strict=False)
        }
        whole = text(("c.1", "rng", frames[2]))
        calls = (
            f'  %k = f32[8]{{0}} call(%c.1), to_apply=%{first}, metadata={{op_name="one"}}\n'
            f'  ROOT %l = f32[8]{{0}} call(%k), to_apply=%{second}, metadata={{op_name="two"}}\n'
        )
        entry = whole.replace("ROOT %c.1", "%c.1").replace("}\n}\n", "}\n" + calls + "}\n")
        printed = "\n".join(bodies[name] for name in sorted(bodies))
        return entry.replace("ENTRY", printed + "\nENTRY")

    found = history(called("a", "b", 2, 3, 4), called("z", "y", 4, 1, 3))
    module = found.dumps[1].module
    lines = {
        name: module.source_of(computation.root)
        for name in "zy"
        if (computation := module.get(name)) is not None
    }
    assert {name: place and place.line for name, place in lines.items()} == {"z": 14, "y": 20}


def test_a_new_table_of_its_own_is_believed() -> None:
    anew = text(("a.0", "sin", 1), ("b.0", "cos", 2), ("c.0", "rng", 3), lines=(14, 20, 52))
    assert told(history(SOUND, anew), 1)["c.0"] == (52, "stated")


def test_rows_added_behind_the_old_ones_mean_themselves() -> None:
    added = text(("c.0", "rng", 3), ("d", "copied", 5), lines=(*LINES, 70))
    found = history(SOUND, ANEW, added)
    assert told(found, 2) == {"c.0": (52, "renumbered"), "d": (70, "renumbered")}


def test_a_fusion_named_after_another_part_of_it_is_no_break() -> None:
    """A pass hands names and frames on together: one name then has more frames, none new."""
    before = text(("a.1", "sin", 2), ("b.1", "sin", 3), ("c.1", "rng", 4))
    after = text(("fused", "sin", 3), ("c.2", "rng", 4))
    assert told(history(before, after), 1) == {"fused": (20, "stated"), "c.2": (52, "stated")}
