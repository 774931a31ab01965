"""Findings at lines of a repository: where they stand, and what GitHub and GitLab are told."""

import json
import re

import pytest

from app.model.report import Culprit, Frame, Source
from app.report.annotations import (
    annotations_of,
    github_commands,
    gitlab_code_quality,
    repository_path,
    repository_places,
)
from report import builders


@pytest.mark.parametrize(
    ("file", "root", "path", "is_inside"),
    [
        ("/home/me/job/a.py", "/home/me/job", "a.py", True),
        ("/home/me/job/x/../a.py", "/home/me/job/", "a.py", True),
        ("/home/me/jobs/a.py", "/home/me/job", "/home/me/jobs/a.py", False),
        ("/home/me/job/a.py", "", "/home/me/job/a.py", False),
        ("./src/a.py", "", "src/a.py", True),
        ("../a.py", "/repo", "../a.py", False),
        ("..", "", "..", False),
        ("C:\\work\\src\\a.py", "C:\\work", "src/a.py", True),
        ("C:\\other\\a.py", "C:\\work", "C:/other/a.py", False),
        ("/a.py", "/", "a.py", True),
    ],
)
def test_a_path_is_shown_from_the_root(file: str, root: str, path: str, is_inside: bool) -> None:
    assert repository_path(file, root) == (path, is_inside)


def test_a_call_inside_the_root_stands_for_a_library_line() -> None:
    source = Source(
        file="/venv/lib/flax/linen.py",
        line=7,
        frames=(
            Frame(file="/venv/lib/flax/linen.py", line=7),
            Frame(file="/repo/train.py", line=31),
        ),
    )
    places = list(repository_places(Culprit(source=source), "/repo"))
    assert [(p.path, p.line, p.is_inside) for p in places] == [
        ("/venv/lib/flax/linen.py", 7, False),
        ("train.py", 31, True),
    ]


def test_the_crash_stands_at_the_line_of_the_loop() -> None:
    first = annotations_of(builders.crash_report(), root="/home/me/job")[0]
    assert first.place is not None
    assert (first.place.path, first.place.line) == ("prog1.py", 55)
    command = github_commands(builders.crash_report(), root="/home/me/job").splitlines()[0]
    assert command.startswith("::error file=prog1.py,line=55,title=PIP001%3A ")
    assert "--xla_gpu_enable_pipelined_all_gather=false" in command


def test_a_hostile_title_cannot_start_a_command_of_its_own() -> None:
    lines = github_commands(builders.hostile_report()).splitlines()
    assert lines
    for line in lines:
        assert re.match(r"::(error|warning|notice) [^:]*::", line)
        assert "\r" not in line


def test_gitlab_gets_a_path_and_a_print_of_its_own_for_every_entry() -> None:
    entries = json.loads(gitlab_code_quality(builders.crash_report(), root="/home/me/job"))
    assert entries[0]["location"] == {"path": "prog1.py", "lines": {"begin": 55}}
    assert entries[0]["severity"] == "critical"
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)


def test_what_is_ruled_out_marks_nothing() -> None:
    report = builders.crash_report()
    shown = {a.finding.confidence for a in annotations_of(report)}
    assert "ruled_out" not in shown
    assert len(annotations_of(report)) == sum(f.confidence != "ruled_out" for f in report.findings)
