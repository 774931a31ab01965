"""The library for matmuls refuses or fails one.

## What it finds
Errors of cuBLAS, cuBLASLt and their kin, and deaths in the pass that turns matmuls into calls of
them.

## Why it matters
The message prints the call and not the matmul; matmuls in 8-bit floats have narrow rules.

## How we know
The message says it. The calls of the libraries are looked up in the newest text, 8-bit ones first.

## What to do
Try cuBLAS in place of cuBLASLt or the other way round; make dimensions of 8-bit matmuls multiples
of 16; switch the rewriting off for a test; check driver and free memory if no handle could be made.

## Limits
Which of the calls failed is mostly not printed.

## Sources
xla/service/gpu/transforms/gemm_rewriter.cc; openxla/xla#6370, jax-ml/jax#19534,
NVIDIA/TransformerEngine#2261.
"""

from app.analysis.suspects import Place, with_target
from app.rules.cited import suspecting
from app.rules.telling import Story, Try, class_rule
from hlo_parser import Module


def _calls(module: Module) -> list[Place]:
    """Those on 8-bit floats first: they have the narrowest rules."""
    calls = with_target(module, r"^__cublas\$")
    return sorted(calls, key=lambda place: "$f8" not in (place[1].custom_call_target or ""))


STORIES = {
    "": Story(
        title="The library for matmuls refused or failed one",
        what="cuBLAS or its kin has rules on shapes, types and what may be merged into a matmul.",
        tries=(
            Try(
                "Compile matmuls without cuBLASLt.",
                "--xla_gpu_enable_cublaslt=false",
                takes_back=True,
            ),
            Try(
                "Leave the rewriting out, for a test.",
                "--xla_disable_hlo_passes=cublas-gemm-rewriter",
            ),
            Try("Make the dimensions of 8-bit matmuls multiples of 16."),
        ),
        refs=("openxla/xla#6370", "jax-ml/jax#19534", "NVIDIA/TransformerEngine#2261"),
        flags=("xla_gpu_enable_cublaslt", "xla_gpu_enable_triton_gemm"),
        unknown=("which of the matmuls it was, where the message names none",),
        suspects=suspecting(_calls, role="call of the library"),
    ),
}

RULE = class_rule(
    code="GEM001",
    slug="matmul-refused",
    title="The library for matmuls refuses one",
    class_="gemm-rewriter",
    sources=(
        "xla/service/gpu/transforms/gemm_rewriter.cc",
        "openxla/xla#6370",
        "jax-ml/jax#19534",
        "NVIDIA/TransformerEngine#2261",
    ),
    stories=STORIES,
)
