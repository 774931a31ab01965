"""The description of the API: committed, complete, and true to what the handlers do."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from app import errors
from app.settings import Settings
from app.web.application import create_app
from app.web.contract import ERROR_CODES
from app.web.problems import status_of

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "docs" / "openapi.json"


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    return create_app(Settings()).openapi()


def operations(described: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for methods in described["paths"].values() for item in methods.values()]


def test_the_committed_description_is_the_servers(
    described: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    text = json.dumps(described, indent=1, sort_keys=True) + "\n"
    if request.config.getoption("--update-golden"):
        COMMITTED.write_text(text, encoding="utf-8")
    assert COMMITTED.read_text(encoding="utf-8") == text, (
        "docs/openapi.json is not what the server says; if that is meant, write it anew with"
        " pytest tests/web/test_api_description.py --update-golden"
    )


def test_operations_have_ids_of_their_own(described: dict[str, Any]) -> None:
    ids = [operation["operationId"] for operation in operations(described)]
    assert len(ids) == len(set(ids))
    # Programs are made from these: none may go or change its name.
    assert set(ids) >= {
        "create_report",
        "delete_report",
        "diff_passes",
        "get_loop",
        "get_pass_text",
        "get_replay",
        "get_report",
        "get_report_in_form",
        "get_report_state",
        "list_collectives",
        "list_findings",
        "list_loops",
        "list_modules",
        "list_own_reports",
        "list_passes",
        "put_named_report",
        "put_report",
        "search_instructions",
        "watch_report",
    }


def test_every_error_has_the_one_shape_and_its_codes(described: dict[str, Any]) -> None:
    for operation in operations(described):
        bad = {code: answer for code, answer in operation["responses"].items() if code >= "400"}
        assert {"400", "422", "429", "500", "503"} <= set(bad), operation["operationId"]
        for status, answer in bad.items():
            schema = answer["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/ErrorBody"}, status
            assert answer["x-codes"] == list(ERROR_CODES[int(status)])


def test_every_reference_leads_somewhere(described: dict[str, Any]) -> None:
    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [ref for item in value.values() for ref in references(item)]
        if isinstance(value, list):
            return [ref for item in value for ref in references(item)]
        return []

    names = {ref.removeprefix("#/components/schemas/") for ref in references(described)}
    assert names - described["components"]["schemas"].keys() == set()


def raised_in_web() -> set[tuple[str, str]]:
    """Kind and code of every error that the handlers make themselves."""
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
    found: set[tuple[str, str]] = set()
    for path in (ROOT / "app" / "web").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if name in kinds and isinstance(node, ast.Call):
                codes = [w.value for w in node.keywords if w.arg == "code"]
                code = codes[0].value if codes and isinstance(codes[0], ast.Constant) else ""
                found.add((name, str(code)))
    return found


# Errors that end the program which serves, and never a request.
AT_START = {"cannot_listen", "unreadable"}


def test_every_code_is_told_with_its_status() -> None:
    for name, code in sorted(raised_in_web()):
        error = getattr(errors, name)("x", code=code or None)
        if error.code not in AT_START:
            assert error.code in ERROR_CODES[status_of(error)], (name, error.code)
