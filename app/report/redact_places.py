"""Where a text names a place outside the program: paths, addresses, hosts, people, secrets.

`Places` gives each of them a word to stand for it, the same wherever it appears, so that texts
which were equal stay equal and those which differed stay different. Lines are neither added nor
taken away. What is public stays: the folders of the system and of Python, well-known packages,
XLA's own sources, the addresses of public projects.
"""

import ipaddress
import re
from collections import Counter

from app.report.redact_words import PUBLIC_WORDS
from hlo_parser.possessive import compile_pattern

Kind = str

# A part of a path: none of the signs that end one in logs, in HLO or in JSON.
_PART = r"[^\s/\\\"'`<>|:;,(){}\[\]=*?]++"
# Between quotes a path may have spaces; the quotes of JSON within a string are escaped.
_QUOTED = compile_pattern(
    r"(?<=[\"'])(?:/|~[\w.-]*/|[A-Za-z]:[/\\])(?!/)(?:[^\"'\n\\]|\\(?![\"']))*+(?=\\{0,3}[\"'])"
)
# Of `//` the first slash starts nothing; behind a word or a bracket it divides. HLO numbers the
# elements of long tuples: `/*index=5*/f32[8]{0}`.
_POSIX = compile_pattern(rf"/(?<![\w.)\]}}/%<&~+*-]/)(?!/)(?:{_PART}/)*+{_PART}/?")
_TILDE = compile_pattern(rf"~(?<![\w/~]~)[\w.-]*+/(?:{_PART}/)*+(?:{_PART})?")
_DRIVE = compile_pattern(
    r"(?<![A-Za-z0-9_])[A-Za-z]:(?:\\{1,4}|/)(?![/\s])[^\s\"'`<>|;,(){}\[\]=*?:]*+"
    r"|\\{2,4}(?<![\w\\]\\\\)[\w.-]+\\{1,4}[^\s\"'`<>|;,(){}\[\]=*?:]++"
)
_UNROOTED_HOME = compile_pattern(
    rf"(?<![\w/.-])(?:home|Users)/({_PART})/(?:{_PART}/)*+(?:{_PART})?"
)
_ADDRESS = compile_pattern(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s\"'`<>\\)\]},]++")
_AT = compile_pattern(r"(?<![\w.%+-])([A-Za-z0-9][\w.%+-]*+)@([A-Za-z0-9](?:[\w-]|\.(?=\w))*+)")
_SECRET = compile_pattern(
    r"(?<![A-Za-z0-9])(?:ghp|gho|ghs|ghu|github_pat|glpat|hf|sk|xox[abpr])[_-][A-Za-z0-9_-]{16,}+"
    r"|(?<![A-Za-z0-9])A(?:KI|SI)A[0-9A-Z]{16}(?![0-9A-Z])"
    r"|(?<![\w-])eyJ[\w-]{8,}+\.[\w-]+(?:\.[\w-]+)?"
    r"|(?<=earer )[A-Za-z0-9._~+/=-]{12,}+"
)
_NAMED_SECRET = compile_pattern(
    r"((?<![A-Za-z0-9])[A-Z0-9_]{0,64}(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_KEY)"
    r"[A-Z0-9_]{0,64}[\"']?\s?[=:]\s?[\"']?)([^\s\"',;]+)"
    r"|((?:password|passwd|api_key|secret_key|access_key|secret)[\"']?\s?[=:]\s?[\"']?)"
    r"([^\s\"',;(){}]+)"
)
_NAMED_USER = compile_pattern(
    r"(?<![A-Za-z0-9_])(?:USER|LOGNAME|USERNAME)\s?[=:]\s?[\"']?([\w.-]+)"
)
_NAMED_HOST = compile_pattern(
    r"(?<![A-Za-z0-9_])(?:HOSTNAME|[Hh]ost_?name|host name)\s?[=:]\s?[\"']?([A-Za-z0-9][\w.-]*\w)"
    r"|(?<![\w.])on host ([A-Za-z0-9][\w.-]*\w)"
)
_TOP = "com|net|org|edu|gov|mil|internal|corp|lan|local|localdomain|intra|intranet|cloud|svc"
_DOMAIN = compile_pattern(rf"(?<![\w.%/-])(?:[A-Za-z0-9-]{{1,63}}\.)+(?:{_TOP})(?![\w-]|\.\w)")
_SECRET_SIGNS = tuple(
    "ghp gho ghs ghu github_pat glpat hf_ hf- sk- sk_ xox AKIA ASIA eyJ earer".split()
)
_NAMED_SECRET_SIGNS = tuple(
    "TOKEN SECRET PASSW CREDENTIAL KEY passw api_key secret access_key".split()
)
_DOMAIN_SIGNS = tuple(f".{top}" for top in _TOP.split("|"))
_IPV4 = compile_pattern(r"(?<![\w.%-])\d{1,3}(?:\.\d{1,3}){3}(?![\w-]|\.\d)")
_IPV6 = compile_pattern(
    r"(?<![\w:.%-])(?=[0-9A-Fa-f:]*:[0-9A-Fa-f:]*:)[0-9A-Fa-f:]{3,45}+(?![\w.%-])"
)
_COLONS = compile_pattern(r":[0-9A-Fa-f]{0,4}:")
_MAC = compile_pattern(r"(?<![\w:-])[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}(?![\w:-])")
_PATH_FLAG = compile_pattern(
    r"((?<![A-Za-z0-9])(?:xla|tf|jax)_[a-z0-9_]*"
    r"(?:_to|_dir|_directory|_path|_paths|_file|_files|_cache|_uri|_url)"
    r"(?:\s?[=:]\s?))([\"']?)([^\s\"',;]+)"
)
_PATH_FLAG_NAME = compile_pattern(r"\w*(?:_to|_dir|_directory|_path|_paths|_file|_files|_cache)")

