"""Settings of one process, read from the environment once, and the places of packaged files.

Every field below can be set by the environment variable `HLOSCOPE_` + its name in capitals;
sizes may be written with a binary unit (`HLOSCOPE_MAX_UPLOAD_BYTES=512MiB`). `app.cli` and
`app.web` build the settings at start and hand them down: nothing below them looks at the
environment. A variable that names no field is refused, since a misspelt limit is no limit.

Budgets are absolute and count what was really read, whatever a header claims. A ratio of
compression is never a reason to refuse: a dump is one text repeated, and shrinks 600 : 1.
"""

import difflib
import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

PREFIX = "HLOSCOPE_"

_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_UNITS = {"": 1, "KIB": _KIB, "MIB": _MIB, "GIB": _GIB, "TIB": 1 << 40}
_WANTED: Mapping[object, str] = {int: "a whole number", bool: "true or false"}
_LEAST_SECRET = 32
_LEAST_GRACE_S = 3600
_SIZE = re.compile(r"(\d{1,18})\s*([A-Za-z]{0,3})")


class BadSetting(ValueError):
    """A variable of the environment that names no setting, or a value it cannot have."""


def _default_data_dir() -> Path:
    return Path("data")


def _default_replay_dir() -> Path:
    return Path("~/.cache/hloscope")


@dataclass(frozen=True, slots=True)
class Settings:
    """What may be configured, with the defaults that suit one machine."""

    max_upload_bytes: int = 8 * _GIB
    """Bytes of one upload as sent, compressed."""
    max_unpacked_bytes: int = 64 * _GIB
    """Bytes of all members of one archive or folder together, unpacked."""
    max_member_bytes: int = 2 * _GIB
    """Bytes of one member, unpacked; a larger one is left out and listed."""
    max_members: int = 200_000
    """Members of one archive, of any kind."""
    max_name_bytes: int = 1024
    """Bytes of a member's name; a longer one is left out and listed."""
    max_name_depth: int = 32
    """Folders in a member's name; a deeper one is left out and listed."""
    max_header_bytes: int = 1 * _MIB
    """Bytes of one extended tar header, which must be held in memory whole."""
    max_line_bytes: int = 16 * _MIB
    """Bytes of one line of HLO; a longer one is left out and counted."""
    max_instructions: int = 20_000_000
    """Instruction lines of one dump, repeats included."""

    job_cpu_s: int = 60
    """Seconds of processor time any job may use; a large upload gets more in proportion."""
    job_timeout_s: int = 120
    """Seconds any job may take from start to end; a large upload gets more in proportion."""
    job_memory_bytes: int = 4 * _GIB
    """Bytes of address space a job's process may have; a large upload gets more in proportion, up
    to eight times this."""

    data_dir: Path = field(default_factory=_default_data_dir)
    """Folder of the server's database and files; made when missing."""
    min_free_bytes: int = 256 * _MIB
    """Bytes of that folder's disk that uploads must leave free."""
    database_url: str = ""
    """Address of the database (`postgresql://USER:PASSWORD@HOST/NAME`); empty: SQLite in there."""
    blobs_url: str = ""
    """Where dumps and reports are kept (`s3://BUCKET/PREFIX?endpoint=...`); empty: in there."""
    cache_bytes: int = 20 * _GIB
    """Bytes of what stands in a bucket that are kept in that folder, too, as files to be read."""
    sweep_grace_s: int = 21600
    """Seconds after which what no report holds is taken to be left over, and deleted; an hour or
    more, and no less than an upload may be silent."""
    report_days: int = 90
    """Days after which a report is deleted with all it holds; 0 keeps them for ever."""
    keep_originals: bool = True
    """Dumps are kept beside their reports; else each is deleted when its report is done."""
    owner_max_reports: int = 0
    """Reports that one owner may have; 0 is no bound."""
    owner_max_bytes: int = 0
    """Bytes of all files of one owner's reports together; 0 is no bound."""
    job_workers: int = 2
    """Analyses that run at once, beside one that is small; 0 leaves all to `hloscope worker`."""
    broker_url: str = ""
    """RabbitMQ that carries jobs to workers (`amqp://USER:PASSWORD@HOST/`); empty: none is used."""
    max_open_jobs: int = 200
    """Analyses that wait or run; more uploads are turned away until one has ended."""
    max_log_bytes: int = 64 * _MIB
    """Bytes of one log as sent."""
    upload_idle_s: int = 30
    """Seconds in which an upload must get on, or it is turned away."""
    max_uploads_per_hour: int = 240
    """Uploads and shares of one sender in an hour: of a member, or else of an address."""
    max_requests_per_minute: int = 1200
    """Requests from one address in a minute."""
    upload_token: str = ""
    """Secret that an upload must carry (`Authorization: Bearer ...`); empty lets anyone upload."""
    allowed_hosts: str = ""
    """Names the server answers to, separated by commas; empty: this machine's and IP addresses."""
    base_url: str = ""
    """Address of the server as its users write it, for full links; empty: links are paths."""
    trusted_proxies: str = ""
    """Addresses or networks of proxies, separated by commas, whose word on the client is taken."""
    login_header: str = ""
    """Header in which such a proxy names the person it has signed in; empty: nobody signs in."""
    login_secret: str = ""
    """Secret of 32 characters or more that binds reports to persons; goes with the header."""
    members_only: bool = False
    """Only persons signed in and tokens may use the server; what is shared anybody may read."""
    log_json: bool = False
    """The log is one JSON object a line, every request among them."""
    max_open_uploads: int = 20
    """Uploads in parts that one sender may have open."""
    replay_dir: Path = field(default_factory=_default_replay_dir)
    """Folder of the jaxlib releases installed for replays, and of what they answered."""
    replay_jobs: bool = False
    """Whoever sent a dump may have it compiled again, with the releases in that folder."""
    replay_budget_s: int = 600
    """Seconds in which one such replay may start compiles."""


