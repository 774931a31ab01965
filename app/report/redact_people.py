"""Names of people and hosts: where a text says that a name is one, and then wherever it stands.

`People` is shown all texts first (`learn`), since a line that names a machine bare is told from any
other word by another line alone: a prompt, a variable of the environment, the prefix that NCCL,
MPI or syslog give their lines. Names that are words of HLO, and those that every machine has, stay.
"""

import ipaddress
import re
from collections.abc import Iterator

from app.report.redact_signs import Sign, has_sign
from app.report.redact_standins import Kind, Words
from app.report.redact_vocabulary import Vocabulary
from app.report.redact_words import PUBLIC_WORDS
from hlo_parser.possessive import compile_pattern

_Signed = tuple[tuple[Sign, ...], re.Pattern[str]]
_NAME = r"[A-Za-z](?:[\w-]|\.(?=\w)){1,62}"
_AT = compile_pattern(r"(?<![\w.%+-])([A-Za-z0-9][\w.%+-]*+)@([A-Za-z0-9](?:[\w-]|\.(?=\w))*+)")
_SET = r"[\"']?\s?[=:]\s?[\"']?"
# Each with signs one of which stands in any text that it finds something in.
_USERS: tuple[_Signed, ...] = (
    (
        ("USER", "LOGNAME"),
        compile_pattern(
            r"(?<![A-Za-z0-9])(?:[A-Z_]{0,24}_)?(?:USER|LOGNAME|USERNAME)"
            rf"{_SET}([A-Za-z0-9][\w.-]*)"
        ),
    ),
    (
        ("user", "whoami", "login", "owner"),
        compile_pattern(rf"(?<![\w.])(?:user|user_?name|whoami|login|owner){_SET}({_NAME})"),
    ),
    (
        ("logged in as ", "uid="),
        compile_pattern(rf"\blogged in as ({_NAME})|\buid=\d{{1,9}}\(({_NAME})\)"),
    ),
)
_HOSTS: tuple[_Signed, ...] = (
    (
        ("HOST", "NODE", "_ADDR", "POD_NAME", "COMPUTERNAME"),
        compile_pattern(
            r"(?<![A-Za-z0-9])(?:[A-Z0-9_]{0,24}_)?"
            r"(?:HOST|HOSTNAME|NODENAME|NODE_NAME|MASTER_ADDR|COORDINATOR_ADDR|COORDINATOR_ADDRESS"
            rf"|POD_NAME|COMPUTERNAME|NODE|NODELIST){_SET}({_NAME})"
        ),
    ),
    (
        ("host", "Host", "nodename", "node_name", "_addr", "pod_name"),
        compile_pattern(
            r"(?<![A-Za-z0-9])(?:[a-z]{1,24}[_-]){0,3}"
            r"(?:[Hh]ost|[Hh]ost_?name|node_?name|coordinator_address|master_addr|pod_name)"
            rf"(?:{_SET}|(?<=--host) |(?<=_address) )({_NAME})"
        ),
    ),
    (
        ("on host ", "on node ", "on machine ", "on worker ", "from ", "host name "),
        compile_pattern(
            rf"(?<![\w.])(?:on|from) (?:host|node|machine|worker) ({_NAME})|\bhost name ({_NAME})"
        ),
    ),
    # NCCL's lines: `node17:1234:1290 [0] NCCL INFO`; Open MPI's: `[node17:12345] *** Process`.
    (("NCCL",), compile_pattern(rf"(?<![\w.:/-])({_NAME}):\d{{1,9}}:\d{{1,9}} \[")),
    (("] ",), compile_pattern(rf"\[(?<![\w\]]\[)({_NAME}):\d{{2,9}}\] ")),
    # syslog: `Nov 30 11:10:00 node17 python[123]:`, or with the time as ISO 8601 writes it.
    (
        (compile_pattern(r":\d\d:\d\d"),),
        compile_pattern(
            r"(?:\b[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
            r"|\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.:+Z-]{0,15})"
            rf" ({_NAME}) [\w./-]{{1,64}}(?:\[\d{{1,9}}\])?: "
        ),
    ),
    (
        ("unning on ", "tarted on ", "aunched on "),
        compile_pattern(
            rf"\b(?:[Rr]unning|[Ss]tarted|[Ll]aunched) on (?=[^\s\d]{{0,62}}[\d-])({_NAME})"
        ),
    ),
    (
        (compile_pattern(r":(?<=[\w.-][\w-]:)\d{4}"),),
        compile_pattern(
            r"\b(?:to|at|on|from|address|server|coordinator|peer|endpoint|is|target|master)"
            rf"[ =:\"'\[(]{{1,3}}({_NAME}):\d{{4,5}}(?![\w:.])"
        ),
    ),
    (
        ("//", "\\\\"),
        compile_pattern(r"(?<![\w:/.])//([A-Za-z][\w.-]*)/|(?<![\w:\\])\\{2,4}([A-Za-z][\w.-]*)\\"),
    ),
)
_RANGE = compile_pattern(r"NODELIST=[\"']?([A-Za-z][\w-]{0,60})\[(\d{1,6})-(\d{1,6})[\],]")
_MOST_OF_A_RANGE = 1024
_ADDRESS_HOST = compile_pattern(
    rf"[A-Za-z][A-Za-z0-9+.-]{{1,15}}://(?:[^\s/@]{{1,128}}@)?/?({_NAME})"
)
# First parts of names of machines that say nothing.
_COMMON_LABELS = frozenset(
    "www docs storage git github gitlab registry images cache proxy mail login node api".split()
)
_TOP = "com|net|org|edu|gov|mil|internal|corp|lan|local|localdomain|intra|intranet|cloud|svc"
_DOMAIN = compile_pattern(
    rf"(?<![\w.%/-])(?:[A-Za-z0-9-]{{1,63}}\.)+(?:{_TOP})(?![\w-]|\.\w)"
    r"|(?<![\w.%/-])(?:[A-Za-z0-9-]{1,63}\.){2,8}(?:io|ai|dev|eu|de|fr|ch|cn|jp|uk|us)(?![\w(-]|\.\w)"
)
_DOMAIN_SIGNS = (compile_pattern(rf"\.(?:{_TOP}|io|ai|dev|eu|de|fr|ch|cn|jp|uk|us)(?![\w-])"),)
# Names that clouds give: `ip-10-20-30-41`, `gke-pool-1-0a1b2c3d-x7k2`, `i-0123456789abcdef0`.
_CLOUD = compile_pattern(
    r"(?<![\w.-])(?:ip(?:-\d{1,3}){4}|(?:gke|aks|eks)-[\w-]{6,62}|i-[0-9a-f]{17})(?![\w-])"
)
_CLOUD_SIGNS = (
    *("gke-", "aks-", "eks-"),
    compile_pattern(r"ip-\d"),
    compile_pattern(r"i-[0-9a-f]{17}"),
)
_IPV4 = compile_pattern(r"(?<![\w.%-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)")
_IPV4_SIGNS = (compile_pattern(r"\.(?<=\d\.)\d{1,3}\.\d{1,3}(?![\w-])"),)
_IPV6 = compile_pattern(
    r"(?<![\w:.%-])(?=[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:)[0-9A-Fa-f:]{3,45}+(?![\w.%-])"
)
_COLONS = compile_pattern(r":[0-9A-Fa-f]{0,4}:")
_MAC = compile_pattern(
    r"(?<![\w:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?![\w:-])"
)
_MAC_SIGNS = (compile_pattern(r"-[0-9A-Fa-f]{2}-[0-9A-Fa-f]{2}-"),)
_SOURCE = compile_pattern(
    r".*\.(?:py|pyx|ipynb|cc|cpp|cu|c|h|hpp|inc|so|txt|log|sh|hlo|json)", re.I
)
_PUBLIC_SITES = compile_pattern(
    r"(?:[\w-]+\.)*(?:github|githubusercontent|python|jax|openxla|nvidia|google|tensorflow|oasis-open"
    r"|schemastore|readthedocs|apache|kernel|json-schema)\.(?:com|org|dev|io)",
    re.I,
)
_ORDINARY_USERS = frozenset(
    "root user users ubuntu debian runner jenkins build builder admin administrator nobody vscode"
    " jovyan coder ec2 ec2-user me you test tester guest default main docker jax dev work".split()
)
# Longer ones nobody has, and no text is searched for.
_LONGEST = 128
_ORDINARY_HOSTS = frozenset(
    "localhost local host hosts none unknown null linux darwin windows device devices gpu gpus tpu"
    " tpus cpu cpus cuda rocm memory node nodes worker step epoch line pid tid rank task process"
    " thread iteration offset address name names the this all each".split()
)


