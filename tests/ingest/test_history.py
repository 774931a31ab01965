"""How texts become histories: grouping, order, identity and roles."""

import pytest

from app.ingest.history import ParsedText, group_texts
from app.ingest.names import read_file_name
from app.model.dump import ModuleHistory
from hlo_parser import Interner, parse_module
from ingest.archives import HLO

DOT = """HloModule {name}

ENTRY %main.9 (x.1: f32[4,4]) -> f32[4,4] {{
  %x.1 = f32[4,4]{{1,0}} parameter(0)
{body}  ROOT %dot.2 = f32[4,4]{{1,0}} dot(%x.1, %x.1), lhs_contracting_dims={{1}}
}}
"""


def program(name: str, size: int = 0) -> str:
    line = "  %n.{} = f32[4,4]{{1,0}} negate(%x.1)\n"
    return DOT.format(name=name, body="".join(line.format(n) for n in range(size)))


def elementwise(name: str, size: int) -> str:
    return program(name, size).replace(
        "dot(%x.1, %x.1), lhs_contracting_dims={1}", "add(%x.1, %x.1)"
    )


def histories(texts: dict[str, str], *side: str) -> tuple[ModuleHistory, ...]:
    interner = Interner()
    parsed = [
        ParsedText(read_file_name(file).name, parse_module(text, interner=interner), len(text))
        for file, text in texts.items()
    ]
    return group_texts(parsed, [read_file_name(file) for file in side])


def points(history: ModuleHistory) -> list[str]:
    assert [dump.index for dump in history.dumps] == list(range(len(history.dumps)))
    return [dump.name.point.partition(".after_")[2] or dump.name.point for dump in history.dumps]


def test_order_is_that_of_the_compiler() -> None:
    early, late = program("jit_f"), program("jit_f", 2)
    names = {
        "module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt": late,
        "module_0001.jit_f.after_spmd_partitioner.txt": early,
        "module_0001.jit_f.before_config_assignment.txt": late,
        "module_0001.jit_f.0010.post.after_b.before_c.txt": late,
        "module_0001.jit_f.0002.spmd.after_a.before_b.txt": early,
        "module_0001.jit_f.0009.copy-insertion.after_removing_unnecessary_copies.txt": late,
        "module_0001.jit_f.10000.end.after_z.before_pipeline-end.txt": program("jit_f", 3),
        "module_0001.jit_f.before_optimizations.txt": program("jit_f", 1),
    }
    (history,) = histories(names)
    assert points(history) == [
        "before_optimizations",
        "a.before_b",
        "after_spmd_partitioner",
        "removing_unnecessary_copies",
        "b.before_c",
        "before_config_assignment",
        "z.before_pipeline-end",
        "sm_9.0a_gpu_after_optimizations",
    ]
    assert history.complete


def test_the_pipeline_that_a_point_stands_before_begins_behind_it() -> None:
    same = program("jit_f")
    names = {
        "module_0001.jit_f.after_spmd_partitioner.txt": same,
        "module_0001.jit_f.0004.host-compute.after_pipeline-start.before_asyncifier.txt": same,
        "module_0001.jit_f.0005.optimization.after_pipeline-start.before_rewriter.txt": same,
        "module_0001.jit_f.0006.simplification.after_pipeline-start.before_cse.txt": same,
    }
    (history,) = histories(names)
    assert points(history) == [
        "pipeline-start.before_asyncifier",
        "after_spmd_partitioner",
        "pipeline-start.before_rewriter",
        "pipeline-start.before_cse",
    ]


def test_points_without_an_equal_text_stand_where_their_name_says() -> None:
    names = {
        "module_0001.jit_f.before_config_assignment.txt": program("jit_f", 7),
        "module_0001.jit_f.after_spmd_partitioner.txt": program("jit_f", 8),
        "module_0001.jit_f.before_optimizations.txt": program("jit_f", 1),
        "module_0001.jit_f.0003.spmd-partitioner.after_x.before_y.txt": program("jit_f", 2),
        "module_0001.jit_f.0007.simplify.after_x.before_y.txt": program("jit_f", 3),
    }
    (history,) = histories(names)
    assert points(history) == [
        "before_optimizations",
        "x.before_y",
        "after_spmd_partitioner",
        "x.before_y",
        "before_config_assignment",
    ]
    plain = {name: text for name, text in names.items() if "after_x" not in name}
    (history,) = histories(plain)
    assert points(history) == [
        "before_optimizations",
        "after_spmd_partitioner",
        "before_config_assignment",
    ]


