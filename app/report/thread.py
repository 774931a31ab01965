"""A report as the first post of a bug thread at XLA, in the order in which triage asks.

What failed, with everything masked that differs from run to run, so that others find the thread;
the last pass; the environment; the commands that show it again with XLA's own tools
(docs/tools.md of openxla/xla); and what hloscope makes of it. Flags that take a path, and folders,
stand nowhere in it. As in `markdown.py` no text of the dump can act on the page.
"""

import re
import shlex
from collections.abc import Iterator

from app.knowledge.flag_spellings import as_argument
from app.model.report import Dump, Environment, Failure, Finding, Report
from app.report.markdown import code, escaped, fenced
from app.report.verdict import (
    culprit_text,
    died_in,
    last_text,
    last_text_label,
    main_module,
    ranked_findings,
    releases_text,
    target_text,
    verdict_of,
)
from app.report.wording import CONFIDENCE_WORDS, SEVERITY_WORDS, file_name, legible, message_text

MAX_BYTES = 30_000
_MAX_FLAGS = 60
_MAX_FINDINGS = 3
_MAX_CULPRITS = 4
_MAX_SIGNATURE = 600

# What the log library prints before a message: `2024-07-01 12:57:35.488299: F a/b.cc:675] `.
_LOG_PREFIX = re.compile(r"^[^\n]{0,300}?[\w./-]+\.(?:cc|cpp|cu|h|py):\d+\] ")
_POINTER = re.compile(r"\b0x[0-9A-Fa-f]+\b")
_HLO_NAME = re.compile(r"%[\w.-]+")
_PATH = re.compile(r"(?<![\w.)])/(?:[^\s/:,;()'\"]+/)+")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)*(?!\w)")
# They say where the dump went, or hold a path: no part of the fault.
_OWN_FLAG = re.compile(r"xla_dump_\w+|\w*_(?:to|dir|path|paths|file|files|cache)|xla_log\w*")
_PLATFORMS = {"cpu": "cpu", "gpu": "CUDA", "cuda": "CUDA", "rocm": "ROCM"}
_PASS_NAME = re.compile(r"[\w.-]+")


def report_thread(report: Report, *, link: str = "") -> str:
    """The post in at most `MAX_BYTES` bytes; `link` is the address of the report's page."""
    return thread_of(legible(report), link=link)


def thread_of(shown: Report, *, link: str = "") -> str:
    """The same for a report whose texts are legible already."""
    parts = [f"### {escaped(thread_title(shown))}"]
    if link:
        parts.append(f"<{link}>")
    if shown.failure is not None:
        parts += ["**Signature** (numbers, pointers and names masked)", _signature(shown.failure)]
    parts += [_state(shown), _environment(shown.environment), _commands(shown)]
    parts += [_finding(finding, link) for finding in _told(shown)]
    parts.append(f"Read by {escaped(shown.tool.name)} {escaped(shown.tool.version)}.")
    return _within_limit([part for part in parts if part])


def thread_title(report: Report) -> str:
    """`[GPU] Check failed: last_cloned != nullptr in collective-pipeliner-backward`."""
    backend = f"[{report.environment.backend.upper()}] " if report.environment.backend else ""
    failure = report.failure
    if failure is None:
        return f"{backend}{verdict_of(report).headline}"
    if failure.condition:
        what = f"Check failed: {failure.condition}"
    else:
        what = masked(failure.text.partition("\n")[0])[:120] or failure.kind
    where = f" in {failure.pass_}" if failure.pass_ else ""
    return f"{backend}{what}{where}"


def masked(text: str) -> str:
    """A message without what differs from run to run: its log prefix, folders, names, numbers."""
    text = _POINTER.sub("PTR", _LOG_PREFIX.sub("", text))
    text = _PATH.sub("", text)
    text = _HLO_NAME.sub("%NAME", text)
    return _NUMBER.sub("N", text)


def _signature(failure: Failure) -> str:
    place = f"{file_name(failure.file)}: " if failure.file else ""
    return fenced(f"{place}{masked(failure.text)}"[:_MAX_SIGNATURE])


def _state(report: Report) -> str:
    facts: list[tuple[str, str]] = []
    if report.failure is not None:
        facts.append(("Died in", died_in(report.failure)))
        if report.failure.file and report.failure.line:
            facts.append(("At", f"{file_name(report.failure.file)}:{report.failure.line}"))
    if last := last_text(report):
        facts.append((last_text_label(report), last))
    module = main_module(report)
    if module is not None:
        facts.append(("Module", f"{module.name}, {len(module.dumps)} texts"))
    return "\n".join(f"- **{label}:** {code(value)}" for label, value in facts)


