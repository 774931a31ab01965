"""Where a text names a place outside the program: paths and addresses, and who and what is there.

`Places` gives each of them a word to stand for it. Lines are neither added nor taken away. What is
public stays: the folders of the system and of Python, well-known packages, XLA's own sources, the
addresses of public projects. A source file keeps its name and loses its folders, relative ones
too. People, hosts and credentials are the matter of `redact_people` and `redact_secrets`.
"""

import re
from collections.abc import Iterator

from app.report.redact_people import People
from app.report.redact_secrets import Secrets
from app.report.redact_signs import has_sign
from app.report.redact_standins import Words
from app.report.redact_words import PUBLIC_WORDS
from hlo_parser.possessive import compile_pattern

# A part of a path: none of the signs that end one in logs, in HLO or in JSON.
_PART = r"[^\s/\\\"'`<>|:;,(){}\[\]=*?]++"
# Between quotes a path may have spaces; the quotes of JSON within a string are escaped.
_QUOTED = compile_pattern(
    r"(?<=[\"'])(?:/|~[\w.-]*/|[A-Za-z]:[/\\])(?!/)(?:[^\"'\n\\]|\\(?![\"']))*+(?=\\{0,3}[\"'])"
)
# Of `//` the first slash starts nothing; behind a word or a bracket it divides. HLO numbers the
# elements of long tuples: `/*index=5*/f32[8]{0}`.
_POSIX = compile_pattern(rf"/(?<![\w.)\]}}/%&~+*-]/)(?!/)(?:{_PART}/)*+{_PART}/?")
_QUOTED_SIGNS = ('"/', "'/", '"~', "'~", compile_pattern(r":(?<=[\"'][A-Za-z]:)[/\\]"))
_TILDE = compile_pattern(rf"~(?<![\w/~]~)[\w.-]*+/(?:{_PART}/)*+(?:{_PART})?")
_DRIVE = compile_pattern(
    r"(?<![A-Za-z0-9_])[A-Za-z]:(?:\\{1,4}|/)(?![/\s])[^\s\"'`<>|;,(){}\[\]=*?:]*+"
    r"|\\{2,4}(?<![\w\\]\\\\)[\w.-]+\\{1,4}[^\s\"'`<>|;,(){}\[\]=*?:]++"
)
_DRIVE_SIGNS = ("\\\\", compile_pattern(r":(?<=[A-Za-z]:)[/\\](?![/\s])"))
_UNROOTED_HOME = compile_pattern(
    rf"(?<![\w/.-])(?:home|Users)/({_PART})/(?:{_PART}/)*+(?:{_PART})?"
)
_ADDRESS = compile_pattern(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s\"'`<>\\)\]},]++")
# Names of resources of clouds, and of images of containers.
_RESOURCE = compile_pattern(
    r"(?<![\w/.-])(?:arn:[a-z-]{1,16}:[^\s\"'`<>(){},]++"
    r"|projects/[\w-]+/(?:zones|locations|regions|secrets|instances|global)\b[^\s\"'`<>(){},:]*+"
    r"|(?:[a-z0-9-]{1,63}\.)+(?:io|dev|com|net|org|ai|cloud)(?::\d{2,5})?/[^\s\"'`<>(){},]++)"
)
_RESOURCE_SIGNS = (
    *("arn:", "projects/"),
    compile_pattern(r"\.(?:io|dev|com|net|org|ai|cloud)[:/]"),
)
_UNC = compile_pattern(rf"(?<![\w:/.)\]}}*])//(?=[A-Za-z])(?:{_PART}/)++{_PART}")
# The name of a source file as HLO, MLIR and Python's tracebacks quote it, without a root.
_QUOTED_SOURCE = compile_pattern(
    r"((?:source_file=|^\s*+\d++ |\bFile |\bloc\()\\?\")"
    r"(?![/~<]|[A-Za-z]:[\\/])([^\"\n]*?[/\\][^\"\n\\/]++)(?=\\?\")",
    re.M,
)
_QUOTED_SOURCE_SIGNS = (
    *("source_file=", "File ", "loc("),
    compile_pattern(r' "(?<=\d ")'),
    compile_pattern(r' \\"(?<=\d \\")'),
)
_SEPARATOR = r"(?:/|\\{1,2})"
_RELATIVE = compile_pattern(
    rf"(?<![\w/\\.~-])(?:[\w.-]++{_SEPARATOR})++[\w.-]+\.(?:pyi?|pyx|ipynb)(?![\w/\\])"
)
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
# What XLA, Python and public packages write without a root.
_PUBLIC_RELATIVE = compile_pattern(
    r"(?:(?:.*/)?(?:site|dist)-packages/)?(?:" + "|".join(sorted(_PUBLIC_PACKAGES)) + r")/.*"
    r"|(?:external/)?(?:xla|tsl|llvm|mlir|absl|com_google_absl|third_party)/.*|lib/python3.*"
)


