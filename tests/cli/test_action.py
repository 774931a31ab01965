"""The GitHub Action and the workflow of the docs, followed step by step as a runner would.

Steps of other people's actions are passed over. The installation is run by itself, from the
packages of the tests instead of a registry; the other tests take hloscope from the checkout.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from live_server import ROOT, live_server
from samples import load_sample

ACTION = ROOT / ".github" / "actions" / "hloscope"
EXAMPLE = ROOT / "docs" / "ci-example.yml"
PROGRAM = """import pathlib, shutil, sys
here = pathlib.Path(sys.argv[0]).parent
shutil.unpack_archive(here / "dump.tar.gz", here / "dump")
print((here / "sample.log").read_text())
sys.exit(134)
"""
OTHERS = {"actions/checkout@v4", "actions/setup-python@v5", "github/codeql-action/upload-sarif@v3"}
EXPRESSION = re.compile(r"\$\{\{ (.+?) \}\}")


def read_yaml(text: str) -> Any:
    """The forms of YAML that the two files have: maps, lists of maps, plain and quoted words."""
    lines = [
        (len(line) - len(line.lstrip()), line.strip())
        for line in text.splitlines()
        if line.strip() and not line.lstrip().startswith("#")
    ]

    def value_at(indent: int) -> Any:
        if lines[0][1].startswith("- "):
            items: list[Any] = []
            while lines and lines[0][0] == indent and lines[0][1].startswith("- "):
                lines[0] = (indent + 2, lines[0][1][2:])
                items.append(value_at(indent + 2))
            return items
        entries: dict[str, Any] = {}
        while lines and lines[0][0] == indent and not lines[0][1].startswith("- "):
            key, _, rest = lines.pop(0)[1].partition(":")
            rest = rest.strip()
            if rest:
                entries[key] = rest[1:-1] if rest[0] == rest[-1] == "'" else rest
            elif lines and (lines[0][0] > indent or lines[0][1].startswith("- ")):
                entries[key] = value_at(lines[0][0])
            else:
                entries[key] = ""
        return entries

    return value_at(0)


@dataclass
class Runner:
    """What a runner keeps from step to step."""

    work: Path
    temp: Path
    outputs: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    has_failed: bool = False
    printed: str = ""

    def follow(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            if not self.wants(step.get("if", "success()")):
                continue
            if "run" in step:
                self.has_failed |= self.shell(step["run"], step.get("env", {}), {}) != 0
            elif step["uses"].startswith("./"):
                code, outputs = self.composite(step.get("with", {}))
                self.outputs[step["id"]] = outputs
                self.has_failed |= code != 0
            else:
                assert step["uses"] in OTHERS

    def wants(self, condition: str) -> bool:
        words = EXPRESSION.sub(lambda match: match[1], condition).split(" && ")
        known = {"!cancelled()": True, "success()": not self.has_failed}
        return all(known[word] if word in known else self.value(word, {}) for word in words)

    def composite(self, given: Mapping[str, str]) -> tuple[int, dict[str, str]]:
        action = read_yaml((ACTION / "action.yml").read_text(encoding="utf-8"))
        assert given.keys() <= action["inputs"].keys()
        inputs = {
            name: given.get(name, self.filled(each.get("default", ""), {}))
            for name, each in action["inputs"].items()
        }
        code = 0
        for step in action["runs"]["steps"]:
            assert "${{" not in step["run"], "an input in a script may end it"
            if "install.sh" in step["run"] or code:
                continue
            code = self.shell(step["run"], step.get("env", {}), inputs, step.get("id", ""))
        return code, {
            name: self.filled(each["value"], {}) for name, each in action["outputs"].items()
        }

    def shell(
        self, script: str, env: Mapping[str, str], inputs: Mapping[str, str], step: str = ""
    ) -> int:
        files = {name: self.temp / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        files["GITHUB_OUTPUT"].write_text("")
        ended = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.work,
            env={
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "HOME": str(self.temp),
                "RUNNER_TEMP": str(self.temp),
                "GITHUB_ACTION_PATH": str(ACTION),
                **{name: str(path) for name, path in files.items()},
                **{name: self.filled(text, inputs) for name, text in env.items()},
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=250,
        )
        self.printed += ended.stdout
        if step:
            said = files["GITHUB_OUTPUT"].read_text().splitlines()
            self.outputs[step] = dict(line.split("=", 1) for line in said)
        return ended.returncode

    def filled(self, text: str, inputs: Mapping[str, str]) -> str:
        return EXPRESSION.sub(lambda match: self.value(match[1], inputs), text)

    def value(self, name: str, inputs: Mapping[str, str]) -> str:
        match name.split("."):
            case ["inputs", each]:
                return inputs[each]
            case ["github", each]:
                return {
                    "workspace": str(self.work),
                    "sha": "0123456789abcdef",
                    "server_url": "https://forge.example",
                    "repository": "me/job",
                    "run_id": "7",
                }[each]
            case ["steps", step, "outputs", each]:
                return self.outputs.get(step, {}).get(each, "")
            case _:
                raise AssertionError(f"the test knows no {name}")


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    sample = load_sample("pipeliner_crash")
    made = Runner(tmp_path / "work", tmp_path / "temp")
    made.work.mkdir()
    made.temp.mkdir()
    shutil.copy(sample.archive, made.work / "dump.tar.gz")
    shutil.copy(sample.log, made.work / "sample.log")
    (made.work / "train_step.py").write_text(PROGRAM)
    return made


def steps() -> list[dict[str, Any]]:
    return read_yaml(EXAMPLE.read_text(encoding="utf-8"))["jobs"]["step"]["steps"]


def test_the_example_explains_a_crash_on_the_runner(runner: Runner) -> None:
    runner.follow(steps())
    assert runner.has_failed
    assert "::error" in runner.printed, runner.printed
    said = runner.outputs["hloscope"]
    assert '"version": "2.1.0"' in Path(said["sarif"]).read_text()
    summary = (runner.temp / "GITHUB_STEP_SUMMARY").read_text()
    assert summary == Path(said["summary"]).read_text()
    assert summary.startswith("### Error, likely")
    assert said["url"] == ""


def test_with_a_server_the_shared_copy_is_linked(runner: Runner, tmp_path: Path) -> None:
    with live_server(tmp_path / "data", upload_token="s3cret") as address:
        explain = next(step for step in steps() if step.get("id") == "hloscope")
        given = {
            **explain["with"],
            "server": address,
            "token": "s3cret",
            "fail-on": "never",
            "label": "$(touch x) nightly",
        }
        runner.follow([step for step in steps() if "run" in step])
        runner.has_failed = False
        runner.follow([{**explain, "with": given}])
    assert not runner.has_failed, runner.printed
    url = runner.outputs["hloscope"]["url"]
    assert url.startswith(f"{address}/r/")
    assert f"<{url}>" in (runner.temp / "GITHUB_STEP_SUMMARY").read_text()
    assert "s3cret" not in runner.printed
    assert not (runner.work / "x").exists()


def test_a_wrong_input_is_told(runner: Runner) -> None:
    code, said = runner.composite({"dump": "nowhere", "log": ""})
    assert code == 3
    assert set(said.values()) == {""}
    assert "nowhere" in runner.printed


@pytest.mark.parametrize("script", ["install.sh", "explain.sh"])
def test_scripts_are_sound(script: str) -> None:
    assert subprocess.run(["bash", "-n", str(ACTION / script)]).returncode == 0
    assert (ACTION / "../../..").resolve() == ROOT
    assert (ROOT / "pyproject.toml").is_file()


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages that hloscope needs, to be built and to run, without hloscope."""
    folder = tmp_path_factory.mktemp("packages")
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if "hloscope" not in entry.name and entry.suffix != ".pth":
            (folder / entry.name).symlink_to(entry)
    return folder