_SYSTEM = compile_pattern(
    r"/(?:usr/(?:lib|lib64|include|bin|share|local/cuda[\w.-]*|local/lib/python[\d.]+(?!.*-packages))"
    r"|lib|lib64|proc|sys|dev|bin)(?:/|$)"
)
_PACKAGES = compile_pattern(r"^.*?/((?:site|dist)-packages/([\w-]+)(?:\.py$|/.*))$")
_PUBLIC_PACKAGES = frozenset(
    "jax jaxlib flax optax orbax haiku equinox chex numpy scipy torch torch_xla tensorflow pytest"
    " _pytest IPython ipykernel ml_dtypes absl etils maxtext praxis paxml levanter keras".split()
)
_XLA_SOURCE = compile_pattern(
    r"^.*?/((?:external/)?(?:xla|tensorflow|tsl|llvm|mlir|absl|com_google_absl|jaxlib)/.+"
    r"\.(?:cc|cpp|h|hpp|cu|inc))$"
)
_PYTHON = compile_pattern(r"^.*/(lib/python3[\d.]*/(?!.*-packages)[\w./-]+\.py)$")
_SOURCE_NAME = compile_pattern(r"[^/\\]+\.(?:py|pyi|pyx|ipynb|cc|cpp|cu|h)")
_DUMP_NAME = compile_pattern(r"module_\d+(?:\.[^/\\]+)?")
_HOME = compile_pattern(r"(?:^|.*/)(?:home|Users|users)/([^/]+)(?:/|$)")
_PUBLIC_ADDRESS = compile_pattern(
    r"https?://(?:(?:www\.)?github\.com/(?:openxla|jax-ml|google|google-deepmind|tensorflow|llvm|"
    r"NVIDIA|ROCm|pytorch)/|docs\.jax\.dev|jax\.readthedocs\.io|openxla\.org|docs\.nvidia\.com|"
    r"docs\.python\.org|docs\.oasis-open\.org|json\.schemastore\.org)"
)
_ORDINARY_USERS = frozenset(
    "root user users ubuntu debian runner jenkins build builder admin administrator nobody vscode"
    " jovyan coder ec2 ec2-user me you test tester guest default main docker jax dev work".split()
)
_ORDINARY_HOSTS = frozenset(("localhost", "local", "host", "none", "unknown"))


class Words:
    """What stands for what, by kind, and how often it was put there."""

    def __init__(self) -> None:
        self.shown: dict[tuple[Kind, str], str] = {}
        self.used: Counter[tuple[Kind, str]] = Counter()
        self._last: Counter[Kind] = Counter()
        self._words: set[str] = set()

    def known(self, kind: Kind, original: str) -> str:
        """The word for `original`, without counting it as put anywhere."""
        word = self.shown.get((kind, original))
        if word is None:
            self._last[kind] += 1
            word = self.shown[kind, original] = f"{kind}{self._last[kind]}"
            self._words.add(word)
        return word

    def is_word(self, text: str) -> bool:
        """It stands for something."""
        return text in self._words

    def put(self, kind: Kind, original: str) -> str:
        """The word for `original`, which goes into a text now."""
        self.used[kind, original] += 1
        return self.known(kind, original)

    def note(self, kind: Kind, original: str, shown: str) -> str:
        """Count that `shown`, which is no word of ours, goes into a text for `original`."""
        self.used[kind, original] += 1
        self.shown[kind, original] = shown
        return shown


