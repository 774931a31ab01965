"""An hour of odd texts and protos: nothing comes out but our own errors, and nothing takes long.

    python tests/parser/fuzz.py [--rounds 60] [--seconds 60] [--seed 1] [--log FILE]
        [--dumps DIR] [DUMP ...]

Each round has a seed of its own, and four parts share its time: modules that hypothesis draws from
the shape of the grammar, damaged lines of real texts, damaged whole texts, damaged protos. Every
case is read leniently and strictly, asked for all it can say, and printed and read again where it
was understood. A line a round goes to the log, with whatever was found; 1 when that is anything.
The n-th case of a part follows from the seed alone, whatever the speed of the machine.
"""

import argparse
import platform
import random
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from hlo_parser import (  # noqa: E402 -- the path is set above
    HloProtoError,
    HloSyntaxError,
    Interner,
    Module,
    modules_differ,
    parse_module,
    parse_proto,
    print_module,
)
from parser.dump_texts import archives_in, dump_files, is_hlo  # noqa: E402
from parser.form_texts import FRAME, forms  # noqa: E402
from parser.test_grammar_agreement import (  # noqa: E402
    ATTRIBUTES,
    NAMES,
    PIECES,
    lines,
    touch_everything,
)

PROTO = re.compile(r"\.pb$")
TOKEN = re.compile(rb"[A-Za-z_][\w.\-]*+|\d++|\s++|.", re.S)
LARGEST_TEXT = 60_000
# What a case may cost: a start, and so much for each byte. Lark alone needs 1 microsecond a byte.
START_S = 0.3
PER_BYTE_S = 30e-6
SPICE = [piece.encode() for piece in (
    "{", "}", "(", ")", '"', "'", "\\", "\n", "\n\n", "/*", "*/", "//", ",", "=", " ", "%", "#",
    "é", "\0", "\r", "ROOT ", "ENTRY ", "}\n\n", "{\n", "x = ", "[", "]", "-1", "9" * 40, "{...}",
    "s32[]", "?", "<=", "->", ":", "kLoop", "true", "nan(0x1)", "1e999", "T(8,128)", "S(1)", "b(",
    "to_apply=", "calls=", "metadata={", "sharding={", "replica_groups=", "literal=", "...",
)]  # fmt: skip


class Finding(Exception):
    """A case that did what none may do."""


def check_text(text: bytes) -> None:
    """Read a text both ways and ask for everything."""
    is_right = False
    with suppress(HloSyntaxError):
        parse_module(text, strict=True)
        is_right = True
    shown = text.decode("utf-8", "replace")
    with suppress(HloSyntaxError):
        touch_everything(shown)
    try:
        module = parse_module(text)
    except HloSyntaxError:
        return
    print_module(module)
    if is_right:
        check_printing(module)


def check_printing(module: Module) -> None:
    """What a strict reader takes prints as a text that means the same."""
    for form in ("long", "short"):
        printed = print_module(module, form=form)
        again = parse_module(printed)
        if differences := modules_differ(module, again):
            raise Finding(f"printed {form} it differs: {differences[0]}")


def measured(check: Callable[[bytes], None], data: bytes) -> tuple[float, str]:
    """Seconds of processor time, and the end of the trace if it raised anything."""
    start = time.process_time()
    wrong = ""
    try:
        check(data)
    except Exception:
        wrong = traceback.format_exc(limit=-4)
    return time.process_time() - start, wrong


def check_proto(data: bytes) -> None:
    """Read a proto and print what it holds."""
    try:
        module = parse_proto(data, max_bytes=64 << 20)
    except HloProtoError:
        return
    print_module(module)


def damaged(data: bytes, chance: random.Random, *, tokens: bool) -> bytes:
    """A few places cut, doubled, swapped or filled with something else."""
    parts = TOKEN.findall(data) if tokens else [data[i : i + 1] for i in range(len(data))]
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        if not parts:
            break
        at = chance.randrange(len(parts))
        match chance.randrange(6):
            case 0:
                del parts[at : at + chance.choice((1, 1, 2, 5, 40))]
            case 1:
                parts.insert(at, parts[chance.randrange(len(parts))])
            case 2:
                parts[at] = chance.choice(SPICE) if tokens else bytes([chance.randrange(256)])
            case 3:
                other = chance.randrange(len(parts))
                parts[at], parts[other] = parts[other], parts[at]
            case 4:
                parts.insert(at, chance.choice(SPICE) * chance.choice((1, 1, 1, 30, 2000)))
            case _:
                end = at + chance.choice((1, 3, 20))
                parts[at:at] = parts[at:end] * chance.choice((1, 2, 50))
    return b"".join(parts)


@st.composite
def module_texts(draw: st.DrawFn) -> str:
    """Modules of made-up lines, in nearly right frames, some damaged again."""
    header = f"HloModule {draw(NAMES)}{''.join(draw(st.lists(ATTRIBUTES, max_size=3)))}\n"
    blocks: list[str] = []
    for index in range(draw(st.integers(1, 4))):
        entry = "ENTRY " if draw(st.booleans()) else ""
        inside = "\n".join(f"  {line}" for line in draw(st.lists(lines(), max_size=8)))
        signature = draw(st.sampled_from(["", " (a: f32[]) -> f32[]", " ()->()", " ("]))
        tail = draw(st.sampled_from(["", ', execution_thread="x"', "}", " {", "}\n}"]))
        blocks.append(f"{entry}c{index}{signature} {{\n{inside}\n}}{tail}\n")
    text = "\n".join([header, *blocks])
    place = draw(st.integers(0, len(text)))
    return text[:place] + draw(st.lists(PIECES, max_size=3).map("".join)) + text[place:]


