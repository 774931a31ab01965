"""Logs of any size, each of one kind of line that a log may consist of.

Given a kind and a size, the pieces of such a log come out, the same ones every time.
"""

import random
from collections.abc import Callable, Iterator

# How many lines stand before a kind begins anew with other numbers and names.
_ROUND = 20_000
# No word of any kind has these letters.
_OF_NAMES = "bdghjpqsx"
_WORDS = "loss step grad norm lr tokens sec eval batch epoch model save shard mesh queue ok".split()
_HLO = (
    "%{op}.{n} = f32[8,{d},4096]{{2,1,0}} {op}(f32[{d},4096]{{1,0}} %fusion.{m}, s32[] %add.{k}), "
    'metadata={{op_name="jit(train)/jit(main)/while/body/{op}" source_file="/home/me/job/train.py" '
    "source_line={k}}}"
)
_OPS = "all-gather all-reduce dynamic-slice dot fusion reduce-scatter while tuple add".split()

Line = Callable[[random.Random, int], str]


def _program(chance: random.Random, n: int) -> str:
    words = " ".join(f"{word}={chance.random():.5f}" for word in chance.sample(_WORDS, 5))
    return (
        f"2025-03-01 12:{n // 60 % 60:02}:{n % 60:02},{n % 1000:03} INFO trainer: step {n} {words}"
    )


def _verbose(chance: random.Random, n: int) -> str:
    op = chance.choice(_OPS)
    numbers = {k: chance.randrange(10**5) for k in "nmkd"}
    return (
        f"2025-03-01 12:00:{n % 60:02}.{n % 10**6:06}: I external/xla/xla/service/"
        f"collective_pipeliner.cc:{chance.choice((2453, 2456, 825, 1017))}] "
        + _HLO.format(op=op, **numbers)
    )


_TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/home/me/job/train.py", line {k}, in <module>',
    "    main(config, seed={k})",
    '  File "/home/me/job/train.py", line {k}, in main',
    "    state = train_step(state, batch)",
    "            ^^^^^^^^^^^^^^^^^^^^^^^^",
    '  File "/opt/venv/lib/python3.11/site-packages/jax/_src/pjit.py", line {k}, in cache_miss',
    "    out_flat, out_tree, args_flat, jaxpr = _python_pjit_helper(fun, jit_info, *args)",
    "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: tensor {k} of step {k} was not ready: lost",
    "",
    "The above exception was the direct cause of the following exception:",
    "",
)


def _tracebacks(chance: random.Random, n: int) -> str:
    rank, place = n % 64, n // 64 % len(_TRACEBACK)
    return f"[rank{rank}]: " + _TRACEBACK[place].format(k=chance.randrange(10**4))


def _rendezvous(chance: random.Random, n: int) -> str:
    thread, op = chance.randrange(64), chance.choice(_OPS)
    return (
        f"2025-03-01 12:00:{n % 60:02}.{n % 10**6:06}: E external/xla/xla/service/"
        "rendezvous.cc:38] "
        f"This thread has been waiting for `{op} RunId={n}; op={chance.randrange(10**4)}` for "
        f"{20 * (n // 64)} seconds and may be stuck. Expected 64 threads to join the rendezvous, "
        f"but only {thread} of them arrived on time."
    )


def _letters(chance: random.Random) -> str:
    return "".join(chance.choices(_OF_NAMES, k=8))


def _processes(chance: random.Random, n: int) -> str:
    """A message of a process that was not heard before."""
    return f"worker-{_letters(chance)} | RuntimeError: INTERNAL: no {n} in {_letters(chance)}"


def _warnings(chance: random.Random, n: int) -> str:
    return (
        f"W0301 12:00:{n % 60:02}.{n % 10**6:06} 7 {_letters(chance)}.cc:{n % 900}] Involuntary "
        f"full rematerialization of %{_letters(chance)}.{n}"
    )


KINDS: dict[str, Line | None] = {
    "program": _program,
    "verbose": _verbose,
    "tracebacks": _tracebacks,
    "one_line": None,
    "rendezvous": _rendezvous,
    "processes": _processes,
    "warnings": _warnings,
}


def pieces_of(kind: str, size: int) -> Iterator[bytes]:
    """The log of a kind, at least `size` bytes long, in pieces of some megabytes."""
    line = KINDS[kind]
    if line is None:
        yield from _endless(size)
        return
    chance = random.Random(kind)
    # To write each line anew would take longer than to read it.
    piece = "".join(line(chance, n) + "\n" for n in range(_ROUND)).encode()
    while size > 0:
        size -= len(piece)
        yield piece
        piece = piece.translate(_others(chance, kind))


def _others(chance: random.Random, kind: str) -> bytes:
    """Other digits for all digits, and other letters for those of names."""
    table = bytearray(range(256))
    for alike in ("0123456789", *((_OF_NAMES,) if kind in ("processes", "warnings") else ())):
        shuffled = "".join(chance.sample(alike, len(alike)))
        for letter, other in zip(alike, shuffled, strict=True):
            table[ord(letter)] = ord(other)
    return bytes(table)


def _endless(size: int) -> Iterator[bytes]:
    yield b"2025-03-01 12:00:00.000000: I external/xla/xla/service/collective_pipeliner.cc:2456] "
    chance = random.Random("one_line")
    piece = " ".join(_verbose(chance, n) for n in range(_ROUND)).encode()
    for _ in range(size // len(piece) + 1):
        yield piece
