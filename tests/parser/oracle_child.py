"""Child process of `oracle.py`: XLA's own parser, which dies of some texts.

Reads texts from standard input, each after its length as 8 bytes; answers each with one byte, `+`
and the serialized HloModuleProto or `-` and the error, again after its length.
"""

import sys

from jaxlib._hlo import hlo_module_from_text


def main() -> None:
    """Answer until the input ends."""
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
