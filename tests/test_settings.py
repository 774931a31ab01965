"""Settings come from the environment with units, mistakes in it are told; errors tell all parts."""

import ast
import inspect
import pickle
from dataclasses import FrozenInstanceError, fields
from itertools import pairwise
from pathlib import Path

import pytest

from app import errors, settings
from app.errors import AppError, LimitExceeded
from app.settings import BadSetting, Settings, settings_from_environment


def subclasses(base: type[AppError]) -> list[type[AppError]]:
    return [base, *(deep for child in base.__subclasses__() for deep in subclasses(child))]


def test_an_empty_environment_gives_the_defaults() -> None:
    assert settings_from_environment({"PATH": "/bin"}) == Settings()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4096", 4096), ("512MiB", 512 << 20), ("2 gib", 2 << 30), (" 1KiB ", 1024), ("0", 0)],
)
def test_sizes_may_have_units(text: str, expected: int) -> None:
    found = settings_from_environment({"HLOSCOPE_MAX_UPLOAD_BYTES": text})
    assert found == Settings(max_upload_bytes=expected)


def test_paths_and_counts() -> None:
    found = settings_from_environment(
        {"HLOSCOPE_DATA_DIR": "/srv/hloscope", "HLOSCOPE_JOB_TIMEOUT_S": "7"}
    )
    assert found == Settings(data_dir=Path("/srv/hloscope"), job_timeout_s=7)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("HLOSCOPE_MAX_UPLOAD_BYTE", "1", "Did you mean HLOSCOPE_MAX_UPLOAD_BYTES?"),
        ("HLOSCOPE_XYZZY", "1", "The README lists the settings."),
        (
            "HLOSCOPE_MAX_UPLOAD_BYTES",
            "-1",
            "'-1' is not what this setting takes (a number of bytes",
        ),
        ("HLOSCOPE_MAX_UPLOAD_BYTES", "1GB", "'1GB' is not what"),
        ("HLOSCOPE_MAX_UPLOAD_BYTES", "", "'' is not what"),
        ("HLOSCOPE_MAX_UPLOAD_BYTES", "9" * 400, "is not what"),
        ("HLOSCOPE_MAX_MEMBERS", "5MiB", "no size in bytes"),
        ("HLOSCOPE_DATA_DIR", "", "is not what this setting takes (a path)"),
    ],
)
def test_mistakes_are_told(name: str, text: str, said: str) -> None:
    with pytest.raises(BadSetting) as caught:
        settings_from_environment({name: text})
    assert str(caught.value).startswith(f"{name}: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("values", "least"),
    [
        ({"SWEEP_GRACE_S": "0"}, 3600),
        ({"SWEEP_GRACE_S": "3599"}, 3600),
        ({"SWEEP_GRACE_S": "0", "JOB_TIMEOUT_S": "9000", "REPLAY_BUDGET_S": "9000"}, 3600),
        ({"UPLOAD_IDLE_S": "30000"}, 30_000),
    ],
)
def test_a_sweep_takes_nothing_that_is_being_received(values: dict[str, str], least: int) -> None:
    named = {f"HLOSCOPE_{name}": text for name, text in values.items()}
    with pytest.raises(BadSetting, match=f"SWEEP_GRACE_S: .* {least} seconds or more"):
        settings_from_environment(named)
    named["HLOSCOPE_SWEEP_GRACE_S"] = str(least)
    assert settings_from_environment(named).sweep_grace_s == least


def test_settings_never_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().max_members = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_names_say_the_unit_that_their_description_has() -> None:
    code = ast.parse(inspect.getsource(settings))
    (body,) = (n.body for n in code.body if isinstance(n, ast.ClassDef) and n.name == "Settings")
    described = 0
    for item, text in pairwise(body):
        match item, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(
                value=ast.Constant(value=str(d))
            ):
                described += 1
                assert name.endswith("_bytes") == d.startswith("Bytes "), name
                assert name.endswith("_s") == d.startswith("Seconds "), name
            case _:
                pass
    assert described == len(fields(Settings))


def test_packaged_folders_exist() -> None:
    assert settings.template_dir().is_dir()
    assert settings.static_dir().is_dir()


def test_every_class_of_error_has_a_code_of_its_own() -> None:
    codes = [kind.default_code for kind in subclasses(AppError)]
    assert len(codes) == len(set(codes))


def test_the_tree_of_errors_is_drawn_whole() -> None:
    drawn = errors.__doc__ or ""
    here = [kind.__name__ for kind in subclasses(AppError) if kind.__module__ == errors.__name__]
    assert [name for name in here if name not in drawn] == []


def test_message_has_place_cause_and_next_step() -> None:
    error = LimitExceeded("12 bytes are more than 10", place="a.txt", next_step="Raise the limit.")
    assert str(error) == "a.txt: 12 bytes are more than 10. Raise the limit."
    assert error.code == "too_large"
    assert str(AppError("it broke")) == "it broke"
    assert AppError("it broke", code="exactly_this").code == "exactly_this"


def test_errors_survive_the_way_out_of_a_child_process() -> None:
    error = LimitExceeded("too many", place="x", next_step="Fewer.", code="too_many_members")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.code, str(copy)) == (LimitExceeded, error.code, str(error))
