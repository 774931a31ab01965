"""Credentials, and the values of variables and options that are nobody's business.

Known by their form (`hf_...`, a JSON web token, the lines of a private key) or by the name before
them (`--wandb_key=`, `"token":`, `MY_API_KEY=`). Of the environment's variables those of XLA, JAX
and their libraries stay, as do numbers and switches; of options those that begin so.
"""

import re

from app.report.redact_signs import has_long_run, has_sign
from app.report.redact_standins import Words
from app.report.redact_words import PUBLIC_WORDS
from hlo_parser.possessive import compile_pattern

_FORM = compile_pattern(
    r"(?<![A-Za-z0-9])(?:ghp|gho|ghs|ghu|ghr|github_pat|glpat|hf|sk|rk|xox[abpr]|npm|nvapi|pypi"
    r"|dckr_pat|r8|wandb_v1)[_-][A-Za-z0-9_-]{16,}+"
    r"|(?<![A-Za-z0-9])A(?:KI|SI)A[0-9A-Z]{16}(?![0-9A-Z])"
    r"|(?<![\w-])AIza[\w-]{30,}+|(?<![\w-])ya29\.[\w-]{8,}+|(?<![\w-])SG\.[\w-]{8,}\.[\w-]+"
    r"|(?<![\w-])eyJ[\w-]{8,}+\.[\w-]+(?:\.[\w-]+)?"
    r"|(?<![\w-])AAAA[BCE][A-Za-z0-9+/]{16,}+={0,2}"
    r"|(?<=earer )[A-Za-z0-9._~+/=-]{12,}+|(?<=asic )[A-Za-z0-9+/]{8,}+={0,2}"
)
_FORM_SIGNS = (
    *"ghp gho ghs ghu ghr github_pat glpat xox npm_ npm- nvapi pypi dckr_pat wandb_v1".split(),
    *"AKIA ASIA AIza ya29. SG. eyJ AAAA".split(),
    *("earer ", "asic "),
    # `mask_`, `task-` and their like are none.
    compile_pattern(r"[_-](?<=(?<![A-Za-z0-9])(?:hf|sk|rk|r8)[_-])(?=[A-Za-z0-9_-]{16})"),
)
_PRIVATE_KEY = compile_pattern(
    r"(?<=PRIVATE KEY-----)[^-]{1,20000}+|(?<=PRIVATE KEY BLOCK-----)[^-]{1,20000}+"
)
# A line of a private key that was torn from its head: nothing else mixes as much.
_LINE_OF_KEY = 64
_MIXED = compile_pattern(
    r"(?<![A-Za-z0-9+/=_.-])(?=[a-z0-9+/]{0,40}[A-Z])(?=[A-Z0-9+/]{0,40}[a-z])"
    r"(?=(?:[A-Za-z+/]{0,40}\d){4})[A-Za-z0-9+/]{64,}+={0,2}(?![\w.(-])"
)
_KINDS = (
    r"token|secret|password|passwd|passphrase|pwd|credentials?|(?:api|access|private|auth)[_-]?key"
)
# In HLO a parameter may be called `token`: what follows it is a shape. In Python it may be set to
# what a call gives.
_VALUE = (
    r"(?!(?:token|pred|tuple|bf16|[sufc]\d\w*)\[)(?!(?:None|null|true|false)\b)"
    r"([^\s\"',;(){}\[\]]++)(?![(\[])"
)
_NAMED = compile_pattern(
    r"((?<![A-Za-z0-9])[A-Z0-9_]{0,64}"
    r"(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|ACCESS_KEY|PRIVATE_KEY)"
    r"[A-Z0-9_]{0,64}[\"']?\s?[=:]\s?[\"']?)([^\s\"',;]+)"
    rf"|((?<![A-Za-z0-9])(?i:{_KINDS})[\"']?\s?[=:]\s?[\"']?){_VALUE}"
    rf"|(--(?:[a-z0-9]{{1,24}}[_-]){{0,6}}(?:{_KINDS}|key)(?:\s?=\s?|\s)[\"']?){_VALUE}"
    r"|(\b[Cc]ookie: ?)([^\n]+)"
)
_NAMED_SIGNS = tuple("token secret passw passphrase pwd credential key cookie".split())
# A variable as a shell, a log of the environment or Python's `os.environ` shows it.
_VARIABLE = compile_pattern(
    r"(?<![\w.%$\"'-])([A-Z][A-Z0-9]{0,30}+(?:_[A-Z0-9]{1,30}+){1,8})=(?!=)(\"[^\"\n]*+\"|'[^'\n]*+'|[^\s\"',;]++)"
    r"|(?<=')([A-Z][A-Z0-9]{0,30}+(?:_[A-Z0-9]{1,30}+){0,8})': '([^'\n]++)(?=')"
)
_VARIABLE_SIGNS = ("': '", compile_pattern(r"=(?<=[A-Z0-9]=)"))
_PUBLIC_VARIABLE = re.compile(
    r"(?:XLA|JAX|TF|TFRT|NCCL|CUDA|CUDNN|CUBLAS|NVIDIA|LIBTPU|TPU|PJRT|OMP|MKL|KMP|OMPI_MCA|PMIX_MCA"
    r"|UCX|FI|ROCM|HIP|HSA|RCCL|MIOPEN|GPU|TSL|ABSL|LD|LC|PYTHON|MALLOC|GLIBC|CMAKE|API|GRPC"
    r"|ENABLE|NUM|MAX|MIN)_.*"
)
_OPTION = compile_pattern(
    r"(?<![\w-])(--(?!(?:xla|tf|jax|libtpu|tpu|nccl)_)[a-z][a-z0-9]{0,40}(?:[_-][a-z0-9]{1,40}){0,12}=)"
    r"([^\s\"',;]++)"
)
# What a variable, or an option, may be set to in public.
_PLAIN = re.compile(
    r"[-+]?[\d.,:e+-]{1,24}|[a-z]{1,3}|true|false|True|False|on|off|yes|no|none", re.I
)
_SHOWN = re.compile(
    r"[/\"']?(?:path|file|address|folder|user|host|secret|value)\d+(?:[@/:].*)?[\"']?"
)


