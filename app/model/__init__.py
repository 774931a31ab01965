"""Frozen types that every room above shares, and the JSON codec of the report."""
