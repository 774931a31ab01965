"""How much one owner may keep, counted in the transaction that adds to it.

What was shared of an owner's reports counts like these: a copy takes a place and has files, too.

Uploads that end at the same moment on PostgreSQL may each fit and together be too much; the next
one is then turned away.
"""

from dataclasses import dataclass

from sqlalchemy import CompoundSelect, Connection, func, select, union_all

from app.errors import LimitExceeded, QuotaSpent
from app.store.schema import attachment, owned, share

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Quota:
    """Reports that an owner may have, and bytes of all their files together; 0 is no bound."""

    reports: int = 0
    bytes: int = 0

    def check(self, connection: Connection, owner: str, *, adding: int = 0) -> None:
        """Let pass an owner, by the hash of their secret, who may have a report of so many bytes.

        Raises:
            QuotaSpent: they have as many reports as they may.
            LimitExceeded: their files are, or would be, too large together (`quota`).
        """
        if self.reports and self._reports(connection, owner) >= self.reports:
            raise QuotaSpent(
                f"you have {self.reports} reports already, which is as many as you may",
                next_step="Delete some, or wait for their end.",
            )
        if not self.bytes:
            return
        held = self._bytes(connection, owner)
        if held + adding > self.bytes or held == self.bytes:
            raise LimitExceeded(
                f"your reports hold {held / _MIB:,.0f} MiB, of {self.bytes / _MIB:,.0f} MiB that"
                " they may",
                next_step="Delete some, or send a part of the dump.",
                code="quota",
            )

    @staticmethod
    def _reports(connection: Connection, owner: str) -> int:
        query = select(func.count()).select_from(_kept_for(owner).subquery())
        return connection.scalar(query) or 0

    @staticmethod
    def _bytes(connection: Connection, owner: str) -> int:
        files = select(func.sum(attachment.c.bytes)).where(
            attachment.c.report_key.in_(_kept_for(owner))
        )
        return int(connection.scalar(files) or 0)


def _kept_for(owner: str) -> "CompoundSelect[tuple[str]]":
    """The keys of the reports of an owner, and of the copies that were shared of them."""
    copies = select(share.c.report_key).join(owned, owned.c.report_key == share.c.parent_key)
    return union_all(
        select(owned.c.report_key).where(owned.c.owner == owner),
        copies.where(owned.c.owner == owner),
    )
