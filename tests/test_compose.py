"""Dockerfile and compose file: what they name exists, and they hold no secret and open no door.

No container is started here; the processes they describe are, by the tests of stores and workers.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cli.main import build_parser
from app.settings import Settings, settings_from_environment
from test_locks import locked_names

ROOT = Path(__file__).resolve().parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*)|:\?)\}")
SECRETS = {"POSTGRES_PASSWORD", "RABBITMQ_PASSWORD", "S3_SECRET"}


@pytest.fixture
def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


def filled(text: str, given: dict[str, str]) -> str:
    """A value with its variables filled in as compose does."""
    return VARIABLE.sub(lambda found: given.get(found[1], found[2] or ""), text)


def commands(compose: dict[str, Any]) -> dict[str, list[str]]:
    """What `hloscope` is told, by service."""
    default = re.search(r"^CMD \[(.*)\]$", DOCKERFILE, re.MULTILINE)
    assert default is not None
    usual = re.findall(r'"([^"]*)"', default[1])
    own = {name: each for name, each in compose["services"].items() if "build" in each}
    return {name: each.get("command", usual) for name, each in own.items()}


def test_commands_are_those_of_the_program(compose: dict[str, Any]) -> None:
    found = commands(compose)
    assert set(found) == {"server", "worker"}
    for words in found.values():
        assert build_parser().parse_args(words).command == words[0]
    assert 'ENTRYPOINT ["hloscope"]' in DOCKERFILE


def test_variables_are_settings(compose: dict[str, Any]) -> None:
    given = dict.fromkeys(SECRETS, "x" * 32)
    for name in ("server", "worker"):
        environment = compose["services"][name]["environment"]
        values = {key: filled(value, given) for key, value in environment.items()}
        settings = settings_from_environment(values)
        assert settings.database_url.startswith(f"postgresql://hloscope:{'x' * 32}@database/")
        assert settings.job_workers == (0 if name == "server" else 2)
        assert settings.log_json
        assert settings.max_upload_bytes == Settings().max_upload_bytes
    signed_in = {
        "HLOSCOPE_LOGIN_HEADER": "X-User",
        "HLOSCOPE_LOGIN_SECRET": "y" * 32,
        "HLOSCOPE_TRUSTED_PROXIES": "10.0.0.0/8",
        "HLOSCOPE_MEMBERS_ONLY": "true",
    }
    environment = compose["services"]["server"]["environment"]
    settings = settings_from_environment(
        {key: filled(value, given | signed_in) for key, value in environment.items()}
    )
    assert settings.members_only
    assert settings.login_header == "X-User"


def test_secrets_come_from_outside_and_must_be_given() -> None:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    required = set(re.findall(r"\$\{(\w+):\?\}", text))
    assert required == SECRETS
    for line in text.splitlines():
        if re.search(r"(PASSWORD|PASS|SECRET\w*|secretKey)\"?: ", line):
            assert VARIABLE.search(line), line
    assert not (ROOT / ".env").exists() or ".env" in (ROOT / ".gitignore").read_text("utf-8")


def test_only_the_server_is_reached_and_only_from_this_machine(compose: dict[str, Any]) -> None:
    ports = {name: each["ports"] for name, each in compose["services"].items() if "ports" in each}
    assert ports == {"server": ["127.0.0.1:8765:8765"]}


def test_images_are_pinned_and_processes_have_no_rights(compose: dict[str, Any]) -> None:
    for each in compose["services"].values():
        if "build" in each:
            assert each["read_only"]
            assert each["cap_drop"] == ["ALL"]
            assert each["security_opt"] == ["no-new-privileges:true"]
        else:
            assert re.fullmatch(r"[a-z/]+:\d[\w.-]*", each["image"]), each["image"]
    froms = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert all(re.fullmatch(r"python:3\.11-\S+", image) for image in froms)
    assert re.search(r"^USER hloscope$", DOCKERFILE, re.MULTILINE)


def test_services_that_are_waited_for_are_there_and_tell_their_health(
    compose: dict[str, Any],
) -> None:
    services = compose["services"]
    waited = 0
    for each in services.values():
        for name, how in each.get("depends_on", {}).items():
            assert name in services
            assert how["condition"] != "service_healthy" or "healthcheck" in services[name]
            waited += 1
        for volume in each.get("volumes", ()):
            source = volume.partition(":")[0]
            assert source.startswith("/") or source in compose["volumes"]
    assert waited >= 6


def test_what_is_copied_into_the_image_exists_and_is_let_in() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = [
        source
        for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
        for source in line.split()[:-1]
    ]
    assert {"app", "templates", "static", "requirements-scale.lock"} <= set(copied)
    for source in copied:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in ignored, source


def test_the_image_holds_what_the_extra_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["scale"]]
    names = {re.split(r"[^A-Za-z0-9._-]", item)[0].lower().replace(".", "-") for item in wanted}
    assert {name.replace("_", "-") for name in names} <= locked_names("requirements-scale.lock")
    assert locked_names("requirements.lock") <= locked_names("requirements-scale.lock")
