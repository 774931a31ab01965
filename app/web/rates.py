"""How often and how much at once one address may ask; counted in memory, forgotten at restart."""

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager

from app.errors import UsageError

_MAX_CLIENTS = 50_000


def too_many(cause: str, next_step: str) -> UsageError:
    """The error of an address that asks too often, or for too much at once."""
    return UsageError(cause, next_step=next_step, code="too_many_requests")


class Rate:
    """At most `count` events in `per_s` seconds for each client, and never more at once.

    A bucket of `count` tokens that refills evenly; clients not seen for long are forgotten first.
    """

    def __init__(
        self, count: int, per_s: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._count = count
        self._per_token_s = per_s / max(1, count)
        self._clock = clock
        # When each client's bucket will be full again.
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def spend(self, client: str) -> bool:
        """Take one token of `client`; False when it has none."""
        now = self._clock()
        full_at = max(now, self._full_at.get(client, now)) + self._per_token_s
        if full_at - now > self._count * self._per_token_s:
            return False
        self._full_at[client] = full_at
        self._full_at.move_to_end(client)
        if len(self._full_at) > _MAX_CLIENTS:
            self._full_at.popitem(last=False)
        return True


class Slots:
    """At most `each` things at once for one client and `total` for all."""

    def __init__(
        self, each: int, total: int, what: str, *, code: str = "too_many_requests"
    ) -> None:
        self._each = each
        self._total = total
        self._what = what
        self._code = code
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def hold(self, client: str) -> Generator[None]:
        """One slot of `client` for as long as the context lasts.

        Raises:
            UsageError: all are taken; its code is that of these slots.
        """
        with self._lock:
            if self._taken[client] >= self._each or self._taken.total() >= self._total:
                raise UsageError(
                    f"too many {self._what} are open",
                    next_step="Wait until one of them has ended.",
                    code=self._code,
                )
            self._taken[client] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken[client] -= 1
                if not self._taken[client]:
                    del self._taken[client]
