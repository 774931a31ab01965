"""Expiry of reports, redacted copies of reports, whose reports they are, and uploads in parts."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go one revision up."""
    op.add_column("report", sa.Column("expires", sa.Float(53)))
    op.create_table(
        "share",
        sa.Column("report_key", sa.String(64), nullable=False),
        sa.Column("parent_key", sa.String(64), nullable=False),
        sa.Column("redaction", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("report_key", name="pk_share"),
        sa.ForeignKeyConstraint(
            ["report_key"], ["report.key"], name="fk_share_report_key", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["parent_key"], ["report.key"], name="fk_share_parent_key", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_share_parent_key", "share", ["parent_key"])
    op.create_table(
        "owned",
        sa.Column("report_key", sa.String(64), nullable=False),
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("nonce", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("report_key", name="pk_owned"),
        sa.ForeignKeyConstraint(
            ["report_key"], ["report.key"], name="fk_owned_report_key", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_owned_owner", "owned", ["owner"])
    op.create_table(
        "upload",
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("length", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.Float(53), nullable=False),
        sa.Column("wish", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_upload"),
    )


def downgrade() -> None:
    """Go one revision down."""
    op.drop_table("upload")
    op.drop_table("owned")
    op.drop_table("share")
    op.drop_column("report", "expires")
