"""An instruction has a form that this release of XLA compiles wrongly.

## What it finds
Forms of instructions that a fix names: a cuBLASLt matmul with its bias along another axis than the
last, a scatter-add whose operand and updates are sharded along different axes, a oneDNN matmul that
adds another array, 8-bit matmuls of cuBLASLt on several devices, and fusions for YNN with seven and
more dimensions.

## Why it matters
Most of these end in wrong numbers without any message; the others in a crash that names no line.

## How we know
The form is read from the texts; the release decides whether it is a fault. Where the release is
known and older than the fix: likely. Where it is not known and the fix is of the last releases: a
note, possible. In a release with the fix nothing is said.

## What to do
Move to the release with the fix; until then use what is listed for the form.

## Limits
The form is necessary and not always sufficient: the numbers tell. A bias as long as both axes of
its matmul cannot be told from a right one. Other faults of these releases have no form that shows.

## Sources
openxla/xla#46897, openxla/xla#42481, openxla/xla#13054, openxla/xla#6370, jax-ml/jax#39257.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from app import knowledge
from app.analysis import miscompiled_forms
from app.analysis.suspects import Place
from app.model.dump import ModuleHistory, PassDump
from app.model.facts import Facts
from app.model.report import Finding, Workaround
from app.rules.cited import cited
from app.rules.citing import place
from app.rules.frame import Rule
from app.rules.releases import flag_workarounds, is_before_fix
from hlo_parser import Module

_MOST = 3
# With the release unknown only faults that a release of about a year still has are told.
_RECENT = "0.10.0"


@dataclass(frozen=True, slots=True)
class _Form:
    """One fault: how it looks, in which text (`first` before partitioning), and its fix."""

    class_: str
    ref: str
    find: Callable[[Module], Iterator[Place]]
    text: str
    title: str
    leads_to: str
    flag: str = ""
    flag_text: str = ""
    avoid: str = ""


_FORMS = (
    _Form(
        "gemm-rewriter",
        "openxla/xla#46897",
        miscompiled_forms.bias_along_another_axis,
        "last",
        "adds a bias that is as long as another axis than its own",
        "such a bias may be added along the wrong axis: wrong numbers, no message",
        "--xla_disable_hlo_passes=cublas-gemm-rewriter",
        "Leave the rewriting of matmuls out.",
        "Add the bias after the matmul's result was transposed or reshaped.",
    ),
    _Form(
        "spmd-miscompile",
        "openxla/xla#42481",
        miscompiled_forms.scatter_of_two_shardings,
        "first",
        "adds updates that are sharded otherwise than its operand",
        "the partitioner may leave a sum over devices out, or send it along the wrong axis: wrong "
        "numbers, no message",
        avoid="Give the operand and the updates the same sharding "
        "(jax.lax.with_sharding_constraint), or keep one of them whole.",
    ),
    _Form(
        "algsimp-numerics",
        "openxla/xla#13054",
        miscompiled_forms.onednn_binary_add,
        "last",
        "adds an array inside a oneDNN matmul",
        "the array may be added wrongly: wrong numbers, no message",
        "--xla_cpu_use_mkl_dnn=false",
        "Compile matmuls without oneDNN.",
    ),
    _Form(
        "gemm-rewriter",
        "openxla/xla#6370",
        miscompiled_forms.fp8_on_several_devices,
        "last",
        "multiplies 8-bit floats by cuBLASLt on several devices",
        "the scales of other devices may be used: wrong numbers, or a failed call",
        "--xla_gpu_enable_cublaslt=false",
        "Compile matmuls without cuBLASLt.",
    ),
    _Form(
        "cpu-backend",
        "jax-ml/jax#39257",
        miscompiled_forms.ynn_of_high_rank,
        "last",
        "has more dimensions than YNN handles",
        "the kernel may read and write past its arrays: a crash, or wrong numbers",
        avoid="Reshape to six dimensions or fewer before the operation.",
    ),
)


def check(facts: Facts) -> Iterable[Finding]:
    """One finding for each module of the user and form that its release compiles wrongly."""
    releases = facts.environment.jaxlib.releases
    for form in _FORMS:
        is_affected = is_before_fix(releases, form.ref)
        if is_affected is False or (is_affected is None and not _is_recent(form.ref)):
            continue
        for history in facts.modules:
            if history.role != "user":
                continue
            dump = history.last if form.text == "last" else history.dumps[0]
            places = list(islice(form.find(dump.module), _MOST))
            if places:
                yield _finding(facts, history, dump, form, places, is_known=bool(is_affected))


def _is_recent(ref: str) -> bool:
    fix = knowledge.fix_of(ref)
    return fix is not None and knowledge.release_key(fix.fixed_in) > knowledge.release_key(_RECENT)


def _finding(
    facts: Facts,
    history: ModuleHistory,
    dump: PassDump,
    form: _Form,
    places: Sequence[Place],
    *,
    is_known: bool,
) -> Finding:
    named = [
        cited(facts, history, dump, computation, instruction, role="has the form")
        for computation, instruction in places
    ]
    fix = knowledge.fix_of(form.ref)
    fixed = fix.fixed_in if fix else "a newer release"
    first = place(named[0].culprit)
    return Finding(
        rule=RULE.code,
        class_=form.class_,
        severity="warning" if is_known else "note",
        confidence="likely" if is_known else "possible",
        title=f"{first} {form.title}",
        message=(
            f"{first} {form.title}. In jaxlib before {fixed} {form.leads_to} ({form.ref})."
            + ("" if is_known else " The release is not known well enough to tell.")
        ),
        culprits=tuple(one.culprit for one in named),
        evidence=tuple(one.evidence for one in named if one.evidence is not None),
        workarounds=tuple(_workarounds(facts, form, fixed)),
        unknown=(
            "whether the numbers are wrong: compare with the same step in another way (the CPU, "
            "or without jit)",
            *(() if is_known else ("the jaxlib release: give it with --release",)),
        ),
        upstream=knowledge.upstream(form.ref),
    )


def _workarounds(facts: Facts, form: _Form, fixed: str) -> Iterator[Workaround]:
    yield Workaround(text=f"Move to jaxlib {fixed} or newer.", releases=f"{fixed} and newer")
    if form.flag:
        yield from flag_workarounds(form.flag_text, form.flag, facts.environment.jaxlib.releases)
    if form.avoid:
        yield Workaround(text=form.avoid)


RULE = Rule(
    code="MIS001",
    slug="form-compiled-wrongly",
    title="An instruction has a form that this release compiles wrongly",
    class_="miscompile",
    since="0.1.0",
    sources=(
        "openxla/xla#46897",
        "openxla/xla#42481",
        "openxla/xla#13054",
        "openxla/xla#6370",
        "jax-ml/jax#39257",
    ),
    check=check,
)
