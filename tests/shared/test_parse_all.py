"""Every HLO text of every dump of the shared folder is understood, and as XLA understands it.

Run as a script it lists, for each dump, what was taken as HLO and what was not:

    python tests/shared/test_parse_all.py [DUMP ...]
"""

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root), str(root / "tests")]

from conftest import SHARED
from hlo_parser import HloSyntaxError, Interner, parse_module
from parser.dump_texts import dump_files, hlo_texts, is_hlo
from parser.oracle import Oracle
from parser.test_grammar_agreement import assert_agreement
from shared.oracle_agreement import counts_of, release_of, told

DUMPS = sorted((SHARED / "dumps").glob("*.tar.gz"))
BY_NAME = pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.name.removesuffix(".tar.gz"))

# Texts among a dump's .txt files that are no HLO, by what their names end with.
OTHER_TEXTS = re.compile(
    r"(priority_fusion_dump|thunk_sequence(_after_thunk_passes)?|thunk_metadata|mlir-trace"
    r"|-buffer-assignment|-buffer-assignment-values|-live-range|-memory-usage-report"
    r"|execution_options|hlo_module_config|target_arguments|tpu_comp_env|transfer_stats"
    r"|basic_compiler_metadata)\.txt$"
)


# What strict reading says of texts that XLA printed and refuses itself. Two runs failed of a cycle
# and so have uses before definitions; from 0.11 on compact printing leaves get-tuple-elements out
# that control predecessors still name.
CYCLES = {
    "fail_cycle_nocallinliner__jax0.10.2": "operand wrapped_subtract is defined only later",
    "fail_p2p_cycle_pp__jax0.6.2": (
        "control predecessor collective-permute.4-fwd-recv-done is defined only later"
    ),
}
LEFT_OUT = re.compile(r"control predecessor get-tuple-element[.\w]* is not defined")
OF_COMPACT_RELEASES = re.compile(r"jax0\.(11|12)\.")

# The release that knows what all the others print.
NEWEST = "0.12.0.1"


def kept_counts(release: str) -> str:
    """What XLA's parser of a release says of all dumps."""
    return (Path(__file__).with_name("golden") / f"oracle_{release}.txt").read_text("utf-8")


def refused_by_newest(dump: Path) -> int:
    """How many distinct texts of a dump the newest release refuses."""
    name = re.escape(dump.name.removesuffix(".tar.gz"))
    found = re.search(rf"^{name} .* refused (\d+) ", kept_counts(NEWEST), re.M)
    assert found is not None
    return int(found[1])


@BY_NAME
def test_every_text_is_understood(dump: Path):
    interner = Interner()
    faults: dict[bytes, str] = {}
    for name, text in hlo_texts(dump):
        module = parse_module(text, interner=interner)
        assert module.unparsed == (), name
        assert b"".join(module.pieces) == text, name
        try:
            parse_module(text, strict=True, interner=interner)
        except HloSyntaxError as error:
            faults[text] = error.message
    assert len(faults) == refused_by_newest(dump)
    cycle = CYCLES.get(dump.name.removesuffix(".tar.gz"))
    if cycle is not None:
        assert set(faults.values()) == {cycle}
    elif faults:
        assert OF_COMPACT_RELEASES.search(dump.name)
        assert all(map(LEFT_OUT.fullmatch, faults.values()))


@BY_NAME
def test_every_other_text_is_known_and_refused(dump: Path):
    for name, data in dump_files(dump):
        if name.endswith(".txt") and not is_hlo(data):
            assert OTHER_TEXTS.search(name), f"{name} is neither HLO nor known"
            with pytest.raises(HloSyntaxError):
                parse_module(data)


@pytest.mark.long
@BY_NAME
def test_every_line_means_what_the_grammar_says(dump: Path):
    interner = Interner()
    for _, text in hlo_texts(dump):
        parse_module(text, interner=interner)
    lines = list(interner.lines.instructions)
    assert sum(assert_agreement(line) for line in lines) == len(lines)


@pytest.mark.long
@BY_NAME
def test_xla_understands_the_same(dump: Path):
    release = release_of(sys.executable)
    with Oracle() as oracle:
        counts, differing = counts_of(dump, oracle)
    assert differing == []
    assert counts["alike"] == counts["read"]
    name = dump.name.removesuffix(".tar.gz")
    assert "\n".join(told(name, counts, [])) + "\n" in kept_counts(release)
    assert OF_COMPACT_RELEASES.search(name) or name in CYCLES or not counts["refused"]


def kind(name: str) -> str:
    """A file name without what differs from module to module."""
    base = re.sub(r"\d+", "N", Path(name).name)
    return re.sub(r"^(N\.)?module_N\.[^.]*\.", "", base)[-70:]


def main(paths: list[str]) -> None:
    """Print what each dump holds: HLO texts, their lines and what is not understood; the rest."""
    total: Counter[str] = Counter()
    for dump in [Path(path) for path in paths] or DUMPS:
        taken: Counter[str] = Counter()
        left: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        interner = Interner()
        for name, data in dump_files(dump):
            if not is_hlo(data):
                left[kind(name)] += 1
                continue
            module = parse_module(data, interner=interner)
            taken[kind(name)] += 1
            counts["texts"] += 1
            counts["lines"] += module.line_count
            counts["unparsed"] += len(module.unparsed)
            for gap in module.unparsed:
                print(f"{name}:{gap.span.line}: {gap.reason}: {gap.text}")
        total += counts
        print(f"{dump.name}: {dict(counts)}")
        for title, found in (("HLO", taken), ("not HLO", left)):
            print(f"  {title}:")
            for what, count in sorted(found.items()):
                print(f"    {count:5} {what}")
    print(f"all: {dict(total)}")


if __name__ == "__main__":
    main(sys.argv[1:])