def test_what_libtpu_writes_after_the_last_pass() -> None:
    stem = "module_0000.jit_f.cl_1004524046."
    names = [
        "after_codegen",
        "after_optimizations_after_buffer_assignment",
        "after_optimizations",
        "after_optimizations_before_buffer_assignment",
        "0003.Layout.after_a.before_b",
        "before_optimizations",
    ]
    (history,) = histories({f"{stem}{name}.txt": program("jit_f") for name in names})
    assert [dump.name.point for dump in reversed(history.dumps)] == [
        *names[:4],
        "Layout.after_a.before_b",
        "before_optimizations",
    ]


def test_name_left_out_of_long_file_names() -> None:
    names = {
        "module_0001.jit_very_long_name.before_optimizations.txt": program("jit_very_long_name"),
        "module_0001.0003.p.after_a.before_b.txt": program("jit_very_long_name"),
        "module_0001.jit_other.before_optimizations.txt": program("jit_other", 1),
    }
    found = histories(names)
    assert {history.id: len(history.dumps) for history in found} == {
        "module_0001.jit_very_long_name": 2,
        "module_0001.jit_other": 1,
    }


def test_one_module_compiled_twice_and_numbers_that_collide() -> None:
    names = {
        "1795996987902739.module_0001.jit_f.before_optimizations.txt": program("jit_f"),
        "1795996999999999.module_0001.jit_f.before_optimizations.txt": program("jit_f"),
        "module_0002.jit_f.before_optimizations.txt": program("jit_f"),
        "module_0002.jit_g.before_optimizations.txt": program("jit_g"),
        "rank1/module_0002.jit_g.before_optimizations.txt": program("jit_g"),
    }
    assert sorted(history.id for history in histories(names)) == [
        "1795996987902739.module_0001.jit_f",
        "1795996999999999.module_0001.jit_f",
        "module_0002.jit_f",
        "module_0002.jit_g",
        "rank1/module_0002.jit_g",
    ]


def test_unknown_names_stand_apart_from_the_known_history() -> None:
    names = {
        "module_0001.jit_f.before_optimizations.txt": program("jit_f", 9),
        "module_0001.jit_f.something_new.txt": program("jit_f"),
        "mine.txt": program("jit_mine"),
    }
    assert {history.id: history.complete for history in histories(names)} == {
        "module_0001.jit_f": False,
        "module_0001.jit_f.something_new.txt": False,
        "jit_mine": False,
    }


def test_side_files_find_their_module() -> None:
    names = {
        "module_0001.jit_f.before_optimizations.txt": program("jit_f"),
        "module_0001.jit_f.2.before_optimizations.txt": program("jit_f.2", 1),
        "a/module_0001.jit_f.before_optimizations.txt": program("jit_f", 2),
    }
    found = histories(
        names,
        "module_0001.jit_f.ptx",
        "module_0001.jit_f.2.ptx",
        "module_0001.jit_f.debug_options",
        "a/module_0001.jit_f.debug_options",
        "module_0002.jit_f.debug_options",
    )
    assert {history.id: dict(history.files) for history in found} == {
        "module_0001.jit_f": {
            "ptx": ("module_0001.jit_f.ptx",),
            "debug_options": ("module_0001.jit_f.debug_options",),
        },
        "module_0001.jit_f.2": {"ptx": ("module_0001.jit_f.2.ptx",)},
        "a/module_0001.jit_f": {"debug_options": ("a/module_0001.jit_f.debug_options",)},
    }


BEFORE, AFTER = "before_optimizations", "cpu_after_optimizations"


def compiled(number: int, name: str, text: str, *ends: str) -> dict[str, str]:
    return {f"module_{number:04d}.{name}.{end}.txt": text for end in ends}