class People:
    """Finds and replaces the names of people and hosts."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._people: dict[str, tuple[Kind, str]] = {}
        self._names = Vocabulary("A-Za-z0-9", before="A-Za-z0-9", folds_case=True)

    def learn(self, text: str) -> None:
        """Note whose names stand in `text`; they are replaced wherever they stand bare."""
        if "@" in text:
            for found in _AT.finditer(text):
                self.learn_user(found[1])
                self.learn_host(found[2])
        for found in _found(_USERS, text):
            self.learn_user(found)
        self._learn_hosts(text)

    def _learn_hosts(self, text: str) -> None:
        for found in _found(_HOSTS, text):
            self.learn_host(found)
        if "[" in text:
            for found in _RANGE.finditer(text):
                self._learn_range(found[1], found[2], found[3])
        if has_sign(text, _DOMAIN_SIGNS):
            for found in _DOMAIN.finditer(text):
                self.learn_host(found[0])

    def _learn_range(self, stem: str, first: str, last: str) -> None:
        """Slurm writes `node[017-020]` for four machines."""
        for number in range(int(first), min(int(last), int(first) + _MOST_OF_A_RANGE) + 1):
            self.learn_host(f"{stem}{number:0{len(first)}}")

    def learn_address(self, address: str) -> None:
        """Note the host in an address that is nobody's public one."""
        found = _ADDRESS_HOST.match(address)
        if found and found[1].partition(".")[0] not in _COMMON_LABELS:
            self.learn_host(found[1])

    def learn_user(self, name: str) -> None:
        """A name that a text says somebody has."""
        name = name.rstrip(".-")
        if _is_telling(name) and name.lower() not in _ORDINARY_USERS:
            self._learn("user", name)

    def learn_host(self, name: str) -> None:
        """A name that a text says a machine has, with or without its domain."""
        name = name.rstrip(".-")
        if not _is_telling(name) or name.lower() in _ORDINARY_HOSTS:
            return
        if _SOURCE.fullmatch(name) or _PUBLIC_SITES.fullmatch(name):
            return
        self._learn("host", name)
        first = name.partition(".")[0]
        if first != name and len(first) > 3 and _is_telling(first) and first not in _COMMON_LABELS:
            self._learn("host", first)

    def _learn(self, kind: Kind, name: str) -> None:
        if name.lower() not in self._people:
            self._people[name.lower()] = (kind, name)
            self._names.add(name)
            self._words.known(kind, name)

    def replace(self, text: str) -> str:
        """The text with words in place of people and hosts."""
        if "@" in text:
            text = _AT.sub(self._for_at, text)
        if has_sign(text, _DOMAIN_SIGNS):
            text = _DOMAIN.sub(self._for_domain, text)
        if has_sign(text, _CLOUD_SIGNS):
            text = _CLOUD.sub(self._for_host, text)
        if has_sign(text, _MAC_SIGNS):
            text = _MAC.sub(self._for_host, text)
        if has_sign(text, _IPV4_SIGNS):
            text = _IPV4.sub(self._for_ip, text)
        if _COLONS.search(text):
            text = _IPV6.sub(self._for_ip, text)
            text = _MAC.sub(self._for_host, text)
        return self._names.replace(text, self._for_learnt)

    def _for_learnt(self, name: str) -> str:
        return self._words.put(*self._people[name.lower()])

    def _for_at(self, match: re.Match[str]) -> str:
        return f"{self._words.put('user', match[1])}@{self._words.put('host', match[2])}"

    def _for_host(self, match: re.Match[str]) -> str:
        return self._words.put("host", match[0])

    def _for_domain(self, match: re.Match[str]) -> str:
        return match[0] if _PUBLIC_SITES.fullmatch(match[0]) else self._for_host(match)

    def _for_ip(self, match: re.Match[str]) -> str:
        try:
            address = ipaddress.ip_address(match[0])
        except ValueError:
            return match[0]
        # jaxlib 0.12.0.1 is a release.
        if address.is_loopback or address.is_unspecified or match[0].startswith("0."):
            return match[0]
        return self._words.put("host", match[0])


def _found(patterns: tuple[_Signed, ...], text: str) -> Iterator[str]:
    """The names that the patterns find."""
    for signs, pattern in patterns:
        if has_sign(text, signs):
            for match in pattern.finditer(text):
                yield next(filter(None, match.groups()))


# `loop_fusion.3`, `all-gather-start.1.clone`: a log may name the `user` or `owner` of a value.
_INSTRUCTION = compile_pattern(r"[\w-]+(?:\.(?:\d+|clone|remat\d*))+")


def _is_telling(name: str) -> bool:
    """It may be replaced wherever it stands: it is no word of HLO, no number, no instruction."""
    if not 3 <= len(name) <= _LONGEST or name.isdigit() or _INSTRUCTION.fullmatch(name):
        return False
    return name.lower().replace("-", "_") not in PUBLIC_WORDS