class Secrets:
    """Finds and replaces them."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def replace(self, text: str) -> str:
        """The text with words in place of credentials, of variables and of options."""
        if "PRIVATE KEY" in text:
            text = _PRIVATE_KEY.sub(self._for_key, text)
        if has_long_run(text, _LINE_OF_KEY):
            text = _MIXED.sub(lambda match: self._words.put("secret", match[0]), text)
        if has_sign(text, _FORM_SIGNS):
            text = _FORM.sub(lambda match: self._words.put("secret", match[0]), text)
        lower = text.lower()
        if any(sign in lower for sign in _NAMED_SIGNS):
            text = _NAMED.sub(self._for_named, text)
        if has_sign(text, _VARIABLE_SIGNS):
            text = _VARIABLE.sub(self._for_variable, text)
        if "--" in text:
            text = _OPTION.sub(self._for_option, text)
        return text

    def flag(self, name: str, value: str) -> str | None:
        """What stands for the value of a flag whose name says that it is a credential, or None."""
        return self._words.put("secret", value) if _SECRET_FLAG.fullmatch(name) else None

    def _for_key(self, match: re.Match[str]) -> str:
        # As many lines as before.
        return self._words.put("secret", match[0].strip()) + "\n" * match[0].count("\n")

    def _for_named(self, match: re.Match[str]) -> str:
        head, value = (part for part in match.groups() if part is not None)
        if self._is_shown(value):
            return match[0]
        return f"{head}{self._words.put('secret', value)}"

    def _for_variable(self, match: re.Match[str]) -> str:
        name, value = match[1] or match[3], match[2] or match[4]
        if _PUBLIC_VARIABLE.fullmatch(name):
            return match[0]
        shown = self._value(value.strip("\"'"))
        return match[0] if shown is None else match[0].replace(value.strip("\"'"), shown)

    def _for_option(self, match: re.Match[str]) -> str:
        shown = self._value(match[2])
        return match[0] if shown is None else f"{match[1]}{shown}"

    def _value(self, value: str) -> str | None:
        if not value or _PLAIN.fullmatch(value) or value in PUBLIC_WORDS or self._is_shown(value):
            return None
        return self._words.put("value", value)

    def _is_shown(self, value: str) -> bool:
        return bool(_SHOWN.fullmatch(value)) and self._words.is_word(
            re.split(r"[@/:]", value.strip("\"'/"), maxsplit=1)[0]
        )


_SECRET_FLAG = re.compile(rf"(?:[a-z0-9]+[_-])*(?:{_KINDS}|key)", re.I)
