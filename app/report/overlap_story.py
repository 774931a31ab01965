"""Why a collective is not behind computation: which passes made it asynchronous, and no more.

Takes a module and one of its collectives and gives words, told from the events of the collective
and from its window alone; "" where these do not tell.
"""

from collections import Counter
from collections.abc import Sequence

from app.model.report import Collective, CollectiveEvent, Module
from app.report.collectives_drawing import is_scheduled, overlap_kind
from app.report.wording import counted, legible, numbered_pass, pass_number

_TURNS = ("made_async", "made_sync")
_EMPTY = "nothing stands between its start and its done in the schedule"
_MOST_REASONS = 4


def overlap_story(module: Module, collective: Collective) -> str:
    """`made asynchronous by 0100 async-collective-creator, synchronous again by 0129 ...; ...`.

    Only of what is synchronous, or exposed behind nothing at all: else what runs beside it tells.
    """
    kind = overlap_kind(collective, scheduled=is_scheduled(module))
    turns = _turns_text(module, collective) if kind == "sync" else ""
    empty = _window_text(collective) if kind in ("sync", "exposed") else ""
    return "; ".join(filter(None, (turns, empty)))


def overlap_reasons(module: Module, collectives: Sequence[Collective]) -> tuple[str, ...]:
    """What many rows of a table say alike, once, with their number: those of most rows first."""
    scheduled = is_scheduled(module)
    told = Counter(
        (overlap_kind(item, scheduled=scheduled), story)
        for item in collectives
        if (story := overlap_story(module, item))
    )
    words = {"sync": "synchronous", "exposed": "exposed"}
    return tuple(
        f"{number:,} {words[kind]}: {story}"
        for (kind, story), number in told.most_common(_MOST_REASONS)
        if number > 1 or len(told) == 1
    )


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
