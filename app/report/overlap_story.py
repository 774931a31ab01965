"""Why a collective is not behind computation: which passes made it asynchronous, and no more.

Takes a module and one of its collectives and gives words, told from the events of the collective
and from its window in the schedule alone; "" where these do not tell. That other work could stand
beside it is not said: that is for a rule to find.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

from app.model.report import Collective, CollectiveEvent, Module
from app.report.collectives_drawing import is_scheduled, overlap_kind
from app.report.wording import counted, legible, numbered_pass, pass_number
from app.views.collectives_schedule import ScheduledCollective
from app.views.window_bounds import Bound

_TURNS = ("made_async", "made_sync")
_EMPTY = "nothing stands between its start and its done in the schedule"
_WAITED_FOR = ("exposed", "partly")
_MOST_REASONS = 4


def overlap_story(
    module: Module, collective: Collective, window: ScheduledCollective | None = None
) -> str:
    """`made asynchronous by 0100 async-collective-creator, synchronous again by 0129 ...; ...`.

    Of what is exposed, in part or in all, what bounds its `window` in the schedule.
    """
    kind = overlap_kind(collective, scheduled=is_scheduled(module))
    bounds = (_made_text(window.made_by), _taken_text(window.taken_by)) if window else ()
    return _story(module, collective, kind, bounds)


def overlap_reasons(
    module: Module,
    collectives: Sequence[Collective],
    windows: Sequence[ScheduledCollective | None] = (),
) -> tuple[str, ...]:
    """What many rows of a table say alike, once, with their number: those of most rows first.

    `windows` are those of the collectives, in their order, where they are known.
    """
    scheduled = is_scheduled(module)
    told: Counter[tuple[str, str]] = Counter()
    for item, window in zip_longest(collectives, windows[: len(collectives)]):
        kind = overlap_kind(item, scheduled=scheduled)
        story = _story(module, item, kind, _bounds_alike(window) if window else ())
        told.update([(kind, story)] if story else [])
    words = {"sync": "synchronous", "exposed": "exposed", "partly": "partly hidden"}
    return tuple(
        f"{number:,} {words[kind]}: {story}"
        for (kind, story), number in told.most_common(_MOST_REASONS)
        if number > 1 or len(told) == 1
    )


def _story(module: Module, collective: Collective, kind: str, bounds: Sequence[str]) -> str:
    turns = _turns_text(module, collective) if kind == "sync" else ""
    empty = _window_text(collective) if kind in ("sync", "exposed") else ""
    return "; ".join(filter(None, (turns, empty, *(bounds if kind in _WAITED_FOR else ()))))


def _made_text(maker: Bound | None) -> str:
    if maker is None:
        return ""
    if not maker.between:
        return legible(f"its start stands right behind {maker.name}, which makes what it sends")
    between = counted(maker.between, "instruction")
    return legible(f"{between} between {maker.name}, which makes what it sends, and its start")


def _taken_text(taker: Bound | None) -> str:
    if taker is None:
        return ""
    if not taker.between:
        return legible(f"{taker.name} takes its result right behind its done")
    between = counted(taker.between, "instruction")
    return legible(f"{between} between its done and {taker.name}, the first to take its result")


def _bounds_alike(window: ScheduledCollective) -> tuple[str, ...]:
    """What bounds it, without names, so that several say the same."""
    found: list[str] = []
    if window.made_by is not None:
        starts = "its start stands right behind what makes its data"
        found.append(
            "what it sends is there before its start" if window.made_by.between else starts
        )
    if window.taken_by is not None:
        taken = "its result is taken right behind its done"
        found.append(
            "its done stands before its result is needed" if window.taken_by.between else taken
        )
    return tuple(found)


def _turns_text(module: Module, collective: Collective) -> str:
    turns = [event for event in collective.history if event.kind in _TURNS]
    if turns:
        return ", ".join(
            _turn_text(module, event, again=number > 0) for number, event in enumerate(turns)
        )
    # One text tells nothing of what passes did; neither does a past that was not followed.
    if not collective.history or len(module.dumps) < 2:
        return ""
    return f"asynchronous in none of {counted(len(module.dumps), 'text')}"


def _turn_text(module: Module, event: CollectiveEvent, *, again: bool) -> str:
    word = "asynchronous" if event.kind == "made_async" else "synchronous"
    told = f"{word} again" if again else word
    dump = module.dumps[event.dump]
    if event.pass_ is None:
        return legible(f"{told} since {numbered_pass(dump)}, after texts that are missing")
    by = f"{pass_number(dump)} {event.pass_}".strip()
    return legible(f"{told if again else f'made {told}'} by {by}")


def _window_text(collective: Collective) -> str:
    window = collective.window
    return _EMPTY if window is not None and not window.instructions else ""
