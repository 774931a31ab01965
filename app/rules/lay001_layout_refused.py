"""An instruction has a memory layout that the code at hand cannot handle.

## What it finds
Failed checks and verifier messages about layouts: in their assignment and normalization, or in code
that takes row-major order for granted.

## Why it matters
The checks print a condition; the instruction stands in the dump.

## How we know
The message or the file says so. Where no instruction is printed, instructions of the kinds known to
be picky (FFTs, bitcasts, custom calls, solvers) with another order than row-major are the suspects.

## What to do
Give XLA modules as they were before its own optimizations; fix the layout of the value (a copy, or
a transpose in the program); try a neighbouring release.

## Limits
A suspect may be innocent: such layouts are usual.

## Sources
xla/service/layout_assignment.cc, xla/service/layout_normalization.cc; openxla/xla#47364,
openxla/xla#47371, openxla/xla#34103, openxla/xla#41481.
"""

from app.analysis.suspects import odd_layouts
from app.rules.cited import suspecting
from app.rules.telling import Story, Try, class_rule

_picky = suspecting(odd_layouts, role="is not row-major")

STORIES = {
    "buffer-size": Story(
        title="A program was given a buffer of another size or layout than it was compiled for",
        what="Two arrays of one shape may lie in memory in different ways, and so take more or "
        "less of it.",
        tries=(
            Try("Compile the program anew for the arrays given; do not keep an older executable."),
            Try("Load a checkpoint with the flags, the release and the topology it was saved by."),
        ),
        unknown=("who made the buffer",),
    ),
    "": Story(
        title="An instruction has a layout that XLA cannot handle there",
        what="The order in which an array lies in memory is not the one that a pass counts on.",
        tries=(
            Try("If the module was optimized before, give XLA the one before optimizations."),
            Try(
                "Leave the pass that normalizes layouts out, for a test.",
                "--xla_disable_hlo_passes=layout_normalization",
            ),
            Try("Try a neighbouring release of jaxlib."),
        ),
        refs=("openxla/xla#47364", "openxla/xla#47371", "openxla/xla#34103", "openxla/xla#41481"),
        unknown=("which pass chose the layout",),
        suspects=_picky,
        trusts_the_line=True,
    ),
}

RULE = class_rule(
    code="LAY001",
    slug="layout-refused",
    title="An instruction has a layout that the code cannot handle",
    class_="layout",
    sources=(
        "xla/service/layout_assignment.cc",
        "xla/service/layout_normalization.cc",
        "openxla/xla#47364",
        "openxla/xla#47371",
    ),
    stories=STORIES,
)
