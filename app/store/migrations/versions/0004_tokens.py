"""Tokens of the API, who sends an upload in parts, and which reports are gone."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go one revision up; uploads that are under way are nobody's."""
    op.create_table(
        "token",
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("scopes", sa.String(64), nullable=False),
        sa.Column("created", sa.Float(53), nullable=False),
        sa.Column("expires", sa.Float(53)),
        sa.Column("revoked", sa.Float(53)),
        sa.Column("used", sa.Float(53)),
        sa.PrimaryKeyConstraint("key", name="pk_token"),
    )
    op.create_table(
        "gone",
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("owner_key", sa.String(64), nullable=False),
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("since", sa.Float(53), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_gone"),
    )
    with op.batch_alter_table("upload") as batch:
        batch.add_column(sa.Column("sender", sa.String(64), nullable=False, server_default=""))
        batch.create_index("ix_upload_sender", ["sender"])


def downgrade() -> None:
    """Go one revision down."""
    with op.batch_alter_table("upload") as batch:
        batch.drop_index("ix_upload_sender")
        batch.drop_column("sender")
    op.drop_table("gone")
    op.drop_table("token")
