"""The tables as SQLAlchemy Core sees them; `migrations` makes them, and a test compares both."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)


def _to_report() -> ForeignKey:
    return ForeignKey("report.key", ondelete="CASCADE")


report = Table(
    "report",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("owner_key", String(64), nullable=False),
    Column("name", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("created", Float(53), nullable=False),
    Column("finished", Float(53)),
    Column("sha256", String(64), nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("question", JSON, nullable=False),
    Column("summary", JSON(none_as_null=True)),
    Column("problem", JSON(none_as_null=True)),
    Column("expires", Float(53)),
)

share = Table(
    "share",
    metadata,
    Column("report_key", String(64), _to_report(), primary_key=True),
    Column("parent_key", String(64), _to_report(), nullable=False),
    Column("redaction", JSON, nullable=False),
    Index("ix_share_parent_key", "parent_key"),
)

owned = Table(
    "owned",
    metadata,
    Column("report_key", String(64), _to_report(), primary_key=True),
    Column("owner", String(64), nullable=False),
    Column("nonce", String(64), nullable=False),
    Index("ix_owned_owner", "owner"),
)

upload = Table(
    "upload",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("length", BigInteger, nullable=False),
    Column("expires", Float(53), nullable=False),
    Column("wish", JSON, nullable=False),
    Column("sender", String(64), nullable=False, server_default=""),
    Index("ix_upload_sender", "sender"),
)

token = Table(
    "token",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("label", Text, nullable=False),
    Column("scopes", String(64), nullable=False),
    Column("created", Float(53), nullable=False),
    Column("expires", Float(53)),
    Column("revoked", Float(53)),
    Column("used", Float(53)),
)

gone = Table(
    "gone",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("owner_key", String(64), nullable=False),
    Column("owner", String(64), nullable=False),
    Column("since", Float(53), nullable=False),
)

blob = Table(
    "blob",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("bytes", BigInteger, nullable=False),
    Column("created", Float(53), nullable=False),
)

pin = Table(
    "pin",
    metadata,
    Column("sha256", String(64), ForeignKey("blob.sha256"), primary_key=True),
    Column("holder", String(32), primary_key=True),
    Column("until", Float(53), nullable=False),
)

attachment = Table(
    "attachment",
    metadata,
    Column(
        "report_key", String(64), ForeignKey("report.key", ondelete="CASCADE"), primary_key=True
    ),
    Column("role", String(16), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("blob", String(64), ForeignKey("blob.sha256"), nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Index("ix_attachment_blob", "blob"),
)

job = Table(
    "job",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("report_key", String(64), _to_report(), nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("owner", String(64)),
    Column("lease_until", Float(53)),
    Column("stage", Text, nullable=False),
    Column("done", BigInteger, nullable=False),
    Column("total", BigInteger),
    Column("created", Float(53), nullable=False),
    Column("finished", Float(53)),
    Index("ix_job_state", "state"),
    Index("ix_job_report_key", "report_key"),
    sqlite_autoincrement=True,
)
