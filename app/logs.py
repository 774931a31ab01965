"""The log of a process: lines for people, or JSON for machines, and no secret in either.

Every line says in which request it was written. The last wall stands here, too: what looks like a
token, or like the address of a report, is masked, whoever wrote it.
"""

import json
import logging
import re
import time
from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The request that the running code works for; "" where it works for none."""

_SECRETS = (
    (re.compile(r"hloscope_[0-9A-Za-z]{8,}"), "hloscope_***"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',]+"), r"\1 ***"),
    (re.compile(r"/(r|reports|uploads)/[A-Za-z0-9_-]{32}(?![A-Za-z0-9_-])"), r"/\1/***"),
    (re.compile(r"://[^/\s:@]*:[^/\s]+@"), "://***@"),
)
_JOB = re.compile(r"\bjob (\d+)\b")
_PLAIN = "%(asctime)s %(levelname)s %(message)s"


def configure(*, as_json: bool) -> None:
    """Have the process write its log to standard error; requests are in it where it is JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if as_json else PlainLines(_PLAIN))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("app").setLevel(logging.INFO if as_json else logging.WARNING)
    # It warns of every malformed form; the answer and the status say that already.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)


def masked(text: str) -> str:
    """The text without what opens a door."""
    for pattern, word in _SECRETS:
        text = pattern.sub(word, text)
    return text


class PlainLines(logging.Formatter):
    """One line a record, and its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text, masked."""
        return masked(super().format(record))


class JsonLines(logging.Formatter):
    """One JSON object a record, with the request and the job it is about."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line, masked."""
        message = record.getMessage()
        entry: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": masked(message),
        }
        if current := getattr(record, "request", "") or request_id.get():
            entry["request"] = current
        if job := _JOB.search(message):
            entry["job"] = int(job[1])
        for name in ("method", "route", "status", "seconds", "caller", "report"):
            if hasattr(record, name):
                entry[name] = getattr(record, name)
        if record.exc_info:
            entry["traceback"] = masked(self.formatException(record.exc_info))
        return json.dumps(entry, ensure_ascii=True)
