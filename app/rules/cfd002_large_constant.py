"""A large array stands in the program as a constant.

## What it finds
Constants of a mebibyte and more: arrays that the traced function closed over or wrote out, and
arrays that the compiler computed while it compiled.

## Why it matters
They are copied into every executable and every entry of a compilation cache, are held on each
device for as long as the program is loaded, and passes that fold constants run over them slowly.

## How we know
From the texts: the constant's shape gives its size. One that the first text holds came from the
program; one that only later texts hold was folded, and the first text that has it tells after which
pass. Where the text before the passes is missing, it is not said which.

## What to do
Pass the array as an argument of the jitted function; for a folded one make it where it is used
(jnp.arange, broadcasts) from something that is no constant, or switch constant folding off.

## Limits
The values are not in the dump, so equal constants are not told from different ones. A constant of
which a program makes good use may be worth its bytes.

## Sources
xla/hlo/transforms/simplifiers/hlo_constant_folding.cc; jax-ml/jax#21300, jax-ml/jax#16647.
"""

from collections.abc import Iterable, Iterator, Sequence

from app import knowledge
from app.analysis.large_constants import LargeConstant, find_large_constants
from app.model.dump import ModuleHistory
from app.model.facts import Facts
from app.model.report import Evidence, Finding, Workaround
from app.rules.amounts import bytes_in_words
from app.rules.cited import Named, cited
from app.rules.citing import instruction_evidence, place
from app.rules.frame import Rule
from app.rules.releases import flag_workarounds

_LEAST_BYTES = 1 << 20
_SERIOUS_BYTES = 64 << 20
_MOST = 3


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for each module of the user with such constants."""
    for history in facts.modules:
        found = find_large_constants(history, least=_LEAST_BYTES) if history.role == "user" else ()
        if found:
            yield _finding(facts, history, found)


def _finding(facts: Facts, history: ModuleHistory, found: Sequence[LargeConstant]) -> Finding:
    shown = found[:_MOST]
    named = [tuple(_named(facts, history, constant)) for constant in shown]
    culprits = tuple(part.culprit for who in named for part in who)
    total = sum(constant.bytes for constant in found)
    return Finding(
        rule=RULE.code,
        class_=RULE.class_,
        severity="warning" if total >= _SERIOUS_BYTES else "note",
        confidence="certain",
        title=f"{bytes_in_words(total)} of constants: {place(culprits[0])}",
        message=" ".join(_said(*pair) for pair in zip(shown, named, strict=True)),
        culprits=culprits,
        evidence=tuple(_evidence(shown)),
        workarounds=tuple(_workarounds(facts, found)),
        unknown=("what the array is: its values are not in the dump",),
        upstream=knowledge.upstream("jax-ml/jax#21300", "jax-ml/jax#16647"),
    )


def _named(facts: Facts, history: ModuleHistory, constant: LargeConstant) -> Iterator[Named]:
    where = constant.dump, constant.computation
    yield cited(facts, history, *where, constant.instruction, role="constant")
    if constant.user is not None:
        yield cited(facts, history, *where, constant.user, role="first to read it")


def _said(constant: LargeConstant, who: tuple[Named, ...]) -> str:
    size = bytes_in_words(constant.bytes)
    own, *readers = (place(part.culprit) for part in who)
    reader = f", read first by {readers[0]}" if readers else ""
    shape = constant.instruction.shape.without_layout
    if constant.is_traced:
        origin = (
            "stands in the program from the start: the traced function closed over it or wrote it "
            "out"
        )
    elif not constant.is_folded:
        origin = (
            "is in the first text, and the dump holds no earlier text that tells where it is from"
        )
    else:
        after = constant.made_in.name.after
        origin = "was computed by the compiler" + (f" (first seen after {after})" if after else "")
    return f"{own} is {shape}, {size}{reader}; it {origin}."


def _evidence(found: Sequence[LargeConstant]) -> Iterator[Evidence]:
    for constant in found:
        for instruction in (constant.instruction, constant.user):
            if instruction is not None:
                yield instruction_evidence(constant.dump, constant.computation, instruction)


def _workarounds(facts: Facts, found: Sequence[LargeConstant]) -> Iterator[Workaround]:
    if not all(constant.is_folded for constant in found):
        yield Workaround(
            text="Pass the array as an argument of the jitted function in place of closing over it "
            "(for methods: as a field of an argument)."
        )
    if not all(constant.is_traced for constant in found):
        yield Workaround(
            text="Make one of the inputs of the expression an argument of the jitted function, so "
            "that it is no constant."
        )
        yield from flag_workarounds(
            "Leave constant folding out.",
            "--xla_disable_hlo_passes=constant_folding",
            facts.environment.jaxlib.releases,
        )


RULE = Rule(
    code="CFD002",
    slug="large-constant",
    title="A large array stands in the program as a constant",
    class_="constant-folding",
    since="0.1.0",
    sources=(
        "xla/hlo/transforms/simplifiers/hlo_constant_folding.cc",
        "jax-ml/jax#21300",
        "jax-ml/jax#16647",
    ),
    check=check,
)
