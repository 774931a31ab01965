"""Analyses as jobs: rows say what is to be done, a runner has it done in children with limits.

Takes a store with queued jobs and leaves, for each, a bundle or the reason why there is none, in
plain words. `runner.Runner` is the seam at which other ways of running can be put in. Nothing is
imported here: every child loads `analysis`, and must not load the database for it.
"""