def settings_from_environment(environ: Mapping[str, str] | None = None) -> Settings:
    """Build the settings from `environ`, by default the process's own environment.

    Raises:
        BadSetting: a variable starts with `HLOSCOPE_` and names no setting, or its value is not of
            the setting's type.
    """
    if environ is None:
        environ = os.environ
    known = {PREFIX + item.name.upper(): item for item in fields(Settings)}
    values: dict[str, object] = {}
    for name, text in sorted(environ.items()):
        if not name.startswith(PREFIX):
            continue
        item = known.get(name)
        if item is None:
            names = [each.removeprefix(PREFIX) for each in known]
            near = difflib.get_close_matches(name.removeprefix(PREFIX), names, n=1)
            hint = f"Did you mean {PREFIX}{near[0]}?" if near else "The README lists the settings."
            raise BadSetting(f"{name}: no such setting. {hint}")
        values[item.name] = _value_from_text(name, item.type, text)
    settings = Settings(**values)  # pyright: ignore[reportArgumentType]
    _check_login(settings)
    _check_grace(settings)
    return settings


def networks_from(
    text: str,
) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """Addresses and networks (`10.0.0.0/8`), separated by commas.

    Raises:
        BadSetting: one of them is neither.
    """
    words = filter(None, (word.strip() for word in text.split(",")))
    try:
        return tuple(ipaddress.ip_network(word, strict=False) for word in words)
    except ValueError as error:
        raise BadSetting(f"{PREFIX}TRUSTED_PROXIES: {error}") from error


def _check_login(settings: Settings) -> None:
    networks_from(settings.trusted_proxies)
    if not settings.login_header:
        return
    if not settings.trusted_proxies:
        raise BadSetting(
            f"{PREFIX}LOGIN_HEADER: it is believed from nobody. Name the proxy that sets it in"
            f" {PREFIX}TRUSTED_PROXIES."
        )
    if len(settings.login_secret) < _LEAST_SECRET:
        raise BadSetting(
            f"{PREFIX}LOGIN_SECRET: persons can sign in, so it must be a secret of {_LEAST_SECRET}"
            " characters or more. Make one with `openssl rand -hex 24`."
        )


def _check_grace(settings: Settings) -> None:
    # A dump rests while its logs come behind it. What a job makes is its own until it is over,
    # however long it runs: a sweep sees nothing of it before it is put down.
    least = max(_LEAST_GRACE_S, settings.upload_idle_s)
    if settings.sweep_grace_s < least:
        raise BadSetting(
            f"{PREFIX}SWEEP_GRACE_S: what is being received would be swept away as left over."
            f" Give it {least} seconds or more: an hour, and no less than {PREFIX}UPLOAD_IDLE_S."
        )


def as_environment(settings: Settings) -> dict[str, str]:
    """The variables from which `settings_from_environment` builds the same settings."""
    return {
        PREFIX + item.name.upper(): str(getattr(settings, item.name)) for item in fields(Settings)
    }


def _value_from_text(name: str, kind: object, text: str) -> object:
    text = text.strip()
    if kind is Path and text:
        return Path(text)
    if kind is str:
        return text
    if kind is bool and text.lower() in ("0", "1", "false", "true"):
        return text.lower() in ("1", "true")
    if kind is int and (size := _SIZE.fullmatch(text)) and size[2].upper() in _UNITS:
        if size[2] and not name.endswith("_BYTES"):
            raise BadSetting(f"{name}: {text!r} has a unit, but this is no size in bytes")
        return int(size[1]) * _UNITS[size[2].upper()]
    wanted = _WANTED.get(kind, "a path")
    if name.endswith("_BYTES"):
        wanted = "a number of bytes, or a size such as 512MiB or 8GiB"
    raise BadSetting(f"{name}: {text!r} is not what this setting takes ({wanted})")


def template_dir() -> Path:
    """The folder of page templates."""
    return _packaged_dir("templates")


def static_dir() -> Path:
    """The folder of scripts and styles the pages load."""
    return _packaged_dir("static")


def sample_dir() -> Path:
    """The folder of sample dumps that come with the program."""
    return _packaged_dir("sample_dumps")


def _packaged_dir(name: str) -> Path:
    # The wheel maps the folder into the package; in a checkout it stands beside it.
    here = Path(__file__).resolve().parent
    installed = here / name
    return installed if installed.is_dir() else here.parent / name
