"""Reports, what they hold on to, and the jobs that make them."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go one revision up."""
    op.create_table(
        "report",
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("owner_key", sa.String(64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created", sa.Float(53), nullable=False),
        sa.Column("finished", sa.Float(53)),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("question", sa.JSON(), nullable=False),
        sa.Column("summary", sa.JSON()),
        sa.Column("problem", sa.JSON()),
        sa.PrimaryKeyConstraint("key", name="pk_report"),
    )
    op.create_table(
        "attachment",
        sa.Column("report_key", sa.String(64), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("blob", sa.String(64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("report_key", "role", "position", name="pk_attachment"),
        sa.ForeignKeyConstraint(
            ["report_key"], ["report.key"], name="fk_attachment_report_key", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_attachment_blob", "attachment", ["blob"])
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("report_key", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(64)),
        sa.Column("lease_until", sa.Float(53)),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("done", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger()),
        sa.Column("created", sa.Float(53), nullable=False),
        sa.Column("finished", sa.Float(53)),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
        sa.ForeignKeyConstraint(
            ["report_key"], ["report.key"], name="fk_job_report_key", ondelete="CASCADE"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_job_state", "job", ["state"])
    op.create_index("ix_job_report_key", "job", ["report_key"])


def downgrade() -> None:
    """Go one revision down."""
    op.drop_table("job")
    op.drop_table("attachment")
    op.drop_table("report")
