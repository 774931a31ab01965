"""Which flags and which passes a failure takes: experiments, ordered and summed up.

Given a laboratory, a subject and its flags; gives the table of variants, the single switches that
cure, and, where the time lasts, minimal sets. A variant that fails in another way cures nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.replay.experiments import Flags, Laboratory, Result, Variant, compared
from app.replay.outcome import Attempt, Kind
from app.replay.recording import BASELINE
from app.replay.search import Item, OutOfBudget, Smallest, minimize
from app.replay.subject import Subject

DISABLED = "xla_disable_hlo_passes"
_OPPOSITE = {"true": "false", "false": "true", "1": "0", "0": "1"}


@dataclass(frozen=True, slots=True)
class Switch:
    """One change to the flags of a run: `value` None takes the flag away, to its default."""

    flag: str
    value: str | None

    @property
    def words(self) -> str:
        """As a user would write it."""
        return f"--{self.flag}={self.value}" if self.value is not None else f"without --{self.flag}"

    def applied(self, flags: Flags) -> dict[str, str]:
        """The flags with this change."""
        rest = {name: value for name, value in flags.items() if name != self.flag}
        return rest if self.value is None else {**rest, self.flag: self.value}


@dataclass(frozen=True, slots=True)
class Bisection:
    """What a bisection found.

    `baseline` is the module with the flags of the run; `cures` are the names of the single variants
    that compile; `together` is a minimal set of changes that cures where no single one does,
    `needed` a minimal set of the run's flags with which alone the failure stays.
    """

    baseline: Attempt
    signature: str
    results: tuple[Result, ...] = ()
    together: Smallest[str] | None = None
    needed: Smallest[str] | None = None

    @property
    def cures(self) -> tuple[str, ...]:
        """The single changes with which the module compiles."""
        return self._named(Kind.COMPILES)

    @property
    def irrelevant(self) -> tuple[str, ...]:
        """The single changes with which the same failure stays."""
        return self._named(Kind.SAME)

    @property
    def untried(self) -> tuple[str, ...]:
        """The single changes for which the time did not last."""
        return tuple(r.variant.name for r in self.results if r.attempt is None)

    def _named(self, kind: Kind) -> tuple[str, ...]:
        return tuple(r.variant.name for r in self.results if r.attempt and r.attempt.kind == kind)


def reproduce(
    laboratory: Laboratory, subject: Subject, flags: Flags, signature: str, name: str = BASELINE
) -> tuple[Attempt, str]:
    """The module with the flags of the run, and the signature that is looked for from here on.

    Where no log states one, it is that of this very compile.
    """
    attempt = laboratory.try_one(Variant(name, flags, subject))
    wanted = signature or attempt.signature
    return compared(attempt, wanted), wanted


def switches_of(flags: Flags, more: Flags | None = None) -> tuple[Switch, ...]:
    """A change for each flag that may matter: booleans turned, others taken away, `more` given.

    Flags that only say where a dump goes make no program.
    """
    extra = {name: value for name, value in (more or {}).items() if flags.get(name) != value}
    turned = [
        Switch(name, _OPPOSITE.get(value.lower()))
        for name, value in flags.items()
        if not name.startswith("xla_dump_") and name != "xla_gpu_cuda_data_dir"
    ]
    given = [Switch(name, value) for name, value in extra.items()]
    return tuple(dict.fromkeys([*given, *turned]))


def bisect_flags(
    laboratory: Laboratory,
    subject: Subject,
    flags: Flags,
    *,
    signature: str = "",
    more: Flags | None = None,
) -> Bisection:
    """Single switches first, then minimal sets."""
    baseline, wanted = reproduce(laboratory, subject, flags, signature)
    if baseline.kind != Kind.SAME:
        return Bisection(baseline, wanted)
    switches = switches_of(flags, more)
    results = _try(
        laboratory, wanted, [Variant(s.words, s.applied(flags), subject) for s in switches]
    )
    found = Bisection(baseline, wanted, results)
    together = None
    if not found.cures and not found.untried:
        together = _cure_together(laboratory, subject, flags, switches)
    return Bisection(
        baseline, wanted, results, together, _needed(laboratory, subject, flags, wanted)
    )


def bisect_passes(
    laboratory: Laboratory,
    subject: Subject,
    flags: Flags,
    passes: Sequence[str],
    *,
    signature: str = "",
) -> Bisection:
    """Each of `passes` switched off alone, in the order given."""
    baseline, wanted = reproduce(laboratory, subject, flags, signature)
    if baseline.kind != Kind.SAME:
        return Bisection(baseline, wanted)
    variants = [Variant(name, without_pass(flags, name), subject) for name in dict.fromkeys(passes)]
    return Bisection(baseline, wanted, _try(laboratory, wanted, variants))


def without_pass(flags: Flags, name: str) -> dict[str, str]:
    """The flags with one more pass switched off."""
    listed = [each for each in flags.get(DISABLED, "").split(",") if each]
    return {**flags, DISABLED: ",".join(dict.fromkeys([*listed, name]))}


def _try(laboratory: Laboratory, signature: str, variants: Sequence[Variant]) -> tuple[Result, ...]:
    return tuple(
        Result(r.variant, r.attempt and compared(r.attempt, signature))
        for r in laboratory.try_all(variants)
    )


def _cure_together(
    laboratory: Laboratory, subject: Subject, flags: Flags, switches: Sequence[Switch]
) -> Smallest[str] | None:
    def cures(chosen: tuple[Switch, ...]) -> bool:
        changed: Mapping[str, str] = flags
        for switch in chosen:
            changed = switch.applied(changed)
        name = f"{len(chosen)} changes together"
        return laboratory.try_one(Variant(name, changed, subject)).kind == Kind.COMPILES

    return _minimal(switches, cures, lambda switch: switch.words)


def _needed(
    laboratory: Laboratory, subject: Subject, flags: Flags, signature: str
) -> Smallest[str] | None:
    def fails(kept: tuple[str, ...]) -> bool:
        variant = Variant(f"only {len(kept)} flags", {n: flags[n] for n in kept}, subject)
        return compared(laboratory.try_one(variant), signature).kind == Kind.SAME

    candidates = [s.flag for s in switches_of(flags)]
    return _minimal(candidates, fails, lambda name: f"--{name}={flags[name]}")


def _minimal(
    items: Sequence[Item], holds: Callable[[tuple[Item, ...]], bool], words: Callable[[Item], str]
) -> Smallest[str] | None:
    """The smallest part in words; None where it does not even hold for the whole."""
    try:
        if not holds(tuple(items)):
            return None
    except OutOfBudget:
        return None
    smallest = minimize(items, holds)
    return Smallest(tuple(words(item) for item in smallest.items), smallest.is_minimal)
