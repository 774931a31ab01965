"""Where a program was compiled: backend, devices, flags and the releases of jaxlib that fit."""

from collections.abc import Mapping, Sequence

from app import knowledge
from app.analysis.cost_model import described_device
from app.analysis.release_evidence import releases_that_fit
from app.model.dump import DumpContents, LogFacts, ModuleHistory
from app.model.report import Environment, Releases


def environment_of(
    contents: DumpContents | None,
    log: LogFacts,
    *,
    flags: Mapping[str, str],
    release: str | None,
    release_how: str = "given by the user",
) -> Environment:
    """Everything that dump, log and user say of the run's surroundings.

    A flag given by the user (`flags`) wins over one seen in the log, which wins over
    `debug_options`, in whichever spelling; `flags_from` names the places that were used, the
    strongest last.
    """
    merged: dict[str, str] = {}
    origins: list[str] = []
    for origin, found in (
        (contents.flags_file or "debug_options" if contents else "", contents and contents.flags),
        ("log", log.flags),
        ("given by the user", flags),
    ):
        if found:
            merged = knowledge.overlaid(merged, found)
            origins.append(origin)
    module = contents.modules[0] if contents and contents.modules else None
    header = module.last.module.header if module else None
    backend = _backend(contents.modules if contents else (), merged, log.platforms)
    return Environment(
        backend=backend,
        jaxlib=_releases(contents, log, flags, release, release_how),
        num_partitions=header.num_partitions if header else None,
        replica_count=header.replica_count if header else None,
        flags=dict(sorted(merged.items())),
        flags_from=tuple(origins),
        device=described_device(module, backend) if module else None,
    )


def _backend(
    modules: Sequence[ModuleHistory], flags: Mapping[str, str], platforms: Sequence[str]
) -> str | None:
    """GPU, CPU or TPU: by names of files in the dump, else by flags, else by what the log says."""
    for module in modules:
        for dump in reversed(module.dumps):
            point = dump.name.point
            if "gpu_after_optimizations" in point:
                return "GPU"
            if "cpu_after_optimizations" in point:
                return "CPU"
            if ".cl_" in dump.file or "tpu" in (dump.name.pipeline or "").lower():
                return "TPU"
    for word, backend in (("xla_gpu_", "GPU"), ("xla_tpu_", "TPU"), ("xla_cpu_", "CPU")):
        if any(name.startswith(word) for name in flags):
            return backend
    # A program on devices starts a client for the host, too.
    for platform, backend in (("CUDA", "GPU"), ("ROCM", "GPU"), ("TPU", "TPU"), ("Host", "CPU")):
        if platform in platforms:
            return backend
    return None


def _releases(
    contents: DumpContents | None,
    log: LogFacts,
    flags: Mapping[str, str],
    release: str | None,
    release_how: str,
) -> Releases:
    if release is not None:
        return Releases(releases=(release,), how=release_how)
    if log.releases:
        return Releases(releases=log.releases, how="named in the log")
    return releases_that_fit(contents, log, flags)
