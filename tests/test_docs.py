"""What the READMEs show exists, and what exists stands in the READMEs."""

import argparse
import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from app import errors
from app.cli.main import build_parser
from app.settings import PREFIX, Settings, settings_from_environment
from app.web.application import create_app

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(
    path
    for pattern in ("*.md", "*/*.md", "*/*/*.md")
    for path in ROOT.glob(pattern)
    if not path.relative_to(ROOT).parts[0].startswith((".venv", "data"))
    and path.relative_to(ROOT).parts[:2] != ("tests", "rules")
)
PAGE_IDS = [str(path.relative_to(ROOT)) for path in PAGES]
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:\./run|hloscope) [^`]+)`")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
# What a reader puts in place of the word, and so no option or file of ours.
METAVAR = re.compile(r"[A-Z][A-Z_]+(?:\.\.\.)?")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def shown_commands(page: Path) -> Iterator[list[str]]:
    text = read(page)
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words:
                yield words
    for command in INLINE.findall(text):
        yield shlex.split(command)


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (action,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


COMMANDS = commands_of(build_parser())


def complaint_about(words: list[str]) -> str | None:
    """What is wrong with a command shown in a page; None when nothing is, or it is not ours."""
    if words[0] == "./run":
        script = read(ROOT / "run")
        if len(words) == 1:
            return None
        if words[1].startswith("--"):
            return complaint_about(["hloscope", "serve", *words[1:]])
        if not re.search(rf"^{re.escape(words[1])}\)$", script, re.MULTILINE):
            return f"./run has no {words[1]}"
        if words[1] == "test":
            paths = [word for word in words[2:] if word.startswith("tests/")]
            return next((f"no {path}" for path in paths if not (ROOT / path).exists()), None)
        if words[1] == "serve":
            return complaint_about(["hloscope", *words[1:]])
        return complaint_about(words[1:]) if words[1] == "hloscope" else None
    if words[0] != "hloscope":
        return None
    if "--" in words:
        # What follows belongs to the program that is run.
        words = words[: words.index("--")]
    parser = COMMANDS.get(words[1])
    if parser is None:
        return f"hloscope has no {words[1]}"
    options = {option for action in parser._actions for option in action.option_strings}
    given = {word.partition("=")[0] for word in words[2:] if word.startswith("--")}
    return f"{words[1]} has no {given - options}" if given - options else None


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_commands_shown_exist(page: Path) -> None:
    complaints = [c for words in shown_commands(page) if (c := complaint_about(words))]
    assert complaints == []


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_links_lead_somewhere(page: Path) -> None:
    assert [link for link in LINK.findall(read(page)) if not (page.parent / link).exists()] == []


def test_wrong_commands_are_noticed() -> None:
    assert complaint_about(["hloscope", "analyse", "x"]) == "hloscope has no analyse"
    assert complaint_about(["hloscope", "analyze", "x", "--jsn", "y"])
    assert complaint_about(["./run", "tests"]) == "./run has no tests"
    assert complaint_about(["./run", "--prot", "1"])
    assert complaint_about(["./run", "test", "tests/nowhere.py"]) == "no tests/nowhere.py"
    assert complaint_about(["./run", "hloscope", "analyze", "--nope"])


def method_of(curl: list[str]) -> str:
    if "-X" in curl:
        return curl[curl.index("-X") + 1].lower()
    return "put" if "-T" in curl else "post" if "-F" in curl else "get"


def test_addresses_given_to_curl_exist(tmp_path: Path) -> None:
    routes = create_app(Settings(data_dir=tmp_path)).openapi()["paths"]
    shown = {
        (re.sub(r"^(?:[a-z]+://[^/]+|\$HOST)|\?.*$", "", word), method_of(words))
        for page in PAGES
        for words in shown_commands(page)
        if words[0] == "curl"
        for word in words
        if re.match(r"http|\$HOST/", word)
    }
    assert len(shown) > 5
    unknown = [
        (path, method)
        for path, method in shown
        if not any(
            method in methods and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", route), path)
            for route, methods in routes.items()
        )
    ]
    assert unknown == []


def test_every_command_is_in_the_readme() -> None:
    text = read(ROOT / "README.md")
    assert [name for name in COMMANDS if f"`hloscope {name}" not in text] == []


def test_every_option_of_analyze_is_in_the_readme() -> None:
    text = read(ROOT / "README.md")
    options = {o for a in COMMANDS["analyze"]._actions for o in a.option_strings}
    shown = set(re.findall(r"--[a-z][a-z-]*", text))
    assert sorted(options - {"-h", "--help"} - shown) == []


def test_settings_table_is_the_settings() -> None:
    text = read(ROOT / "README.md")
    rows = re.findall(rf"^\| `({PREFIX}\w+)` \|(?: `([^`]*)`)? \| .+ \|$", text, re.MULTILINE)
    assert [name for name, _ in rows] == [PREFIX + f.name.upper() for f in fields(Settings)]
    assert settings_from_environment(dict(rows)) == Settings()


def test_every_setting_is_used() -> None:
    code = "\n".join(read(p) for p in (ROOT / "app").rglob("*.py") if p.name != "settings.py")
    assert [f.name for f in fields(Settings) if not re.search(rf"\b{f.name}\b", code)] == []


def strings_in(node: ast.expr) -> set[str]:
    """`"a"` of `code="a"`, both of `code="a" if x else "b"`, none of a code that is passed on."""
    match node:
        case ast.Constant(value=str(value)):
            return {value}
        case ast.IfExp(body=body, orelse=orelse):
            return strings_in(body) | strings_in(orelse)
        case _:
            return set()


def error_codes() -> set[str]:
    """The code of each class of error, and every one written where an error or problem is made."""
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    codes = {kind.default_code for kind in kinds}
    makers = {kind.__name__ for kind in kinds} | {"Problem"}
    for path in (ROOT / "app").rglob("*.py"):
        for node in ast.walk(ast.parse(read(path))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in makers:
                given = [word.value for word in node.keywords if word.arg == "code"]
                if getattr(node.func, "id", None) == "Problem":
                    given += node.args[:1]
                codes.update(code for value in given for code in strings_in(value))
    return codes - {errors.AppError.default_code}


def test_error_codes_are_documented() -> None:
    page = read(ROOT / "app" / "README.md")
    rows = re.findall(r"^\| (`[a-z_`, ]+`) \| .+ \|$", page, re.MULTILINE)
    documented = {code for row in rows for code in re.findall(r"[a-z_]+", row)}
    assert sorted(error_codes() - documented) == []
    code = "\n".join(read(p) for p in (ROOT / "app").rglob("*.py"))
    assert sorted(word for word in documented if f'"{word}"' not in code) == []
