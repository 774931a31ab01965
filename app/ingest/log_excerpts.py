"""What is left of a failure in a few lines that someone cut out of a log.

Whoever reports a failure copies the line that told him most, without the header, the traceback or
the end around it, and such a line begins no message. So a text that is too short for the log of a
run, and in which nothing else was found, is read once more: lines that complain of something are
told as they stand. What they complain of is not judged here.
"""

import re
from collections.abc import Iterator, Sequence

from app import knowledge
from app.ingest.log_lines import clean_lines
from app.model.dump import LogFacts, PipelinerMove

MOST_LINES = 40
_MOST_CHARACTERS = 1 << 13
_LINE_CHARACTERS = 1000
_VALUE_CHARACTERS = 200
# Values in more lines are those of a run that goes well.
_MOST_COMPARED = 8
_COMPLAINS = re.compile(
    r"(?i:(?<!\bno )(?<!(?<!index )\b0 )(?<!\bwithout )(?<!\bzero )(?<!\bnot )\b(?:"
    r"errors?|errs?|fail(?:s|ed|ure|ures|ing)?|fatal|abort(?:s|ed|ing)?|crash(?:es|ed)?"
    r"|corrupt(?:s|ed|ion)?|cannot|can't|could(?:n't| not)|unable|invalid|illegal|unsupported"
    r"|unexpected|unimplemented|mismatch(?:es|ed)?|inconsistent|incompatible|incorrect|wrong"
    r"|differs?|exceed(?:s|ed|ing)?|violat(?:es|ed|ion)|refused|hangs?|hung|stuck|deadlock\w*"
    r"|timed out|too (?:many|much|large|big|small|old)|not (?:supported|found|match|equal|enough"
    r"|allowed|implemented|divisible|available)|must (?:be|have|not)|should be|expected|overflow"
    r"|out of (?:memory|range|bounds)|neither|none of|missing|denied|older than|undefined|nullptr"
    r"|not an? \w+|(?:do|does|did|is|was|are|were|has|have)(?: not|n't)|different (?:than|from)"
    r"|unreachable|assert(?:ion)?|requires that|returned -\d+|non-zero"
    r"|without \w{1,20} support|BufferAssignment (?:stats|OOM)|CompileTime[A-Z]\w{1,60}"
    r"|cycle is detected|only supports?(?:ed)?|mix of"
    r"|seg(?:mentation )?faults?|segv|SIG(?:SEGV|ABRT|BUS|ILL)"
    r"|no (?!nans?\b|infs?\b|errors?\b)\w[^\n]{1,40} (?:available|found|registered)"
    r"|precondition|taking|nan|inf|oom)\b)"
    r"|[a-z]Error\b|BadStatusOr|\b(?:run_id|clique)=|clique: |\b_ZNK?(?:3xla|4mlir|4llvm)"
    # Conditions of checks, frames, rows of tables of memory.
    r"|\w\(\) (?:[=!]=|[<>]=?) |^(?:#\d{1,4} +| *@ +)0x[0-9a-f]{6,16} |\b__xla_cpu_runtime_\w"
    r"|^\s*(?:Allocation type: |XLA [Ll]abel: |Extra memory due to padding)"
    r"|^Finished XLA compilation of \S{1,200} in (?:[6-9]\d|\d{3,9})(?:\.| s)"
    # `Eager execution returns [1], while the same function with jit_compile=True returns [2]`.
    r"|\b(?i:jit|eager|op-by-op)\b[^\n]{0,40}\b(?:returns?|reads?|gives?|gave) [^\d\n]{0,8}[\d\[]"
    # Statuses as they were spelt up to 2022.
    r"|^(?:Internal|Invalid argument|Unimplemented|Failed precondition|Resource exhausted): \S"
    r"|\bmore \w{1,20} (?:\(\d{1,9}\) )?than |\w\.(?:cc|cpp|cu|h)[:(]\d{1,9}[:)]*(?: |$)"
)
# Warnings and information, what JAX says of plugins and goes on, complaints that say what is done
# instead, and those of an installer or of a compiler of C++.
_HARMLESS = re.compile(
    r"\S{1,200}\.(?:c|cc|cpp|cu|h):\d{1,9}(?::\d{1,9})?: (?:fatal )?(?:error|warning|note): "
    r"|Jax plugin configuration error: |[^\n]{0,200}ALREADY_EXISTS: PJRT_Api"
    r"|ERROR: pip\b|ERROR: (?:Could not find a version|No matching distribution)"
    r"|\w*Warning: |(?i:warning\b|skipp\w+|retry\w*|ignor\w+)|[^\n]{0,80}\b(?:INFO|DEBUG)\b"
    r"|[^\n]{0,400}(?:(?i:[,;] (?:using|falling back|continu|skipp|ignor|start)|\bby default\b)"
    r"|\b(?:OK|ok|PASSED|passed)\b|(?<!Error: )Unable to initialize)"
)


