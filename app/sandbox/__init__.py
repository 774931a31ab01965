"""One disposable child process with limits: what runs here may crash, hang or eat all memory.

`run_child` starts a function named by `module:function` in a new interpreter, or in a fork of one
that has its modules loaded (`ForkServer`), minds it, and says how it ended. The caller stays whole
whatever the child does; nothing is retried here, and nothing is known about dumps or reports.
`run_program` runs a program of the user's own, which has no limits but a time.
"""

from app.sandbox.forks import ChildLost, ForkServer
from app.sandbox.limits import Limits
from app.sandbox.parent import Ending, Outcome, Progress, run_child
from app.sandbox.program import ProgramEnd, run_program

__all__ = [
    "ChildLost",
    "Ending",
    "ForkServer",
    "Limits",
    "Outcome",
    "ProgramEnd",
    "Progress",
    "run_child",
    "run_program",
]
