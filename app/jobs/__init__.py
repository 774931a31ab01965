"""Analyses as jobs: rows say what is to be done, a runner has it done in children with limits.

Takes a store with queued jobs and leaves, for each, a bundle or the reason why there is none, in
plain words. `Runner` is the seam at which other ways of running can be put in.
"""

from app.jobs.endings import OWN_FAULTS
from app.jobs.local import LocalRunner
from app.jobs.runner import Runner

__all__ = ["OWN_FAULTS", "LocalRunner", "Runner"]
