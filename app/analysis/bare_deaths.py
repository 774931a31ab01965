"""A death without a message: what other lines, the last pass, flags or the back end suggest."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from app.analysis.own_words import has_frames
from app.analysis.python_frames import died_in_callback, died_outside_jax
from app.analysis.sign_search import first_sign, sign_of_frames, sign_of_name
from app.analysis.sign_words import diagnosis_of, said_by, stem_of
from app.knowledge import FailureSign, failure_signs, passes_named, settings_of
from app.model.dump import LogFacts
from app.model.facts import Diagnosis
from app.model.report import Failure

_BARE_DEATH = re.compile(r"SIG(?:SEGV|ABRT|BUS|ILL|FPE)")


def of_bare_death(
    log: LogFacts, located: Failure | None, backend: str | None, flags: Mapping[str, str]
) -> Diagnosis | None:
    """What speaks for a class of the first failure, a death, asked in this order.

    A callback that it died in; what other lines say; frames, in them too; the last pass known;
    words that hint; flags; and at last the back end. A death outside of JAX has none.
    """
    failure = log.failures[0]
    if died_in_callback(failure):
        sign = sign_of_name(failure_signs("state"), "signal in a callback")
        return diagnosis_of(sign, failure=failure) if sign else None
    lines = [line for line in log.verbose if line.severity in ("W", "E") or not line.file]
    texts = [line.text for line in lines if line.severity]
    for line in lines:
        sign = said_by(line)
        if sign is not None:
            said = diagnosis_of(sign, failure=failure)
            # A run goes on after a warning, so that it does not state why it died later.
            return said if line.severity == "E" else replace(said, strength="pointed")
    first, *below = failure.text.split("\n")
    picked = [line.text for line in log.verbose if not (line.severity or line.file)] + below
    sign = sign_of_frames((*has_frames((*texts, *picked)), first)) or _of_assertion(texts)
    if sign is not None:
        return diagnosis_of(sign, failure=failure)
    if died_outside_jax(failure) and "SIGILL" not in failure.signature:
        # Neither the compiler nor flags for it; only compiled code meets unknown instructions.
        return None
    said = [name for text in picked for name in passes_named(text)]
    passes = [*log.passes[-1:], *said[-1:], *([located.pass_] if located and located.pass_ else [])]
    for name in passes:
        sign = sign_of_name(failure_signs("file"), name.replace("-", "_"))
        if sign is not None:
            tells = f"{name} was the last pass known to be running, or next in line"
            return replace(diagnosis_of(sign, failure=failure), tells=tells)
    sign = first_sign(failure_signs("hints"), [failure.text])
    if sign is not None:
        return diagnosis_of(sign, failure=failure)
    sign = _of_flags(flags)
    if sign is not None:
        return diagnosis_of(sign, failure=failure)
    named = _BARE_DEATH.search(failure.signature)
    sign = (
        sign_of_name(failure_signs("state"), f"signal {named[0]} {backend or ''}")
        if named
        else None
    )
    return diagnosis_of(sign, failure=failure) if sign else None


def _of_assertion(texts: Iterable[str]) -> FailureSign | None:
    """The class of the file in which an assert of C failed."""
    stems = (stem_of(None, text) for text in texts if "ssertion" in text)
    return next((s for stem in stems if (s := sign_of_name(failure_signs("file"), stem))), None)


def _of_flags(flags: Mapping[str, str]) -> FailureSign | None:
    spelt = (*flags.items(), *settings_of(flags).items())
    set_so = [f"{name}={value}" for name, value in spelt]
    return next(
        (s for s in failure_signs("flag") for flag in set_so if s.words.fullmatch(flag)), None
    )
