"""Names that people chose in their program: of functions, layers, parameters, source files.

They stand in every `op_name`, in the table of functions, in the name of the module, and XLA makes
names of computations of them. A name that is a word of HLO or of JAX says nothing and stays.
"""

import re

from app.report.redact_standins import Words
from app.report.redact_words import PUBLIC_WORDS
from hlo_parser.possessive import compile_pattern

_OP_NAME = compile_pattern(r'\bop_name="((?:[^"\\\n]++|\\[^\n])*+)"')
_IDENTIFIER = compile_pattern(r"[A-Za-z_]\w*")
_FUNCTIONS = compile_pattern(r"^FunctionNames\n((?:\d++ [^\n]*+\n)++)", re.M)
_FUNCTION = compile_pattern(r'^\d++ "([^"\n]*+)"', re.M)
# The axes of a mesh in Shardy's attributes: `<["fsdp"=4]>`, `[{"fsdp"}]`; XLA escapes quotes.
_AXIS = compile_pattern(r'(?<=[\[{, ])\\?"([A-Za-z_]\w*)\\?"(?=[=,}:])')
# Patterns by which flags choose modules and passes hold parts of names.
_PATTERN_FLAG = compile_pattern(r"(xla_\w{1,80}_re\s?[=:]\s?[\"']?)([^\s\"',;]+)")
_PREFIXES = ("jit_", "pmap_", "pjit_", "xla_")
# Absolute ones are `redact_places.py`'s matter.
_SOURCE = compile_pattern(r"(?<![\w/.-])(?:[\w.-]+/)*[\w.-]+\.(?:py|pyi|pyx|ipynb)\b")


class ChosenNames:
    """Replaces them; does nothing where neither `op_names` nor `source` is asked for."""

    def __init__(self, words: Words, *, op_names: bool, source: bool) -> None:
        self._words = words
        self._op_names = op_names
        self._source = source
        self._chosen: dict[str, str] = {}

    def learn(self, text: str) -> None:
        """Note the names in a text."""
        if self._op_names and "op_name=" in text:
            for name in _OP_NAME.findall(text):
                self.learn_name(name)
        if self._op_names and "sdy." in text:
            for line in text.split("\n"):
                # The keys of JSON look like axes.
                for name in _AXIS.findall(line) if "sdy." in line else ():
                    self.learn_name(name)
        if (self._op_names or self._source) and "FunctionNames" in text:
            for table in _FUNCTIONS.findall(text):
                for name in _FUNCTION.findall(table):
                    self.learn_name(name)

    def learn_name(self, name: str) -> None:
        """Note the identifiers of an `op_name` or of a function's qualified name."""
        for word in _IDENTIFIER.findall(name):
            bare = _bare(word)
            if bare and bare not in PUBLIC_WORDS and bare.lower() not in PUBLIC_WORDS:
                self._chosen.setdefault(bare, self._words.known("name", bare))

    def learn_module(self, name: str) -> None:
        """Note the function that a module is called after."""
        if self._op_names:
            self.learn_name(name)

    def replace(self, text: str) -> str:
        """The text with words in place of those names."""
        if self._source and (".py" in text or ".ipynb" in text):
            text = _SOURCE.sub(self._file, text)
        if self._op_names and "_re" in text:
            text = _PATTERN_FLAG.sub(lambda match: match[1] + self._pattern(match[2]), text)
        if not self._chosen:
            return text
        return _IDENTIFIER.sub(self._named, text)

    def replace_flag(self, name: str, value: str) -> str:
        """The value of a flag."""
        if self._op_names and value and name.endswith("_re"):
            return self._pattern(value)
        return self.replace(value)

    def _pattern(self, value: str) -> str:
        return value if value == ".*" else self._words.put("pattern", value)

    def _named(self, match: re.Match[str]) -> str:
        word = match[0]
        bare = _bare(word)
        shown = self._chosen.get(bare)
        if shown is None:
            return word
        self._words.put("name", bare)
        return word.replace(bare, shown)

    def _file(self, match: re.Match[str]) -> str:
        stem, _, suffix = match[0].rpartition(".")
        if self._words.is_word(stem):
            return match[0]
        return f"{self._words.put('file', match[0].rpartition('/')[2])}.{suffix}"


def _bare(word: str) -> str:
    """The name in `jit_train_step_`, as XLA and JAX decorate it."""
    for prefix in _PREFIXES:
        word = word.removeprefix(prefix)
    return word.strip("_")