class Places:
    """Finds and replaces; `hides_source` takes the names of source files out too.

    `kept_sources` are those that were left without their folders.
    """

    def __init__(self, words: Words, *, hides_source: bool = False) -> None:
        self._words = words
        self._hides_source = hides_source
        self.kept_sources: set[str] = set()
        self._people = People(words)
        self._secrets = Secrets(words)

    def learn(self, text: str) -> None:
        """Note whose names stand in `text`; they are replaced wherever they stand bare."""
        if "/" in text or "\\" in text:
            self._learn_homes(text)
        if "://" in text:
            for found in _ADDRESS.findall(text):
                if not _PUBLIC_ADDRESS.match(found):
                    self._people.learn_address(found)
        self._people.learn(text)

    def _learn_homes(self, text: str) -> None:
        for found in _paths(text):
            home = _HOME.match(_with_slashes(found))
            if home:
                self._people.learn_user(home[1])
        if _is_at_home(text):
            for found in _UNROOTED_HOME.finditer(text):
                self._people.learn_user(found[1])
        if "~" in text:
            for found in _TILDE.findall(text):
                self._people.learn_user(found[1:].partition("/")[0])

    def replace(self, text: str) -> str:
        """The text with words in place of places."""
        if "/" in text or "\\" in text or "arn:" in text:
            text = self._replace_paths(text)
        text = self._people.replace(text)
        text = self._secrets.replace(text)
        if "xla_" in text or "tf_" in text or "jax_" in text:
            text = _PATH_FLAG.sub(self._for_flag, text)
        return text

    def replace_flag(self, name: str, value: str) -> str:
        """The value of a flag: gone where the flag takes a path."""
        if value and _PATH_FLAG_NAME.fullmatch(name):
            return self._words.put("path", value)
        return self._secrets.flag(name, value) or self.replace(value)

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

    def relative(self, path: str) -> str:
        """A source file's path without a root, as it may be shown."""
        plain = _with_slashes(path)
        folder, slash, name = plain.rpartition("/")
        if not slash or _PUBLIC_RELATIVE.fullmatch(plain) or _is_shown(folder, self._words):
            return path
        if not folder.strip("./"):
            return f"{folder}/{self.source_name(name)}"
        return f"{self._words.put('folder', folder)}/{self.source_name(name)}"

    def source_name(self, name: str) -> str:
        """The name of a source file, or a word with its suffix where these are to go."""
        if _DUMP_NAME.fullmatch(name):
            return name
        if not self._hides_source:
            self.kept_sources.add(name)
            return name
        return f"{self._words.put('file', name)}.{name.rpartition('.')[2]}"

    # ---- one match each ------------------------------------------------------------------------

    def _replace_paths(self, text: str) -> str:
        if "://" in text:
            text = _ADDRESS.sub(self._for_address, text)
        if has_sign(text, _RESOURCE_SIGNS):
            text = _RESOURCE.sub(self._for_resource, text)
        if has_sign(text, _QUOTED_SOURCE_SIGNS):
            text = _QUOTED_SOURCE.sub(self._for_quoted_source, text)
        if has_sign(text, _QUOTED_SIGNS):
            text = _QUOTED.sub(self._for_path, text)
        if has_sign(text, _DRIVE_SIGNS):
            text = _DRIVE.sub(self._for_path, text)
        if "~" in text:
            text = _TILDE.sub(self._for_path, text)
        if "//" in text:
            text = _UNC.sub(self._for_path, text)
        text = _POSIX.sub(self._for_path, text)
        if ".py" in text or ".ipynb" in text:
            text = _RELATIVE.sub(lambda match: self.relative(match[0]), text)
        if _is_at_home(text):
            text = _UNROOTED_HOME.sub(self._for_path, text)
        return text

    def _for_path(self, match: re.Match[str]) -> str:
        found = match[0]
        kept = found.rstrip(".$")
        is_fraction = len(kept) < 3 and kept.startswith("/")
        is_tag = kept.rfind("/") == 0 and match.string[match.start() - 1 : match.start()] == "<"
        if is_fraction or is_tag or _is_shown(kept, self._words) or _is_op_name(match):
            return found
        return self.path(kept) + found[len(kept) :]

    def _for_address(self, match: re.Match[str]) -> str:
        if _PUBLIC_ADDRESS.match(match[0]):
            return match[0]
        return self._words.put("address", match[0])

    def _for_resource(self, match: re.Match[str]) -> str:
        is_public = _PUBLIC_ADDRESS.match(f"https://{match[0]}")
        return match[0] if is_public else self._words.put("address", match[0])

    def _for_quoted_source(self, match: re.Match[str]) -> str:
        return match[1] + self.relative(match[2])

    def _for_flag(self, match: re.Match[str]) -> str:
        if _is_shown(match[3], self._words) or match[3] in ("true", "false", "-"):
            return match[0]
        return f"{match[1]}{match[2]}{self._words.put('path', match[3])}"


def _paths(text: str) -> Iterator[str]:
    """The absolute paths in a text that names paths at all."""
    if has_sign(text, _QUOTED_SIGNS):
        yield from _QUOTED.findall(text)
    yield from _POSIX.findall(text)
    if has_sign(text, _DRIVE_SIGNS):
        yield from _DRIVE.findall(text)


def _is_at_home(text: str) -> bool:
    return "home/" in text or "Users/" in text


def _is_op_name(match: re.Match[str]) -> bool:
    # `op_name="/add"`, as jaxlib 0.4 writes what was traced without a name stack.
    before = match.string[max(0, match.start() - 9) : match.start()]
    return before == 'op_name="' and match[0][1:].partition("/")[0] in PUBLIC_WORDS


_SHOWN = compile_pattern(r"/?(?:path|file|address|folder)\d+(?:/.*)?")


def _is_shown(text: str, words: Words) -> bool:
    """It is a word put there before, and not a place that looks like one."""
    return bool(_SHOWN.fullmatch(text)) and words.is_word(text.lstrip("/").partition("/")[0])


def _with_slashes(path: str) -> str:
    return re.sub(r"\\+", "/", path) if "\\" in path else path
