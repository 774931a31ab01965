"""What runs inside the disposable child: limits first, then the target, then one last word.

Started by `app.sandbox.handles`, or forked by `app.sandbox.forking`; never imported by others. It
reads its orders as one JSON object from standard input, writes JSON lines to the pipe it was given
(`progress` while it works, then one of `result`, `refused`, `memory`), and leaves a traceback on
standard error where the target failed in a way it did not name.
"""

import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import IO, Any

from app.errors import AppError
from app.sandbox.limits import Limits, apply_limits

FAILED = 70
"""Exit code where the target raised what it should not (sysexits.h, EX_SOFTWARE)."""

_MAX_RESULT_BYTES = 1 << 20


def main(words: int, parent: int) -> int:
    """Run the target that standard input orders; as `obey`."""
    return obey(json.load(sys.stdin), words=words, parent=parent)


def obey(orders: dict[str, Any], *, words: int, parent: int) -> int:
    """Run the ordered target; the exit code is 0 where a last word was sent.

    `words` is the descriptor of the pipe, `parent` the process whose end is that of the child.
    """
    apply_limits(Limits(**orders["limits"]), parent=parent)
    sys.path.extend(orders["paths"])
    with os.fdopen(words, "w", encoding="utf-8") as pipe:
        try:
            module, _, name = orders["target"].partition(":")
            target = getattr(importlib.import_module(module), name)
            last_word = {"result": target(_reporter(pipe), **orders["arguments"])}
        except AppError as error:
            last_word = {"refused": _words_of(error)}
        except MemoryError:
            # The frames that held the memory are gone once the exception is.
            last_word = {"memory": True}
        except Exception:
            traceback.print_exc()
            return FAILED
        line = json.dumps(last_word)
        if len(line) > _MAX_RESULT_BYTES:
            print(f"result of {len(line)} bytes is too large for the pipe", file=sys.stderr)
            return FAILED
        pipe.write(line + "\n")
    return 0


def _reporter(pipe: IO[str]) -> Callable[[str, int, int | None], None]:
    def report(stage: str, done: int, total: int | None) -> None:
        pipe.write(json.dumps({"progress": [stage, done, total]}) + "\n")
        pipe.flush()

    return report


def _words_of(error: AppError) -> dict[str, Any]:
    return {
        "kind": type(error).__name__,
        "cause": error.cause,
        "place": error.place,
        "next_step": error.next_step,
        "code": error.code,
    }


if __name__ == "__main__":
    # Skips the interpreter's tidying up: gigabytes of parsed text need no freeing one by one.
    code = main(int(sys.argv[1]), int(sys.argv[2]))
    sys.stderr.flush()
    os._exit(code)
