"""Which line of a Python stack is the user's own, and whether a process died outside of JAX.

Asked are the frames that a log prints. A compiled function that Python calls leaves no frame of its
own, so that what is outside JAX here may still have been in compiled code.
"""

import re
from collections.abc import Iterable

from app.model.dump import CheckFailure, PythonFrame

_PACKAGES = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python\d[\d.]*[/\\]"
    r"|[/\\]Python\d*[/\\]Lib[/\\]"
)
_COMPILES = re.compile(
    r"[/\\](?:jax|jaxlib|jax_plugins|jax_\w+|tensorflow|torch_xla)[/\\]|[/\\]jaxlib\b"
)
_CALLS_BACK = re.compile(r"[/\\]jax[/\\](?:[\w]+[/\\]){0,3}(?:\w*callback|debugging)\.py$")
_NATIVE = re.compile(r"\b(?:xla|mlir|llvm|tsl|stream_executor)::|jaxlib|libtpu")


def own_frame(failure: CheckFailure) -> PythonFrame | None:
    """The innermost frame that is of no installed package and not of Python itself."""
    return own_of(failure.frames)


def own_of(frames: Iterable[PythonFrame]) -> PythonFrame | None:
    """The first of some frames that is of no installed package and not of Python itself."""
    return next((f for f in frames if not is_installed(f)), None)


def is_installed(frame: PythonFrame) -> bool:
    """Whether a frame is of an installed package, of Python's library or of no file."""
    return frame.file.startswith("<") or _PACKAGES.search(frame.file) is not None


def is_of_compiler(frame: PythonFrame) -> bool:
    """Whether a frame is of JAX, or of another program that has XLA compile."""
    return _COMPILES.search(frame.file) is not None


def died_outside_jax(failure: CheckFailure) -> bool:
    """Whether a signal ended the process in a Python thread without any frame of JAX or XLA."""
    return (
        failure.kind == "signal"
        and bool(failure.frames)
        and not any(is_of_compiler(frame) for frame in failure.frames)
        and not any(_NATIVE.search(symbol) for symbol in failure.stack)
    )


def died_in_callback(failure: CheckFailure) -> bool:
    """Whether a signal ended the process in Python code that a compiled program had called."""
    frames = failure.frames
    if failure.kind != "signal" or not frames or is_of_compiler(frames[0]):
        return False
    caller = next((frame for frame in frames if is_of_compiler(frame)), None)
    return caller is not None and _CALLS_BACK.search(caller.file) is not None


def place_of(frame: PythonFrame) -> str:
    """`train.py:12`."""
    return f"{frame.file.replace(chr(92), '/').rpartition('/')[2]}:{frame.line}"
