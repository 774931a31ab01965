"""Which failures are one, and how sure that is. Pure.

A failure with words is told by the signature that a log's reader gives it. A crash without words
has but its signal, the innermost frame of XLA's own where a handler printed one, and the pass whose
text its dump ends with; these are put into a signature too, and what one side does not know tells
nothing apart.
"""

import re
from collections.abc import Sequence

from app.knowledge.check_sites import check_site_lines
from app.model.experiments import Sameness
from app.model.report import Failure
from hlo_parser.possessive import compile_pattern

# `signal::SIGSEGV xla::Frame, last text after dce`
_WORDLESS = compile_pattern(
    r"signal::(?P<signal>SIG\w++)(?: (?P<frame>(?:(?!, last text after ).)++))?+"
    r"(?:, last text after (?P<after>.++))?+",
    re.S,
)


_SURE = ("certain", "likely", "possible")


def crash_signature(signal: str) -> str:
    """The signature of a crash without words, as the reader of a log spells it."""
    return f"signal::{signal}"


def with_last_pass(signature: str, name: str) -> str:
    """The signature of a crash without words, with the pass whose text came last, "" for none."""
    return f"{signature}, last text after {name}" if name else signature


def is_wordless(signature: str) -> bool:
    """A crash that is told by its signal."""
    return _WORDLESS.fullmatch(signature) is not None


def is_same(found: str, wanted: str) -> bool:
    """Whether two signatures are those of one failure, as far as can be told."""
    if found == wanted or not found or not wanted:
        return bool(found) and found == wanted
    one, other = _WORDLESS.fullmatch(found), _WORDLESS.fullmatch(wanted)
    if one is None or other is None or one["signal"] != other["signal"]:
        return False
    return all(one[k] == other[k] for k in ("frame", "after") if one[k] and other[k])


def sameness_of(
    found: str,
    wanted: str,
    *,
    failure: Failure | None,
    release: str,
    of_run: Sequence[str],
    reference: Sameness,
) -> Sameness:
    """How sure it is that a failure `found` by a compile is the one that is `wanted`.

    `release` compiles, `of_run` are the releases that the run may be of, none where nothing says
    so. `reference` says how sure it is that the one wanted is that of the run; `failure` is that
    of the log, where it has one.
    """
    if is_wordless(wanted):
        told = _told_by_crash(found, wanted)
    else:
        told = _told_by_words(wanted, release, of_run)
    if failure is None:
        how = f"{told.how}; {reference.how}"
        return Sameness(confidence=_weaker(told, reference).confidence, how=how)
    return Sameness(confidence=told.confidence, how=f"{told.how}, as the log has it")


def reference_without_log(
    *, flags: str, dump_ends: str, replay_ends: str, is_complete: bool
) -> Sameness:
    """How sure it is that a replay's own first failure is that of a run without log.

    Args:
        flags: what the replay was compiled with, in words.
        dump_ends: the pass whose text is the last one of the run's dump; "" where the dump has no
            texts of passes.
        replay_ends: the same of the replay.
        is_complete: the dump holds the text after all optimizations.
    """
    own = f"no log says how the run failed: looked for is the replay's own failure with {flags}"
    if is_complete:
        how = "yet the run's dump has the text after all optimizations, so XLA did not fail there"
    elif not dump_ends:
        how = "the dump does not show where the run ended"
    elif dump_ends == replay_ends:
        return Sameness(confidence="likely", how=f"{own}; the dumps of both end after {dump_ends}")
    elif replay_ends:
        how = f"the run's dump ends after {dump_ends}, the replay's after {replay_ends}"
    else:
        how = f"the run's dump ends after {dump_ends}, and the replay left no text of a pass"
    return Sameness(confidence="possible", how=f"{own}; {how}")


def _told_by_words(signature: str, release: str, of_run: Sequence[str]) -> Sameness:
    kind, _, rest = signature.partition(":")
    file, _, condition = rest.partition(":")
    if not file or not condition:
        return Sameness(confidence="likely", how="the same message, but for names and numbers")
    if kind not in ("check", "ret_check"):
        return Sameness(
            confidence="likely", how="the same file and message, but for names and numbers"
        )
    places = check_site_lines(file, condition)
    how = "the same file and condition"
    sites = len(places.get(release, ()))
    if sites == 0:
        return Sameness(confidence="likely", how=how)
    if sites > 1:
        return Sameness(confidence="likely", how=f"{how}, which {release} checks at {sites} places")
    how += f", which {release} checks at one place alone"
    if not of_run:
        return Sameness(
            confidence="likely", how=f"{how}; of which release the run is, is not known"
        )
    others = [each for each in of_run if each != release]
    unlike = [each for each in others if len(places.get(each, ())) != 1]
    if unlike:
        how += f"; the run may be of {unlike[-1]}, of which that is not so, or not known"
        return Sameness(confidence="likely", how=how)
    fitting = ", as does each release that fits the run" if others else ""
    return Sameness(confidence="certain", how=how + fitting)


def _told_by_crash(found: str, wanted: str) -> Sameness:
    one, other = _WORDLESS.fullmatch(found), _WORDLESS.fullmatch(wanted)
    if one is not None and other is not None:
        signal = other["signal"]
        if one["frame"] and one["frame"] == other["frame"]:
            how = f"the same signal ({signal}) in the same function of XLA ({one['frame']})"
            return Sameness(confidence="likely", how=how)
        if one["after"] and one["after"] == other["after"]:
            how = f"no words, the same signal ({signal}) after the same pass ({one['after']})"
            return Sameness(confidence="likely", how=how)
    return Sameness(
        confidence="possible",
        how="no words, nothing but the same signal: crashes without words count as one",
    )


def _weaker(one: Sameness, other: Sameness) -> Sameness:
    return max(one, other, key=lambda each: _SURE.index(each.confidence))
