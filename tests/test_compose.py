"""Dockerfile and compose file: what they name exists, and they hold no secret and open no door.

No container is started here. The processes that they describe are, by their own command lines, with
the engines of the tests in place of those of the set.
"""

import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from app.cli.main import build_parser
from app.settings import Settings, settings_from_environment
from engines import BucketServer, Postgres
from rabbit import Rabbit
from scale.set import Program, free_port
from test_locks import locked_names
from web.asking import small_dump

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
    assert re.search(r"^USER 10001$", DOCKERFILE, re.MULTILINE)
    assert "useradd --system --uid 10001" in DOCKERFILE


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


@pytest.mark.long
def test_every_command_line_is_started_by_hand(
    compose: dict[str, Any], tmp_path: Path, postgres: Postgres, bucket_server: BucketServer
) -> None:
    broker, port = Rabbit(), free_port()
    broker.start()
    engines = {
        **bucket_server.keys,
        "HLOSCOPE_DATABASE_URL": postgres.new_database(),
        "HLOSCOPE_BLOBS_URL": bucket_server.new_place(),
        "HLOSCOPE_BROKER_URL": broker.url,
    }
    programs: list[Program] = []
    try:
        for name, words in commands(compose).items():
            given = dict.fromkeys(SECRETS, "x" * 32)
            own = compose["services"][name]["environment"].items()
            environ = {key: filled(value, given) for key, value in own} | engines
            # What the image sets itself; its port may be taken here.
            environ["HLOSCOPE_DATA_DIR"] = str(tmp_path / name)
            more = ["--port", str(port)] if words[0] == "serve" else []
            programs.append(Program(name, [*words, *more], environ, tmp_path))
            programs[-1].start()
        health: list[str] = compose["services"]["server"]["healthcheck"]["test"]
        asked = [word.replace("8765", str(port)) for word in health[2:]]
        assert health[:2] == ["CMD", "python"]
        subprocess.run([sys.executable, *asked], check=True, timeout=30)
        sent = httpx2.put(
            f"http://localhost:{port}/api/v1/reports/d.tar.gz?wait=60",
            content=small_dump(),
            timeout=90,
        )
        assert (sent.status_code, sent.json()["state"]) == (201, "done")
        for program in programs:
            grace_s = int(compose["services"][program.name]["stop_grace_period"].rstrip("s"))
            began = time.monotonic()
            stop_signal = re.search(r"^STOPSIGNAL (\w+)$", DOCKERFILE, re.MULTILINE)
            assert stop_signal is not None
            number = signal.Signals[stop_signal[1]]
            # The server ends by the signal itself, once it has tidied up.
            assert program.end_by(number) in (0, -number)
            assert time.monotonic() - began < grace_s
    finally:
        for program in programs:
            program.kill()
        broker.close()
