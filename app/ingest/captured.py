"""A folder for the dump of a compile in this process, and the compiler options that fill it.

XLA reads `XLA_FLAGS` once, when its backend is first used, so a dump that begins later must be
asked for with each compile: jax hands `compiler_options` on to XLA's debug options. Nothing is set
here and jax is not imported; who compiles passes the options on, or there is nothing to read.
"""

from collections.abc import Callable
from pathlib import Path

from app.errors import NotADump
from app.model.report import Report

ReadFolder = Callable[[Path], Report]


class CapturedDump:
    """What was compiled with `compiler_options` is dumped into `folder`."""

    def __init__(self, folder: Path, read: ReadFolder) -> None:
        """`read` analyses the folder."""
        self.folder = folder
        self._read = read
        self._report: Report | None = None

    @property
    def compiler_options(self) -> dict[str, str | bool]:
        """For `compiler_options=` of `jax.jit` and of `lowered.compile`; all passes are dumped.

        `lowered.compile` took them in jaxlib 0.4.30 already, `jax.jit` does in newer releases.
        """
        return {
            "xla_dump_to": str(self.folder),
            "xla_dump_hlo_as_text": True,
            "xla_dump_hlo_pass_re": ".*",
        }

    @property
    def report(self) -> Report:
        """The report on what is dumped so far; behind the `with` block, on all that was.

        Raises:
            NotADump: nothing was dumped.
        """
        if self._report is not None:
            return self._report
        if not self.folder.is_dir() or not any(self.folder.iterdir()):
            raise NotADump(
                "nothing was dumped",
                place=str(self.folder),
                next_step="Compile inside the block, with compiler_options=dump.compiler_options. "
                "A function that was compiled before, or that comes out of jax's compilation "
                "cache, is not compiled again.",
                code="empty",
            )
        return self._read(self.folder)

    def close(self) -> None:
        """Keep the report, for the folder may go; nothing is kept where nothing was dumped."""
        if self.folder.is_dir() and any(self.folder.iterdir()):
            self._report = self._read(self.folder)
