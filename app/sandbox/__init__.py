"""One disposable child process with limits: what runs here may crash, hang or eat all memory.

`run_child` starts a function named by `module:function` in a new interpreter, minds it, and says
how it ended. The caller stays whole whatever the child does; nothing is retried here, and nothing
is known about dumps or reports.
"""

from app.sandbox.limits import Limits
from app.sandbox.parent import Ending, Outcome, Progress, run_child

__all__ = ["Ending", "Limits", "Outcome", "Progress", "run_child"]
