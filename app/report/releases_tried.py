"""Where, of the releases that were tried, a failure came and went, and what was not tried between.

Takes the experiments of a replay; gives the few facts that its report keeps, and words for them. A
release that was not tried says nothing, nor does one where the module failed in another way.
"""

from collections.abc import Iterable, Sequence

from app.knowledge.releases import PUBLISHED, release_key
from app.model.experiments import Experiment, ReleaseSpan


def span_of(experiments: Iterable[Experiment]) -> ReleaseSpan | None:
    """The facts; None where no release was asked."""
    tried = sorted(
        (e for e in experiments if e.question == "releases" and e.outcome != "not tried"),
        key=lambda e: release_key(e.name),
    )
    if not tried:
        return None
    bad = [n for n, e in enumerate(tried) if e.outcome == "same signature"]
    if not bad:
        return ReleaseSpan(tried=tuple(e.name for e in tried))
    good = [n for n, e in enumerate(tried) if e.outcome == "compiles"]
    before = max((n for n in good if n < bad[0]), default=None)
    after = min((n for n in good if n > bad[-1]), default=None)
    return ReleaseSpan(
        tried=tuple(e.name for e in tried),
        first_bad_of_tried=tried[bad[0]].name,
        good_before=None if before is None else tried[before].name,
        not_tried_before=_between(tried, before, bad[0]),
        no_answer_before=_without_answer(tried, before, bad[0]),
        last_bad_of_tried=tried[bad[-1]].name,
        first_good_after=None if after is None else tried[after].name,
        not_tried_after=_between(tried, bad[-1], after),
        no_answer_after=_without_answer(tried, bad[-1], after),
        good_between=tuple(tried[n].name for n in good if bad[0] < n < bad[-1]),
    )


def span_words(span: ReleaseSpan) -> tuple[str, ...]:
    """The facts, one sentence each."""
    if span.first_bad_of_tried is None:
        return (f"None of the releases tried fails so: {', '.join(span.tried)}.",)
    first = f"First bad of the releases tried: {span.first_bad_of_tried}"
    if span.good_before is None:
        first += "; none older that was tried compiles"
    else:
        listed = ", ".join(span.not_tried_before) or "none"
        first += f"; not tried between {span.good_before}, which compiles, and it: {listed}"
    last = f"First good of the releases tried after {span.last_bad_of_tried}"
    if span.first_good_after is None:
        last += ": none"
    else:
        listed = ", ".join(span.not_tried_after) or "none"
        last += f": {span.first_good_after}; not tried between: {listed}"
    words = [first + _no_answer(span.no_answer_before), last + _no_answer(span.no_answer_after)]
    if span.good_between:
        words.append(f"It comes and goes: {', '.join(span.good_between)} in between compile.")
    return tuple(words)


def _no_answer(releases: Sequence[str]) -> str:
    return f"; no answer from {', '.join(releases)}." if releases else "."


def _between(tried: Sequence[Experiment], first: int | None, last: int | None) -> tuple[str, ...]:
    """The releases between two of those tried that were not tried themselves."""
    if first is None or last is None:
        return ()
    names = {e.name for e in tried}
    lowest, highest = release_key(tried[first].name), release_key(tried[last].name)
    return tuple(r for r in PUBLISHED if lowest < release_key(r) < highest and r not in names)


def _without_answer(
    tried: Sequence[Experiment], first: int | None, last: int | None
) -> tuple[str, ...]:
    """Those tried between the two, or outside of one, that neither fail so nor compile."""
    start = 0 if first is None else first + 1
    return tuple(f"{e.name} ({e.outcome})" for e in tried[start:last])
