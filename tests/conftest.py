"""Options and fixtures every folder of tests shares."""

import difflib
import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from engines import BucketServer, Postgres

ROOT = Path(__file__).resolve().parent.parent

# Real dumps that may not be copied into the project; tests over them run where the folder is.
SHARED = ROOT.parent / "shared"
collect_ignore = [] if (SHARED / "dumps").is_dir() else ["shared"]

Golden = Callable[[str, object], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the tests produced into the golden files, to be read before commit",
    )
    parser.addoption(
        "--scaled",
        action="store_true",
        help="have the applications of tests/web stand on PostgreSQL and a bucket",
    )


def pytest_configure(config: pytest.Config) -> None:
    # A script's background and nohup have these ignored, and so would all that tests start.
    for number, own in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, own)
    # The usual run tries the same examples every time, on a busy machine too; the long run
    # (`-m ''`) and a run of one's own choice look for new ones.
    settings.register_profile("steady", derandomize=True, deadline=None)
    if config.getoption("markexpr") == "not long":
        settings.load_profile("steady")


@pytest.fixture(scope="session")
def postgres() -> Iterator["Postgres"]:
    """A PostgreSQL of this session's own; whoever kills it starts it again."""
    from engines import Postgres

    engine = Postgres()
    engine.start()
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def bucket_server() -> Iterator["BucketServer"]:
    """A server of S3 of this session's own, with its keys in the environment."""
    from engines import BucketServer

    server = BucketServer()
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.keys.items():
            patch.setenv(name, value)
        yield server
    server.kill()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """`golden(name, value)`: `value` is what the file `golden/name` beside the test holds.

    A string is compared as text, anything else as JSON with sorted keys.
    """
    folder = request.path.parent / "golden"
    update = bool(request.config.getoption("--update-golden"))

    def compare(name: str, value: object) -> None:
        path = folder / name
        actual = golden_text(value)
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8")
            return
        assert path.is_file(), f"{path} is missing: write it with --update-golden, then read it"
        expected = path.read_text(encoding="utf-8")
        if actual != expected:
            diff = difflib.unified_diff(
                expected.splitlines(), actual.splitlines(), "expected", "actual", lineterm="", n=2
            )
            shown = "\n".join(diff)
            pytest.fail(f"{path.name} differs (--update-golden rewrites it):\n{shown}")

    return compare


def golden_text(value: object) -> str:
    """The exact content of a golden file."""
    if isinstance(value, str):
        return value if value.endswith("\n") else value + "\n"
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
