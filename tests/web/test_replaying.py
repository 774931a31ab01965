"""A dump compiled again from its report's page, by a toolchain that answers by its flags."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.settings import Settings
from app.store import ReportRow
from app.web import create_app
from replay.fake_toolchain import CHECK, dies, make_toolchain
from web.asking import app_of, until_over

SAMPLE = Path(__file__).parents[2] / "sample_dumps" / "pipeliner_crash_plain_dump"
HTML = {"accept": "text/html"}
# Released after the stand-in's last release: no C compiler is asked for.
RELEASE = "0.4.34"
FLAGS = "--xla_gpu_enable_pipelined_all_gather=true"
ANSWERS = f"""
if flags.get('xla_gpu_enable_pipelined_all_gather') == 'true':
    {dies(CHECK)}
"""


@pytest.fixture
def compiling(settings: Settings, tmp_path: Path) -> Iterator[TestClient]:
    """A client of an application that compiles again."""
    folder = tmp_path / "replay" / "toolchains" / RELEASE
    (folder / "bin").mkdir(parents=True)
    make_toolchain(folder / "bin", ANSWERS)
    (folder / "ready").touch()
    changed = replace(settings, replay_jobs=True, replay_dir=tmp_path / "replay")
    with TestClient(create_app(changed), base_url="http://localhost") as client:
        yield client


def sent(client: TestClient, release: str = RELEASE) -> str:
    """The path of a finished report."""
    answer = client.post(
        "/",
        files=[
            ("dump", ("dump.tar.gz", (SAMPLE / "dump.tar.gz").read_bytes())),
            ("log", ("run.log", (SAMPLE / "run.log").read_bytes())),
        ],
        data={"flags": FLAGS, "release": release},
        headers={"accept": "application/json"},
    )
    path = answer.json()["url"]
    until_over(client, path.rpartition("/")[2])
    return path


def test_it_is_off_unless_switched_on(working: TestClient) -> None:
    path = sent(working)
    assert "Compile again" not in working.get(path, headers=HTML).text
    assert working.get(f"{path}/replay", headers=HTML).status_code == 404
    assert working.post(f"{path}/replay", data={"ask": "prove"}).status_code == 404


def test_a_replay_is_a_report_of_its_own(compiling: TestClient) -> None:
    path = sent(compiling)
    assert f'href="{path}/replay"' in compiling.get(path, headers=HTML).text
    form = compiling.get(f"{path}/replay", headers=HTML).text
    assert f'value="{FLAGS}"' in form
    asked = {"ask": ["prove", "flags"], "flags": FLAGS}
    answer = compiling.post(f"{path}/replay", data=asked, headers=HTML, follow_redirects=False)
    assert answer.status_code == 303
    made = answer.headers["location"]
    assert made != path
    until_over(compiling, made.rpartition("/")[2])
    report = compiling.get(f"/api/v1/reports/{made.rpartition('/')[2]}/report.json").json()
    outcomes = {e["name"]: e["outcome"] for e in report["replay"]["experiments"]}
    assert outcomes["as the run had it"] == "same signature"
    assert outcomes["--xla_gpu_enable_pipelined_all_gather=false"] == "compiles"
    assert report["replay"]["needed"] == [FLAGS]
    page = compiling.get(made, headers=HTML).text
    assert "What recompiling showed" in page
    assert "tried: works" in page
    api = f"/api/v1/reports/{made.rpartition('/')[2]}/replay"
    answer = compiling.get(api, params={"wait": 60}).json()
    assert (answer["state"], answer["asked"], answer["error"]) == ("done", ["prove", "flags"], "")
    assert answer["replay"] == report["replay"]
    assert answer["replay"]["same"]["confidence"] == "certain"
    assert any(line.startswith('What "same signature" means here') for line in answer["lines"])
    # The report that it was begun from has none.
    gone = compiling.get(f"/api/v1/reports/{path.rpartition('/')[2]}/replay")
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "not_found")
    # The other report is as it was, and may go without taking the files along.
    assert "What recompiling showed" not in compiling.get(path, headers=HTML).text
    assert compiling.post(f"{path}/delete", headers=HTML).status_code == 200
    assert compiling.get(made, headers=HTML).status_code == 200


def test_how_far_it_is_can_be_asked_before_there_is_an_answer(compiling: TestClient) -> None:
    path = sent(compiling)
    services = app_of(compiling).state.services
    services.runner.stop()
    asked = {"ask": ["passes"], "flags": FLAGS}
    answer = compiling.post(f"{path}/replay", data=asked, headers=HTML, follow_redirects=False)
    made = answer.headers["location"].rpartition("/")[2]
    said = compiling.get(f"/api/v1/reports/{made}/replay").json()
    assert (said["state"], said["asked"], said["replay"]) == ("queued", ["passes"], None)
    assert said["progress"] == "Waiting for a free worker"
    assert compiling.get("/api/v1/reports/nothing/replay").status_code == 404


def test_without_a_release_that_fits_it_says_so(compiling: TestClient) -> None:
    path = sent(compiling, release="0.4.30")
    answer = compiling.post(
        f"{path}/replay", data={"ask": "prove"}, headers=HTML, follow_redirects=False
    )
    made = answer.headers["location"]
    until_over(compiling, made.rpartition("/")[2])
    page = compiling.get(made, headers=HTML).text
    assert "no jaxlib release installed that fits the dump" in page
    assert RELEASE in page
    said = compiling.get(f"/api/v1/reports/{made.rpartition('/')[2]}/replay").json()
    assert (said["state"], said["replay"], said["error_code"]) == ("failed", None, "toolchain")
    assert "no jaxlib release installed" in said["error"]


def test_only_whoever_sent_it_may_ask(compiling: TestClient) -> None:
    path = sent(compiling)
    compiling.cookies.clear()
    assert compiling.get(f"{path}/replay", headers=HTML).status_code in (401, 403)
    answer = compiling.post(f"{path}/replay", data={"ask": "prove"}, headers=HTML)
    assert answer.status_code in (401, 403)


def test_nothing_asked_is_refused(compiling: TestClient) -> None:
    path = sent(compiling)
    answer = compiling.post(f"{path}/replay", data={"ask": "other"}, headers=HTML)
    assert answer.status_code == 400
    assert "Nothing was asked for" in answer.text


def test_a_replay_waits_for_room_in_the_queue_like_any_upload(compiling: TestClient) -> None:
    path = sent(compiling)
    services = app_of(compiling).state.services
    full = replace(services.settings, max_open_jobs=0)
    app_of(compiling).state.services = replace(services, settings=full)
    answer = compiling.post(f"{path}/replay", data={"ask": "prove"}, headers=HTML)
    assert answer.status_code == 503
    assert services.store.jobs.count_open() == 0


def test_a_report_that_goes_meanwhile_is_not_compiled(
    compiling: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sent(compiling)
    reports = app_of(compiling).state.services.store.reports
    create_replay = reports.create_replay

    def too_late(source: ReportRow, *given: Any, **named: Any) -> Any:
        assert reports.delete(source.key)
        return create_replay(source, *given, **named)

    monkeypatch.setattr(reports, "create_replay", too_late)
    answer = compiling.post(f"{path}/replay", data={"ask": "prove"}, headers=HTML)
    assert answer.status_code == 410
