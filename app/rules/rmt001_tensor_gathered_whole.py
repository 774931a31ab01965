"""The partitioner gathers a whole tensor to change its sharding.

## What it finds
XLA's warning of an involuntary full rematerialization: a value goes from one sharding to another by
way of a full copy on every device.

## Why it matters
The program works, but the copy costs memory and a transfer of the whole tensor, in each step.

## How we know
The warning gives both shardings and, from late 2024 on, the instruction, which is found in the dump
or cited as printed; its size is that of its shape in the text in which it was found.

## What to do
Annotate the value, or those before and after it, so that both shardings agree or differ by one
step; put a value that lives on one device (maximal) on all of them first.

## Limits
Whether the copy is small enough not to matter is for the reader to say: the shape is in the line.

## Sources
xla/service/spmd/spmd_partitioner.cc; openxla/xla#15207, jax-ml/jax#21562, EnzymeAD/Enzyme-JAX#822,
Physical-Intelligence/openpi#112.
"""

from app.model.facts import Facts
from app.rules.amounts import bytes_in_words
from app.rules.cited import Named
from app.rules.telling import Story, Try, class_rule


def _sizes(facts: Facts, named: tuple[Named, ...]) -> tuple[str, ...]:
    """The size of what is gathered, from the shapes in the texts in which it was found."""
    texts = {history.id: history.dumps for history in facts.modules}
    said: list[str] = []
    for culprit in (found.culprit for found in named):
        if culprit.module is None or culprit.dump is None:
            continue
        module = texts[culprit.module][culprit.dump].module
        computation = module.get(culprit.computation or "")
        found = computation.get(culprit.instruction or "") if computation else None
        if found is not None:
            size = bytes_in_words(found.shape.byte_size)
            said.append(f"{found.name} has {size} ({found.shape.without_layout}) in that text.")
    return tuple(said)


STORIES = {
    "": Story(
        title="XLA gathers a whole tensor to change its sharding",
        what="The partitioner knows no way from one sharding of a value to the next but a full "
        "copy on every device.",
        tries=(
            Try(
                "Annotate the value, or its neighbours, with jax.lax.with_sharding_constraint so "
                "that both shardings agree."
            ),
            Try(
                "If the line says `maximal device`, put the value on all devices first "
                "(jax.device_put with a sharding)."
            ),
        ),
        refs=("openxla/xla#15207", "jax-ml/jax#21562", "EnzymeAD/Enzyme-JAX#822"),
        unknown=("what the copy costs in this program",),
        adds=_sizes,
    ),
}

RULE = class_rule(
    code="RMT001",
    slug="tensor-gathered-whole",
    title="The partitioner gathers a whole tensor",
    class_="spmd-involuntary-remat",
    sources=(
        "xla/service/spmd/spmd_partitioner.cc",
        "openxla/xla#15207",
        "jax-ml/jax#21562",
    ),
    stories=STORIES,
)
