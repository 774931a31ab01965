"""A text of a newer release, printed for an older one that does not read it."""

import re
from pathlib import Path

import pytest

from app.cli.main import main
from app.model.dump import DumpContents
from app.model.report import Report
from app.replay.experiments import Variant
from app.replay.older import OF_TEXT, older_form
from app.replay.outcome import Kind
from app.replay.plan import Plan
from app.replay.session import Session
from app.replay.subject import subject_of
from app.replay.toolchains import installed
from app.service import examine
from app.settings import Settings, settings_from_environment
from hlo_parser import Module, parse_module
from replay.fake_toolchain import CHECK, dies, make_toolchain

SAMPLE = Path(__file__).parents[2] / "sample_dumps" / "fsdp_pipelined" / "dump.tar.zst"
REFUSES = """
if 'StackFrames' in text or 'stack_frame_id' in text or 'sdy.meshes' in text:
    said = 'INVALID_ARGUMENT: Syntax error when trying to parse the text as a HloModule: was p'
    result = {'stage': 'prepare', 'error': 'XlaRuntimeError: ' + said}
    pathlib.Path(orders['result']).write_text(json.dumps(result)); sys.exit(0)
"""


DP = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"


@pytest.fixture(scope="module")
def analysis() -> tuple[Report, DumpContents]:
    found = examine(SAMPLE, Settings())
    assert found.contents is not None
    return found.report, found.contents


@pytest.fixture(scope="module")
def newer(analysis: tuple[Report, DumpContents]) -> Module:
    return analysis[1].modules[0].dumps[0].module


def session(folder: Path, analysis: tuple[Report, DumpContents], answers: str) -> Session:
    report, contents = analysis
    tool, plan = make_toolchain(folder, answers), Plan(jobs=1, budget_s=8)
    return Session(folder, tool, subject_of(contents, report), report, contents, plan)


def lines_of(module: Module) -> dict[str, tuple[str, int]]:
    sources = ((i.name, module.source_of(i)) for c in module.computations for i in c.instructions)
    return {name: (at.file, at.line) for name, at in sources if at is not None}


def test_the_older_form_is_the_same_program(newer: Module) -> None:
    assert newer.frames is not None
    found = older_form(newer)
    assert found is not None
    text, gone = found
    older = parse_module(text, strict=True)
    assert older.frames is None
    assert b"stack_frame_id" not in text
    assert gone == (
        f"{OF_TEXT}frontend_attributes of the header",
        f"{OF_TEXT}stack frames but for the innermost",
        f"{OF_TEXT}custom calls of Shardy (4)",
    )
    assert older.instruction_count == newer.instruction_count - 4
    assert lines_of(older).items() <= lines_of(newer).items()
    assert len(lines_of(older)) == len(lines_of(newer)) - 4
    for key in ("entry_computation_layout", "num_partitions", "input_output_alias"):
        assert older.header.attributes[key] == newer.header.attributes[key]


def test_what_is_older_already_stays_as_it_is(newer: Module) -> None:
    once = older_form(newer)
    assert once is not None
    assert older_form(parse_module(once[0])) == (once[0], ())


def test_frontend_attributes_that_older_releases_read_stay() -> None:
    text = (
        'HloModule m, frontend_attributes={a="1",b.c="x=\\"{2}\\""}\n\n'
        'ENTRY %e {\n  ROOT %p = f32[] parameter(0), origin={{"a"}}, frontend_attributes={k="v"}'
        ', metadata={op_name="a \\"b\\"" source_file="f \\"g\\".py" source_line=3 source_column=9}'
        "\n}\n"
    )
    found = older_form(parse_module(text, strict=True))
    assert found is not None
    printed = found[0].decode()
    assert found[1] == (f"{OF_TEXT}origin of instructions",)
    assert 'frontend_attributes={a="1",b.c="x=\\"{2}\\""}' in printed
    assert 'frontend_attributes={k="v"}' in printed
    name = 'metadata={op_name="a \\"b\\"" source_file="f \\"g\\".py" source_line=3}'
    assert name in printed


