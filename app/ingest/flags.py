"""XLA flags as they are written: in XLA_FLAGS, on command lines, and in `debug_options`.

Values are kept as written; nothing is said about what a flag means or whether a release knows it.
"""

import re
import shlex
from dataclasses import dataclass

_WORD = re.compile(r"--?(?P<name>xla_[A-Za-z0-9_]+)(?:=(?P<value>.*))?", re.S)
_PROTO_LINE = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*(?::\s*(?P<value>.*)|(?P<block>\{))\s*$")
_SHOWN = 80
_PLAIN = re.compile(r"[^\s\"'\\]*")
_ENTRY = re.compile(r'(key|value)\s*:\s*("(?:[^"\\]|\\.)*"|[^\s}]+)')


def parse_flags(text: str) -> dict[str, str]:
    """The flags in `text`, name without dashes to value as written, `true` when bare.

    The words may be separated by any white space and quoted as a shell takes them; an assignment
    (`XLA_FLAGS="..."`) around them and words that are no XLA flags are passed over. The last of
    several values of one flag counts, as in XLA.
    """
    flags: dict[str, str] = {}
    for word in _words(text):
        # A whole quoted assignment is one word of the shell: XLA_FLAGS='--xla_a=1 --xla_b=2'
        parts = word.partition("=")[2].split() if word.startswith("XLA_FLAGS=") else [word]
        for part in parts:
            if found := _WORD.fullmatch(part):
                value = found["value"]
                # Its place counts, too: a later one under another name wins over it.
                flags.pop(found["name"], None)
                flags[found["name"]] = "true" if value is None else value
    return flags


def remarks_on_flags(text: str) -> tuple[str, ...]:
    """What is to be said of a text given as flags: which of its words `parse_flags` passes over."""
    words = [word for word in _words(text) if not parse_flags(word)]
    others = [word for word in words if word not in ("XLA_FLAGS=", "export")]
    if not others:
        return ()
    shown = " ".join(others)
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
    return (f"flags: no XLA flag, and passed over: {shown}",)


@dataclass(frozen=True, slots=True)
class DumpFlags:
    """XLA_FLAGS with what a dump needs.

    `text` is the whole value, `added` what was not there before; `folder` is where the dump goes,
    None where it goes to standard output.
    """

    text: str
    added: tuple[str, ...]
    folder: str | None


def with_dump_flags(text: str, folder: str) -> DumpFlags:
    """`text` with the flags that make XLA write the text after every pass to `folder`.

    What `text` sets stays as it is, and where it names a folder for dumps that one is used.
    """
    given = parse_flags(text)
    wanted = {
        "xla_dump_to": folder,
        "xla_dump_hlo_as_text": "true",
        "xla_dump_hlo_pass_re": ".*",
    }
    added = tuple(
        f"--{name}={quoted(value)}" for name, value in wanted.items() if name not in given
    )
    target = given.get("xla_dump_to", folder)
    # `-` is standard output (xla/service/dump.cc), as it stands or as an empty name.
    return DumpFlags(
        " ".join([text, *added]).strip(), added, None if target in ("-", "") else target
    )


def quoted(value: str) -> str:
    """`value` as XLA takes it whole: it splits at blanks outside of quotes.

    xla/parse_flags_from_env.cc, ParseArgvFromString: a value may begin with a quote, and within
    double ones a backslash takes what follows as it is (so in 0.4.30 and 0.10.2).
    """
    if _PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# Advice in XLA's own messages, not what the run was given.
_ADVICE = re.compile(
    r"Unknown flags? in|run with envvar"
    r"|[Tt]ry (?:setting|running|adding|using|the)|[Yy]ou can|[Cc]onsider|[Pp]lease"
    r"|[Ss]et(?:ting)? (?:the flag )?--xla|(?:by|with|use|via|see|pass|disable|enable) --xla"
)
_GIVEN = re.compile(r"XLA_FLAGS|LIBTPU_INIT_ARGS|\bpython[\d.]*\b|^\+ |^\$ ")
_IN_TEXT = re.compile(r"--?xla_[A-Za-z0-9_]+(?:=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'\\]*))?")
_LONGEST_LINE = 1 << 16


def flags_in_line(line: str) -> dict[str, str]:
    """The flags that one line of a log says the run was given: an assignment or a command line.

    Flags that a message merely recommends are left out.
    """
    line = line[:_LONGEST_LINE]
    if "xla_" not in line or not _GIVEN.search(line) or _ADVICE.search(line):
        return {}
    return parse_flags(" ".join(_IN_TEXT.findall(line)))


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=False)
    except ValueError:
        # An unclosed quote; XLA itself would take the rest as it stands.
        return text.replace('"', "").replace("'", "").split()


def flags_of_debug_options(text: str) -> dict[str, str]:
    """The flags of a `debug_options` file: a text proto of the values that are not the default.

    Repeated values are joined by commas, as XLA_FLAGS takes them; maps become `key=value` pairs.
    Strings lose their quotes.
    """
    values: dict[str, list[str]] = {}
    block: list[str] = []
    block_name = ""
    for line in text.split("\n"):
        if block_name:
            block.append(line)
            if line.strip() == "}":
                values.setdefault(block_name, []).append(_pair("\n".join(block)))
                block_name = ""
            continue
        found = _PROTO_LINE.match(line)
        if found is None:
            continue
        if found["block"]:
            block_name, block = found["name"], []
        else:
            values.setdefault(found["name"], []).append(_unquoted(found["value"].strip()))
    return {name: ",".join(listed) for name, listed in values.items()}


def _pair(block: str) -> str:
    entries = {found[1]: _unquoted(found[2]) for found in _ENTRY.finditer(block)}
    key, value = entries.get("key"), entries.get("value")
    return f"{key}={value}" if key is not None and value else key or ""


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return value
