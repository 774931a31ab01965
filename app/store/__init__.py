"""What outlives a request: rows about reports and jobs, and the bytes they point at.

Rows stand in SQLite and bytes in a folder beside it, or in PostgreSQL and a bucket, through the
same code; bytes are named by their digest. A report's id is a secret of whoever holds the link;
only its hash is stored. Nothing here knows what the bytes mean.
"""

from app.store.blobs import Blobs, BlobWriter, Incoming
from app.store.faults import NoSpace, StoreUnavailable
from app.store.ledger import Ledger, Swept
from app.store.rows import (
    Attachment,
    Job,
    JobState,
    Lease,
    NewReport,
    NewShare,
    Problem,
    Question,
    ReceivedFile,
    ReportRow,
    Waiting,
)
from app.store.secret import Owner, ReportKeys, Secrets, hash_of, is_owner_secret, secrets_of
from app.store.store import Store
from app.store.tokens import SCOPES, Scope, TokenRow, is_token
from app.store.uploads import UploadRow, Uploads

__all__ = [
    "SCOPES",
    "Attachment",
    "BlobWriter",
    "Blobs",
    "Incoming",
    "Job",
    "JobState",
    "Lease",
    "Ledger",
    "NewReport",
    "NewShare",
    "NoSpace",
    "Owner",
    "Problem",
    "Question",
    "ReceivedFile",
    "ReportKeys",
    "ReportRow",
    "Scope",
    "Secrets",
    "Store",
    "StoreUnavailable",
    "Swept",
    "TokenRow",
    "UploadRow",
    "Uploads",
    "Waiting",
    "hash_of",
    "is_owner_secret",
    "is_token",
    "secrets_of",
]
