"""Which releases a finding speaks of, in words, and which workarounds they know."""

from collections.abc import Mapping, Sequence

from app import knowledge
from app.model.report import Workaround


def releases_in_words(releases: Sequence[str]) -> str:
    """`0.4.29, 0.4.30`; a run of more than three in the table's order becomes `0.4.14-0.4.30`."""
    if len(releases) <= 3:
        return ", ".join(releases)
    return f"{releases[0]}-{releases[-1]}"


def is_before_fix(releases: Sequence[str], ref: str) -> bool | None:
    """Whether all `releases` are older than the one that fixed the fault of a public thread.

    None where no releases, or no fix, are known, and where some are older and some are not.
    """
    fix = knowledge.fix_of(ref)
    if not releases or fix is None:
        return None
    fixed = knowledge.release_key(fix.fixed_in)
    older = {knowledge.release_key(release) < fixed for release in releases}
    return older.pop() if len(older) == 1 else None


def flag_workarounds(text: str, flag: str, releases: Sequence[str]) -> tuple[Workaround, ...]:
    """Setting `flag` (`--xla_x=value`) as a workaround for those of `releases` that know it.

    Empty when every one of the releases is known not to have the flag: an unknown flag in XLA_FLAGS
    ends the process. Else it is one; where all of them have a newer spelling the flag is written
    so. With no releases given, the text names the flag's own range.
    """
    name = flag.lstrip("-").partition("=")[0]
    if not releases:
        span = knowledge.flag_releases(name)
        return (Workaround(text=text, flags=(flag,), releases=_span_in_words(span)),)
    knowing = [r for r in releases if knowledge.flag_known_in(name, r) is not False]
    if not knowing:
        return ()
    spelt = knowledge.newest_spelling(flag.lstrip("-"), knowing)
    return (Workaround(text=text, flags=(f"--{spelt}",), releases=releases_in_words(knowing)),)


def is_set_so(flags: Mapping[str, str], workaround: Workaround) -> bool:
    """Whether a workaround by a flag asks for what `flags` say already."""
    given = (flag.lstrip("-").partition("=") for flag in workaround.flags)
    return any(knowledge.setting(flags, name) == value for name, _, value in given)


def flag_in_words(flag: str) -> str:
    """Where a flag exists, as a clause; for one that no release has, the name it is nearest to."""
    span = knowledge.flag_releases(flag)
    if span is not None:
        newest = span.last == knowledge.ALL_RELEASES[-1]
        until = "on" if newest else f"to {span.last}"
        others = [f"--{name}" for name in knowledge.other_names(flag.lstrip("-"))]
        same = f" (another name of it: {', '.join(others)})" if others else ""
        return f"--{flag} exists from jaxlib {span.first} {until}{same}"
    near = knowledge.nearest_flag(flag)
    if near is None:
        return f"--{flag} is in no known release"
    return f"--{flag} is in no known release; the nearest name is --{near}"


def _span_in_words(span: knowledge.FlagSpan | None) -> str:
    return f"{span.first} to {span.last}" if span else ""
