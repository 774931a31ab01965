"""The errors hloscope raises for reasons that lie outside its own code.

AppError
├── InputError             what was given cannot be read
│   ├── NotADump           readable, but nothing XLA left behind
│   ├── BadArchive         broken, hostile or unsupported container
│   └── LimitExceeded      larger than a budget of `app.settings` allows
├── NotFound               no such report, pass, instruction or rule (or not yours)
├── JobFailed              the analysis itself ended badly: memory, time, crash
│   └── ToolchainFault     a jaxlib release to replay on cannot be installed or made ready
├── ServerFault            another server cannot be reached, or did not do what was asked
└── UsageError             the request or command line makes no sense
    └── QuotaSpent         an owner has as much as they may

Each carries a `code` that never changes once published, and a message of three parts: the place,
the cause, the next step. HTTP statuses and exit codes are not decided here but in one table each,
in `app.web` and `app.cli`. Any other exception is a bug. HLO that cannot be read is
`hlo_parser.HloSyntaxError`, which carries a span instead.
"""

from typing import ClassVar


class AppError(Exception):
    """Base of everything a user may be shown.

    Attributes:
        cause: what is wrong, a sentence without its final full stop.
        place: where it is wrong (file, member, line, option), or "".
        next_step: what to do about it, a sentence, or "".
        code: stable machine-readable word in snake case; the class's own unless the raiser knows
            a more exact one.
    """

    default_code: ClassVar[str] = "error"

    def __init__(
        self, cause: str, *, place: str = "", next_step: str = "", code: str | None = None
    ) -> None:
        super().__init__(cause)
        self.cause = cause
        self.place = place
        self.next_step = next_step
        self.code = code or self.default_code

    def __str__(self) -> str:
        sentence = f"{self.place}: {self.cause}" if self.place else self.cause
        return f"{sentence}. {self.next_step}" if self.next_step else sentence


class InputError(AppError):
    """What was given cannot be read."""

    default_code = "unreadable_input"


class NotADump(InputError):
    """The bytes can be read, but are nothing that XLA writes."""

    default_code = "not_a_dump"


class BadArchive(InputError):
    """The container is broken, hostile, or of a kind that is not accepted."""

    default_code = "bad_archive"


class LimitExceeded(InputError):
    """The input is larger than a budget allows; the message names the setting to raise."""

    default_code = "too_large"


class NotFound(AppError):
    """No such thing; told alike for what never was, has expired, or belongs to another."""

    default_code = "not_found"


class JobFailed(AppError):
    """An analysis ended without a report: out of memory or time, crashed, or its worker lost."""

    default_code = "job_failed"


class ToolchainFault(JobFailed):
    """The environment of a jaxlib release cannot be installed or made ready for replays."""

    default_code = "toolchain"


class ServerFault(AppError):
    """Another server cannot be reached, refuses what was asked, or met a fault of its own."""

    default_code = "server_fault"


class UsageError(AppError):
    """A request or command line that no input could satisfy."""

    default_code = "wrong_use"


class QuotaSpent(UsageError):
    """An owner has as many reports as they may."""

    default_code = "quota"