def test_elements_of_tuples_and_orders_are_written_as_they_used_to_be() -> None:
    text = """HloModule m

ENTRY %e {
  %p = (f32[8], (s32[], f32[8])) parameter(0)
  %p.0 = f32[8] negate(%p#0)
  %a = f32[8] add(%p#0, %p#1#1)
  %i = pred[] compare(%p#1#0, %p#1#0), direction=LT, order=TOTAL
  %g = pred[8] compare(%a, %p.0), direction=LT, order=PARTIAL
  ROOT %f = pred[8] compare(%a, %p.0), direction=LT, order=TOTAL
}
"""
    found = older_form(parse_module(text))
    assert found is not None
    printed = found[0].decode()
    for line in (
        "%p.0.e = f32[8] get-tuple-element(%p), index=0",
        "%p.0 = f32[8] negate(%p.0.e)",
        "%p.1.1 = f32[8] get-tuple-element(%p.1), index=1",
        "%a = f32[8] add(%p.0.e, %p.1.1)",
        "%i = pred[] compare(%p.1.0, %p.1.0), direction=LT\n",
        "%g = pred[8] compare(%a, %p.0), direction=LT\n",
        "ROOT %f = pred[8] compare(%a, %p.0), direction=LT, type=TOTALORDER",
    ):
        assert line in printed
    assert parse_module(printed, strict=True).instruction_count == 10


@pytest.mark.parametrize(
    ("mesh", "tiled"),
    [
        # As jaxlib 0.10.2 prints both beside each other.
        ("{mesh['tp'=8], [{}, {'tp'}]}", "{devices=[1,8]<=[8]}"),
        ("{mesh['dp'=2,'tp'=4], [{'dp'}, {}]}", DP),
        (
            "{mesh['dp'=2, 'tp'=4], [{}, {'tp'}]}",
            "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
        ),
        ("{mesh['dp'=2,'tp'=4], [{'tp'}, {'dp'}]}", "{devices=[4,2]<=[2,4]T(1,0)}"),
        ("{mesh['dp'=2,'tp'=4], [{'dp','tp'}]}", "{devices=[8]<=[8]}"),
        ("{mesh['tp'=8], [{}, {}]}", "{replicated}"),
        ("{mesh['tp'=8], replicated}", "{replicated}"),
        (
            "{{mesh['tp'=8], [{}]}, {mesh['dp'=2,'tp'=4], [{'dp'}, {}]}}",
            f"{{{{replicated}}, {DP}}}",
        ),
        ("{devices=[8]<=[8]}", "{devices=[8]<=[8]}"),
    ],
)
def test_a_sharding_along_mesh_axes_is_written_with_tiles(mesh: str, tiled: str) -> None:
    text = f"HloModule m\n\nENTRY %e {{\n  ROOT %p = f32[8] parameter(0), sharding={mesh}\n}}\n"
    found = older_form(parse_module(text))
    assert found is not None
    assert f"sharding={tiled}\n" in found[0].decode()


@pytest.mark.parametrize(
    "mesh",
    [
        "{mesh['a'=2,'b'=2], device_ids=(0,2,1,3), [{'a'}]}",
        "{mesh['x'=4], [{'x':(1)2}]}",
        "{mesh['x'=4], [{'x', ?}]}",
        "{mesh['x'=4], manual}",
        "{mesh['x'=4], [{'x'}], unreduced={'x'}}",
        "{mesh['x'=4], [{'y'}]}",
        "{mesh['x'=4], [{'x'}, {'x'}]}",
        "{maximal_mesh[device_id=3]}",
    ],
)
def test_a_sharding_with_more_to_it_is_left_for_the_release_to_refuse(mesh: str) -> None:
    text = f"HloModule m\n\nENTRY %e {{\n  ROOT %p = f32[8] parameter(0), sharding={mesh}\n}}\n"
    found = older_form(parse_module(text))
    assert found is not None
    assert f"sharding={mesh}\n" in found[0].decode()


