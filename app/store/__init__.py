"""What outlives a request: rows about reports and jobs, and the bytes they point at.

Rows stand in SQLite, bytes in a folder beside it, named by their digest. A report's id is a secret
of whoever holds the link; only its hash is stored. Nothing here knows what the bytes mean.
"""

from sqlalchemy.exc import OperationalError as StoreUnavailable

from app.store.blobs import Blobs, BlobWriter, Incoming, NoSpace
from app.store.rows import (
    Attachment,
    Job,
    JobState,
    NewReport,
    NewShare,
    Problem,
    Question,
    ReceivedFile,
    ReportRow,
)
from app.store.secret import Owner, ReportKeys, Secrets, hash_of, is_owner_secret, secrets_of
from app.store.store import Store
from app.store.uploads import UploadRow

__all__ = [
    "Attachment",
    "BlobWriter",
    "Blobs",
    "Incoming",
    "Job",
    "JobState",
    "NewReport",
    "NewShare",
    "NoSpace",
    "Owner",
    "Problem",
    "Question",
    "ReceivedFile",
    "ReportKeys",
    "ReportRow",
    "Secrets",
    "Store",
    "StoreUnavailable",
    "UploadRow",
    "hash_of",
    "is_owner_secret",
    "secrets_of",
]
