"""Which blobs are kept, and who is about to name them."""

import time

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Go one revision up; blobs that reports name already are written down."""
    op.create_table(
        "blob",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.Float(53), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_blob"),
    )
    op.create_table(
        "pin",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("holder", sa.String(32), nullable=False),
        sa.Column("until", sa.Float(53), nullable=False),
        sa.PrimaryKeyConstraint("sha256", "holder", name="pk_pin"),
        sa.ForeignKeyConstraint(["sha256"], ["blob.sha256"], name="fk_pin_sha256"),
    )
    op.execute(
        sa.text(
            "INSERT INTO blob (sha256, bytes, created)"
            " SELECT blob, max(bytes), :now FROM attachment GROUP BY blob"
        ).bindparams(sa.bindparam("now", time.time(), sa.Float(53)))
    )
    with op.batch_alter_table("attachment") as batch:
        batch.create_foreign_key("fk_attachment_blob", "blob", ["blob"], ["sha256"])


def downgrade() -> None:
    """Go one revision down."""
    with op.batch_alter_table("attachment") as batch:
        batch.drop_constraint("fk_attachment_blob", type_="foreignkey")
    op.drop_table("pin")
    op.drop_table("blob")
