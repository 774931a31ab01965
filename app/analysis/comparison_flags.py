"""Flags of two dumps: those stated, and what the pass lists say where none are.

Flags that only say where and how to dump are left out. Inferred flags come from passes that XLA
adds only on demand and that one side alone has, and are marked so.
"""

from collections.abc import Iterator, Sequence

from app.knowledge.flag_spellings import settings_of, written_name
from app.knowledge.pass_flags import flags_that_add
from app.model.comparison import FlagChange, ModulePair
from app.model.report import Environment

_ABOUT_DUMPS = "xla_dump_"


def stated_flags(a: Environment, b: Environment) -> tuple[FlagChange, ...]:
    """The flags that differ, where both sides state theirs, in their first spelling; by name."""
    if not (a.flags_from and b.flags_from):
        return ()
    of_a, of_b = settings_of(a.flags), settings_of(b.flags)
    return tuple(
        _stated(name, a, b, FlagChange(name=name, a=of_a.get(name), b=of_b.get(name)))
        for name in sorted(of_a.keys() | of_b.keys())
        if of_a.get(name) != of_b.get(name) and not name.startswith(_ABOUT_DUMPS)
    )


def _stated(name: str, a: Environment, b: Environment, change: FlagChange) -> FlagChange:
    """As it is written, where both sides have it under one name."""
    written = written_name(name, (a.flags, b.flags))
    if written is None:
        return change
    return FlagChange(name=written, a=a.flags.get(written), b=b.flags.get(written))


def inferred_flags(
    a: Environment, b: Environment, modules: Sequence[ModulePair]
) -> tuple[FlagChange, ...]:
    """What the passes say of flags that a side does not state, each flag once.

    Nothing where the two cannot be of one release: each has a pipeline of its own.
    """
    if (a.flags_from and b.flags_from) or not {*a.jaxlib.releases} & {*b.jaxlib.releases}:
        return ()
    found: dict[str, FlagChange] = {}
    for pair in modules:
        for change in (*_of_next(pair), *_of_parting(pair)):
            found.setdefault(change.name, change)
    return tuple(found.values())


def _of_next(pair: ModulePair) -> Iterator[FlagChange]:
    """From passes that stand in one pipeline and not in the other, by what comes next."""
    for step in pair.passes.next:
        for name, is_a in ((step.a, True), (step.b, False)):
            others = pair.passes.only_a if is_a else pair.passes.only_b
            flags = flags_that_add(name)
            if flags and name in others:
                side, other = ("a", "b") if is_a else ("b", "a")
                why = (
                    f"{side} goes from {step.pass_} on to {name}, "
                    f"{other} to {step.b if is_a else step.a}"
                )
                yield _change(flags, is_a, why)


def _of_parting(pair: ModulePair) -> Iterator[FlagChange]:
    """From the pass that changed one of two equal graphs, of which the other shows no trace.

    That a name is in the files of one side alone proves nothing: what changes nothing leaves none.
    """
    parting = pair.parting
    if parting is None or parting.last_equal_a is None or pair.outcome != "differ":
        return
    for name, is_a, ahead, behind in (
        (parting.pass_a, True, parting.dump_a, parting.dump_b),
        (parting.pass_b, False, parting.dump_b, parting.dump_a),
    ):
        if name is not None and ahead is not None and behind is None:
            if flags := flags_that_add(name):
                side = "a" if is_a else "b"
                yield _change(flags, is_a, f"{name} changes in {side} alone what was equal")


def _change(flags: Sequence[str], is_a: bool, why: str) -> FlagChange:
    on, off = "true", "false"
    if len(flags) > 1:
        why += f"; {' or '.join(flags[1:])} would do the same"
    return FlagChange(
        name=flags[0], a=on if is_a else off, b=off if is_a else on, stated=False, why=why
    )
