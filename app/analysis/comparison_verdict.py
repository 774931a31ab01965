"""One sentence on two dumps: whether their graphs are the same, and if not, where they part.

Reads the finished pairs and flags, and looks at no text. Names of passes and flags stand as XLA
has them; the two dumps are called a and b.
"""

from collections.abc import Sequence

from app.analysis.comparison_places import line_text
from app.model.comparison import FlagChange, ModulePair, Parting, Side

_MOST_FLAGS = 3


def verdict_on(a: Side, b: Side, modules: Sequence[ModulePair], flags: Sequence[FlagChange]) -> str:
    """The sentence; it speaks of the first module of the user's that differs."""
    both = [pair for pair in modules if pair.a is not None and pair.b is not None]
    lone = [pair for pair in modules if pair not in both and pair.role == "user"]
    if not both:
        return "The two dumps have no module in common."
    parted = [pair for pair in both if pair.outcome in ("differ", "stopped")]
    if parted:
        first = min(parted, key=lambda pair: pair.role != "user")
        return f"{_parted(first, a, b)}{_with_flags(flags)}{_others(len(parted) - 1)}."
    if any(pair.outcome == "unknown" for pair in both):
        return f"Only figures can be compared{_with_flags(flags)}."
    end = [pair for pair in both if pair.outcome == "equal_in_the_end"]
    if end:
        said = f"{end[0].name} goes through different texts and ends in the same graph"
    else:
        said = f"All {len(both):,} modules have" if len(both) > 1 else f"{both[0].name} has"
        said += " the same graphs after every pass"
    if lone:
        said += f", and {len(lone):,} of the user's modules {_is(len(lone))} there on one side only"
    return f"{said}{_only_flags(flags) or _unstated(a, b)}."


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _parted(pair: ModulePair, a: Side, b: Side) -> str:
    parting = pair.parting
    if parting is None or parting.last_equal_a is None:
        said = f"{pair.name} differs from the first text on"
        if _releases(a) != _releases(b):
            # The same program reads otherwise in every release: no line of it is to blame.
            return f"{said} ({_releases(a)} and {_releases(b)})"
        return said + _at(parting)
    if pair.outcome == "stopped":
        side, other = ("a", "b") if pair.passes.stops == "a" else ("b", "a")
        here, there = parting.pass_a, parting.pass_b
        if side == "b":
            here, there = there, here
        ahead = f"with {here} next in line, " if here else ""
        went_on = f"{other} went on to {there or 'its end'}{_loop(pair)}"
        return f"{pair.name} is the same until {side} ends, {ahead}where {went_on}"
    loop = _loop(pair)
    where = f"{loop}{_at(parting, loop)}"
    if parting.pass_a == parting.pass_b:
        return f"{pair.name} parts in {parting.pass_a or 'a pass that no file names'}{where}"
    if parting.dump_a is None or parting.dump_b is None:
        side, name = ("a", parting.pass_a) if parting.dump_b is None else ("b", parting.pass_b)
        return f"{pair.name} parts where {name} changes it in {side} alone{where}"
    return f"{pair.name} parts where a runs {parting.pass_a} and b {parting.pass_b}{where}"


def _loop(pair: ModulePair) -> str:
    """Where the first loop stands that the passes behind the parting changed."""
    parting = pair.parting
    changed = () if parting is None else (*parting.loops_a, *parting.loops_b)
    for loop in pair.loops:
        if loop.a in changed or loop.b in changed:
            other = f"{loop.name_b} in b" if loop.name_b not in ("", loop.name) else ""
            about = ", ".join(filter(None, (line_text(loop.source), other)))
            return f", in the loop {loop.name}{f' ({about})' if about else ''}"
    return ""


def _at(parting: Parting | None, told: str = "") -> str:
    """The first instruction that differs; nothing where its line is `told` already."""
    places = () if parting is None else (parting.a, parting.b)
    found = [place for place in places if place is not None]
    if not found:
        return ""
    place = next((each for each in found if each.source is not None), found[0])
    where = line_text(place.source)
    if told and (not where or where in told):
        return ""
    return f", first at {place.instruction}{f' ({where})' if where else ''}"


def _releases(side: Side) -> str:
    found = side.jaxlib.releases
    if not found:
        return "a release that is not known"
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _with_flags(flags: Sequence[FlagChange]) -> str:
    if not flags:
        return ""
    word = "flags differ" if len(flags) > 1 else "the flag differs"
    return f"; {word}: {_named(flags)}"


def _only_flags(flags: Sequence[FlagChange]) -> str:
    word = "flags differ" if len(flags) > 1 else "a flag differs"
    return f"; only {word}: {_named(flags)}" if flags else ""


def _unstated(a: Side, b: Side) -> str:
    silent = [name for name, side in (("a", a), ("b", b)) if not side.flags_from]
    if not silent:
        return " and the same flags"
    verb = "do not state their" if len(silent) > 1 else "does not state its"
    return f"; {' and '.join(silent)} {verb} flags, which may differ"


def _named(flags: Sequence[FlagChange]) -> str:
    if len(flags) == 1:
        flag = flags[0]
        inferred = "" if flag.stated else "; inferred"
        return f"{flag.name} ({_value(flag.a)} in a, {_value(flag.b)} in b{inferred})"
    shown = ", ".join(flag.name for flag in flags[:_MOST_FLAGS])
    more = len(flags) - _MOST_FLAGS
    return f"{shown} and {more:,} more" if more > 0 else shown


def _value(value: str | None) -> str:
    return "not set" if value is None else value or "empty"


def _others(count: int) -> str:
    if not count:
        return ""
    return f"; {count:,} more {'module differs' if count == 1 else 'modules differ'}"
