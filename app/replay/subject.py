"""What of a dump is compiled again: one text of one module, with its counts, target and flags.

Given a module's history and the report on it; gives a frozen `Subject`. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from app.errors import NotFound
from app.model.dump import DumpContents, ModuleHistory, PassDump
from app.model.report import Report
from hlo_parser import Module, print_module

_Backend = Literal["GPU", "CPU", "TPU"]
_BACKENDS: Mapping[str, _Backend] = {"CPU": "CPU", "TPU": "TPU"}


@dataclass(frozen=True, slots=True)
class Subject:
    """A module to compile; `target` is a GPU target config as text, empty for the usual one.

    `target_name` names the GPU where the config is the dump's own, and may give way to the usual.
    `file` and `module` say where it came from. A run without SPMD has `partitions` 1.
    """

    data: bytes
    form: Literal["text", "proto"]
    replicas: int = 1
    partitions: int = 1
    backend: _Backend = "GPU"
    target: str = ""
    flags: Mapping[str, str] = field(default_factory=dict[str, str])
    file: str = ""
    module: str = ""
    target_name: str = ""

    @property
    def devices(self) -> int:
        """How many devices the module runs on."""
        return self.replicas * self.partitions


def subject_of(
    contents: DumpContents,
    report: Report,
    *,
    module: str | None = None,
    dump: int | None = None,
    target: str = "",
) -> Subject:
    """The text that a replay starts from: the first of the failed module unless others are named.

    Args:
        contents: the dump as read.
        report: the report on it, for backend, flags and the module that failed.
        module: the id or the name of another module.
        dump: the position of another text in the module's history.
        target: a GPU target config, as text; else that of the dump, where it has one.

    Raises:
        NotFound: there is no such module, or no such text.
    """
    history = _history(contents, module or (report.failure and report.failure.module))
    if dump is not None and not 0 <= dump < len(history.dumps):
        raise NotFound(f"the module has {len(history.dumps)} texts", place=f"text {dump}")
    text = history.dumps[dump or 0]
    header = text.module.header
    own = history.target
    return Subject(
        data=module_text(text),
        form="text",
        replicas=header.replica_count,
        partitions=header.num_partitions,
        backend=_BACKENDS.get(report.environment.backend or "", "GPU"),
        target=target or (own.text if own else ""),
        flags=report.environment.flags,
        file=text.file,
        module=history.id,
        target_name="" if target or not own or not own.text else own.name or "its own GPU",
    )


def module_text(text: PassDump) -> bytes:
    """The text that XLA wrote, or ours of what it wrote as a proto."""
    return printed(text.module) if text.from_proto else b"".join(text.module.pieces)


def printed(module: Module) -> bytes:
    """A module in the form that every release takes."""
    return print_module(module, form="long").encode("utf-8", "surrogateescape")


def _history(contents: DumpContents, named: str | None) -> ModuleHistory:
    if named is None:
        return contents.modules[0]
    found = next((h for h in contents.modules if named in (h.id, h.name)), None)
    if found is None:
        known = ", ".join(h.id for h in contents.modules[:5])
        raise NotFound("the dump has no such module", place=named, next_step=f"It has {known}.")
    return found
