"""What the outside does to a store: no room on a disk, or an engine that does not answer."""


class NoSpace(Exception):
    """The disk is full, or has less room left than it must keep."""


class StoreUnavailable(Exception):
    """The database or the store of blobs does not answer; trying again later may help."""