# What a comparison of two ways to compute one thing prints: `jit(f)(x): [nan]`, then `f(x): [1.]`.
_COMPARED = re.compile(
    r"(?P<way>[^:=#\n]{1,80}?) *(?::|=(?!=)|#|\u2192|->) *"
    r"(?P<value>[\[({ ]*(?:[+\-]?(?:\d[\d.]*+(?:e[+\-]?\d++)?|nan|inf))"
    r"[\])}, .\d+\-einfa]*)"
    r"(?:\s(?!(?:[mun\u00b5]?s|sec\w*|min\w*|it|steps?|x|%|[KMGT]i?B)\b|%)\S[^\n]{0,40})?$",
    re.I,
)
# ... or `without sharding:` with rows of an array below.
_LABEL = re.compile(r"[A-Za-z][^:=#\n]{0,60}:$|(?:>>> ?|In \[\d{1,4}\]: ?|print\()[^\n]{1,80}$")
# ... or the other way round, `# nan <- wrong (jit)`.
_TOLD_OF = re.compile(
    r"[#\s]*(?P<value>[+\-]?(?:\d[\d.]*(?:e[+\-]?\d+)?|nan|inf)) *(?:\u2190|<-+) *"
    r"(?P<way>[^\n]{1,60})$",
    re.I,
)
_ROW = re.compile(r"[\[({]{0,3} *[+\-]?(?:\d|nan\b|inf\b)[\d\s.,e+\-\[\](){}naif]*$")
# What is measured of a run that goes well differs from line to line.
_MEASURES = re.compile(
    r"(?i:time|took|speed|throughput|seconds?\b|\bms\b|latency|compil|loss|acc|step|epoch|iter|rank"
    r"|size|bytes|memory|count|number|version|shape|seed|lr\b|learning|flops)"
)


def complains(text: str) -> bool:
    """Whether a line complains of something, and not only says that it went otherwise."""
    return _COMPLAINS.search(text) is not None and _HARMLESS.match(text) is None


def compared(texts: Sequence[str]) -> tuple[str, ...]:
    """In how many ways lines say something was computed, if the values that they print differ."""
    found: list[tuple[str, str]] = []
    for text in (text.strip()[:_VALUE_CHARACTERS] for text in texts):
        if match := _COMPARED.match(text) or _TOLD_OF.match(text):
            found.append((match["way"], match["value"].strip()))
        elif _LABEL.match(text):
            found.append((text.removesuffix(":"), ""))
        elif found and _ROW.match(text):
            way, value = found[-1]
            found[-1] = way, f"{value}\n{text}"
    found = [(way, value) for way, value in found if value and not _MEASURES.search(way)]
    is_of_arrays = any("[" in value or "(" in way for way, value in found)
    is_different = len({value for _, value in found}) > 1
    return tuple(way for way, _ in found) if is_of_arrays and is_different else ()


def _names_code(text: str) -> bool:
    """Whether a line names a symbol of C++ or a pass, as what someone adds to a bare death does."""
    return "::" in text or bool(knowledge.passes_named(text))


class Excerpt:
    """Takes a text line by line, or block by block, as long as it may be an excerpt."""

    def __init__(self) -> None:
        self._lines: list[str] | None = []
        self._size = 0

    def feed(self, line: str) -> None:
        """Take the next line."""
        self._size += len(line.rstrip("\r\n"))
        if self._lines is not None:
            self._lines.append(line)
            if len(self._lines) > MOST_LINES or self._size > _MOST_CHARACTERS:
                self._lines = None

    def feed_block(self, block: bytes) -> None:
        """Take the next block of whole lines."""
        if self._lines is not None:
            for line in block[: 2 * _MOST_CHARACTERS].removesuffix(b"\n").split(b"\n"):
                self.feed(line.decode("utf-8", "backslashreplace"))

    def complaints(self, facts: LogFacts, name: str) -> Iterator[PipelinerMove]:
        """Lines that complain and were not told; none where `facts` hold a failure that says more.

        Below a death that says nothing, lines that name code or a pass are told, too.

        `facts` are those of the text, `name` is how the log is called in the report.
        """
        failures = facts.failures
        if self._lines is None or any(told.severity == "I" for told in facts.verbose):
            # What passes say by the way is left out by whoever cuts a line out of a log.
            return
        if any(failure.kind != "signal" for failure in failures):
            return
        told = {told.line_number for told in (*facts.verbose, *failures)}
        lines = list(clean_lines(self._lines))
        ways = compared([line.text for line in lines]) if len(lines) <= _MOST_COMPARED else ()
        for line in lines:
            text = line.text[:_LINE_CHARACTERS]
            if line.is_headed or line.number in told:
                continue
            names = bool(failures) and _names_code(text)
            if ways or complains(text) or (names and not _HARMLESS.match(text)):
                yield PipelinerMove(name, line.number, "", text)
