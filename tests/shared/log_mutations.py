"""Rewrites the lines of a failure as another run, release or job launcher would have printed them.

What changes: names of instructions, modules, kernels and targets, numbers, paths, line numbers and
the prefixes of loggers, Python and launchers. What stays is what says which failure it is.
"""

import random
import re
from collections.abc import Callable

Style = Callable[[str, random.Random], str]

PATHS = (
    "external/xla/xla/service/",
    "external/org_tensorflow/tensorflow/compiler/xla/hlo/transforms/simplifiers/",
    "external/local_xla/xla/backends/gpu/transforms/",
    "external/xla++third_party_ext+/xla/hlo/ir/",
    "xla/",
    "",
)
LAUNCHERS = ("", "", "[rank3] ", "(train pid=4711) ", "worker-0 | ", "[1,2]<stderr>: ")
EXCEPTIONS = (
    "jaxlib.xla_extension.XlaRuntimeError",
    "jaxlib._jax.XlaRuntimeError",
    "jax.errors.JaxRuntimeError",
)
HEADER = re.compile(
    r"^(?:\d{4}-\d\d-\d\d \S+ (?P<a>[IWEF]) |(?P<b>[IWEF])\d{4} \S+ +\d+ |(?P<c>[IWEF]) )?"
    r"(?:\.\.\. )?(?P<path>[\w./+\-]*?)(?P<file>\w+\.(?:cc|h)):(?P<line>\d+)\] ?"
)
PLACE = re.compile(r"(?P<path>[\w./+\-]*/)?(?P<file>\w+\.(?:cc|h|cu)):(?P<line>\d+)")
NAME = re.compile(r"%[A-Za-z_][\w\-]*(?:\.[\w\-]+)*")
NAMED = re.compile(
    r"(?P<before>Entry function '|compiling fusion |tracing scope: |hlo_module=|\[Compiling module "
    r"|HloInstruction '|instruction \(\"|custom call to (?!xla)|source_file=\"|\(displaying)"
    r"(?P<name>[\w.\-/]+)"
)
NUMBER = re.compile(r"(?<![\w.$])\d+(?:\.\d+)?(?=[^\w.]|$|\.\s|[GMK]iB)")
EXCEPTION = re.compile(r"jaxlib\.[\w.]*XlaRuntimeError|jax\.errors\.JaxRuntimeError")


def mutated(lines: list[str], seed: int) -> list[str]:
    """The lines as another run would have printed them; equal for equal seeds."""
    chance = random.Random(seed)
    names: dict[str, str] = {}
    launcher = chance.choice(LAUNCHERS)
    style = chance.choice((_tsl, _absl, _early_absl, _letter))
    return [launcher + _line(line, chance, names, style) for line in lines]


def _line(line: str, chance: random.Random, names: dict[str, str], style: Style) -> str:
    header = HEADER.match(line)
    rest = line[header.end() :] if header else line
    rest = EXCEPTION.sub(lambda _: chance.choice(EXCEPTIONS), rest)
    rest = NAME.sub(lambda m: "%" + _renamed(m[0][1:], chance, names), rest)
    rest = NAMED.sub(lambda m: m["before"] + _renamed(m["name"], chance, names), rest)
    rest = PLACE.sub(lambda m: _placed(m["path"] or "", m["file"], chance), rest)
    rest = NUMBER.sub(lambda m: _number(m[0], chance), rest)
    if header is None:
        return rest
    place = f"{_path(chance)}{header['file']}:{chance.randrange(20, 5000)}] "
    severity = header["a"] or header["b"] or header["c"]
    return (style(severity, chance) if severity else "") + place + rest


def _tsl(severity: str, chance: random.Random) -> str:
    return f"2025-0{chance.randrange(1, 9)}-11 12:57:35.{chance.randrange(10**6):06}: {severity} "


def _absl(severity: str, chance: random.Random) -> str:
    return f"{severity}0{chance.randrange(1, 9)}12 01:02:03.456789 {chance.randrange(100, 10**6)} "


def _early_absl(severity: str, chance: random.Random) -> str:
    return f"{severity}0000 00:00:17{chance.randrange(10**8):08}.312 {chance.randrange(10**5)} "


def _letter(severity: str, chance: random.Random) -> str:
    return f"{severity} "


def _path(chance: random.Random) -> str:
    return chance.choice(PATHS)


def _placed(path: str, file: str, chance: random.Random) -> str:
    return f"{_path(chance) if path else ''}{file}:{chance.randrange(20, 5000)}"


def _renamed(name: str, chance: random.Random, names: dict[str, str]) -> str:
    if name not in names:
        word = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6))
        names[name] = f"{word}.{chance.randrange(1, 999)}"
    return names[name]


def _number(number: str, chance: random.Random) -> str:
    return number if len(number) < 2 and chance.random() < 0.5 else str(chance.randrange(2, 9999))
