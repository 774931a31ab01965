"""Figures of one process for Prometheus: what was asked and answered, and what waits.

Requests are counted by the pattern of their address, never by the address itself, so no figure
names a report, and there are no more series than routes.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from app.store import Store, StoreUnavailable

CONTENT_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120)


class Metrics:
    """Counters of one application; safe to use from any thread."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "hloscope_requests",
            "Requests answered",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "hloscope_request_seconds",
            "Seconds from a request's head to the end of its answer",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._received = Counter(
            "hloscope_received_bytes", "Bytes of dumps taken", registry=self._registry
        )
        self._open_jobs = Gauge(
            "hloscope_open_jobs",
            "Analyses that wait or run",
            registry=self._registry,
        )
        self._room = Gauge(
            "hloscope_free_bytes",
            "Bytes that uploads may take",
            registry=self._registry,
        )
        self._database = Gauge(
            "hloscope_database_up", "1 where the database answers", registry=self._registry
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered; `status` 0 where the connection broke first."""
        known = method if method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE") else "other"
        self._requests.labels(known, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def received(self, count: int) -> None:
        """A dump of `count` bytes was taken."""
        self._received.inc(count)

    def text(self, store: Store) -> bytes:
        """All figures as Prometheus reads them; asks the store, and so blocks."""
        self._room.set(store.blobs.room())
        try:
            self._open_jobs.set(store.jobs.count_open())
            self._database.set(1)
        except StoreUnavailable:
            self._database.set(0)
        return generate_latest(self._registry)
