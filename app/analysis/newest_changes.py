"""What the newest texts of a module changed: where to look first when a compile stopped.

A pass is compared with the text before it by name and opcode alone; what moved or was renamed
counts as new. Nothing is matched here, as `diff.py` does.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import islice

from app.analysis.opcodes import COLLECTIVES
from app.analysis.suspects import Place
from app.model.dump import ModuleHistory, PassDump
from hlo_parser import Instruction, Module

# They only hand values on.
_PLAIN = frozenset("parameter constant tuple get-tuple-element bitcast".split())
# Words in the name of a pass, and the opcodes that it works on; longer words first. They are whole
# words: a converter, or a conversion to command buffers, is of no opcode.
_WORKS_ON: tuple[tuple[str, tuple[str, ...]], ...] = (
    # xla/service/p2p_schedule_preparation.cc; the scheduler itself works on everything.
    ("latency-hiding-scheduler-preparation", ("send", "recv")),
    ("select-and-scatter", ("select-and-scatter",)),
    ("dynamic-update-slice", ("dynamic-update-slice",)),
    ("collective-permute", ("collective-permute",)),
    ("triangular-solve", ("triangular-solve",)),
    ("ragged-all-to-all", ("ragged-all-to-all",)),
    ("dynamic-slice", ("dynamic-slice",)),
    ("reduce-scatter", ("reduce-scatter",)),
    ("reduce-window", ("reduce-window",)),
    ("rng-bit-generator", ("rng-bit-generator",)),
    ("fp-conversion", ("convert",)),
    ("custom-call", ("custom-call",)),
    ("convolution", ("convolution",)),
    ("all-to-all", ("all-to-all",)),
    ("all-gather", ("all-gather",)),
    ("all-reduce", ("all-reduce",)),
    ("ragged-dot", ("ragged-dot",)),
    ("collective", tuple(sorted(COLLECTIVES))),
    ("conditional", ("conditional",)),
    ("reduction", ("reduce",)),
    ("batchnorm", ("batch-norm-training", "batch-norm-inference", "batch-norm-grad")),
    ("transpose", ("transpose",)),
    ("cholesky", ("cholesky",)),
    ("reshape", ("reshape",)),
    ("windowed-einsum", ("all-gather", "reduce-scatter")),
    ("p2p", ("collective-permute", "send", "recv")),
    ("scatter", ("scatter",)),
    ("gather", ("gather",)),
    ("gemm-fusion", ("fusion",)),
    ("softmax", ("fusion",)),
    ("matmul", ("dot",)),
    ("fusion", ("fusion",)),
    ("while", ("while",)),
    ("convert", ("convert",)),
    ("topk", ("topk", "sort", "custom-call")),
    ("loop", ("while",)),
    ("conv", ("convolution",)),
    ("sort", ("sort",)),
    ("copy", ("copy",)),
    ("gemm", ("dot", "fusion", "custom-call")),
    ("scan", ("scan", "while")),
    ("call", ("call",)),
    ("spmd", ("partition-id",)),
    ("fft", ("fft",)),
    ("dot", ("dot",)),
)
# Texts looked through for each change that is asked for.
_TEXTS = 3
_ASYNC_START = re.compile(r"-start$")


@dataclass(frozen=True, slots=True)
class Change:
    """What the text `dump` holds that the one before does not.

    `counts` are opcodes whose number changed, before and now, the largest change first; `fresh` the
    instructions that the text before does not hold under the same name, in text order.
    """

    dump: PassDump
    counts: tuple[tuple[str, int, int], ...]
    fresh: tuple[Place, ...]


def newest_changes(history: ModuleHistory, most: int = 3) -> tuple[Change, ...]:
    """The newest changes, the newest first, `most` at most; texts that add nothing are none.

    A pipeline writes a text where it begins, which most often is that of the pass before.
    """
    pairs = list(zip(history.dumps[:-1], history.dumps[1:], strict=True))[-_TEXTS * most :]
    changes = (_change(before.module, now) for before, now in reversed(pairs))
    return tuple(islice((c for c in changes if c.counts or c.fresh), most))


def opcodes_of_pass(name: str) -> tuple[str, ...]:
    """The opcodes that a pass works on, as far as its name says so; () for most."""
    rest = name.replace("_", "-")
    found: dict[str, None] = {}
    for words, opcodes in _WORKS_ON:
        rest, count = re.subn(rf"(?<![a-z0-9]){words}s?(?![a-z0-9])", " ", rest)
        if count:
            found.update(dict.fromkeys(opcodes))
    return tuple(found)


def bare_opcode(instruction: Instruction) -> str:
    """The opcode without what says the start of an asynchronous operation; ends keep theirs."""
    return _bare(instruction.opcode)


@cache
def _bare(opcode: str) -> str:
    return _ASYNC_START.sub("", opcode)


def _change(before: Module, now: PassDump) -> Change:
    old = {(i.name, i.opcode) for c in before.computations for i in c.instructions}
    fresh = tuple(
        (computation, instruction)
        for computation in now.module.computations
        for instruction in computation.instructions
        if (instruction.name, instruction.opcode) not in old and instruction.opcode not in _PLAIN
    )
    counts = _counted(now.module)
    former = _counted(before)
    changed = [
        (opcode, former[opcode], counts[opcode])
        for opcode in {*former, *counts}
        if former[opcode] != counts[opcode] and opcode not in _PLAIN
    ]
    changed.sort(key=lambda row: (-abs(row[2] - row[1]), row[0]))
    return Change(now, tuple(changed), fresh)


def _counted(module: Module) -> Counter[str]:
    return Counter(i.opcode for c in module.computations for i in c.instructions)
