"""What is made once: who waits, how many may, and who is told of a failure."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import pytest

from app.errors import NotFound, UsageError
from app.web.made_once import MadeOnce


def test_whoever_asks_meanwhile_waits_for_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.web.made_once.MAX_WAITING", 2)
    shelf = MadeOnce[str, object](10_000)
    begun, go_on = threading.Event(), threading.Event()
    made: list[int] = []

    def make() -> tuple[object, int]:
        made.append(1)
        begun.set()
        assert go_on.wait(30)
        return object(), 4_000

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(shelf.get, "a", make)
        assert begun.wait(30)
        others = [pool.submit(shelf.get, "a", make) for _ in range(3)]
        refused = next(as_completed(others, timeout=30))
        with pytest.raises(UsageError, match="too many"):
            refused.result()
        go_on.set()
        readers = {id(each.result(30)) for each in (first, *others) if each is not refused}
    assert (len(readers), made) == (1, [1])
    assert shelf.get("a", make) is first.result()


@pytest.mark.parametrize(
    ("error", "makers"),
    [(NotFound("no such text"), 1), (UsageError("slots are taken"), 3), (ZeroDivisionError(), 3)],
)
def test_a_failure_is_told_to_whom_it_concerns(error: Exception, makers: int) -> None:
    shelf = MadeOnce[str, object](10_000)
    begun, go_on = threading.Event(), threading.Event()
    made: list[int] = []

    def make() -> tuple[object, int]:
        made.append(1)
        begun.set()
        assert go_on.wait(30)
        raise error

    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(shelf.get, "a", make)]
        assert begun.wait(30)
        asked += [pool.submit(shelf.get, "a", make) for _ in range(2)]
        while shelf.waiting < 2:
            time.sleep(0.001)
        go_on.set()
        assert {type(each.exception(30)) for each in asked} == {type(error)}
    assert len(made) == makers
    assert shelf.waiting == 0