def _environment(environment: Environment) -> str:
    lines = ["**Environment**", ""]
    releases = releases_text(environment.jaxlib.releases)
    lines.append(f"- jaxlib: {code(releases) if releases else 'not known'}")
    target = target_text(environment)
    lines.append(f"- compiled for: {code(target) if target else 'not known'}")
    if environment.device is not None and environment.device.name:
        origin = "" if environment.device.standing == "stated" else ", not stated"
        lines.append(f"- device: {code(environment.device.name)}{origin}")
    flags = _flags(environment)
    if flags:
        lines += ["- XLA flags:", "", fenced("\n".join(flags[:_MAX_FLAGS]))]
    elif environment.flags or environment.flags_from:
        lines.append("- XLA flags: none but those of the dump")
    else:
        lines.append("- XLA flags: not known")
    return "\n".join(lines)


def _flags(environment: Environment) -> list[str]:
    return [
        f"--{name}={as_argument(name, value)}" if value else f"--{name}"
        for name, value in environment.flags.items()
        if not _OWN_FLAG.fullmatch(name) and "/" not in value
    ]


def _commands(report: Report) -> str:
    module = main_module(report)
    if module is None or not module.dumps:
        return ""
    lines = [
        "# these tools are built from openxla/xla: bazel build xla/tools:hlo-opt",
        *_lines_of_commands(report, module.dumps),
    ]
    block = "\n".join(lines)
    return f"**To see it again**\n\n{fenced(block).replace('```text', '```sh', 1)}"


def _lines_of_commands(report: Report, dumps: tuple[Dump, ...]) -> Iterator[str]:
    environment = report.environment
    flags = [shlex.quote(flag) for flag in _flags(environment)[:_MAX_FLAGS]]
    first = shlex.quote(file_name(dumps[0].file))
    platform = _PLATFORMS.get((environment.backend or "").lower())
    if environment.backend is None:
        platform = "PLATFORM"
        yield "# which backend it was is not known: CUDA, ROCM or cpu for PLATFORM"
    if environment.device is not None and "AMD" in environment.device.name.upper():
        platform = "ROCM"
    failure = report.failure
    if failure is not None and failure.pass_ and _PASS_NAME.fullmatch(failure.pass_):
        last = shlex.quote(file_name(failure.last_dump or dumps[-1].file))
        yield "# the pass alone, on the last text before it (--list-passes says if it is known)"
        yield " ".join(("hlo-opt", f"--passes={failure.pass_}", *flags, last))
    if platform is None:
        yield "# the backend is not one that XLA's open tools compile for"
        return
    yield f"# the whole compile, without running it{_without_device(platform)}"
    yield " ".join(("hlo-opt", f"--platform={platform}", "--stage=hlo", *flags, first))
    partitions = (environment.num_partitions or 1) * (environment.replica_count or 1)
    if partitions > 1:
        yield f"# compile and run, on {partitions} devices"
        yield " ".join(("hlo_runner_main", *flags, first))
    else:
        yield "# compile, run and compare with the interpreter"
        options = (f"--platform={platform}", "--reference_platform=Interpreter")
        yield " ".join(("run_hlo_module", *options, *flags, first))


def _without_device(platform: str) -> str:
    if platform in ("cpu", "PLATFORM"):
        return ""
    return " (without a GPU: add --xla_gpu_target_config_filename=FILE)"


def _told(report: Report) -> list[tuple[int, Finding]]:
    standing = [
        (position, finding)
        for position, finding in enumerate(ranked_findings(report), 1)
        if finding.confidence != "ruled_out"
    ]
    return standing[:_MAX_FINDINGS]


def _finding(told: tuple[int, Finding], link: str) -> str:
    position, finding = told
    weight = f"{SEVERITY_WORDS[finding.severity]}, {CONFIDENCE_WORDS[finding.confidence]}"
    lines = [
        f"**{escaped(finding.title)}** ({weight}, {code(finding.rule)})",
        "",
        escaped(message_text(finding)),
    ]
    if finding.culprits:
        lines.append("")
    for culprit in finding.culprits[:_MAX_CULPRITS]:
        role = f"{escaped(culprit.role)}: " if culprit.role else ""
        lines.append(f"- {role}{code(culprit_text(culprit))}")
    if finding.upstream:
        refs = ", ".join(code(item.ref) for item in finding.upstream)
        lines += ["", f"Known: {refs}"]
    if link:
        lines += ["", f"<{link}#finding-{position}>"]
    return "\n".join(lines)


def _within_limit(parts: list[str]) -> str:
    kept: list[str] = []
    size = 0
    for part in parts:
        size += len(part.encode("utf-8", "backslashreplace")) + 2
        if size > MAX_BYTES - 40:
            kept.append("The rest is in the report.")
            break
        kept.append(part)
    return "\n\n".join(kept) + "\n"
