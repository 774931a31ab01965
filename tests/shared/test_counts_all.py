"""Collectives and asynchronous pairs of every pass of every dump, counted by XLA's own parser too.

What jaxlib's parser refuses is counted over raw lines, and how many texts that were is told.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

from app.analysis.async_pairs import find_async_pairs
from app.analysis.fused_collectives import is_scattered
from app.analysis.history import count_opcodes
from app.analysis.opcodes import COLLECTIVES
from conftest import SHARED
from hlo_parser import Interner, parse_module
from parser.dump_texts import hlo_texts
from parser.oracle import Oracle

DUMPS = sorted((SHARED / "dumps").glob("*.tar.gz"))

_OPCODE = re.compile(
    rb"^ +(?:ROOT )?%?[\w.\-]+ = (?:\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\)|\S+)"
    rb" ([a-z][\w\-]*)\(",
    re.M,
)
# A fusion that begins one says -1.
_GOES_ON = re.compile(rb'"flag_start":"\d')
_TRANSFERS = ("send", "recv")


def counted_by_xla(oracle: Oracle, text: bytes) -> Counter[str] | None:
    facts = oracle.read(text)
    if isinstance(facts, str):
        return None
    bodies = facts.computations.values()
    return Counter(made.opcode for body in bodies for made in body.instructions.values())


def counted_in_lines(text: bytes) -> Counter[str]:
    return Counter(found.decode() for found in _OPCODE.findall(text))


def collectives_of(opcodes: Counter[str], text: bytes) -> Counter[str]:
    """Collectives begun; what goes to the host, or goes on inside a fusion of libtpu, is none."""
    found = Counter({name: opcodes[name] + opcodes[f"{name}-start"] for name in COLLECTIVES})
    for line in text.splitlines():
        if b"is_host_transfer=true" in line or _GOES_ON.search(line):
            name = next(iter(_OPCODE.findall(line)), b"").decode().removesuffix("-start")
            found[name] -= name in COLLECTIVES
    return +found


def starts_of(opcodes: Counter[str], text: bytes) -> int:
    begun = sum(n for name, n in opcodes.items() if name.endswith("-start") or name in _TRANSFERS)
    return begun + text.count(b'custom_call_target="AsyncCollectiveStart"')


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.name.removesuffix(".tar.gz"))
def test_counts_are_those_of_xla(dump: Path) -> None:
    interner = Interner()
    told: Counter[str] = Counter()
    with Oracle() as oracle:
        for text, name in {text: name for name, text in hlo_texts(dump)}.items():
            module = parse_module(text, interner=interner)
            opcodes = counted_by_xla(oracle, text)
            told["texts"] += 1
            if opcodes is None:
                told["in lines"] += 1
                opcodes = counted_in_lines(text)
            counts: Counter[str] = Counter()
            for computation in module.computations:
                counts += count_opcodes(module, computation)
                # What we infer, and XLA prints otherwise.
                scattered = [is_scattered(module, computation, i) for i in computation.instructions]
                counts["all-reduce"] += sum(scattered)
                counts["reduce-scatter"] -= sum(scattered)
            ours = Counter({key: n for key, n in counts.items() if key in COLLECTIVES})
            assert ours == collectives_of(opcodes, text), name
            told["collectives"] += ours.total()
            pairs = find_async_pairs(module)
            assert len(pairs) == starts_of(opcodes, text), name
            told["starts"] += len(pairs)
            open_ = [(pair.computation, pair.start) for pair in pairs if pair.done is None]
            assert open_ == [], name
    print(dump.name, dict(told))
