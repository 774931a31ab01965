"""Facts about modules and their passes, without opinions: pure functions from values to values."""