def test_a_sharding_that_is_stated_nowhere_else_stays() -> None:
    text = (
        "HloModule m\n\nENTRY %e {\n  %p = f32[8] parameter(0)\n  ROOT %c = f32[8] custom-call(%p),"
        ' custom_call_target="xla.sdy.FuncResultSharding", frontend_attributes={s="x"}\n}\n'
    )
    # Without Shardy no older release has a word for it.
    assert older_form(parse_module(text)) is None
    found = older_form(parse_module(text), has_shardy=True)
    assert found is not None
    assert b"FuncResultSharding" in found[0]


def test_what_is_shardy_s_stays_for_a_release_that_partitions_by_it(newer: Module) -> None:
    found = older_form(newer, has_shardy=True)
    assert found is not None
    text, gone = found
    assert gone == (f"{OF_TEXT}stack frames but for the innermost",)
    assert b"xla.sdy.meshes" in text
    assert text.count(b"FuncResultSharding") == 4


def test_a_form_that_cannot_be_printed_anew_is_left() -> None:
    entry = "ENTRY %e {\n  ROOT %p = f32[8]{0} parameter(0)\n}"
    text = f'HloModule m\n\n{entry}, execution_thread="t"\n'
    assert older_form(parse_module(text)) is None


def test_a_release_that_does_not_read_a_text_is_given_the_older_form(
    tmp_path: Path, analysis: tuple[Report, DumpContents]
) -> None:
    made = session(tmp_path, analysis, REFUSES)
    attempt = made.compile()
    assert attempt.kind == Kind.COMPILES
    (remark,) = made.remarks
    assert "jaxlib 0.4.30 does not read this text" in remark
    assert "custom calls of Shardy (4)" in remark
    # What was answered once is told again.
    again = session(tmp_path, analysis, REFUSES)
    assert (again.compile().kind, again.remarks) == (Kind.COMPILES, (remark,))
    assert b"StackFrames" not in again.subject.data


def test_what_is_reduced_is_the_older_form(
    tmp_path: Path, analysis: tuple[Report, DumpContents]
) -> None:
    made = session(tmp_path, analysis, f"{REFUSES}\nif 'while' in text:\n    {dies(CHECK)}")
    found = made.reduce("small.hlo")
    assert found is not None
    assert "stack_frame_id" not in found.text


def test_log_and_dump_are_kept_of_the_form_that_is_read(
    tmp_path: Path, analysis: tuple[Report, DumpContents]
) -> None:
    made = session(tmp_path, analysis, f"{REFUSES}\nprint('read')")
    assert made.compile(tmp_path / "kept").kind == Kind.COMPILES
    assert (tmp_path / "kept" / "replay.log").read_text() == "read\n"


def test_a_text_that_no_form_helps_is_refused_with_the_release_s_words(
    tmp_path: Path, analysis: tuple[Report, DumpContents]
) -> None:
    made = session(tmp_path, analysis, REFUSES.replace("if 'StackFrames'", "if True or 'S'"))
    attempt = made.compile()
    assert attempt.kind == Kind.REFUSED
    assert "Syntax error" in attempt.words
    assert "this is the older form that hloscope prints" in attempt.words
    assert made.remarks == ()


def test_another_text_is_never_changed(
    tmp_path: Path, analysis: tuple[Report, DumpContents]
) -> None:
    made = session(tmp_path, analysis, REFUSES)
    text = made.subject.data + b"\n"
    variant = Variant("v", {}, type(made.subject)(text, "text"))
    assert made.laboratory.try_one(variant).kind == Kind.REFUSED


@pytest.mark.long
@pytest.mark.parametrize("release", ["0.4.30", "0.4.34"])
def test_an_older_release_compiles_a_newer_text(
    release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if release not in installed(settings_from_environment().replay_dir.expanduser()):
        pytest.skip(f"needs `hloscope replay --install {release}`")
    flags = "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false"
    assert main(["replay", str(SAMPLE), "--release", release, "--flags", flags]) == 0
    shown = capsys.readouterr().out
    assert re.match(r"compiles \(", shown)
    assert f"jaxlib {release} does not read this text" in shown
