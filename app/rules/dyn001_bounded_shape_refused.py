"""A shape with a bound, or without dimensions at all, is taken for a plain array.

## What it finds
Dimensions that XLA cannot prove equal while it compiles, buffers of another size than their
literal, and dimensions asked of a tuple.

## Why it matters
Shapes with bounds (`<=`) come from few places of a program; the message names XLA's instructions.

## How we know
The message says it and mostly prints both instructions, which are found in the dump.

## What to do
Use static shapes: pad, and mask what is padding.

## Limits
Where the two sizes come from is for the reader to follow.

## Sources
xla/service/dynamic_padder.cc; pytorch/xla#4298, openxla/xla#47379, pytorch/xla#9314.
"""

from app.analysis.class_suspects import with_bounds
from app.rules.cited import suspecting
from app.rules.telling import Story, Try, class_rule

STORIES = {
    "": Story(
        title="A shape with a bound could not be handled",
        what="The size of a dimension is known only when the program runs, and the code at hand "
        "needs to know it before.",
        tries=(Try("Use static shapes: pad to a fixed size and mask the padding."),),
        refs=("pytorch/xla#4298", "openxla/xla#47379", "pytorch/xla#9314"),
        unknown=("whether the sizes are equal when the program runs",),
        suspects=suspecting(with_bounds, role="has or sets a size with a bound"),
    ),
}

RULE = class_rule(
    code="DYN001",
    slug="bounded-shape-refused",
    title="A shape with a bound is taken for a plain one",
    class_="dynamic-shape",
    sources=(
        "xla/service/dynamic_padder.cc",
        "pytorch/xla#4298",
        "openxla/xla#47379",
        "pytorch/xla#9314",
    ),
    stories=STORIES,
)
