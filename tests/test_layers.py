"""Who may import what, and which rooms touch nothing but their arguments.

The direction between rooms is import-linter's matter (pyproject.toml); here stand the two rules it
cannot say: a third-party package has one home, and the pure rooms reach neither files nor network,
clock, environment or chance. Exceptions are named with their reason, and a stale one fails.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Package -> the rooms that may import it.
HOMES = {
    "alembic": {"app.store"},
    "backports": {"app.ingest", "app.bundle", "app.knowledge"},
    "celery": {"app.jobs"},
    "fastapi": {"app.web"},
    "google": {"hlo_parser"},
    "isal": {"app.ingest"},
    "jinja2": {"app.report", "app.web"},
    "kombu": {"app.jobs"},
    "lark": {"hlo_parser"},
    "markupsafe": {"app.report", "app.web"},
    "networkx": {"app.analysis"},
    "obstore": {"app.store"},
    "plotly": {"app.report"},
    "prometheus_client": {"app.web"},
    "pydantic": {"app.web"},
    "python_multipart": {"app.web"},
    "rich": {"app.cli", "app.report"},
    "sqlalchemy": {"app.store"},
    "starlette": {"app.web"},
    "uvicorn": {"app.web"},
}

# Package -> why any room of app may import it.
EVERYWHERE = {"msgspec": "the values of app.model are its structs"}

PURE_ROOMS = (
    "hlo_parser",
    "app.model",
    "app.analysis",
    "app.rules",
    "app.views",
    "app.report",
)

IMPURE_MODULES = {
    "asyncio",
    "ctypes",
    "datetime",
    "glob",
    "http",
    "logging",
    "mmap",
    "multiprocessing",
    "os",
    "pathlib",
    "random",
    "secrets",
    "select",
    "shutil",
    "signal",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "urllib",
    "uuid",
}
# Parts of impure modules that touch nothing, under the name they go by here.
PURE_PARTS = {"urllib.parse": "urllib.parse"}
IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}
IMPURE_METHODS = {"read_text", "read_bytes", "write_text", "write_bytes"}

# (file, what it reaches for) -> why that is no breach.
EXCEPTIONS = {
    ("hlo_parser/grammar.py", ".read_text()"): "reads its own grammar, once",
    ("app/report/html.py", ".read_text()"): "reads its own styles and scripts for the offline page",
}


def room_of(path: Path) -> str:
    """`app.web` for anything in that folder, `app.errors` for a lone module, `hlo_parser`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:2]) if parts[0] == "app" else parts[0]


def product_files() -> tuple[Path, ...]:
    folders = [ROOT / "app", ROOT / "hlo_parser"]
    return (*ROOT.glob("*.py"), *sorted(path for top in folders for path in top.rglob("*.py")))


def imported_packages(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield PURE_PARTS.get(node.module) or node.module.partition(".")[0]


def impurities(tree: ast.AST) -> Iterator[str]:
    yield from (name for name in imported_packages(tree) if name in IMPURE_MODULES)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=name) if name in IMPURE_CALLS:
                    yield f"{name}()"
                case ast.Attribute(attr=name) if name in IMPURE_METHODS:
                    yield f".{name}()"
                case _:
                    pass


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@pytest.mark.parametrize("package", sorted(HOMES))
def test_package_stays_at_home(package: str) -> None:
    strangers = [
        str(path.relative_to(ROOT))
        for path in product_files()
        if package in imported_packages(parsed(path)) and room_of(path) not in HOMES[package]
    ]
    assert not strangers, f"{package} may only be imported in {sorted(HOMES[package])}"


def test_every_package_has_a_home() -> None:
    own = {"app", "hlo_parser", "hloscope"}
    used = {name for path in product_files() for name in imported_packages(parsed(path))}
    used -= PURE_PARTS.keys()
    assert used - own - sys.stdlib_module_names <= HOMES.keys() | EVERYWHERE.keys()


def test_pure_rooms_touch_nothing_outside() -> None:
    found = {
        (str(path.relative_to(ROOT)), what)
        for path in product_files()
        if room_of(path) in PURE_ROOMS
        for what in impurities(parsed(path))
    }
    assert sorted(found - EXCEPTIONS.keys()) == []
    assert sorted(EXCEPTIONS.keys() - found) == [], "exceptions that nothing needs any more"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import os.path", ["os"]),
        ("from time import monotonic", ["time"]),
        ("def f(p):\n    import socket", ["socket"]),
        ("with open('x') as f: pass", ["open()"]),
        ("text = path.read_text()", [".read_text()"]),
        ("from urllib.parse import quote", []),
        ("import re\nre.compile('x')\nopen_ends = 1", []),
    ],
)
def test_impurities_are_seen(code: str, found: list[str]) -> None:
    assert list(impurities(ast.parse(code))) == found