def install(folder: Path, path: str, packages: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(ACTION / "install.sh")],
        cwd=folder,
        env={
            "PATH": path,
            "HOME": str(folder),
            "RUNNER_TEMP": str(folder),
            "GITHUB_ACTION_PATH": str(ACTION),
            "GITHUB_PATH": str(folder / "path"),
            # All of it is here: nothing is fetched. pip takes "0" for the flag of that name.
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",
            "PYTHONPATH": str(packages),
        },
        capture_output=True,
        text=True,
        timeout=280,
    )


@pytest.mark.long
def test_the_action_installs_what_it_runs(tmp_path: Path, packages: Path) -> None:
    ended = install(tmp_path, f"{Path(sys.executable).parent}:{os.environ['PATH']}", packages)
    assert ended.returncode == 0, ended.stderr
    home = (tmp_path / "path").read_text().strip()
    assert home == str(tmp_path / "hloscope" / "bin")
    said = subprocess.run(
        ["bash", "-c", "command -v hloscope && hloscope explain PIP001"],
        cwd=tmp_path,
        env={"PATH": f"{home}:{os.environ['PATH']}", "PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith(f"{home}/hloscope\n")
    assert "PIP001" in said.stdout


def test_an_old_python_is_told(tmp_path: Path) -> None:
    old = tmp_path / "bin"
    old.mkdir()
    (old / "python3").write_text("#!/bin/sh\nexit 1\n")
    (old / "python3").chmod(0o755)
    ended = install(tmp_path, f"{old}:{os.environ['PATH']}", tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.startswith("::error::hloscope needs Python 3.11")
    assert not (tmp_path / "hloscope").exists()
