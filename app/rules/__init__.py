"""Opinions: one file a rule, found by listing this folder (see README.md to add one)."""