class Places:
    """Finds and replaces; `hides_source` takes the names of source files out too.

    `kept_sources` are those that were left without their folders.
    """

    def __init__(self, words: Words, *, hides_source: bool = False) -> None:
        self._words = words
        self._hides_source = hides_source
        self.kept_sources: set[str] = set()
        self._people: dict[str, tuple[Kind, str]] = {}
        self._pattern: re.Pattern[str] | None = None

    def learn(self, text: str) -> None:
        """Note whose names stand in `text`; they are replaced wherever they stand bare."""
        if "/" in text or "\\" in text:
            for found in (*_QUOTED.findall(text), *_POSIX.findall(text), *_DRIVE.findall(text)):
                self._learn_home(_with_slashes(found))
            for found in _UNROOTED_HOME.finditer(text):
                self._learn_user(found[1])
        if "~" in text:
            for found in _TILDE.findall(text):
                self._learn_user(found[1:].partition("/")[0])
        if "@" in text:
            for found in _AT.finditer(text):
                self._learn_user(found[1])
                self._learn_host(found[2])
        self._learn_named(text)

    def _learn_named(self, text: str) -> None:
        if "USER" in text or "LOGNAME" in text:
            for found in _NAMED_USER.finditer(text):
                self._learn_user(found[1])
        if "ost" in text or "HOSTNAME" in text:
            for found in _NAMED_HOST.finditer(text):
                self._learn_host(found[1] or found[2])
        if any(sign in text for sign in _DOMAIN_SIGNS):
            for found in _DOMAIN.finditer(text):
                self._learn_host(found[0])

    def replace(self, text: str) -> str:
        """The text with words in place of places."""
        if "/" in text or "\\" in text:
            text = self._replace_paths(text)
        if "@" in text:
            text = _AT.sub(self._for_at, text)
        text = self._replace_secrets(text)
        text = self._replace_hosts(text)
        if "xla_" in text or "tf_" in text or "jax_" in text:
            text = _PATH_FLAG.sub(self._for_flag, text)
        return self._replace_people(text)

    def _replace_hosts(self, text: str) -> str:
        if any(sign in text for sign in _DOMAIN_SIGNS):
            text = _DOMAIN.sub(self._for_host, text)
        if "." in text:
            text = _IPV4.sub(self._for_ip, text)
        if _COLONS.search(text):
            text = _IPV6.sub(self._for_ip, text)
            text = _MAC.sub(self._for_host, text)
        return text

    def replace_flag(self, name: str, value: str) -> str:
        """The value of a flag: gone where the flag takes a path."""
        if value and _PATH_FLAG_NAME.fullmatch(name):
            return self._words.put("path", value)
        return self.replace(value)

    def path(self, path: str) -> str:
        """A path as it may be shown; `path` is absolute, or in somebody's home."""
        plain = _with_slashes(path)
        if _SYSTEM.match(plain):
            return path
        for pattern in (_XLA_SOURCE, _PYTHON, _PACKAGES):
            public = pattern.match(plain)
            if public and (pattern is not _PACKAGES or public[2] in _PUBLIC_PACKAGES):
                head = plain[: public.start(1)]
                return f"/{self._words.put('path', head)}/{public[1]}"
        folder, _, name = plain.rpartition("/")
        if name and (_DUMP_NAME.fullmatch(name) or _SOURCE_NAME.fullmatch(name)):
            return f"/{self._words.put('path', folder)}/{self.source_name(name)}"
        return f"/{self._words.put('path', plain.rstrip('/') or plain)}"

    def source_name(self, name: str) -> str:
        """The name of a source file, or a word with its suffix where these are to go."""
        if _DUMP_NAME.fullmatch(name):
            return name
        if not self._hides_source:
            self.kept_sources.add(name)
            return name
        return f"{self._words.put('file', name)}.{name.rpartition('.')[2]}"

    # ---- people ------------------------------------------------------------------------------

    def _learn_home(self, path: str) -> None:
        home = _HOME.match(path)
        if home:
            self._learn_user(home[1])

    def _learn_user(self, name: str) -> None:
        if _is_telling(name) and name.lower() not in _ORDINARY_USERS:
            self._learn_person("user", name)

    def _learn_host(self, name: str) -> None:
        if _is_telling(name) and name.lower() not in _ORDINARY_HOSTS:
            self._learn_person("host", name)
            first = name.partition(".")[0]
            if first != name and len(first) > 3 and _is_telling(first):
                self._learn_person("host", first)

    def _learn_person(self, kind: Kind, name: str) -> None:
        if name.lower() not in self._people:
            self._people[name.lower()] = (kind, name)
            self._pattern = None
            self._words.known(kind, name)

    def _replace_people(self, text: str) -> str:
        if not self._people:
            return text
        lower = text.lower()
        if not any(name in lower for name in self._people):
            return text
        if self._pattern is None:
            longest_first = sorted(self._people, key=len, reverse=True)
            alternatives = "|".join(map(re.escape, longest_first))
            self._pattern = compile_pattern(
                rf"(?<![A-Za-z0-9])(?:{alternatives})(?![A-Za-z0-9])", re.IGNORECASE
            )
        return self._pattern.sub(self._for_person, text)

    def _for_person(self, match: re.Match[str]) -> str:
        known = self._people.get(match[0].lower())
        return self._words.put(*known) if known else match[0]

    # ---- one match each ------------------------------------------------------------------------

    def _replace_paths(self, text: str) -> str:
        if "://" in text:
            text = _ADDRESS.sub(self._for_address, text)
        text = _QUOTED.sub(self._for_path, text)
        if "\\" in text or ":/" in text:
            text = _DRIVE.sub(self._for_path, text)
        if "~" in text:
            text = _TILDE.sub(self._for_path, text)
        text = _POSIX.sub(self._for_path, text)
        if "home/" in text or "Users/" in text:
            text = _UNROOTED_HOME.sub(self._for_path, text)
        return text

    def _for_path(self, match: re.Match[str]) -> str:
        found = match[0]
        kept = found.rstrip(".$")
        is_fraction = len(kept) < 3 and kept.startswith("/")
        if is_fraction or _is_shown(kept, self._words) or _is_op_name(match):
            return found
        return self.path(kept) + found[len(kept) :]

    def _for_address(self, match: re.Match[str]) -> str:
        if _PUBLIC_ADDRESS.match(match[0]):
            return match[0]
        return self._words.put("address", match[0])

    def _for_at(self, match: re.Match[str]) -> str:
        return f"{self._words.put('user', match[1])}@{self._words.put('host', match[2])}"

    def _for_host(self, match: re.Match[str]) -> str:
        return self._words.put("host", match[0])

    def _for_ip(self, match: re.Match[str]) -> str:
        try:
            address = ipaddress.ip_address(match[0])
        except ValueError:
            return match[0]
        if address.is_loopback or address.is_unspecified:
            return match[0]
        return self._words.put("host", match[0])

    def _for_flag(self, match: re.Match[str]) -> str:
        if _is_shown(match[3], self._words) or match[3] in ("true", "false", "-"):
            return match[0]
        return f"{match[1]}{match[2]}{self._words.put('path', match[3])}"

    def _replace_secrets(self, text: str) -> str:
        if any(sign in text for sign in _SECRET_SIGNS):
            text = _SECRET.sub(lambda match: self._words.put("secret", match[0]), text)
        if any(sign in text for sign in _NAMED_SECRET_SIGNS):
            text = _NAMED_SECRET.sub(self._for_named_secret, text)
        return text

    def _for_named_secret(self, match: re.Match[str]) -> str:
        head, value = (match[1], match[2]) if match[1] else (match[3], match[4])
        return f"{head}{self._words.put('secret', value)}"


def _is_op_name(match: re.Match[str]) -> bool:
    # `op_name="/add"`, as jaxlib 0.4 writes what was traced without a name stack.
    before = match.string[max(0, match.start() - 9) : match.start()]
    return before == 'op_name="' and match[0][1:].partition("/")[0] in PUBLIC_WORDS


def _is_telling(name: str) -> bool:
    """It may be replaced wherever it stands: it is neither a word of HLO nor a number."""
    return len(name) > 2 and not name.isdigit() and name.lower() not in PUBLIC_WORDS


_SHOWN = compile_pattern(r"/?(?:path|file|address|folder)\d+(?:/.*)?")


def _is_shown(text: str, words: Words) -> bool:
    """It is a word put there before, and not a place that looks like one."""
    return bool(_SHOWN.fullmatch(text)) and words.is_word(text.lstrip("/").partition("/")[0])


def _with_slashes(path: str) -> str:
    return re.sub(r"\\+", "/", path) if "\\" in path else path
