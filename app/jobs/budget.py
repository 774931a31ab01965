"""What one analysis may use: a floor for any, and more for a large upload in proportion."""

from dataclasses import fields
from typing import Any

from app.sandbox import Limits
from app.settings import Settings

_SECONDS_PER_MIB = 20
"""Of processor time for each MiB as sent. A dump of 279 MB, packed 13 : 1, took 0.2 s a MiB as
sent; one packed 600 : 1, which is honest too, holds forty-six times as much text in each."""

_MEMORY_PER_BYTE = 64
"""Bytes of address space for each byte as sent; that dump took 12."""

_MEMORY_TIMES = 8
"""At most so many times the setting, however much was sent: the machine has others to serve."""

_BUNDLE_BYTES = 8 << 30


_REPLAY_BYTES = 40 << 30
"""Of address space. A compile has limits of its own below this; XLA maps far more than it uses."""


def limits_for(settings: Settings, sent_bytes: int, *, compiles: bool = False) -> Limits:
    """The limits of the analysis of an upload of `sent_bytes`.

    One that `compiles` is a replay: it starts processes, each with limits of its own, and ends by
    itself when its budget is used up and what runs then has had its time.
    """
    extra_s = _SECONDS_PER_MIB * sent_bytes // (1 << 20)
    if compiles:
        wall_s = 2 * settings.replay_budget_s + settings.job_timeout_s
        return Limits(
            memory_bytes=_REPLAY_BYTES,
            cpu_s=wall_s,
            wall_s=wall_s,
            file_bytes=_BUNDLE_BYTES,
            open_files=1024,
        )
    return Limits(
        memory_bytes=min(
            settings.job_memory_bytes + _MEMORY_PER_BYTE * sent_bytes,
            settings.job_memory_bytes * _MEMORY_TIMES,
        ),
        cpu_s=settings.job_cpu_s + extra_s,
        wall_s=settings.job_timeout_s + 2 * extra_s,
        file_bytes=_BUNDLE_BYTES,
        may_fork=False,
    )


def portable_settings(settings: Settings) -> dict[str, Any]:
    """The settings a child needs, as JSON values: budgets, and neither places nor secrets."""
    return {
        item.name: value
        for item in fields(settings)
        if isinstance(value := getattr(settings, item.name), int)
    }
