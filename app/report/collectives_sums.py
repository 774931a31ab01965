"""What the collectives of a module are in all: how many are hidden, what is waited for, how long.

Takes a report and its collectives whose texts may be hostile; gives labels and words, those with
nothing to say left out.
"""

from collections.abc import Iterator, Sequence

from app.model.report import Collective, Report
from app.report.collectives_drawing import exposed_us, micros_text, overlap_kind
from app.report.program_facts import sum_text
from app.report.wording import legible


def collective_facts(
    report: Report, collectives: Sequence[Collective], *, scheduled: bool
) -> tuple[tuple[str, str], ...]:
    """Figures with their labels; those of times apart for windows and for what is synchronous."""
    kinds = [overlap_kind(item, scheduled=scheduled) for item in collectives]
    facts = (
        ("One device sends in a run", sum_text(collectives)),
        ("Hidden", f"{kinds.count('hidden'):,}"),
        ("Partly hidden", f"{kinds.count('partly'):,}"),
        ("Exposed", f"{kinds.count('exposed'):,}"),
        ("Synchronous", f"{kinds.count('sync'):,}"),
        ("No schedule known", f"{kinds.count('unknown'):,}"),
        ("Exposed in windows, once each", exposed_text(collectives, of_async=True)),
        ("Synchronous, once each", exposed_text(collectives, of_async=False)),
        ("Exposed in a run", _exposed_in_a_run(collectives)),
        ("Times estimated for", legible(_device(report, collectives))),
    )
    return tuple((label, value) for label, value in facts if value and value != "0")


def exposed_text(collectives: Sequence[Collective], *, of_async: bool) -> str:
    """The exposed time of those that are asynchronous, or of the others; "" for none known."""
    times = [time for item, time in _timed(collectives) if (item.waited_us is None) == of_async]
    return micros_text(sum(times)) if times else ""


def _timed(collectives: Sequence[Collective]) -> Iterator[tuple[Collective, float]]:
    """Those whose exposed time is known, with it: one start may run several in one window."""
    seen: set[tuple[str, str]] = set()
    for item in collectives:
        time, place = exposed_us(item), (item.computation, item.instruction)
        if time is not None and (item.waited_us is not None or place not in seen):
            seen.add(place)
            yield item, time


def _exposed_in_a_run(collectives: Sequence[Collective]) -> str:
    """The exposed time of all with their repetitions, as far as these are known."""
    timed = list(_timed(collectives))
    if not timed:
        return ""
    is_more = any(item.executions is None for item, _ in timed)
    is_less = any(item.conditional for item, _ in timed)
    about = "about " if is_more and is_less else "at least " if is_more else "at most "
    total = sum((1 if (n := item.executions) is None else n) * time for item, time in timed)
    return (about if is_more or is_less else "") + micros_text(total)


def _device(report: Report, collectives: Sequence[Collective]) -> str:
    if all(exposed_us(item) is None for item in collectives):
        return ""
    for item in collectives:
        if item.window is not None and item.window.device:
            return item.window.device + (", assumed" if item.window.device_assumed else "")
    device = report.environment.device
    if device is None:
        return ""
    return device.name + (", assumed" if device.standing == "assumed" else "")
