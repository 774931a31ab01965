"""Child process of `oracle.py`: XLA's own parser, which dies of some texts.

Reads texts from standard input, each after its length as 8 bytes; answers each with one byte, `+`
and the serialized HloModuleProto or `-` and the error, again after its length.
"""

import importlib
import sys
from collections.abc import Callable
from typing import Any

# Where releases keep it, the newest first; 0.4 and 0.5 had it in the extension itself.
HOMES = ("jaxlib._hlo", "jaxlib._jax", "jaxlib.xla_extension")


def parser_of_jaxlib() -> Callable[[str], Any]:
    """XLA's parser of HLO texts, wherever the installed jaxlib has it."""
    for name in HOMES:
        try:
            return importlib.import_module(name).hlo_module_from_text
        except (ImportError, AttributeError):
            continue
    raise SystemExit("the installed jaxlib has no parser of HLO texts")


def main() -> None:
    """Answer until the input ends."""
    hlo_module_from_text = parser_of_jaxlib()
    while len(head := sys.stdin.buffer.read(8)) == 8:
        text = sys.stdin.buffer.read(int.from_bytes(head, "big"))
        try:
            module = hlo_module_from_text(text.decode())
            sign, answer = b"+", module.as_serialized_hlo_module_proto()
        except (ValueError, RuntimeError) as error:
            sign, answer = b"-", str(error).encode(errors="replace")
        sys.stdout.buffer.write(sign + len(answer).to_bytes(8, "big") + answer)
        sys.stdout.buffer.flush()


main()