def test_own_modules_first_helpers_behind() -> None:
    found = histories(
        compiled(1, "jit_broadcast_in_dim", HLO, BEFORE, AFTER)
        | compiled(2, "jit_small", program("jit_small", 20), BEFORE, AFTER)
        | compiled(3, "jit__normal", HLO.replace("jit_f", "jit__normal"), BEFORE, AFTER)
        | compiled(4, "jit_large", program("jit_large", 200), BEFORE, AFTER)
        # A product outside of any jit, beside a program a hundred times its size.
        | compiled(5, "jit_dot_general", program("jit_dot_general"), BEFORE, AFTER)
    )
    assert [(history.name, history.role) for history in found] == [
        ("jit_large", "user"),
        ("jit_small", "user"),
        ("jit_broadcast_in_dim", "helper"),
        ("jit__normal", "helper"),
        ("jit_dot_general", "helper"),
    ]


# 0.4.30 prints `jit__lambda_`, 0.10.2 `jit__lambda`.
@pytest.mark.parametrize("name", ["jit__lambda", "jit__lambda_", "jit__update"])
def test_functions_with_an_underscore_are_the_users_but_for_those_of_jax(name: str) -> None:
    found = histories(
        compiled(1, "jit__normal", elementwise("jit__normal", 200), BEFORE, AFTER)
        | compiled(2, name, program(name, 20), BEFORE, AFTER)
    )
    assert [(history.name, history.role) for history in found] == [
        (name, "user"),
        ("jit__normal", "helper"),
    ]


@pytest.mark.parametrize(
    ("text", "role"),
    [
        # With a product, and no smaller than what is compiled beside it.
        (program("jit__pinv", 20), "user"),
        (program("jit__pinv", 3000), "user"),
        # Larger than anything that JAX has.
        (elementwise("jit__uniform", 3000), "user"),
        (elementwise("jit__uniform", 200), "helper"),
        (elementwise("jit__argmax", 20), "helper"),
        # Names that a program may well have itself.
        (program("jit__solve", 20), "user"),
        (elementwise("jit__mean", 20), "user"),
        (elementwise("jit__mean", 4), "helper"),
    ],
)
def test_a_name_of_jax_makes_no_program_jaxs_own(text: str, role: str) -> None:
    name = text.split(maxsplit=2)[1]
    found = histories(
        compiled(1, "jit_main", program("jit_main", 40), BEFORE, AFTER)
        | compiled(2, name, text, BEFORE, AFTER)
    )
    assert {history.name: history.role for history in found} == {"jit_main": "user", name: role}


def test_a_product_in_a_function_of_jax_beside_a_program() -> None:
    found = histories(
        compiled(1, "jit_main", program("jit_main", 900), BEFORE, AFTER)
        | compiled(2, "jit__pinv", program("jit__pinv", 40), BEFORE, AFTER)
    )
    assert [history.role for history in found] == ["user", "helper"]


def test_module_that_died_stands_first() -> None:
    found = histories(
        compiled(1, "jit_large", program("jit_large", 200), BEFORE, AFTER)
        | compiled(2, "jit_tiny", HLO, BEFORE)
    )
    assert [(h.name, h.role, h.complete) for h in found] == [
        ("jit_tiny", "user", False),
        ("jit_large", "user", True),
    ]


@pytest.mark.parametrize("name", ["jit_f", "jit__lambda_", "jit__private"])
def test_the_only_module_is_the_users(name: str) -> None:
    (history,) = histories(compiled(1, name, HLO.replace("jit_f", name), BEFORE, AFTER))
    assert history.role == "user"


def test_fragments_of_the_autotuner_come_last() -> None:
    passes = {
        f"module_0001.jit_f.{step:04d}.p.after_a.before_b.txt": program("jit_f", 5)
        for step in range(8)
    }
    fragments = {
        f"module_{number:04d}.fused_add.{number}.0000.cublaslt_rewriter_pipeline"
        ".after_pipeline-start.before_x.txt": program(f"fused_add.{number}", 90)
        for number in (2, 3)
    }
    found = histories(fragments | compiled(1, "jit_f", program("jit_f", 5), BEFORE) | passes)
    assert [(history.name, history.role) for history in found] == [
        ("jit_f", "user"),
        ("fused_add.2", "autotuning"),
        ("fused_add.3", "autotuning"),
    ]
    # Pass files that a user picked are no fragments.
    (history,) = histories(passes)
    assert history.role == "user"