class Fuzzer:
    """The material, and what was found so far."""

    def __init__(self, dumps: Sequence[Path]) -> None:
        self.texts: list[bytes] = []
        self.protos: list[bytes] = []
        interner = Interner()
        for dump in dumps:
            for name, data in dump_files(dump):
                if is_hlo(data):
                    parse_module(data, interner=interner)
                    if len(data) <= LARGEST_TEXT:
                        self.texts.append(data)
                elif PROTO.search(name) and len(data) <= LARGEST_TEXT:
                    self.protos.append(data)
        self.texts += [form.text.encode() for form in forms()]
        self.texts = sorted(set(self.texts))
        self.lines = sorted(line.encode() for line in interner.lines.instructions)
        self.findings: list[str] = []
        self.counts: Counter[str] = Counter()
        self.slowest = 0.0

    def case(self, part: str, data: bytes, check: Callable[[bytes], None]) -> None:
        """Run one case, and note an exception or too long a time."""
        self.counts[part] += 1
        took, wrong = measured(check, data)
        allowed = START_S + PER_BYTE_S * len(data)
        if took > allowed:
            # Once it may have been the collector of garbage, or another's load on the caches.
            took = min(took, measured(check, data)[0])
        if wrong:
            self.findings.append(f"{part} {self.counts[part]}: {data[-400:]!r}\n{wrong}")
        self.slowest = max(self.slowest, took / allowed)
        if took > allowed:
            self.findings.append(
                f"{part} {self.counts[part]}: {took:.2f} s for {len(data)} bytes: {data[:400]!r}"
            )

    def drawn(self, number: int, until: float) -> None:
        """Modules of the grammar's shape."""
        stride = 0
        while time.monotonic() < until:
            stride += 1

            @seed(number * 1_000 + stride)
            @settings(
                max_examples=50,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            )
            @given(module_texts())
            def run(text: str) -> None:
                self.case("drawn", text.encode("utf-8", "surrogatepass"), check_text)

            run()

    def round(self, number: int, seconds: float) -> None:
        """One round: a quarter of the time for each part."""
        start = time.monotonic()
        self.drawn(number, start + seconds / 4)
        chance = random.Random(f"{number} lines")
        while time.monotonic() < start + seconds / 2:
            line = damaged(chance.choice(self.lines), chance, tokens=chance.random() < 0.7)
            if chance.random() < 0.5:
                text = FRAME.encode().replace(b"@", line.replace(b"ROOT ", b"").partition(b"= ")[2])
            else:
                text = b"HloModule m\n\nENTRY e {\n  " + line + b"\n}\n\n"
            self.case("lines", text, check_text)
        chance = random.Random(f"{number} texts")
        while time.monotonic() < start + seconds * 3 / 4:
            text = chance.choice(self.texts)
            self.case("texts", damaged(text, chance, tokens=chance.random() < 0.5), check_text)
        chance = random.Random(f"{number} protos")
        while self.protos and time.monotonic() < start + seconds:
            data = damaged(chance.choice(self.protos), chance, tokens=False)
            self.case("protos", data, check_proto)


def round_of(fuzzer: Fuzzer, number: int, seconds: float) -> list[str]:
    """One round; its line for a log, and what was found."""
    fuzzer.counts.clear()
    fuzzer.slowest = 0.0
    before = len(fuzzer.findings)
    fuzzer.round(number, seconds)
    counts = "  ".join(f"{part} {count}" for part, count in sorted(fuzzer.counts.items()))
    found = fuzzer.findings[before:]
    line = f"seed {number}: {counts}  share {fuzzer.slowest:.2f}  findings {len(found)}"
    return [line, *found[:5]]


def default_dumps(more: Path | None = None) -> list[Path]:
    """The samples, and the archives of a folder."""
    dumps = sorted((ROOT / "sample_dumps").glob("*/dump.tar.*"))
    return dumps if more is None else [*dumps, *archives_in(more)]


def main() -> int:
    """Run the rounds; the log is appended to, so that an hour may be had in parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dump", nargs="*", type=Path, help="in place of the samples")
    parser.add_argument("--dumps", metavar="DIR", type=Path, help="archives beside the samples")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    parser.add_argument("--log", type=Path)
    asked = parser.parse_args()
    fuzzer = Fuzzer(asked.dump or default_dumps(asked.dumps))
    head = (
        f"# Python {platform.python_version()}, {len(fuzzer.lines)} lines, "
        f"{len(fuzzer.texts)} texts, {len(fuzzer.protos)} protos, "
        f"rounds of {asked.seconds:g} s; share: the dearest case, of the time it may take"
    )
    say(asked.log, head)
    for number in range(asked.seed, asked.seed + asked.rounds):
        say(asked.log, *round_of(fuzzer, number, asked.seconds))
    return int(bool(fuzzer.findings))


def say(log: Path | None, *said: str) -> None:
    """Print, and keep."""
    text = "\n".join(said) + "\n"
    print(text, end="", flush=True)
    if log is not None:
        with log.open("a", encoding="utf-8") as kept:
            kept.write(text)


if __name__ == "__main__":
    raise SystemExit(main())
