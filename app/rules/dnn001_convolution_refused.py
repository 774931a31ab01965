"""cuDNN refuses or fails a convolution or an attention.

## What it finds
Errors of cuDNN: no algorithm that works, no engine for a graph, no handle.

## Why it matters
The message often prints the instruction in full; its line in the program is in there.

## How we know
The message says it. What it prints is found in the dump or cited as printed; else the calls of the
library in the newest text are the suspects.

## What to do
No handle: driver and library do not fit, or memory is full (JAX reserves most of it). No algorithm
or engine: another type, shape or layout; for attention another implementation.

## Limits
Which of several calls failed may not be printed.

## Sources
xla/service/gpu/autotuning/conv_algorithm_picker.cc, xla/stream_executor/cuda/cuda_dnn.cc;
jax-ml/jax#13612, jax-ml/jax#20438, openxla/xla#7389, jax-ml/jax#15361.
"""

from app.analysis.suspects import with_target
from app.rules.cited import suspecting
from app.rules.telling import Story, Try, class_rule

_calls = suspecting(lambda module: with_target(module, r"^__cudnn\$"), role="call of the library")

STORIES = {
    "no-library": Story(
        title="cuDNN could not be set up",
        what="The library did not start: it is missing, of another version than XLA was built for, "
        "or found no memory.",
        tries=(
            Try("Take the CUDA wheels of jax in a clean environment, and a driver that fits them."),
            Try("Leave memory for it: XLA_PYTHON_CLIENT_MEM_FRACTION=0.7."),
        ),
        refs=("jax-ml/jax#15361", "jax-ml/jax#22626"),
        unknown=("which version of the library was found, where the log does not say it",),
    ),
    "heuristics-failed": Story(
        title="cuDNN had no working algorithm at hand for a convolution",
        what="XLA goes on with fallbacks, which may be slow, or gives up.",
        tries=(
            Try("Let XLA take any algorithm.", "--xla_gpu_strict_conv_algorithm_picker=false"),
            Try("Leave memory for the workspace: XLA_PYTHON_CLIENT_MEM_FRACTION=0.7."),
        ),
        refs=("jax-ml/jax#13612",),
        suspects=_calls,
    ),
    "": Story(
        title="cuDNN refused or failed an operation",
        what="The library has no engine, or an error, for this shape, type or graph.",
        tries=(
            Try(
                "For attention take another implementation (dot_product_attention with "
                "implementation='xla')."
            ),
            Try("Let XLA take any algorithm.", "--xla_gpu_strict_conv_algorithm_picker=false"),
            Try("Pad or change the type of the operands."),
        ),
        refs=("jax-ml/jax#20438", "openxla/xla#7389", "openxla/xla#11129"),
        flags=("xla_gpu_enable_cudnn_fmha", "xla_gpu_enable_cudnn_frontend"),
        unknown=("which call it was, where the message prints none",),
        suspects=_calls,
    ),
}

RULE = class_rule(
    code="DNN001",
    slug="convolution-refused",
    title="cuDNN refuses a convolution or an attention",
    class_="cudnn",
    sources=(
        "xla/service/gpu/autotuning/conv_algorithm_picker.cc",
        "xla/stream_executor/cuda/cuda_dnn.cc",
        "jax-ml/jax#13612",
        "jax-ml/jax#20438",
        "openxla/xla#7389",
    ),
    stories=STORIES,
)
